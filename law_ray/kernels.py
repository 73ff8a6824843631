"""Permutation distances and the kernels built on them."""

import numpy as np
from numpy.typing import NDArray

from law_ray import scan
from law_ray.permutations import IntArray, invert

NEGLIGIBLE = 1e-20  # correlations below it are 0: products of still smaller ones are denormal, which slows all algebra

FloatArray = NDArray[np.float64]


def position_distances(X1: IntArray, X2: IntArray) -> NDArray[np.int32]:
    """Position distance (Spearman's footrule) between all pairs: sum over items of |pi_1^-1(i) - pi_2^-1(i)|.

    Shapes (n, n_items), (m, n_items) -> (n, m); integers in 0..max_position_distance. Cost O(n m n_items).
    """
    return scan.position_distances(positions_of(X1), positions_of(X2))


def positions_of(permutations: IntArray) -> NDArray[np.int32]:
    """The positions of the items as the compiled loops want them: (m, n_items) int32."""
    return np.ascontiguousarray(invert(permutations), dtype=np.int32)


def max_position_distance(n_items: int) -> int:
    """D_max = (N^2 - (N mod 2)) / 2, the distance of an ordering to its reverse (paper, Theorem 2)."""
    return (n_items * n_items - n_items % 2) // 2


def position_correlations(n_items: int, decay: float) -> FloatArray:
    """The position kernel's value at each distance d = 0..D_max: exp(-tau d), tau = decay / n_items (paper, Section
    3.3).

    Dividing by n_items, the kernel's distance unit, makes decays comparable between problem sizes.
    """
    correlations = np.exp(-decay / n_items * np.arange(max_position_distance(n_items) + 1))
    correlations[correlations < NEGLIGIBLE] = 0.0
    return correlations
