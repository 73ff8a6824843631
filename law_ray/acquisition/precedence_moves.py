"""How swaps, insertions and reversals change a sum over the pairs of items that are in order.

A move reverses the order of some pairs of positions k < l: FORWARD of (i, j) those of i with the positions after it up
to j, BACKWARD those of j with the positions before it down to i, SWAP both, and REVERSAL all pairs from i to j.
`additive_moves` defines the moves.
"""

import numpy as np

from law_ray.acquisition.additive_moves import BACKWARD, FORWARD, REVERSAL, SWAP
from law_ray.typing import FloatArray, Int32Array


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
