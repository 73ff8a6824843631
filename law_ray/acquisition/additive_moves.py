"""The compiled loops of the additive kernel: how swaps, insertions and reversals change its distances.

A move (move type, i, j) with i < j changes the items x_i..x_j at the positions i..j:

| move type | after the move          | listed only if (otherwise it equals) |
|-----------|-------------------------|--------------------------------------|
| SWAP      | x_j, x_i+1..x_j-1, x_i  | j >= i + 2 (a FORWARD move)          |
| FORWARD   | x_i+1..x_j, x_i         |                                      |
| BACKWARD  | x_j, x_i..x_j-1         | j >= i + 2 (a FORWARD move)          |
| REVERSAL  | x_j..x_i                | j >= i + 3 (a SWAP or a FORWARD move) |

FORWARD and BACKWARD are insertions: they take one item to a later or to an earlier position.

A position or Hamming distance changes by the items that move, the precedence distance by the pairs of items that change
their order, and the adjacency and successor distances by the neighbours that are separated and joined. A swap moves two
items and changes four pairs of neighbours; the other moves move all items between i and j.

The loops go over the points innermost, which processors vectorize. Each result is computed by one thread, so it does
not depend on the number of threads.
"""

import numpy as np
from numba import njit, prange

from law_ray.kernels import additive, loops
from law_ray.kernels.additive import ADJACENCY, HAMMING, POSITION, PRECEDENCE
from law_ray.kernels.loops import follows
from law_ray.typing import FloatArray, Int32Array, IntArray
from law_ray.utils.compiled import compiled

SWAP, FORWARD, BACKWARD, REVERSAL = range(4)
"""The move types; the module's docstring defines them."""


def all_moves(n_items: int) -> Int32Array:
    """Return all moves as rows (move type, i, j), (n_moves, 3).

    No two have the same result. There are about 2 n_items^2 of them.
    """
    i, j = np.triu_indices(n_items, 1)
    least = {SWAP: 2, FORWARD: 1, BACKWARD: 2, REVERSAL: 3}
    moves = [
        np.column_stack([np.full(np.count_nonzero(j - i >= gap), move_type), i[j - i >= gap], j[j - i >= gap]])
        for move_type, gap in least.items()
    ]
    return np.concatenate(moves).astype(np.int32)


def apply(permutation: IntArray, move: Int32Array) -> IntArray:
    """Return the permutation (n_items,) after a move."""
    move_type, i, j = move
    moved = permutation.copy()
    if move_type == SWAP:
        moved[[i, j]] = moved[[j, i]]
    elif move_type == FORWARD:
        moved[i : j + 1] = np.roll(moved[i : j + 1], -1)
    elif move_type == BACKWARD:
        moved[i : j + 1] = np.roll(moved[i : j + 1], 1)
    else:
        moved[i : j + 1] = moved[i : j + 1][::-1]
    return moved


@njit(fastmath=True)
def destination(move_type, i, j, k):  # type: ignore[no-untyped-def]
    """Return the position that the item at position k, i <= k <= j, has after the move."""
    if move_type == SWAP:
        return j if k == i else (i if k == j else k)
    if move_type == FORWARD:
        return j if k == i else k - 1
    if move_type == BACKWARD:
        return i if k == j else k + 1
    return i + j - k


@njit(fastmath=True)
def source(move_type, i, j, k):  # type: ignore[no-untyped-def]
    """Return the position before the move of the item that is at position k after it, for any k."""
    if k < i or k > j:
        return k
    if move_type == FORWARD:
        return i if k == j else k + 1
    if move_type == BACKWARD:
        return j if k == i else k - 1
    return destination(move_type, i, j, k)


@compiled()
def sources(moves: Int32Array, n_items: int) -> IntArray:
    """Return the positions before each move of the items after it, (n_moves, n_items): `apply` gives x[sources]."""
    positions = np.empty((len(moves), n_items), np.int64)
    for s in range(len(moves)):
        for k in range(n_items):
            positions[s, k] = source(moves[s, 0], moves[s, 1], moves[s, 2], k)
    return positions


@njit(fastmath=True)
def exchange_neighbours(out, P_T, a, b, c, d, undirected):  # type: ignore[no-untyped-def]
    """Add to `out` (n,) the change of the distances when a and b stop being neighbours, and c and d become ones."""
    n_items = P_T.shape[0]
    for t in range(len(out)):
        separated = P_T[b, t] - P_T[a, t]
        joined = P_T[d, t] - P_T[c, t]
        out[t] += np.int32(follows(separated, n_items, undirected)) - np.int32(follows(joined, n_items, undirected))


@njit(fastmath=True)
def flip_pair(out, P_T, a, b):  # type: ignore[no-untyped-def]
    """Add to `out` (n,) the change of the precedence distances when b, which came after a, comes before it."""
    for t in range(len(out)):
        out[t] += np.int32(2) * np.int32(P_T[a, t] < P_T[b, t]) - np.int32(1)


@njit(fastmath=True)
def move_items(out, x, P_T, hamming, move_type, i, j):  # type: ignore[no-untyped-def]
    """Add to `out` (n,) the change of the Hamming or else the position distances from x to the points."""
    step = j - i if move_type == SWAP else 1
    for k in range(i, j + 1, step):
        new = destination(move_type, i, j, k)
        if new == k:
            continue
        old, item, now = np.int32(k), x[k], np.int32(new)
        if hamming:
            for t in range(len(out)):
                p = P_T[item, t]
                out[t] += np.int32(p == old) - np.int32(p == now)
        else:
            for t in range(len(out)):
                p = P_T[item, t]
                out[t] += abs(p - now) - abs(p - old)


@njit(fastmath=True)
def move_order(out, x, P_T, move_type, i, j):  # type: ignore[no-untyped-def]
    """Add to `out` (n,) the change of the precedence distances from x to the points."""
    if move_type == REVERSAL:
        for k in range(i, j):
            for m in range(k + 1, j + 1):
                flip_pair(out, P_T, x[k], x[m])
    else:
        if move_type != BACKWARD:
            for k in range(i + 1, j + 1):
                flip_pair(out, P_T, x[i], x[k])
        if move_type != FORWARD:
            for k in range(i + (move_type == SWAP), j):
                flip_pair(out, P_T, x[k], x[j])


@njit(fastmath=True)
def exchange(changes, count, a, b, c, d):  # type: ignore[no-untyped-def]
    """Write to `changes` that a move separates the neighbours a, b and joins c, d; return the new number of changes."""
    changes[count, 0], changes[count, 1], changes[count, 2] = a, b, -2
    changes[count + 1, 0], changes[count + 1, 1], changes[count + 1, 2] = c, d, 2
    return count + 2


@njit(fastmath=True)
def joins_changed(changes, x, move_type, i, j):  # type: ignore[no-untyped-def]
    """Write which neighbours on the cycle of x (n_items,) a move separates and joins; return the number of changes.

    The changes are rows of `changes` (2 n_items + 8, 3), alternately (a, b, -2) for the separated neighbours a, b and
    (c, d, 2) for the joined ones c, d. The number is 2 since sums over ordered pairs count both orders.
    """
    n, count = len(x), 0
    if j - i == n - 1:  # the first and the last item are neighbours on the cycle
        for k in range(n):
            after = (k + 1) % n
            now, then = source(move_type, i, j, k), source(move_type, i, j, after)
            count = exchange(changes, count, x[k], x[after], x[now], x[then])
        return count
    before, after = x[(i - 1) % n], x[(j + 1) % n]
    if move_type == FORWARD:
        count = exchange(changes, count, before, x[i], before, x[i + 1])
        count = exchange(changes, count, x[i], x[i + 1], x[j], x[i])
        return exchange(changes, count, x[j], after, x[i], after)
    count = exchange(changes, count, before, x[i], before, x[j])
    if move_type == BACKWARD:
        count = exchange(changes, count, x[j - 1], x[j], x[j], x[i])
        return exchange(changes, count, x[j], after, x[j - 1], after)
    if move_type == SWAP:
        count = exchange(changes, count, x[i], x[i + 1], x[j], x[i + 1])
        count = exchange(changes, count, x[j - 1], x[j], x[j - 1], x[i])
    return exchange(changes, count, x[j], after, x[i], after)


@njit(fastmath=True)
def move_neighbours(out, x, P_T, undirected, move_type, i, j):  # type: ignore[no-untyped-def]
    """Add to `out` (n,) the change of the adjacency (undirected) or else the successor distances to the points."""
    changes = np.empty((2 * len(x) + 8, 3), np.int32)
    for e in range(0, joins_changed(changes, x, move_type, i, j), 2):
        exchange_neighbours(out, P_T, changes[e, 0], changes[e, 1], changes[e + 1, 0], changes[e + 1, 1], undirected)
    if move_type == REVERSAL and not undirected and j - i < len(x) - 1:  # all successors within the segment change
        for k in range(i, j):
            exchange_neighbours(out, P_T, x[k], x[k + 1], x[k + 1], x[k], undirected)


@njit(fastmath=True)
def move_distances(out, x, P_T, distance, move_type, i, j):  # type: ignore[no-untyped-def]
    """Add to `out` (n,) the change by a move of one of the distances from x (n_items,) to the points.

    `distance` is POSITION, HAMMING, PRECEDENCE, ADJACENCY or SUCCESSOR; `P_T` (n_items, n) holds the positions in the
    points, one row per item.
    """
    if distance == POSITION:
        move_items(out, x, P_T, False, move_type, i, j)
    elif distance == HAMMING:
        move_items(out, x, P_T, True, move_type, i, j)
    elif distance == PRECEDENCE:
        move_order(out, x, P_T, move_type, i, j)
    else:
        move_neighbours(out, x, P_T, distance == ADJACENCY, move_type, i, j)


@compiled(parallel=True, fastmath=True, calls=(additive, loops))
def moved_sums(
    x: Int32Array,
    P_T: Int32Array,
    distances: Int32Array,
    codes: Int32Array,
    weights: FloatArray,
    tables: FloatArray,
    offsets: IntArray,
    moves: Int32Array,
) -> FloatArray:
    """Return the sums over the points of weight x covariance after every move of every climber.

    The covariance is the sum over the components c of tables[offsets[c] + distance]. Cost O(m n_moves n n_items), or
    O(m n_moves n n_items^2) with the precedence distance, as reversals change the order of many pairs.

    Args:
        x: (m, n_items) permutations of the climbers.
        P_T: (n_items, n) positions in the points, one row per item.
        distances: (m, n_components, n) distances of the climbers to the points.
        codes: (n_components,) which distance each component is a function of, such as POSITION.
        weights: (m, n_weights, n).
        tables: the covariances at each distance of each component, one component after the other.
        offsets: (n_components,) where each component begins in `tables`.
        moves: (n_moves, 3) as in `all_moves`.

    Returns:
        (m, n_moves, n_weights).
    """
    m, n_moves, n, n_weights = len(x), len(moves), P_T.shape[1], weights.shape[1]
    sums = np.empty((m, n_moves, n_weights))
    for task in prange(m * n_moves):
        climber = task // n_moves
        s = task - climber * n_moves
        values = np.zeros(n)
        changed = np.empty(n, np.int32)
        for c in range(len(codes)):
            for t in range(n):
                changed[t] = distances[climber, c, t]
            move_distances(changed, x[climber], P_T, codes[c], moves[s, 0], moves[s, 1], moves[s, 2])
            offset = offsets[c]
            for t in range(n):
                values[t] += tables[np.uint64(offset + changed[t])]
        for w in range(n_weights):
            total = 0.0
            for t in range(n):
                total += weights[climber, w, t] * values[t]
            sums[climber, s, w] = total
    return sums


@compiled(fastmath=True, calls=(additive, loops))  # not parallel: too little work to distribute
def moved_distances(
    x: Int32Array, P_T: Int32Array, distances: Int32Array, codes: Int32Array, climber: IntArray, moves: Int32Array
) -> Int32Array:
    """Return the distances (k, n_components, n) to the points after moves[r] of climber[r], for each r < k.

    `moved_sums` describes the other arguments.
    """
    changed = np.empty((len(climber), len(codes), P_T.shape[1]), np.int32)
    for r in range(len(climber)):
        for c in range(len(codes)):
            for t in range(P_T.shape[1]):
                changed[r, c, t] = distances[climber[r], c, t]
            move_distances(changed[r, c], x[climber[r]], P_T, codes[c], moves[r, 0], moves[r, 1], moves[r, 2])
    return changed


@compiled(parallel=lambda x, q, codes, moves: x.size * len(codes) * len(moves), fastmath=True, calls=(additive, loops))
def move_lengths(x: Int32Array, q: Int32Array, codes: Int32Array, moves: Int32Array) -> Int32Array:
    """Return the distances (m, n_components, n_moves) between each x (m, n_items) before and after every move.

    `q` (m, n_items) are the positions of the items in x.
    """
    lengths = np.zeros((len(x), len(codes), len(moves)), np.int32)
    for i in prange(len(x)):
        own = np.empty((x.shape[1], 1), np.int32)
        own[:, 0] = q[i]
        for s in range(len(moves)):
            for c in range(len(codes)):
                move_distances(lengths[i, c, s : s + 1], x[i], own, codes[c], moves[s, 0], moves[s, 1], moves[s, 2])
    return lengths
