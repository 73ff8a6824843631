"""Distances between orderings, and the kernels that are a function of one of them.

With p, q the positions of the items in two permutations of n_items items, `DISTANCES` holds

| name       | distance                                                                  | order |
|------------|---------------------------------------------------------------------------|-------|
| position   | sum_i abs(p_i - q_i), Spearman's footrule                                 | 1     |
| hamming    | number of items i with p_i != q_i                                         | 0     |
| precedence | number of pairs of items in the opposite order (Kendall's tau distance)   | 1     |
| adjacency  | n_items less the neighbours on the cycle that both orderings have         | 0     |
| successor  | n_items less the successors on the cycle that both orderings have         | 0     |
| spearman   | sum_i (p_i - q_i)^2, by which Spearman's rank correlation falls           | 2     |
| manhattan  | sum_k abs(item at position k in one - item there in the other), as numbers | 1    |

and `KERNELS` holds the kernels of a single distance d:

| name      | distance   | correlation                       |
|-----------|------------|-----------------------------------|
| position  | position   | exp(-decay d / n_items)           |
| hamming   | hamming    | exp(-decay d)                     |
| kendall   | precedence | (concordant - discordant) / pairs |
| mallows   | precedence | exp(-decay d / n_items)           |
| spearman  | spearman   | exp(-decay d / n_items^2)         |
| manhattan | manhattan  | exp(-decay d / n_items)           |

All kernels are positive semi-definite for every decay, and all but kendall are definite. Position and manhattan are
products of Laplace kernels, manhattan on the inverse permutations (paper, Section 3.3). Hamming is a product of kernels
with the values 1 and exp(-decay). Kendall is the inner product of the orders of all pairs, and mallows the hamming
kernel on them (Jiao and Vert, "The Kendall and Mallows kernels for permutations", ICML 2015). Spearman is the Gaussian
kernel (Schoenberg, "Metric spaces and positive definite functions", 1938). Renaming the items changes manhattan alone
(the literature, which writes rankings, calls this right-invariance). Exchanging positions in all permutations alike
changes all but hamming and manhattan (left-invariance).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from law_ray.kernels import loops
from law_ray.space.permutations import invert
from law_ray.typing import FloatArray, Int32Array, IntArray

NEGLIGIBLE = 1e-20
"""Correlations below it become 0: products of still smaller ones are denormal numbers, which slow all algebra."""


@dataclass(frozen=True)
class Distance:
    """An integer distance between orderings.

    An item's share of a distance grows as n_items^order. With this unit, decays are comparable between problem sizes
    and between distances.
    """

    name: str
    between: Callable[[Int32Array, Int32Array], Int32Array]
    """positions (m, n_items) and (n, n_items) -> distances (m, n)"""
    largest: Callable[[int], int]
    """n_items -> the largest distance; with fewer than five items, a bound for adjacency and successor"""
    order: int

    def rate(self, n_items: int, decay: float) -> float:
        """Return the fall per unit of distance, the paper's tau: d log correlation / d log decay = -rate d."""
        return decay / n_items**self.order

    def exponential(self, n_items: int, decay: float) -> FloatArray:
        """Return exp(-rate d) at each distance d = 0..largest."""
        values = np.exp(-self.rate(n_items, decay) * np.arange(self.largest(n_items) + 1))
        values[values < NEGLIGIBLE] = 0.0
        return values


@dataclass(frozen=True)
class DistanceKernel:
    """A kernel that is a function of one distance; with `linear`, 1 - 2 d / largest whatever the decay."""

    name: str
    distance: Distance
    linear: bool = False

    def distances(self, q: Int32Array, P: Int32Array) -> Int32Array:
        """Return the distances (m, n) of positions q (m, n_items) to P (n, n_items)."""
        return self.distance.between(q, P)

    def rate(self, n_items: int, decay: float) -> float:
        """Return the fall per unit of distance; 0 for a linear kernel, which does not depend on the decay."""
        return 0.0 if self.linear else self.distance.rate(n_items, decay)

    def correlations(self, n_items: int, decay: float) -> FloatArray:
        """Return the correlation at each distance, (largest + 1,)."""
        if self.linear:
            return np.linspace(1.0, -1.0, self.distance.largest(n_items) + 1)
        return self.distance.exponential(n_items, decay)


def positions_of(permutations: IntArray) -> Int32Array:
    """Return the positions of the items as the compiled loops take them: (m, n_items) int32, contiguous."""
    return np.ascontiguousarray(invert(permutations), dtype=np.int32)


def largest_position_distance(n_items: int) -> int:
    """Return D_max = (N^2 - (N mod 2)) / 2, the distance of an ordering to its reverse (paper, Theorem 3.12)."""
    return (n_items * n_items - n_items % 2) // 2


def largest_hamming_distance(n_items: int) -> int:
    """Return N, the distance to a cyclic shift; a single item cannot move."""
    return n_items if n_items > 1 else 0


def discordant_pairs(positions1: Int32Array, positions2: Int32Array) -> Int32Array:
    """Count the pairs of items in the opposite order (Kendall's tau distance); O(n m n_items^2)."""
    orders1, orders2 = orders(positions1), orders(positions2)
    # A pair adds 1 to the product where it is concordant and -1 where not.
    return ((orders1.shape[1] - orders1 @ orders2.T) / 2).astype(np.int32)


def orders(positions: Int32Array) -> FloatArray:
    """Return o(a, b) of all pairs of items a < b, (m, n_pairs): 1 where a precedes b, else -1; as floats, for BLAS."""
    a, b = np.triu_indices(positions.shape[1], 1)
    return np.where(positions[:, a] < positions[:, b], 1.0, -1.0)


def n_pairs(n_items: int) -> int:
    """Return N (N - 1) / 2: an ordering and its reverse differ in every pair."""
    return n_items * (n_items - 1) // 2


def spearman_distances(positions1: Int32Array, positions2: Int32Array) -> Int32Array:
    """Return sum_i (p_i - q_i)^2; O(n m n_items)."""
    squares = np.sum(np.arange(positions1.shape[1]) ** 2)  # of any permutation
    return (2 * (squares - positions1.astype(float) @ positions2.T.astype(float))).astype(np.int32)


def largest_spearman_distance(n_items: int) -> int:
    """Return (N^3 - N) / 3, the distance of an ordering to its reverse."""
    return (n_items**3 - n_items) // 3


def manhattan_distances(positions1: Int32Array, positions2: Int32Array) -> Int32Array:
    """Return sum_k abs(item at k - other item at k), with items as numbers; O(n m n_items)."""
    inverses1, inverses2 = (positions_of(positions.astype(np.int64)) for positions in (positions1, positions2))
    return loops.position_distances(inverses1, inverses2)


def _neighbour_distances(undirected: bool) -> Callable[[Int32Array, Int32Array], Int32Array]:
    return lambda q, P: loops.neighbour_distances(q, P, undirected)


def _n_items(n_items: int) -> int:
    return n_items


DISTANCES = {
    distance.name: distance
    for distance in (
        Distance("position", loops.position_distances, largest_position_distance, order=1),
        Distance("hamming", loops.hamming_distances, largest_hamming_distance, order=0),
        Distance("precedence", discordant_pairs, n_pairs, order=1),
        Distance("adjacency", _neighbour_distances(True), _n_items, order=0),
        Distance("successor", _neighbour_distances(False), _n_items, order=0),
        Distance("spearman", spearman_distances, largest_spearman_distance, order=2),
        Distance("manhattan", manhattan_distances, largest_position_distance, order=1),
    )
}

POSITION_KERNEL = DistanceKernel("position", DISTANCES["position"])
"""The paper's kernel."""
KERNELS = {
    kernel.name: kernel
    for kernel in (
        POSITION_KERNEL,
        DistanceKernel("hamming", DISTANCES["hamming"]),
        DistanceKernel("kendall", DISTANCES["precedence"], linear=True),
        DistanceKernel("mallows", DISTANCES["precedence"]),
        DistanceKernel("spearman", DISTANCES["spearman"]),
        DistanceKernel("manhattan", DISTANCES["manhattan"]),
    )
}


@dataclass(frozen=True)
class DistanceHyperparameters:
    """The hyperparameters of a kernel of one distance and the likelihood, in units of the standardized values."""

    decay: float
    signal_variance: float
    noise: float
    mean: float
    kernel: DistanceKernel = POSITION_KERNEL
    """not in a journal: the methods that fit a kernel of one distance all fit the position kernel"""

    def covariance(self, n_items: int) -> FloatArray:
        """Return the covariance at each distance, (largest + 1,)."""
        return self.signal_variance * self.kernel.correlations(n_items, self.decay)

    def to_record(self) -> dict[str, Any]:
        """Return them as a journal stores them."""
        names = ("decay", "signal_variance", "noise", "mean")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Return what `to_record` stored."""
        return cls(**record)


def position_distances(X1: IntArray, X2: IntArray) -> Int32Array:
    """Return the position distances (n, m) between permutations (n, n_items) and (m, n_items)."""
    return POSITION_KERNEL.distances(positions_of(X1), positions_of(X2))
