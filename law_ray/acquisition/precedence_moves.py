"""How swaps, insertions and reversals change the weighted precedence kernel.

A move reverses the order of some pairs of positions k < l: FORWARD of (i, j) those of i with the positions after it up
to j, BACKWARD those of j with the positions before it down to i, SWAP both, and REVERSAL all pairs from i to j.
`additive_moves` defines the moves. So what all moves do follows from cumulative sums or products over the pairs.
"""

import numpy as np
from numba import prange

from law_ray.acquisition import additive_moves
from law_ray.acquisition.additive_moves import BACKWARD, FORWARD, REVERSAL, SWAP
from law_ray.typing import FloatArray, Int32Array
from law_ray.utils.compiled import compiled

BLOCK = 64
"""Points whose products are computed together: those of 100 items fit a processor's cache (heuristic)."""


def reversed_sums(pairs: FloatArray, moves: Int32Array) -> FloatArray:
    """Return the sum over the pairs whose order each move reverses: (..., n_moves).

    Cost O(n_items^2) for all moves together, by cumulative sums.

    Args:
        pairs: (..., n_items, n_items) a number for the pair of positions (k, l), of which those with k < l count.
        moves: (n_moves, 3) as in `additive_moves.all_moves`.
    """
    above = np.triu(pairs, 1)
    after = np.cumsum(above, axis=-1)  # [i, j]: the pairs of i with i + 1..j
    before = np.flip(np.cumsum(np.flip(above, axis=-2), axis=-2), axis=-2)  # [i, j]: the pairs of i..j - 1 with j
    sums = np.empty((*pairs.shape[:-2], len(moves)))
    for move_type, of_type in (
        (SWAP, after + before - above),
        (FORWARD, after),
        (BACKWARD, before),
        (REVERSAL, np.cumsum(before, axis=-1)),
    ):
        which = np.flatnonzero(moves[:, 0] == move_type)
        sums[..., which] = of_type[..., moves[which, 1], moves[which, 2]]
    return sums


@compiled(parallel=True, fastmath=True, calls=(additive_moves,))
def moved_sums(
    x: Int32Array, P_T: Int32Array, pair_weights: FloatArray, weighted: FloatArray, moves: Int32Array
) -> FloatArray:
    """Return the sums over the points of weight x covariance after every move of every climber.

    A pair whose order is reversed multiplies exp(-D) to a point by exp(-w_ab) where the point has the order before the
    move, else by exp(w_ab). The products of all moves are cumulative, so they need no exponential of their own. Cost
    O(m n n_items^2), for one move or for all.

    Args:
        x: (m, n_items) permutations of the climbers.
        P_T: (n_items, n) positions in the points, one row per item.
        pair_weights: (n_items, n_items) w_ab, symmetric.
        weighted: (m, n_weights, n) weight x covariance before the move.
        moves: (n_moves, 3) as in `additive_moves.all_moves`.

    Returns:
        (m, n_moves, n_weights).
    """
    m, n_items = x.shape
    n, n_weights = P_T.shape[1], weighted.shape[1]
    sums = np.empty((m, len(moves), n_weights))
    for climber in prange(m):
        totals = np.zeros((n_items, n_items, 4, n_weights))
        swapped, after = np.empty(BLOCK), np.empty(BLOCK)
        before, within = np.empty((n_items, BLOCK)), np.empty((n_items, BLOCK))
        for first in range(0, n, BLOCK):
            size = min(BLOCK, n - first)
            before[:] = 1.0
            within[:] = 1.0
            for i in range(n_items - 2, -1, -1):
                item = x[climber, i]
                after[:] = 1.0
                for j in range(i + 1, n_items):
                    other = x[climber, j]
                    nearer, farther = np.exp(pair_weights[item, other]), np.exp(-pair_weights[item, other])
                    for t in range(size):
                        agrees = P_T[item, first + t] < P_T[other, first + t]
                        factor = farther if agrees else nearer
                        after[t] *= factor  # the pairs of i with i + 1..j
                        swapped[t] = after[t] * before[j, t]
                        before[j, t] *= factor  # those of i..j - 1 with j
                        within[j, t] *= after[t]  # all of i..j
                    for w in range(n_weights):
                        of_swap, of_forward, of_backward, of_reversal = 0.0, 0.0, 0.0, 0.0
                        for t in range(size):
                            weight = weighted[climber, w, first + t]
                            of_swap += weight * swapped[t]
                            of_forward += weight * after[t]
                            of_backward += weight * before[j, t]
                            of_reversal += weight * within[j, t]
                        totals[i, j, SWAP, w] += of_swap
                        totals[i, j, FORWARD, w] += of_forward
                        totals[i, j, BACKWARD, w] += of_backward
                        totals[i, j, REVERSAL, w] += of_reversal
        for s in range(len(moves)):
            for w in range(n_weights):
                sums[climber, s, w] = totals[moves[s, 1], moves[s, 2], moves[s, 0], w]
    return sums
