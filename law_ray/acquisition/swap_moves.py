"""The compiled loops of the position kernel: how the swaps of a permutation change its distances to the points.

Permutations are given by positions, int32: `P_T` (n_items, n) those of the points, one row per item, and `q`
(m, n_items) those of the climbers. Swapping the items a and b of q changes its position distance to a point p by

    |q_b - p_a| + |q_a - p_b| - |q_a - p_a| - |q_b - p_b|,

which has four terms where a distance has n_items. Each result is computed by one thread, so it does not depend on the
number of threads.
"""

import numpy as np
from numba import prange

from law_ray.typing import FloatArray, Int32Array, IntArray
from law_ray.utils.compiled import compiled


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
    """Return the sums over the points of weight x covariance after every swap of every climber.

    Cost O(m n_swaps n), about 0.7 ns per term on two cores.

    Args:
        q: (m, n_items) positions of the climbers.
        P_T: (n_items, n) positions of the points.
        distances: (m, n) position distances of the climbers to the points.
        weights: (m, 3, n).
        kernel: (D_max + 1,) covariance at each distance.
        a: (n_swaps,) the first item of each swap.
        b: (n_swaps,) the second item of each swap.

    Returns:
        (m, n_swaps, 3).
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


@compiled(fastmath=True)  # not parallel: too little work to distribute
def swap_distances(
    q: Int32Array, P_T: Int32Array, distances: Int32Array, climber: IntArray, a: Int32Array, b: Int32Array
) -> Int32Array:
    """Return the distances (k, n) to the points after swap (a[r], b[r]) of climber[r], for each r < k; O(k n)."""
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
