"""The compiled loop of the weighted precedence kernel: what swaps, insertions and reversals do to its covariances.

A move reverses the order of some pairs of positions k < l: FORWARD of (i, j) those of i with the positions after it up
to j, BACKWARD those of j with the positions before it down to i, SWAP both, and REVERSAL all pairs from i to j.
`additive_moves` defines the moves, `law_ray.kernels.weighted_precedence` the kernel. A pair whose order is reversed
multiplies the parts of both items by a factor. So the parts after a move are those before it times products of factors,
which are cumulative, and need no exponential of their own.
"""

import numpy as np
from numba import prange

from law_ray.acquisition import additive_moves
from law_ray.acquisition.additive_moves import BACKWARD, FORWARD, REVERSAL, SWAP
from law_ray.typing import FloatArray, Int32Array
from law_ray.utils.compiled import compiled

BLOCK = 64
"""Points that are computed together (heuristic: blocks of 16 took twice as long with 37 items)."""


@compiled(parallel=True, fastmath=True, calls=(additive_moves,))
def moved_sums(
    x: Int32Array, P_T: Int32Array, shares: FloatArray, pair_weights: FloatArray, weights: FloatArray, moves: Int32Array
) -> FloatArray:
    """Return the sums over the points of weight x covariance / v after every move of every climber.

    Cost O(m n n_items^3), for one move or for all: a sixth of the cube for the swaps, and as much for the reversals.

    Args:
        x: (m, n_items) permutations of the climbers.
        P_T: (n_items, n) positions in the points, one row per item.
        shares: (n_items,) h.
        pair_weights: (n_items, n_items) w_ab, symmetric.
        weights: (m, n_weights, n).
        moves: (n_moves, 3) as in `additive_moves.all_moves`.

    Returns:
        (m, n_moves, n_weights).
    """
    m, n_items = x.shape
    n, n_weights = P_T.shape[1], weights.shape[1]
    sums = np.empty((m, len(moves), n_weights))
    nearer, farther = np.exp(pair_weights), np.exp(-pair_weights)
    for climber in prange(m):
        order = x[climber]
        totals = np.zeros((n_items, n_items, 4, n_weights))
        places, weighted = np.zeros((n_items, BLOCK), np.int32), np.zeros((n_weights, BLOCK))
        parts = np.empty((n_items, BLOCK))  # h_a exp(-D_a) of the item a at each position
        left, right = np.zeros((n_items + 1, BLOCK)), np.zeros((n_items + 1, BLOCK))  # sums of those before, from j on
        factors = np.empty((n_items, n_items, BLOCK))  # [k, j], k < j: by reversing the pair of positions k and j
        after = np.ones((n_items, n_items, BLOCK))  # [k, j]: by reversing those of k with k + 1..j
        before = np.empty((n_items, BLOCK))  # [j]: by reversing those of i..j - 1 with j
        backward = np.empty((n_items, BLOCK))  # [j]: the sum of the parts of i..j - 1 after that
        swapped, reversed_ = np.empty((n_items, BLOCK)), np.empty((n_items, BLOCK))  # of the parts of i + 1..j - 1
        forward = np.empty(BLOCK)  # of those of i + 1..j
        of_swap_k, of_reversal_k, moved = np.empty(BLOCK), np.empty(BLOCK), np.empty((4, BLOCK))
        for first in range(0, n, BLOCK):
            size = min(BLOCK, n - first)
            weighted[:, size:] = 0.0
            for w in range(n_weights):
                for t in range(size):
                    weighted[w, t] = weights[climber, w, first + t]
            for k in range(n_items):
                parts[k] = shares[order[k]]
                for t in range(size):
                    places[k, t] = P_T[order[k], first + t]
            for k in range(n_items):
                for j in range(k + 1, n_items):
                    near, far = nearer[order[k], order[j]], farther[order[k], order[j]]
                    for t in range(BLOCK):
                        agrees = places[k, t] < places[j, t]
                        factors[k, j, t] = far if agrees else near
                        after[k, j, t] = after[k, j - 1, t] * factors[k, j, t]
                        part = 1.0 if agrees else far
                        parts[k, t] *= part
                        parts[j, t] *= part
            for k in range(n_items):
                left[k + 1] = left[k] + parts[k]
            for k in range(n_items - 1, -1, -1):
                right[k] = right[k + 1] + parts[k]
            before[:] = 1.0
            backward[:] = 0.0
            for i in range(n_items - 2, -1, -1):
                for j in range(i + 1, n_items):
                    for t in range(BLOCK):
                        before[j, t] *= factors[i, j, t]
                        backward[j, t] += parts[i, t] * factors[i, j, t]
                swapped[:] = 0.0
                reversed_[:] = 0.0
                for k in range(i + 1, n_items - 1):
                    for t in range(BLOCK):
                        of_swap_k[t], of_reversal_k[t] = parts[k, t] * factors[i, k, t], parts[k, t] * before[k, t]
                    for j in range(k + 1, n_items):
                        for t in range(BLOCK):
                            swapped[j, t] += of_swap_k[t] * factors[k, j, t]
                            reversed_[j, t] += of_reversal_k[t] * after[k, j, t]
                forward[:] = 0.0
                for j in range(i + 1, n_items):
                    for t in range(BLOCK):
                        forward[t] += parts[j, t] * factors[i, j, t]
                        rest = left[i, t] + right[j + 1, t]
                        of_i, of_j = parts[i, t] * after[i, j, t], parts[j, t] * before[j, t]
                        moved[SWAP, t] = rest + of_i + swapped[j, t] + of_j
                        moved[FORWARD, t] = rest + of_i + forward[t]
                        moved[BACKWARD, t] = rest + backward[j, t] + of_j
                        moved[REVERSAL, t] = rest + of_i + reversed_[j, t] + of_j
                    for move_type in range(4):
                        for w in range(n_weights):
                            total = 0.0
                            for t in range(BLOCK):
                                total += weighted[w, t] * moved[move_type, t]
                            totals[i, j, move_type, w] += total
        for s in range(len(moves)):
            for w in range(n_weights):
                sums[climber, s, w] = totals[moves[s, 1], moves[s, 2], moves[s, 0], w]
    return sums
