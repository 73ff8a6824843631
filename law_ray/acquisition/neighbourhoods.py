"""The moves that a climb chooses from, and what each does to the distances that the kernel is a function of.

`SwapNeighbourhood`, for the position kernel, tries all swaps at every step. The neighbourhoods of the other kernels try
swaps, insertions and reversals, in most cases N_AT_ONCE of them at every step. Each is registered for its type of
kernel, see `neighbourhood`.
"""

from functools import lru_cache, singledispatch
from typing import Any, Protocol

import numpy as np

from law_ray.acquisition import additive_moves, allowed_moves, precedence_moves, swap_moves, tour_moves
from law_ray.kernels.additive import AdditiveKernel, Tables
from law_ray.kernels.distance import POSITION_KERNEL, DistanceKernel, positions_of
from law_ray.kernels.protocol import Kernel
from law_ray.kernels.tour import Polynomial, TourKernel, images
from law_ray.kernels.weighted_precedence import Exponential, WeightedPrecedenceKernel
from law_ray.space.constraints import Constraints
from law_ray.typing import BoolArray, FloatArray, Int32Array, IntArray

N_AT_ONCE = 256
"""Moves that a climber tries at a step (heuristic).

All are tried for the position kernel, whose swaps are cheap, and for the weighted precedence kernel, where all moves
cost as much as some.
"""
SHARE_AT_ONCE = 80
"""With more than 100 items, a climber tries one in this many of all moves at a step (heuristic).

With 256 of the 80,000 moves of 200 items, a climb spent most of its time between the compiled loops.
"""

N_KEPT = 4
"""Images that are kept per climber: a climber stays where it is in most steps (heuristic)."""


class Neighbourhood(Protocol):
    """The moves from orderings to their neighbours.

    Orderings are given by positions q (m, n_items), and `which` (n_moves,) are some of the moves in `all`.
    """

    all: IntArray
    """the numbers of all moves"""

    def next(self) -> IntArray:
        """Return the moves to try at the next step."""
        ...

    def allowed(self, constraints: Constraints, q: Int32Array, which: IntArray) -> BoolArray:
        """Say which moves lead from allowed orderings to allowed ones: (m, n_moves)."""
        ...

    def neighbours(self, q: Int32Array, which: IntArray) -> IntArray:
        """Return the permutations (m, n_moves, n_items) after each move."""
        ...

    def sums(self, q: Int32Array, distances: Any, weights: FloatArray, covariance: Any, which: IntArray) -> FloatArray:
        """Sum weights (m, 3, n) x covariance over the points after each move: (m, n_moves, 3).

        `distances` are those from q to the points, as the kernel returns them.
        """
        ...

    def lengths(self, q: Int32Array, which: IntArray) -> Any:
        """Return the distances, or similarities, between before and after each move: (m, [n_components,] n_moves)."""
        ...

    def distances(self, q: Int32Array, distances: Any, climbers: IntArray, chosen: IntArray) -> Any:
        """Return the distances (k, [n_components,] n) to the points after move chosen[r] of climbers[r], r < k."""
        ...

    def after(self, q: Int32Array, move: int) -> Int32Array:
        """Return the positions (n_items,) after a move from positions q (n_items,)."""
        ...

    def touched(self, move: int) -> set[int]:
        """Return the items or positions that a move touches. Moves that touch none in common can be made at once."""
        ...


@singledispatch
def neighbourhood(kernel: Kernel, points: Int32Array) -> Neighbourhood:
    """Return the neighbourhood for a kernel.

    To add a type of kernel, register a neighbourhood for it with `@neighbourhood.register`.

    Args:
        kernel: The kernel.
        points: (n, n_items) positions of the points that the process is conditioned on.

    Raises:
        NotImplementedError: No neighbourhood is registered for the kernel.
    """
    raise NotImplementedError(f"no neighbourhood is registered for {type(kernel).__name__}: register one in {__name__}")


class SwapNeighbourhood:
    """All swaps of two items, for the position kernel. See `Neighbourhood` for the methods."""

    def __init__(self, points: Int32Array) -> None:
        self._P_T = np.ascontiguousarray(points.T)
        self._a, self._b = (items.astype(np.int32) for items in np.triu_indices(points.shape[1], 1))
        self.all = np.arange(len(self._a))

    def next(self) -> IntArray:
        return self.all

    def allowed(self, constraints: Constraints, q: Int32Array, which: IntArray) -> BoolArray:
        return constraints.swaps(q, self._a[which], self._b[which])

    def neighbours(self, q: Int32Array, which: IntArray) -> IntArray:
        after = np.repeat(q[:, None], len(which), axis=1)
        rows = np.arange(len(which))
        a, b = self._a[which], self._b[which]
        after[:, rows, a], after[:, rows, b] = q[:, b], q[:, a]
        return np.argsort(after, axis=-1)

    def sums(
        self, q: Int32Array, distances: Int32Array, weights: FloatArray, covariance: FloatArray, which: IntArray
    ) -> FloatArray:
        return swap_moves.swap_sums(q, self._P_T, distances, weights, covariance, self._a[which], self._b[which])

    def lengths(self, q: Int32Array, which: IntArray) -> Int32Array:
        return 2 * np.abs(q[:, self._a[which]] - q[:, self._b[which]])

    def distances(self, q: Int32Array, distances: Int32Array, climbers: IntArray, chosen: IntArray) -> Int32Array:
        return swap_moves.swap_distances(q, self._P_T, distances, climbers, self._a[chosen], self._b[chosen])

    def after(self, q: Int32Array, move: int) -> Int32Array:
        a, b = self._a[move], self._b[move]
        q = q.copy()
        q[[a, b]] = q[[b, a]]
        return q

    def touched(self, move: int) -> set[int]:
        return {int(self._a[move]), int(self._b[move])}


class MixedNeighbourhood:
    """All swaps, insertions and reversals, of which N_AT_ONCE, or one in SHARE_AT_ONCE, are tried at a step.

    Each kernel adds what the moves do to its distances. The moves are in a random order, which depends on the number of
    items alone.
    """

    def __init__(self, n_items: int, moves: Int32Array | None = None) -> None:
        """Take moves (n_moves, 3) in their order, by default all moves in the random order."""
        self._moves = _shuffled(n_items) if moves is None else moves
        self.all = np.arange(len(self._moves))
        self._first = 0

    def next(self) -> IntArray:
        size = min(max(N_AT_ONCE, len(self.all) // SHARE_AT_ONCE), len(self.all))
        which = (self._first + np.arange(size)) % len(self.all)
        self._first = (self._first + size) % len(self.all)
        return which

    def allowed(self, constraints: Constraints, q: Int32Array, which: IntArray) -> BoolArray:
        if constraints.empty:
            return np.ones((len(q), len(which)), dtype=bool)
        return allowed_moves.allowed(constraints, _orders(q), self._moves[which])

    def neighbours(self, q: Int32Array, which: IntArray) -> IntArray:
        return np.argsort(q, axis=1)[:, additive_moves.sources(self._moves[which], q.shape[1])]

    def after(self, q: Int32Array, move: int) -> Int32Array:
        return np.argsort(additive_moves.apply(np.argsort(q), self._moves[move])).astype(np.int32)

    def touched(self, move: int) -> set[int]:
        _, i, j = self._moves[move].tolist()
        return set(range(i, j + 1))


class AdditiveNeighbourhood(MixedNeighbourhood):
    """Swaps, insertions and reversals for the additive kernel."""

    def __init__(self, kernel: AdditiveKernel, points: Int32Array, moves: Int32Array | None = None) -> None:
        super().__init__(points.shape[1], moves)
        self._P_T = np.ascontiguousarray(points.T)
        self._codes = kernel.codes

    def sums(
        self, q: Int32Array, distances: Int32Array, weights: FloatArray, covariance: Tables, which: IntArray
    ) -> FloatArray:
        tables = covariance.values, covariance.offsets
        moves = self._moves[which]
        return additive_moves.moved_sums(_orders(q), self._P_T, distances, self._codes, weights, *tables, moves)

    def lengths(self, q: Int32Array, which: IntArray) -> Int32Array:
        return additive_moves.move_lengths(_orders(q), q, self._codes, self._moves[which])

    def distances(self, q: Int32Array, distances: Int32Array, climbers: IntArray, chosen: IntArray) -> Int32Array:
        moves = self._moves[chosen]
        return additive_moves.moved_distances(_orders(q), self._P_T, distances, self._codes, climbers, moves)


class TourNeighbourhood(MixedNeighbourhood):
    """Swaps, insertions and reversals for the tour kernel, with similarities in place of distances."""

    def __init__(self, kernel: TourKernel, points: Int32Array, moves: Int32Array | None = None) -> None:
        super().__init__(points.shape[1], moves)
        self._kernel, self._images = kernel, kernel.images(points).matrices
        self._known: dict[bytes, tuple[FloatArray, float]] = {}  # image and R(x, x) of climbers, by their positions
        self._last: tuple[list[bytes], FloatArray, FloatArray] = [], np.empty(0), np.empty(0)

    def sums(
        self, q: Int32Array, distances: FloatArray, weights: FloatArray, covariance: Polynomial, which: IntArray
    ) -> FloatArray:
        more = weights, covariance.weights, self._moves[which]
        return tour_moves.moved_sums(_orders(q), self._images, distances, *self._own(q), *more)

    def lengths(self, q: Int32Array, which: IntArray) -> FloatArray:
        return tour_moves.move_similarities(_orders(q), *self._own(q), self._moves[which])

    def distances(self, q: Int32Array, distances: FloatArray, climbers: IntArray, chosen: IntArray) -> FloatArray:
        more = climbers, self._moves[chosen]
        return tour_moves.moved_similarities(_orders(q), self._images, distances, *self._own(q), *more)

    def _own(self, q: Int32Array) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the images of q, R(x, x), and T; O(n_items^3) for those that were not asked for before."""
        keys = [row.tobytes() for row in q]
        if keys == self._last[0]:
            return *self._last[1:], self._kernel.alike
        new = [row for row, key in enumerate(keys) if key not in self._known]
        if len(self._known) > N_KEPT * len(q):
            self._known = {key: self._known[key] for key in keys if key in self._known}
        if new:
            found = zip(images(self._kernel.alike, q[new]), self._kernel.own(q[new]), strict=True)
            self._known.update(zip([keys[row] for row in new], found, strict=True))
        of_images, own = zip(*(self._known[key] for key in keys), strict=True)
        self._last = keys, np.array(of_images), np.array(own)
        return *self._last[1:], self._kernel.alike


class WeightedPrecedenceNeighbourhood(MixedNeighbourhood):
    """Swaps, insertions and reversals for the weighted precedence kernel, all of which are tried at every step."""

    def __init__(self, kernel: WeightedPrecedenceKernel, points: Int32Array, moves: Int32Array | None = None) -> None:
        super().__init__(points.shape[1], moves)
        self._kernel, self._points, self._P_T = kernel, points, np.ascontiguousarray(points.T)

    def next(self) -> IntArray:
        return self.all

    def sums(
        self, q: Int32Array, distances: FloatArray, weights: FloatArray, covariance: Exponential, which: IntArray
    ) -> FloatArray:
        return covariance.weight * self._sums(_orders(q), self._P_T, weights, which)

    def lengths(self, q: Int32Array, which: IntArray) -> FloatArray:
        own = np.eye(len(q))[:, None]  # of all orderings before the move, each climber's own
        correlations = self._sums(_orders(q), np.ascontiguousarray(q.T), own, which)[..., 0]
        return np.maximum(-np.log(correlations), 0.0)

    def _sums(self, x: Int32Array, P_T: Int32Array, weights: FloatArray, which: IntArray) -> FloatArray:
        kernel = self._kernel
        return precedence_moves.moved_sums(x, P_T, kernel.shares, kernel.pair_weights, weights, self._moves[which])

    def distances(self, q: Int32Array, distances: FloatArray, climbers: IntArray, chosen: IntArray) -> FloatArray:
        sources = additive_moves.sources(self._moves[chosen], q.shape[1])
        moved = np.take_along_axis(np.argsort(q, axis=1)[climbers], sources, axis=1)
        return self._kernel.distances(positions_of(moved), self._points)


@neighbourhood.register
def _(kernel: DistanceKernel, points: Int32Array) -> SwapNeighbourhood:
    if kernel != POSITION_KERNEL:
        raise NotImplementedError(
            f"the local search has no moves for the kernel {kernel.name}: use position, or add a neighbourhood"
        )
    return SwapNeighbourhood(points)


@neighbourhood.register
def _(kernel: AdditiveKernel, points: Int32Array) -> AdditiveNeighbourhood:
    return AdditiveNeighbourhood(kernel, points)


@neighbourhood.register
def _(kernel: TourKernel, points: Int32Array) -> TourNeighbourhood:
    return TourNeighbourhood(kernel, points)


@neighbourhood.register
def _(kernel: WeightedPrecedenceKernel, points: Int32Array) -> WeightedPrecedenceNeighbourhood:
    return WeightedPrecedenceNeighbourhood(kernel, points)


def _orders(q: Int32Array) -> Int32Array:
    """Return the permutations (m, n_items) of positions q."""
    return np.argsort(q, axis=1).astype(np.int32)


@lru_cache(maxsize=8)
def _shuffled(n_items: int) -> Int32Array:
    return np.random.default_rng(n_items).permutation(additive_moves.all_moves(n_items))
