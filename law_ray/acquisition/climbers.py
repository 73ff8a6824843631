"""Permutations that climb towards larger values of an acquisition, by moves.

The moves are swaps of two items and, for kernels other than the position kernel, also insertions and reversals
(`neighbourhoods`). A climber makes several at once where that is better than the best one. One pass over the data gives
the posterior mean after every move from x, and bounds of the posterior variance. With k the covariances between x and
the data, A = (K + S)^-1, w = A k and d = k_new - k,

    k_new^T A k_new = k^T A k + 2 w^T d + d^T A d,    0 <= d^T A d <= 2 (k(x, x) - k(x, x_new)),

since the posterior variance of f(x) - f(x_new) is not negative. So ranking a move costs O(n) instead of O(n^2), and
only the most promising moves are evaluated exactly.
"""

from typing import NamedTuple

import numpy as np

from law_ray.acquisition.landscape import Landscape
from law_ray.acquisition.neighbourhoods import neighbourhood
from law_ray.kernels.distance import positions_of
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import invert
from law_ray.typing import FloatArray, Int32Array, IntArray

N_PROMISING = 16
"""Moves of a climber that are evaluated exactly at each step (heuristic)."""
MAX_BARREN = 20_000
"""A climb ends after this many moves without a gain: about all the moves that 100 items have (heuristic).

At 200 items, with 80,000 moves, most steps of a climb made sure that nothing was left to gain.
"""
MANY_MOVES = 7_000
"""Climbs with more moves to choose from than this are cut short (heuristic): with all types of moves, from 61 items on.

Of 100 items and 960 values, twelve climbs for the first point made 860 steps in 8 s, and had gained 99 % after 1 s.
"""
HALVING = 64
"""If climbs are cut short, the worse half of them ends every HALVING steps, until one is left (heuristic)."""
LEAST_GAIN = 1e-9
"""Smaller gains may be rounding errors, with which a climb could walk on a plateau forever (heuristic)."""


class Bounds(NamedTuple):
    """The mean, and bounds of the variances, after the moves of some climbers."""

    mean: FloatArray
    """(m, n_moves), including `prior_mean`."""
    variance: FloatArray
    """(2, m, n_moves): the lower and the upper bound."""
    given_batch: FloatArray
    """(2, m, n_moves): the bounds of the variance given the batch."""
    prior_mean: FloatArray
    """(m, n_moves)"""


class Climbers:
    """Permutations that climb, by their positions `q` (m, n_items), with their `values` (m,) and `distances` (m, n)."""

    def __init__(self, landscape: Landscape, starts: IntArray, excluded: Exclusions, constraints: Constraints) -> None:
        self._landscape = landscape
        self._excluded = excluded
        self._constraints = constraints
        points = landscape.points
        self._moves = neighbourhood(landscape.posterior.prior_kernel, points)
        self.q = positions_of(starts)
        self.distances = landscape.distances(self.q)
        occupied = [start in excluded for start in starts]
        self.values = np.where(occupied, -np.inf, landscape.at(self.distances, landscape.posterior.prior_mean(starts)))
        # The weights (m, 3, n) and the explained variances (2, m) that `_bounds` needs, of climbers that are `known`.
        self._weights = np.zeros((len(self.q), 3, len(points)))
        self._weights[:, 0, : len(landscape.posterior.X)] = landscape.posterior.mean_weights
        self._explained = np.zeros((2, len(self.q)))
        self._known = np.zeros(len(self.q), dtype=bool)
        # Running averages of where the exact variance lies between its bounds (0: lower, 1: upper), for the variance
        # and for the variance given the batch. They start in the middle.
        self._share = np.array([0.5, 0.5])

    def ascend(self, active: IntArray) -> None:
        """Move each climber of `active` while a promising move gains; climbers that meet continue as one."""
        cut_short = len(self._moves.all) > MANY_MOVES
        tried = np.zeros(len(self.q), dtype=np.int64)  # moves since the last gain
        step = 0
        while len(active):
            step += 1
            which = self._moves.next()
            bounds = self._bounds(active, which)
            allowed = self._moves.allowed(self._constraints, self.q[active], which)
            estimates = np.where(allowed, self._value(bounds, self._share), -np.inf)
            count = min(N_PROMISING, estimates.shape[1])
            promising = np.argpartition(-estimates, count - 1, axis=1)[:, :count]
            rows = np.repeat(np.arange(len(active)), count)
            distances, values = self._evaluate(active[rows], which[promising].ravel(), bounds, rows, promising.ravel())
            values[~allowed[rows, promising.ravel()]] = -np.inf
            tried[active] += len(which)
            together: list[tuple[int, Int32Array]] = []
            for row, climber in enumerate(active):
                own = slice(row * count, (row + 1) * count)
                gaining = self._gaining(climber, which[promising[row]], values[own])
                together += [(climber, q) for q in self._together(climber, which[promising[row][gaining]])]
                if len(gaining):
                    move = which[promising[row, gaining[0]]]
                    self._move(climber, move, values[own][gaining[0]], distances[own][gaining[0]])
                    tried[climber] = 0
            self._leap(together)
            active = active[tried[active] < min(len(self._moves.all), MAX_BARREN)]
            first = {self.q[climber].tobytes(): climber for climber in active[::-1]}
            active = np.array(sorted(first.values()), dtype=np.int64)
            if cut_short and step % HALVING == 0:
                active = np.sort(active[np.argsort(-self.values[active], kind="stable")][: (len(active) + 1) // 2])

    def _together(self, climber: int, moves: IntArray) -> list[Int32Array]:
        """Return the climber's positions after the first 2, 4, 8, ... of `moves` that touch nothing in common.

        Far from a maximum many moves gain, and several of them at once save steps.
        """
        q, used, count, leaps = self.q[climber].copy(), set[int](), 0, []
        for move in moves:
            if not used & (touched := self._moves.touched(move)):
                used |= touched
                q = self._moves.after(q, move)
                count += 1
                if count > 1 and count & (count - 1) == 0:
                    leaps.append(q)
        return leaps

    def _leap(self, together: list[tuple[int, Int32Array]]) -> None:
        """Make several moves at once where the result is allowed and has a larger value than the single best move."""
        if not together:
            return
        Q = np.array([q for _, q in together])
        distances = self._landscape.distances(Q)
        values = self._landscape.at(distances, self._landscape.posterior.prior_mean(permutation_of(Q)))
        values = np.where(self._constraints.allows_positions(Q), values, -np.inf)
        for (climber, q), value, distance in zip(together, values, distances, strict=True):
            if value > self.values[climber] + LEAST_GAIN and permutation_of(q) not in self._excluded:
                self._place(climber, q, value, distance)

    def step_if_any(self, climber: int) -> bool:
        """Make the best of all moves if it gains, and return whether it does: False certifies a local maximum.

        Only moves whose upper bound exceeds the best value so far are evaluated exactly.
        """
        which = self._moves.all
        bounds = self._bounds(np.array([climber]), which)
        corners = [self._value(bounds, np.array(corner)) for corner in ((0, 0), (0, 1), (1, 0), (1, 1))]
        allowed = self._moves.allowed(self._constraints, self.q[[climber]], which)[0]
        upper = np.where(allowed, np.max(corners, axis=0)[0], -np.inf) + LEAST_GAIN
        order = np.argsort(-upper, kind="stable")
        order = order[upper[order] > self.values[climber] + LEAST_GAIN]
        likely = np.argsort(-self._value(bounds, self._share)[0][order], kind="stable")[: 4 * N_PROMISING]
        order = np.concatenate(
            [order[likely], np.delete(order, likely)]
        )  # a large value first, and fewer can exceed it
        best: tuple[float, int, Int32Array] | None = None
        size = 4 * N_PROMISING
        while len(order):
            chunk, order = order[:size], order[size:]
            distances, values = self._evaluate(
                np.full(len(chunk), climber), chunk, bounds, np.zeros(len(chunk), np.int64), chunk
            )
            for step in self._gaining(climber, chunk, values)[:1]:
                if best is None or values[step] > best[0]:
                    best = (float(values[step]), int(chunk[step]), distances[step])
            if best is not None:
                order = order[upper[order] > best[0]]
            size *= 2
        if best is not None:
            self._move(climber, best[1], best[0], best[2])
        return best is not None

    def _bounds(self, active: IntArray, which: IntArray) -> Bounds:
        """Return the mean, and bounds of the variances, after the moves `which` of the climbers `active`."""
        posterior = self._landscape.posterior
        self._know(active[~self._known[active]])
        weights, explained = self._weights[active], self._explained[:, active]
        q = self.q[active]
        sums = self._moves.sums(q, self.distances[active], weights, posterior.covariance, which)
        prior = posterior.hyperparameters.signal_variance
        slack = 2.0 * (prior - posterior.covariance[self._moves.lengths(q, which)])
        variances = []
        for own, weighted in zip(explained, (sums[..., 1], sums[..., 2]), strict=True):
            high = prior + own[:, None] - 2.0 * weighted
            variances.append(np.clip([high - slack, high], posterior.least_variance, prior))
        prior_mean = np.zeros((len(active), len(which)))
        if posterior.has_prior_mean:
            prior_mean[:] = [posterior.prior_mean(after) for after in self._moves.neighbours(q, which)]
        mean = posterior.hyperparameters.mean + sums[..., 0] + prior_mean
        return Bounds(mean, variances[0], variances[1], prior_mean)

    def _know(self, climbers: IntArray) -> None:
        """Compute the weights and the explained variances of climbers that have moved; O(n^2) each."""
        if not len(climbers):
            return
        landscape, posterior, given_batch = self._landscape, self._landscape.posterior, self._landscape.given_batch
        V_data, V = landscape.whiten(self.distances[climbers])
        of_data = posterior.unwhiten(V_data).T
        self._weights[climbers, 1, : len(posterior.X)] = of_data
        self._weights[climbers, 2, landscape.gauged] = (
            of_data if given_batch is posterior else given_batch.unwhiten(V).T
        )
        self._explained[:, climbers] = [np.einsum("ij,ij->j", each, each) for each in (V_data, V)]
        self._known[climbers] = True

    def _value(self, bounds: Bounds, share: FloatArray) -> FloatArray:
        """Return the value of every move if its variances are at these shares of the way between their bounds."""
        mean, (low, high), (batch_low, batch_high), _ = bounds
        return self._landscape.value(
            mean, low + share[0] * (high - low), batch_low + share[1] * (batch_high - batch_low)
        )

    def _evaluate(
        self,
        climbers: IntArray,
        moves: IntArray,
        bounds: Bounds,
        rows: IntArray,
        columns: IntArray,
    ) -> tuple[Int32Array, FloatArray]:
        """Return the distances (k, n) and exact values (k,) after moves[i] of climbers[i].

        The entry (rows[i], columns[i]) of `bounds` belongs to this move.
        """
        distances = self._moves.distances(self.q, self.distances, climbers, moves)
        mean, *variances = self._landscape.moments(distances, bounds.prior_mean[rows, columns])
        for i, (variance, (low, high)) in enumerate(zip(variances, (bounds.variance, bounds.given_batch), strict=True)):
            low, width = low[rows, columns], (high - low)[rows, columns]
            wide = width > 1e-12
            if wide.any():
                self._share[i] = 0.5 * (self._share[i] + np.mean(np.clip((variance - low)[wide] / width[wide], 0, 1)))
        return distances, self._landscape.value(mean, variances[0], variances[1])

    def _gaining(self, climber: int, moves: IntArray, values: FloatArray) -> IntArray:
        """Return the indices of the moves that gain, the best first, from the first whose result is not excluded."""
        improving = np.flatnonzero(values > self.values[climber] + LEAST_GAIN)
        improving = improving[np.argsort(-values[improving], kind="stable")]
        for first in range(len(improving)):
            if permutation_of(self._moves.after(self.q[climber], moves[improving[first]])) not in self._excluded:
                return improving[first:]
        return improving[:0]

    def _move(self, climber: int, move: int, value: float, distances: Int32Array) -> None:
        self._place(climber, self._moves.after(self.q[climber], move), value, distances)

    def _place(self, climber: int, q: Int32Array, value: float, distances: Int32Array) -> None:
        self.q[climber], self.values[climber], self.distances[climber] = q, value, distances
        self._known[climber] = False


def permutation_of(q: Int32Array) -> IntArray:
    """Return the permutations (..., n_items) of positions q."""
    return invert(q.astype(np.int64))
