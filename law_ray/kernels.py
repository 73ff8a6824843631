"""Kernels on permutations, each a function of an integer distance d: a table has its value at d = 0..max_distance.

With p, q the positions of the items in two permutations of n_items items, `KERNELS` holds

| name      | distance                                       | correlation                        |
|-----------|------------------------------------------------|------------------------------------|
| position  | sum_i abs(p_i - q_i), Spearman's footrule      | exp(-decay d / n_items)            |
| hamming   | number of items i with p_i != q_i              | exp(-decay d)                      |
| kendall   | number of discordant pairs of items            | (concordant - discordant) / pairs  |
| mallows   | number of discordant pairs of items            | exp(-decay d / n_items)            |
| spearman  | sum_i (p_i - q_i)^2                            | exp(-decay d / n_items^2)          |
| manhattan | the footrule of the inverses: that of which    | exp(-decay d / n_items)            |
|           | item is at each position, as numbers           |                                    |

All are positive semi-definite for every decay, and all but kendall definite: position and, of the inverses, manhattan
are products of Laplace kernels (paper, Section 3.3); hamming is a product of kernels of the values 1 and exp(-decay);
kendall is the inner product of the orders of all pairs, mallows the hamming kernel on them (Jiao and Vert, "The Kendall
and Mallows kernels for permutations", ICML 2015); spearman is the Gaussian kernel (Schoenberg, "Metric spaces and
positive definite functions", 1938). Renaming the items (right-invariance in the literature, which writes rankings)
changes none but manhattan; exchanging positions in all permutations alike (left-invariance) all but hamming and
manhattan.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from law_ray import scan
from law_ray.permutations import IntArray, invert
from law_ray.scan import Int32Array

NEGLIGIBLE = 1e-20  # correlations below it are 0: products of still smaller ones are denormal, which slows all algebra

FloatArray = NDArray[np.float64]


class Table(Protocol):
    """Covariances by distance."""

    def __getitem__(self, distances: Any, /) -> FloatArray: ...


class Form(Protocol):
    """What a Gaussian process asks of its kernel: distances, or what stands for them, and the covariance at each."""

    def distances(self, q: Int32Array, P: Int32Array, /) -> Any: ...

    def table(self, n_items: int, hyperparameters: Any, /) -> Table: ...


@dataclass(frozen=True)
class Kernel:
    """The correlations exp(-decay d / n_items^order) of permutations at distance d.

    `distances` takes positions (n, n_items) and (m, n_items) to (n, m), each in 0..max_distance(n_items). An item's
    share of a distance is of the order n_items^order: with this unit, decays are comparable between problem sizes, and
    between kernels.
    """

    name: str
    distances: Callable[[Int32Array, Int32Array], Int32Array]
    max_distance: Callable[[int], int]
    order: int

    def rate(self, n_items: int, decay: float) -> float:
        """tau of the paper, the fall per unit of distance: d log correlation / d log decay = -rate d."""
        return decay / n_items**self.order

    def correlations(self, n_items: int, decay: float) -> FloatArray:
        """The value at each distance, (max_distance + 1,)."""
        correlations = np.exp(-self.rate(n_items, decay) * np.arange(self.max_distance(n_items) + 1))
        correlations[correlations < NEGLIGIBLE] = 0.0
        return correlations

    def table(self, n_items: int, hyperparameters: Any) -> FloatArray:
        """The covariance at each distance, (max_distance + 1,)."""
        return hyperparameters.signal_variance * self.correlations(n_items, hyperparameters.decay)


class LinearKernel(Kernel):
    """The correlations 1 - 2 d / max_distance, whatever the decay."""

    def rate(self, n_items: int, decay: float) -> float:
        """0, since the decay changes nothing."""
        return 0.0

    def correlations(self, n_items: int, decay: float) -> FloatArray:
        """From 1 at distance 0 to -1 at max_distance."""
        return np.linspace(1.0, -1.0, self.max_distance(n_items) + 1)


def positions_of(permutations: IntArray) -> Int32Array:
    """The positions of the items as the compiled loops want them: (m, n_items) int32."""
    return np.ascontiguousarray(invert(permutations), dtype=np.int32)


def max_position_distance(n_items: int) -> int:
    """D_max = (N^2 - (N mod 2)) / 2, the distance of an ordering to its reverse (paper, Theorem 2)."""
    return (n_items * n_items - n_items % 2) // 2


def hamming_distances(positions1: Int32Array, positions2: Int32Array) -> Int32Array:
    """The number of items that are elsewhere; O(n m n_items)."""
    distances = np.zeros((len(positions1), len(positions2)), np.int32)
    for of_item1, of_item2 in zip(positions1.T, positions2.T, strict=True):
        distances += of_item1[:, None] != of_item2
    return distances


def max_hamming_distance(n_items: int) -> int:
    """N, that of a cyclic shift; a single item has nowhere to go."""
    return n_items if n_items > 1 else 0


def discordant_pairs(positions1: Int32Array, positions2: Int32Array) -> Int32Array:
    """The number of pairs of items that are in the opposite order (Kendall's tau distance); O(n m n_items^2)."""
    signs1, signs2 = _pair_signs(positions1), _pair_signs(positions2)
    # A pair adds 1 to the product where it is concordant and -1 where not.
    return ((signs1.shape[1] - signs1 @ signs2.T) / 2).astype(np.int32)


def _pair_signs(positions: Int32Array) -> FloatArray:
    """(n, pairs): 1 where the first item of a pair precedes the second, -1 where it follows; as floats, for BLAS."""
    first, second = np.triu_indices(positions.shape[1], 1)
    return np.where(positions[:, first] < positions[:, second], 1.0, -1.0)


def n_pairs(n_items: int) -> int:
    """N (N - 1) / 2: an ordering and its reverse differ in every pair."""
    return n_items * (n_items - 1) // 2


def spearman_distances(positions1: Int32Array, positions2: Int32Array) -> Int32Array:
    """sum_i (p_i - q_i)^2, by which Spearman's rank correlation falls; O(n m n_items)."""
    squares = np.sum(np.arange(positions1.shape[1]) ** 2)  # of any permutation
    return (2 * (squares - positions1.astype(float) @ positions2.T.astype(float))).astype(np.int32)


def max_spearman_distance(n_items: int) -> int:
    """(N^3 - N) / 3, that of an ordering to its reverse."""
    return (n_items**3 - n_items) // 3


def manhattan_distances(positions1: Int32Array, positions2: Int32Array) -> Int32Array:
    """sum_k abs(item at k - other item at k), of items as numbers; O(n m n_items)."""
    inverses1, inverses2 = (positions_of(positions.astype(np.int64)) for positions in (positions1, positions2))
    return scan.position_distances(inverses1, inverses2)


POSITION = Kernel("position", scan.position_distances, max_position_distance, order=1)
KERNELS = {
    kernel.name: kernel
    for kernel in (
        POSITION,
        Kernel("hamming", hamming_distances, max_hamming_distance, order=0),
        LinearKernel("kendall", discordant_pairs, n_pairs, order=1),
        Kernel("mallows", discordant_pairs, n_pairs, order=1),
        Kernel("spearman", spearman_distances, max_spearman_distance, order=2),
        Kernel("manhattan", manhattan_distances, max_position_distance, order=1),
    )
}


def position_distances(X1: IntArray, X2: IntArray) -> Int32Array:
    """Distances (n, m) of the position kernel between permutations (n, n_items) and (m, n_items)."""
    return POSITION.distances(positions_of(X1), positions_of(X2))


def position_correlations(n_items: int, decay: float) -> FloatArray:
    """The position kernel's value at each distance d = 0..D_max."""
    return POSITION.correlations(n_items, decay)
