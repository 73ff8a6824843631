"""Local search over permutations: where an acquisition is largest.

A climb makes one move at a time: it exchanges two items, or, where the kernel is a mixture, takes an item elsewhere or
reverses a segment too (`neighbourhoods`). Of the moves from x the mean comes from one pass over the data, and the
variance within bounds: with k the kernel values between x and the data, A = (K + S)^-1, w = A k and d = k_new
- k,

    k_new^T A k_new = k^T A k + 2 w^T d + d^T A d,    0 <= d^T A d <= 2 (k(x, x) - k(x, x_new)),

since the posterior variance of f(x) - f(x_new) is not negative. So a move costs O(n) instead of O(n^2) to rank, and
only the most promising are evaluated exactly; a last pass over all whose bound could win makes sure of the best local
maximum.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from law_ray.constraints import Constraints
from law_ray.gp import GaussianProcess
from law_ray.kernels import FloatArray, positions_of
from law_ray.neighbourhoods import neighbourhood
from law_ray.permutations import IntArray, invert
from law_ray.scan import Int32Array
from law_ray.taken import EXHAUSTIVE, Avoided, Taken, draw_free

Value = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]  # of mean, variance, variance given the batch

N_PROMISING = 16  # moves of a climber evaluated exactly at a step
LEAST_GAIN = 1e-9  # less than the rounding of a score is no gain: a climb could walk a plateau for ever


class Bounds(NamedTuple):
    """Of the moves of some climbers."""

    mean: FloatArray
    """(m, n_moves)"""
    variance: FloatArray
    """(2, m, n_moves): low, high"""
    given_batch: FloatArray
    """likewise of the variance given the batch"""
    prior_mean: FloatArray
    """(m, n_moves), which is within the mean"""


@dataclass(frozen=True)
class Landscape:
    """What a climb walks on: value(mean, variance, variance given the batch) of each permutation, larger is better.

    The variance of `given_batch` is the third argument: `posterior` with further points, or, where the gauge is the
    `prior`, the prior with those points alone. For given other arguments the value must be monotone in either variance.
    """

    posterior: GaussianProcess
    given_batch: GaussianProcess
    value: Value
    prior: bool = False

    def __call__(self, permutations: IntArray) -> FloatArray:
        """The values (m,) of (m, n_items) permutations; O(n^2) each."""
        return self.at(self.distances(positions_of(permutations)), self.posterior.prior_mean(permutations))

    @cached_property
    def points(self) -> Int32Array:
        """(n, n_items) positions of what is conditioned on: the data, and then the batch."""
        points = self.given_batch.positions
        return np.concatenate([self.posterior.positions, points]) if self.prior else points

    def distances(self, q: Int32Array) -> Int32Array:
        """Of positions q (m, n_items) to `points`: (m, n), or (m, n_kinds, n) where the kernel is a mixture."""
        return self.posterior.form.distances(q, self.points)

    @property
    def gauged(self) -> slice:
        """Which of `points` are those of `given_batch`."""
        return slice(len(self.posterior.X) if self.prior else 0, None)

    def at(self, distances: Int32Array, prior_mean: FloatArray | float) -> FloatArray:
        """The values (m,) at given distances (m, n) to `points`."""
        return self.value(*self.moments(distances, prior_mean))

    def moments(
        self, distances: Int32Array, prior_mean: FloatArray | float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Mean, variance and variance given the batch, each (m,), at given distances (m, n) to `points`."""
        V_data, V = self.whiten(distances)
        variance = self.posterior.variance_from(V_data)
        given_batch = variance if self.given_batch is self.posterior else self.given_batch.variance_from(V)
        return self.posterior.mean_from(V_data) + prior_mean, variance, given_batch

    def whiten(self, distances: Int32Array) -> tuple[FloatArray, FloatArray]:
        """The whitened covariances with the points of `posterior`, and with those of `given_batch`."""
        n = len(self.posterior.X)
        V = self.given_batch.whiten_distances(distances[..., self.gauged])
        return self.posterior.whiten_distances(distances[..., :n]) if self.prior else V[:n], V


def maximise(
    landscape: Landscape,
    starts: IntArray,
    taken: Taken,
    constraints: Constraints,
    rng: np.random.Generator,
    proven: bool = True,
) -> IntArray:
    """Free permutations (k, n_items) of large value, the largest first: of all in a small space, else where climbs end.

    Where all the climbs end on taken ones it is drawn at random. Raises UsedUpError when no permutation is left.
    """
    if (candidates := constraints.enumerate(EXHAUSTIVE)) is not None:
        for best in np.argsort(-landscape(candidates), kind="stable"):
            if candidates[best] not in taken:
                return candidates[best : best + 1]
    else:
        ends, values = climb(landscape, starts, taken, constraints, proven)
        if values[0] > -math.inf:
            return ends[values > -math.inf]
    return draw_free(constraints, 1, taken, rng)


def climb(
    landscape: Landscape, starts: IntArray, taken: Avoided, constraints: Constraints, proven: bool = True
) -> tuple[IntArray, FloatArray]:
    """Where climbs from (m, n_items) starts end, (k, n_items), and the values there (k,), the largest first.

    From allowed starts a climb visits allowed permutations alone. It never steps onto a taken one; one that starts on
    one leaves it for a free neighbour, and has value -inf if there is none. If `proven`, the first has no free and
    allowed neighbour of a larger value; the others, and otherwise it too, none among the most promising. Cost of a step
    of m climbers: O(m n n_items^2) to rank their moves, and O(m N_PROMISING n^2).
    """
    climbers = _Climbers(landscape, np.unique(starts, axis=0), taken, constraints)
    climbers.ascend(np.arange(len(climbers.values)))
    while proven and climbers.step_if_any(best := int(np.argmax(climbers.values))):
        climbers.ascend(np.array([best]))
    _, distinct = np.unique(climbers.q, axis=0, return_index=True)
    order = distinct[np.argsort(-climbers.values[distinct], kind="stable")]
    return _permutation(climbers.q[order]), climbers.values[order]


class _Climbers:
    """Permutations on their way up, as positions `q` (m, n_items), with their `distances` (m, n) to the points."""

    def __init__(self, landscape: Landscape, starts: IntArray, taken: Avoided, constraints: Constraints) -> None:
        self._landscape = landscape
        self._taken = taken
        self._constraints = constraints
        points = landscape.points
        self._moves: Any = neighbourhood(points, landscape.posterior.form)
        self.q = positions_of(starts)
        self.distances = landscape.distances(self.q)
        occupied = [start in taken for start in starts]
        self.values = np.where(occupied, -np.inf, landscape.at(self.distances, landscape.posterior.prior_mean(starts)))
        # Where in its bounds a variance was found to lie, of the data alone and given the batch.
        self._share = np.array([0.5, 0.5])

    def ascend(self, active: IntArray) -> None:
        """Step with the climbers `active` while a promising move of theirs gains; those that meet go on as one."""
        tried = np.zeros(len(self.q), dtype=np.int64)  # moves since the last gain
        while len(active):
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
            active = active[tried[active] < len(self._moves.all)]
            if len(active):
                active = active[np.sort(np.unique(self.q[active], axis=0, return_index=True)[1])]

    def _together(self, climber: int, moves: IntArray) -> list[Int32Array]:
        """The climber after the first 2, 4, 8, ... of `moves` that touch nothing in common: many gain from afar."""
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
        """Move climbers on to several moves at once where that is allowed, and worth more than the single one."""
        if not together:
            return
        Q = np.array([q for _, q in together])
        distances = self._landscape.distances(Q)
        values = self._landscape.at(distances, self._landscape.posterior.prior_mean(_permutation(Q)))
        values = np.where(self._constraints.allows_positions(Q), values, -np.inf)
        for (climber, q), value, distance in zip(together, values, distances, strict=True):
            if value > self.values[climber] + LEAST_GAIN and _permutation(q) not in self._taken:
                self.q[climber], self.values[climber], self.distances[climber] = q, value, distance

    def step_if_any(self, climber: int) -> bool:
        """Take the best step of all moves whose bound could win, if one gains: False proves a local maximum."""
        which = self._moves.all
        bounds = self._bounds(np.array([climber]), which)
        corners = [self._value(bounds, np.array(corner)) for corner in ((0, 0), (0, 1), (1, 0), (1, 1))]
        allowed = self._moves.allowed(self._constraints, self.q[[climber]], which)[0]
        upper = np.where(allowed, np.max(corners, axis=0)[0], -np.inf) + LEAST_GAIN
        order = np.argsort(-upper, kind="stable")
        order = order[upper[order] > self.values[climber] + LEAST_GAIN]
        best: tuple[float, int, Int32Array] | None = None
        size = 4 * N_PROMISING
        while len(order) and (best is None or upper[order[0]] > best[0]):
            chunk, order = order[:size], order[size:]
            distances, values = self._evaluate(
                np.full(len(chunk), climber), chunk, bounds, np.zeros(len(chunk), np.int64), chunk
            )
            for step in self._gaining(climber, chunk, values)[:1]:
                if best is None or values[step] > best[0]:
                    best = (float(values[step]), int(chunk[step]), distances[step])
            size *= 2
        if best is not None:
            self._move(climber, best[1], best[0], best[2])
        return best is not None

    def _bounds(self, active: IntArray, which: IntArray) -> Bounds:
        landscape, posterior, given_batch = self._landscape, self._landscape.posterior, self._landscape.given_batch
        n, m = len(posterior.X), len(active)
        V_data, V = landscape.whiten(self.distances[active])
        weights = np.zeros((m, 3, len(landscape.points)))
        weights[:, 0, :n] = posterior.mean_weights
        weights[:, 1, :n] = posterior.unwhiten(V_data).T
        weights[:, 2, landscape.gauged] = weights[:, 1] if given_batch is posterior else given_batch.unwhiten(V).T
        q = self.q[active]
        sums = self._moves.sums(q, self.distances[active], weights, posterior.kernel_values, which)
        prior = posterior.hyperparameters.signal_variance
        slack = 2.0 * (prior - posterior.kernel_values[self._moves.lengths(q, which)])
        variances = []
        for V_part, weighted in ((V_data, sums[..., 1]), (V, sums[..., 2])):
            high = prior + np.einsum("ij,ij->j", V_part, V_part)[:, None] - 2.0 * weighted
            variances.append(np.clip([high - slack, high], posterior.least_variance, prior))
        prior_mean = np.zeros((m, len(which)))
        if posterior.has_prior_mean:
            prior_mean[:] = [posterior.prior_mean(after) for after in self._moves.neighbours(q, which)]
        mean = posterior.hyperparameters.mean + sums[..., 0] + prior_mean
        return Bounds(mean, variances[0], variances[1], prior_mean)

    def _value(self, bounds: Bounds, share: FloatArray) -> FloatArray:
        """The value of every move, were its variances at these shares of the way between their bounds."""
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
        """Distances (k, n) and exact values (k,) after moves[i] of climbers[i], bounded at (rows[i], columns[i])."""
        distances = self._moves.distances(self.q, self.distances, climbers, moves)
        mean, *variances = self._landscape.moments(distances, bounds.prior_mean[rows, columns])
        for i, (variance, (low, high)) in enumerate(zip(variances, (bounds.variance, bounds.given_batch), strict=True)):
            low, width = low[rows, columns], (high - low)[rows, columns]
            wide = width > 1e-12
            if wide.any():
                self._share[i] = 0.5 * (self._share[i] + np.mean(np.clip((variance - low)[wide] / width[wide], 0, 1)))
        return distances, self._landscape.value(mean, variances[0], variances[1])

    def _gaining(self, climber: int, moves: IntArray, values: FloatArray) -> IntArray:
        """Which of the moves gain, the best first, and that one is not taken."""
        improving = np.flatnonzero(values > self.values[climber] + LEAST_GAIN)
        improving = improving[np.argsort(-values[improving], kind="stable")]
        for first in range(len(improving)):
            if _permutation(self._moves.after(self.q[climber], moves[improving[first]])) not in self._taken:
                return improving[first:]
        return improving[:0]

    def _move(self, climber: int, move: int, value: float, distances: Int32Array) -> None:
        self.q[climber] = self._moves.after(self.q[climber], move)
        self.distances[climber] = distances
        self.values[climber] = value


def _permutation(q: Int32Array) -> IntArray:
    return invert(q.astype(np.int64))
