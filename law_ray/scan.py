"""The compiled loops: distances between permutations, and what all the swaps of a permutation do to them.

Everything is in terms of positions, int32: `P` (n, n_items) those of the points, `q` (m, n_items) those of the
climbers. Exchanging the items a and b of q changes its position distance to a point p by

    |q_b - p_a| + |q_a - p_b| - |q_a - p_a| - |q_b - p_b|,

four terms where a distance has n_items. Each result is computed by one thread, so it does not depend on their number.
"""

import numpy as np
from numba import prange
from numpy.typing import NDArray

from law_ray.compiled import compiled

Int32Array = NDArray[np.int32]
FloatArray = NDArray[np.float64]


@compiled(parallel=True, fastmath=True)
def position_distances(q: Int32Array, P: Int32Array) -> Int32Array:
    """Position distances (m, n) of q (m, n_items) to P (n, n_items); O(m n n_items)."""
    m, n = len(q), len(P)
    distances = np.empty((m, n), np.int32)
    for i in prange(m):
        for j in range(n):
            distance = 0
            for item in range(P.shape[1]):
                distance += abs(q[i, item] - P[j, item])
            distances[i, j] = distance
    return distances


@compiled(parallel=True, fastmath=True)
def swap_sums(
    q: Int32Array,
    P_T: Int32Array,
    distances: Int32Array,
    weights: FloatArray,
    kernel: FloatArray,
    a: Int32Array,
    b: Int32Array,
) -> FloatArray:
    """Sums over the points of weight x kernel value at every swap of every climber: (m, n_swaps, 3).

    `P_T` (n_items, n) positions of the points, item by item; `distances` (m, n) of the climbers; `weights` (m, 3, n);
    `kernel` (D_max + 1,) its value at each distance; swap s exchanges the items a[s] and b[s]. Cost O(m n_swaps n),
    some 0.7 ns a term on two cores.
    """
    m, n_swaps, n = len(q), len(a), P_T.shape[1]
    sums = np.empty((m, n_swaps, 3))
    for task in prange(m * n_swaps):
        i = task // n_swaps
        s = task - i * n_swaps
        item_a, item_b = a[s], b[s]
        q_a, q_b = q[i, item_a], q[i, item_b]
        sum_0, sum_1, sum_2 = 0.0, 0.0, 0.0
        for j in range(n):
            p_a, p_b = P_T[item_a, j], P_T[item_b, j]
            change = abs(q_b - p_a) + abs(q_a - p_b) - abs(q_a - p_a) - abs(q_b - p_b)
            value = kernel[distances[i, j] + change]
            sum_0 += weights[i, 0, j] * value
            sum_1 += weights[i, 1, j] * value
            sum_2 += weights[i, 2, j] * value
        sums[i, s, 0], sums[i, s, 1], sums[i, s, 2] = sum_0, sum_1, sum_2
    return sums


@compiled(fastmath=True)  # too little work to share
def swap_distances(
    q: Int32Array, P_T: Int32Array, distances: Int32Array, climber: NDArray[np.int64], a: Int32Array, b: Int32Array
) -> Int32Array:
    """Distances (k, n) to the points after swap (a[r], b[r]) of climber[r], for each r < k; O(k n)."""
    k, n = len(climber), P_T.shape[1]
    changed = np.empty((k, n), np.int32)
    for r in range(k):
        i, item_a, item_b = climber[r], a[r], b[r]
        q_a, q_b = q[i, item_a], q[i, item_b]
        for j in range(n):
            p_a, p_b = P_T[item_a, j], P_T[item_b, j]
            change = abs(q_b - p_a) + abs(q_a - p_b) - abs(q_a - p_a) - abs(q_b - p_b)
            changed[r, j] = distances[i, j] + change
    return changed
