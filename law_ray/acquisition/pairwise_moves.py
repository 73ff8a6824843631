"""What the draws of the pairwise model predict after swaps of two items.

With E[i, j] = D[q_i, q_j] and M = F E, the value of an ordering is half the trace of M and the constant, and a swap of
the items i and j changes it by

    M[i, j] + M[j, i] - M[i, i] - M[j, j] + 2 F[i, j] E[i, j].

The swap exchanges two rows and two columns of E. So M changes by a product of a column and a row, and by an exchange of
two columns.
"""

import numpy as np
from numba import njit

from law_ray.models.pairwise.ensemble import Ensemble
from law_ray.typing import FloatArray, IntArray
from law_ray.utils.compiled import compiled


class Swaps:
    """The swaps of an ordering at positions q (n_items,): O(n_draws n_items^3), and then O(n_draws n_items^2) each."""

    def __init__(self, ensemble: Ensemble, q: IntArray) -> None:
        self._ensemble = ensemble
        self._placed = _placed(ensemble.places, q)
        self._products = np.matmul(ensemble.items, self._placed)
        self.values = 0.5 * np.einsum("sii->s", self._products) + ensemble.constants
        """(n_draws,) what each draw predicts at the ordering"""

    def moments(self) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the variance with noise after a swap of each of `Ensemble.pairs`, both (n_pairs,).

        They are those of `Ensemble.moments`, which takes up to twice as long with the values in the order in which they
        are computed here; O(n_draws^2 n_items^2).
        """
        after = _values_after(self.values, self._ensemble.items, self._placed, self._products)
        mean = after.mean(axis=0)
        after -= mean
        explained = np.einsum("sp,sp->p", self._ensemble.gram @ after, after)
        return mean, np.maximum(explained, 0.0) + self._ensemble.noise

    def make(self, i: int, j: int) -> None:
        """Swap the items i and j."""
        _swap(self.values, self._ensemble.items, self._placed, self._products, i, j)


@compiled()
def _placed(places: FloatArray, q: IntArray) -> FloatArray:
    """Return E from D, both (n_draws, n_items, n_items)."""
    placed = np.empty_like(places)
    for s in range(len(places)):
        for i in range(len(q)):
            for j in range(len(q)):
                placed[s, i, j] = places[s, q[i], q[j]]
    return placed


@njit
def _change(F, E, M, i, j):  # type: ignore[no-untyped-def]
    """Return how a swap of i and j changes the value of one draw."""
    return M[i, j] + M[j, i] - M[i, i] - M[j, j] + 2.0 * F[i, j] * E[i, j]


@compiled()
def _values_after(values: FloatArray, items: FloatArray, placed: FloatArray, products: FloatArray) -> FloatArray:
    """Return the values (n_draws, n_pairs) after swaps, from F, E and M, each (n_draws, n_items, n_items)."""
    n_draws, n_items, _ = items.shape
    after = np.empty((n_draws, n_items * (n_items - 1) // 2))
    for s in range(n_draws):
        F, E, M = items[s], placed[s], products[s]
        pair = 0
        for i in range(n_items):
            for j in range(i + 1, n_items):
                after[s, pair] = values[s] + _change(F, E, M, i, j)
                pair += 1
    return after


@compiled()
def _swap(values: FloatArray, items: FloatArray, placed: FloatArray, products: FloatArray, i: int, j: int) -> None:
    """Change the values (n_draws,), E and M, each (n_draws, n_items, n_items), to those after a swap of i and j."""
    n_draws, n_items, _ = items.shape
    for s in range(n_draws):
        F, E, M = items[s], placed[s], products[s]
        values[s] += _change(F, E, M, i, j)
        for a in range(n_items):
            factor = F[a, j] - F[a, i]
            for b in range(n_items):
                M[a, b] += factor * (E[i, b] - E[j, b])
            M[a, i], M[a, j] = M[a, j], M[a, i]
        for b in range(n_items):
            E[i, b], E[j, b] = E[j, b], E[i, b]
        for a in range(n_items):
            E[a, i], E[a, j] = E[a, j], E[a, i]
