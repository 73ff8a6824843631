"""The moves a climb chooses from, and what each does to the distances that the kernel is a function of.

`Swaps` are those of a kernel on positions alone, all of them at every step; `Moves` are swaps, insertions and
reversals, some at a time, for a mixture or the latent kernel.
"""

from functools import lru_cache

import numpy as np

from law_ray import latent_moves, moves
from law_ray.constraints import BoolArray, Constraints
from law_ray.kernels import FloatArray, Form
from law_ray.latent import Latent, Polynomial, images
from law_ray.mixture import Mixture, Tables
from law_ray.permutations import IntArray
from law_ray.scan import Int32Array, swap_distances, swap_sums

N_AT_ONCE = 256  # moves of a step


class Swaps:
    """All exchanges of two items, for the position kernel."""

    def __init__(self, points: Int32Array) -> None:
        self._P_T = np.ascontiguousarray(points.T)
        self._a, self._b = (items.astype(np.int32) for items in np.triu_indices(points.shape[1], 1))
        self.all = np.arange(len(self._a))

    def next(self) -> IntArray:
        """The moves to try at a step, as numbers."""
        return self.all

    def allowed(self, constraints: Constraints, q: Int32Array, which: IntArray) -> BoolArray:
        """Whether they lead from allowed orderings, of positions q (m, n_items), to allowed ones: (m, n_moves)."""
        return constraints.swaps(q, self._a[which], self._b[which])

    def neighbours(self, q: Int32Array, which: IntArray) -> IntArray:
        """The permutations (m, n_moves, n_items) after each move."""
        after = np.repeat(q[:, None], len(which), axis=1)
        rows = np.arange(len(which))
        a, b = self._a[which], self._b[which]
        after[:, rows, a], after[:, rows, b] = q[:, b], q[:, a]
        return np.argsort(after, axis=-1)

    def sums(
        self, q: Int32Array, distances: Int32Array, weights: FloatArray, table: FloatArray, which: IntArray
    ) -> FloatArray:
        """Sums over the points of weights (m, 3, n) x kernel value after each move: (m, n_moves, 3)."""
        return swap_sums(q, self._P_T, distances, weights, table, self._a[which], self._b[which])

    def lengths(self, q: Int32Array, which: IntArray) -> Int32Array:
        """The distances from before to after each move, (m, n_moves)."""
        return 2 * np.abs(q[:, self._a[which]] - q[:, self._b[which]])

    def distances(self, q: Int32Array, distances: Int32Array, climbers: IntArray, chosen: IntArray) -> Int32Array:
        """The distances (k, n) to the points after move chosen[r] of climbers[r], r < k."""
        return swap_distances(q, self._P_T, distances, climbers, self._a[chosen], self._b[chosen])

    def after(self, q: Int32Array, move: int) -> Int32Array:
        """The positions (n_items,) after a move."""
        a, b = self._a[move], self._b[move]
        q = q.copy()
        q[[a, b]] = q[[b, a]]
        return q

    def touched(self, move: int) -> set[int]:
        """Moves that touch nothing in common can be made at once."""
        return {int(self._a[move]), int(self._b[move])}


class Moves:
    """All swaps, insertions and reversals: N_AT_ONCE of them a step, in a fixed random order."""

    def __init__(self, n_items: int) -> None:
        self._moves = _shuffled(n_items)
        self.all = np.arange(len(self._moves))
        self._first = 0

    def next(self) -> IntArray:
        size = min(N_AT_ONCE, len(self.all))
        which = (self._first + np.arange(size)) % len(self.all)
        self._first = (self._first + size) % len(self.all)
        return which

    def allowed(self, constraints: Constraints, q: Int32Array, which: IntArray) -> BoolArray:
        if constraints.empty:
            return np.ones((len(q), len(which)), dtype=bool)
        after = self.neighbours(q, which).reshape(-1, q.shape[1])
        return constraints.allows(after).reshape(len(q), -1)

    def neighbours(self, q: Int32Array, which: IntArray) -> IntArray:
        unmoved = np.arange(q.shape[1])
        return np.argsort(q, axis=1)[:, [moves.apply(unmoved, move) for move in self._moves[which]]]

    def after(self, q: Int32Array, move: int) -> Int32Array:
        return np.argsort(moves.apply(np.argsort(q), self._moves[move])).astype(np.int32)

    def touched(self, move: int) -> set[int]:
        _, i, j = self._moves[move].tolist()
        return set(range(i, j + 1))


class MixtureMoves(Moves):
    """With distances of several kinds."""

    def __init__(self, points: Int32Array, kernel: Mixture) -> None:
        super().__init__(points.shape[1])
        self._P_T = np.ascontiguousarray(points.T)
        self._kinds = kernel.codes

    def sums(
        self, q: Int32Array, distances: Int32Array, weights: FloatArray, table: Tables, which: IntArray
    ) -> FloatArray:
        return moves.moved_sums(
            _orders(q), self._P_T, distances, self._kinds, weights, table.values, table.offsets, self._moves[which]
        )

    def lengths(self, q: Int32Array, which: IntArray) -> Int32Array:
        return moves.move_lengths(_orders(q), q, self._kinds, self._moves[which])

    def distances(self, q: Int32Array, distances: Int32Array, climbers: IntArray, chosen: IntArray) -> Int32Array:
        return moves.moved_distances(_orders(q), self._P_T, distances, self._kinds, climbers, self._moves[chosen])


class LatentMoves(Moves):
    """With similarities in place of distances."""

    def __init__(self, points: Int32Array, kernel: Latent) -> None:
        super().__init__(points.shape[1])
        self._kernel, self._images = kernel, kernel.images(points)

    def sums(
        self, q: Int32Array, distances: FloatArray, weights: FloatArray, table: Polynomial, which: IntArray
    ) -> FloatArray:
        return latent_moves.moved_sums(
            _orders(q), self._images, distances, *self._own(q), weights, table.weights, self._moves[which]
        )

    def lengths(self, q: Int32Array, which: IntArray) -> FloatArray:
        return latent_moves.move_similarities(_orders(q), *self._own(q), self._moves[which])

    def distances(self, q: Int32Array, distances: FloatArray, climbers: IntArray, chosen: IntArray) -> FloatArray:
        return latent_moves.moved_similarities(
            _orders(q), self._images, distances, *self._own(q), climbers, self._moves[chosen]
        )

    def _own(self, q: Int32Array) -> tuple[FloatArray, FloatArray, FloatArray]:
        alike = self._kernel.alike
        return images(alike, q), self._kernel.own(q), alike


def neighbourhood(points: Int32Array, kernel: Form) -> Swaps | Moves:
    if isinstance(kernel, Latent):
        return LatentMoves(points, kernel)
    return MixtureMoves(points, kernel) if isinstance(kernel, Mixture) else Swaps(points)


def _orders(q: Int32Array) -> Int32Array:
    """The permutations (m, n_items) of positions q."""
    return np.argsort(q, axis=1).astype(np.int32)


@lru_cache(maxsize=8)
def _shuffled(n_items: int) -> Int32Array:
    return np.random.default_rng(n_items).permutation(moves.all_moves(n_items))
