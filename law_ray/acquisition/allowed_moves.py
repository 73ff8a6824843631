"""Which swaps, insertions and reversals respect the constraints.

They reverse no required order, and leave fixed items where they are. `additive_moves` defines the moves.
"""

import numpy as np

from law_ray.acquisition.additive_moves import BACKWARD, FORWARD, REVERSAL, SWAP
from law_ray.space.constraints import Constraints
from law_ray.typing import BoolArray, Int32Array, IntArray


def allowed(constraints: Constraints, x: Int32Array, moves: Int32Array) -> BoolArray:
    """Say which moves (n_moves, 3) lead from allowed permutations x (m, n_items) to allowed ones: (m, n_moves).

    Cost O(m (n_items^2 + n_moves)).
    """
    required = constraints.precedes.astype(np.int64)
    found: BoolArray = reversed_sums(required[x[:, :, None], x[:, None, :]], moves) == 0
    if constraints.fixed:
        found &= _moved(constraints.fixed_at[x] >= 0, moves) == 0
    return found


def reversed_sums(pairs: IntArray, moves: Int32Array) -> IntArray:
    """Return the sum over the pairs whose order each move reverses: (m, n_moves).

    A move reverses the order of some pairs of positions k < l: FORWARD of (i, j) those of i with the positions after it
    up to j, BACKWARD those of j with the positions before it down to i, SWAP both, and REVERSAL all pairs from i to j.

    Args:
        pairs: (m, n_items, n_items) a number for the pair of positions (k, l), of which those with k < l count.
        moves: (n_moves, 3).
    """
    above = np.triu(pairs, 1)
    after = np.cumsum(above, axis=-1)  # [i, j]: the pairs of i with i + 1..j
    before = np.flip(np.cumsum(np.flip(above, axis=-2), axis=-2), axis=-2)  # [i, j]: the pairs of i..j - 1 with j
    sums = np.empty((len(pairs), len(moves)), dtype=pairs.dtype)
    for move_type, of_type in (
        (SWAP, after + before - above),
        (FORWARD, after),
        (BACKWARD, before),
        (REVERSAL, np.cumsum(before, axis=-1)),
    ):
        which = np.flatnonzero(moves[:, 0] == move_type)
        sums[:, which] = of_type[:, moves[which, 1], moves[which, 2]]
    return sums


def _moved(counted: BoolArray, moves: Int32Array) -> IntArray:
    """Return how many of the positions that are counted (m, n_items) get another item by each move: (m, n_moves)."""
    move_type, i, j = moves.T
    up_to = np.cumsum(np.pad(counted, ((0, 0), (1, 0))), axis=1)
    within: IntArray = up_to[:, j + 1] - up_to[:, i]
    stays = (move_type == REVERSAL) & ((j - i) % 2 == 0)  # the middle of a reversal
    within -= np.where(stays, counted[:, (i + j) // 2], 0)
    ends = counted[:, i].astype(np.int64) + counted[:, j]
    moved: IntArray = np.where(move_type == SWAP, ends, within)
    return moved
