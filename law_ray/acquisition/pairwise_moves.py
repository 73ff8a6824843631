"""How swaps of two items change what the draws of the pairwise model predict.

With E[i, j] = D[q_i, q_j] and M = F E, a swap of the items i and j changes f by

    M[i, j] + M[j, i] - M[i, i] - M[j, j] + 2 F[i, j] E[i, j].

The swap exchanges two rows and two columns of E. So M changes by a product of a column and a row, and by an exchange of
two columns.
"""

import numpy as np

from law_ray.models.pairwise.ensemble import Ensemble
from law_ray.typing import FloatArray, IntArray
from law_ray.utils.compiled import compiled


class Swaps:
    """The swaps of an ordering at positions q (n_items,): O(n_draws n_items^3), and then O(n_draws n_items^2) each."""

    def __init__(self, ensemble: Ensemble, q: IntArray) -> None:
        self._items = ensemble.items
        self._placed = ensemble.places[:, q[:, None], q]
        self._products = np.matmul(self._items, self._placed)

    def changes(self) -> FloatArray:
        """Return how each draw changes when the items of each of `Ensemble.pairs` are swapped, (n_pairs, n_draws)."""
        return _changes(self._items, self._placed, self._products)

    def make(self, i: int, j: int) -> None:
        """Swap the items i and j."""
        _swap(self._items, self._placed, self._products, i, j)


@compiled()
def _changes(items: FloatArray, placed: FloatArray, products: FloatArray) -> FloatArray:
    """Return the changes (n_pairs, n_draws) from F, E and M, each (n_draws, n_items, n_items)."""
    n_draws, n_items, _ = items.shape
    changes = np.empty((n_items * (n_items - 1) // 2, n_draws))
    for s in range(n_draws):
        F, E, M = items[s], placed[s], products[s]
        pair = 0
        for i in range(n_items):
            for j in range(i + 1, n_items):
                changes[pair, s] = M[i, j] + M[j, i] - M[i, i] - M[j, j] + 2.0 * F[i, j] * E[i, j]
                pair += 1
    return changes


@compiled()
def _swap(items: FloatArray, placed: FloatArray, products: FloatArray, i: int, j: int) -> None:
    """Change E and M, each (n_draws, n_items, n_items), to those after a swap of i and j."""
    n_draws, n_items, _ = items.shape
    for s in range(n_draws):
        F, E, M = items[s], placed[s], products[s]
        for a in range(n_items):
            factor = F[a, j] - F[a, i]
            for b in range(n_items):
                M[a, b] += factor * (E[i, b] - E[j, b])
            M[a, i], M[a, j] = M[a, j], M[a, i]
        for b in range(n_items):
            E[i, b], E[j, b] = E[j, b], E[i, b]
        for a in range(n_items):
            E[a, i], E[a, j] = E[a, j], E[a, i]
