"""The compiled loops of the mixture: what swaps, insertions and reversals do to distances of several kinds.

A move (kind, i, j), i < j, changes the items x_i..x_j at the positions i..j:

| code | move      | after it                                                     |
|------|-----------|--------------------------------------------------------------|
| 0    | swap      | x_j, x_i+1..x_j-1, x_i  (j > i + 1: else it is an insertion) |
| 1    | insertion | x_i+1..x_j, x_i                                              |
| 2    | insertion | x_j, x_i..x_j-1  (j > i + 1: else it is the one above)       |
| 3    | reversal  | x_j..x_i  (j > i + 2: else it is a swap)                     |

A distance changes by the items that move, the pairs that change their order or the neighbours that part and meet: two
items and four pairs of neighbours for a swap, as many items as lie between for the others. The loops go over the points
innermost, which processors do many at a time. Each result is computed by one thread, so it does not depend on their
number.
"""

import numpy as np
from numba import njit, prange

from law_ray.compiled import compiled
from law_ray.permutations import IntArray
from law_ray.scan import FloatArray, Int32Array

SWAP, FORWARD, BACKWARD, REVERSAL = range(4)
POSITION, HAMMING, PRECEDENCE, ADJACENCY, SUCCESSOR = range(5)  # the kinds of distance


def all_moves(n_items: int) -> Int32Array:
    """All moves (n_moves, 3) as rows (kind, i, j), no two with the same result; some 2 n_items^2 of them."""
    i, j = np.triu_indices(n_items, 1)
    least = {SWAP: 2, FORWARD: 1, BACKWARD: 2, REVERSAL: 3}
    moves = [
        np.column_stack([np.full(np.count_nonzero(j - i >= gap), kind), i[j - i >= gap], j[j - i >= gap]])
        for kind, gap in least.items()
    ]
    return np.concatenate(moves).astype(np.int32)


def apply(permutation: IntArray, move: Int32Array) -> IntArray:
    """The permutation (n_items,) after a move."""
    kind, i, j = move
    moved = permutation.copy()
    if kind == SWAP:
        moved[[i, j]] = moved[[j, i]]
    elif kind == FORWARD:
        moved[i : j + 1] = np.roll(moved[i : j + 1], -1)
    elif kind == BACKWARD:
        moved[i : j + 1] = np.roll(moved[i : j + 1], 1)
    else:
        moved[i : j + 1] = moved[i : j + 1][::-1]
    return moved


@njit(fastmath=True)
def destination(kind, i, j, k):  # type: ignore[no-untyped-def]
    """Where the item at position k, i <= k <= j, goes."""
    if kind == 0:
        return j if k == i else (i if k == j else k)
    if kind == 1:
        return j if k == i else k - 1
    if kind == 2:
        return i if k == j else k + 1
    return i + j - k


@njit(fastmath=True)
def source(kind, i, j, k):  # type: ignore[no-untyped-def]
    """Where the item comes from that will be at position k of any."""
    if k < i or k > j:
        return k
    if kind == 1:
        return i if k == j else k + 1
    if kind == 2:
        return j if k == i else k - 1
    return destination(kind, i, j, k)


@njit(fastmath=True)
def follows(change, n_items, undirected):  # type: ignore[no-untyped-def]
    """Whether an item is `change` positions after another as its neighbour on the cycle."""
    return (change == 1) | (change == 1 - n_items) | (undirected & ((change == -1) | (change == n_items - 1)))


@njit(fastmath=True)
def exchange_neighbours(out, P_T, a, b, c, d, undirected):  # type: ignore[no-untyped-def]
    """Part the neighbours a, b and join c, d."""
    n_items = P_T.shape[0]
    for t in range(len(out)):
        parted = P_T[b, t] - P_T[a, t]
        joined = P_T[d, t] - P_T[c, t]
        out[t] += np.int32(follows(parted, n_items, undirected)) - np.int32(follows(joined, n_items, undirected))


@njit(fastmath=True)
def flip_pair(out, P_T, a, b):  # type: ignore[no-untyped-def]
    """Let b, which came after a, come before it."""
    for t in range(len(out)):
        out[t] += np.int32(2) * np.int32(P_T[a, t] < P_T[b, t]) - np.int32(1)


@njit(fastmath=True)
def move_items(out, x, P_T, squashed, kind, i, j):  # type: ignore[no-untyped-def]
    step = j - i if kind == 0 else 1
    for k in range(i, j + 1, step):
        new = destination(kind, i, j, k)
        if new == k:
            continue
        old, item, now = np.int32(k), x[k], np.int32(new)
        if squashed:
            for t in range(len(out)):
                p = P_T[item, t]
                out[t] += np.int32(p == old) - np.int32(p == now)
        else:
            for t in range(len(out)):
                p = P_T[item, t]
                out[t] += abs(p - now) - abs(p - old)


@njit(fastmath=True)
def move_order(out, x, P_T, kind, i, j):  # type: ignore[no-untyped-def]
    if kind == 3:
        for k in range(i, j):
            for m in range(k + 1, j + 1):
                flip_pair(out, P_T, x[k], x[m])
    else:
        if kind != 2:
            for k in range(i + 1, j + 1):
                flip_pair(out, P_T, x[i], x[k])
        if kind != 1:
            for k in range(i + (kind == 0), j):
                flip_pair(out, P_T, x[k], x[j])


@njit(fastmath=True)
def exchange(changes, count, a, b, c, d):  # type: ignore[no-untyped-def]
    """Write that a move parts the neighbours a, b and joins c, d; returns the new number of changes."""
    changes[count, 0], changes[count, 1], changes[count, 2] = a, b, -2
    changes[count + 1, 0], changes[count + 1, 1], changes[count + 1, 2] = c, d, 2
    return count + 2


@njit(fastmath=True)
def joins_changed(changes, x, kind, i, j):  # type: ignore[no-untyped-def]
    """Write which neighbours on the cycle of x (n_items,) a move parts and joins; returns the number of changes.

    They are rows of `changes` (2 n_items + 8, 3): (a, b, -2) and (c, d, 2) in turn where a, b part and c, d meet; 2 as
    a sum over ordered pairs counts both orders.
    """
    n, count = len(x), 0
    if j - i == n - 1:  # the ends are neighbours of each other
        for k in range(n):
            after = (k + 1) % n
            now, then = source(kind, i, j, k), source(kind, i, j, after)
            count = exchange(changes, count, x[k], x[after], x[now], x[then])
        return count
    before, after = x[(i - 1) % n], x[(j + 1) % n]
    if kind == 1:
        count = exchange(changes, count, before, x[i], before, x[i + 1])
        count = exchange(changes, count, x[i], x[i + 1], x[j], x[i])
        return exchange(changes, count, x[j], after, x[i], after)
    count = exchange(changes, count, before, x[i], before, x[j])
    if kind == 2:
        count = exchange(changes, count, x[j - 1], x[j], x[j], x[i])
        return exchange(changes, count, x[j], after, x[j - 1], after)
    if kind == 0:
        count = exchange(changes, count, x[i], x[i + 1], x[j], x[i + 1])
        count = exchange(changes, count, x[j - 1], x[j], x[j - 1], x[i])
    return exchange(changes, count, x[j], after, x[i], after)


@njit(fastmath=True)
def move_neighbours(out, x, P_T, undirected, kind, i, j):  # type: ignore[no-untyped-def]
    changes = np.empty((2 * len(x) + 8, 3), np.int32)
    for e in range(0, joins_changed(changes, x, kind, i, j), 2):
        exchange_neighbours(out, P_T, changes[e, 0], changes[e, 1], changes[e + 1, 0], changes[e + 1, 1], undirected)
    if kind == 3 and not undirected and j - i < len(x) - 1:  # within a reversed segment all successors change
        for k in range(i, j):
            exchange_neighbours(out, P_T, x[k], x[k + 1], x[k + 1], x[k], undirected)


@njit(fastmath=True)
def move_distances(out, x, P_T, distance, kind, i, j):  # type: ignore[no-untyped-def]
    """Add to `out` (n,) how the distances of one kind from x (n_items,) to the points change by a move."""
    if distance <= 1:
        move_items(out, x, P_T, distance == 1, kind, i, j)
    elif distance == 2:
        move_order(out, x, P_T, kind, i, j)
    else:
        move_neighbours(out, x, P_T, distance == 3, kind, i, j)


@compiled(parallel=True, fastmath=True)
def moved_sums(
    x: Int32Array,
    P_T: Int32Array,
    distances: Int32Array,
    kinds: Int32Array,
    weights: FloatArray,
    tables: FloatArray,
    offsets: IntArray,
    moves: Int32Array,
) -> FloatArray:
    """Sums over the points of weight x kernel value after every move of every climber: (m, n_moves, n_weights).

    `x` (m, n_items) permutations of the climbers; `P_T` (n_items, n) positions of the points, item by item;
    `distances` (m, n_kinds, n) of the climbers, of `kinds` (n_kinds,); `weights` (m, n_weights, n); the kernel is the
    sum over the kinds of tables[offsets[c] + distance]. Cost O(m n_moves n n_items), or O(m n_moves n n_items^2) where
    reversals change the order of pairs.
    """
    m, n_moves, n, n_weights = len(x), len(moves), P_T.shape[1], weights.shape[1]
    sums = np.empty((m, n_moves, n_weights))
    for task in prange(m * n_moves):
        climber = task // n_moves
        s = task - climber * n_moves
        values = np.zeros(n)
        changed = np.empty(n, np.int32)
        for c in range(len(kinds)):
            for t in range(n):
                changed[t] = distances[climber, c, t]
            move_distances(changed, x[climber], P_T, kinds[c], moves[s, 0], moves[s, 1], moves[s, 2])
            offset = offsets[c]
            for t in range(n):
                values[t] += tables[np.uint64(offset + changed[t])]
        for w in range(n_weights):
            total = 0.0
            for t in range(n):
                total += weights[climber, w, t] * values[t]
            sums[climber, s, w] = total
    return sums


@compiled(parallel=True, fastmath=True)
def moved_distances(
    x: Int32Array, P_T: Int32Array, distances: Int32Array, kinds: Int32Array, climber: IntArray, moves: Int32Array
) -> Int32Array:
    """Distances (k, n_kinds, n) to the points after moves[r] of climber[r], for each r < k."""
    changed = np.empty((len(climber), len(kinds), P_T.shape[1]), np.int32)
    for r in prange(len(climber)):
        for c in range(len(kinds)):
            for t in range(P_T.shape[1]):
                changed[r, c, t] = distances[climber[r], c, t]
            move_distances(changed[r, c], x[climber[r]], P_T, kinds[c], moves[r, 0], moves[r, 1], moves[r, 2])
    return changed


@compiled(parallel=True, fastmath=True)
def move_lengths(x: Int32Array, q: Int32Array, kinds: Int32Array, moves: Int32Array) -> Int32Array:
    """How far every move goes: the distances (m, n_kinds, n_moves) from x (m, n_items), of positions q, to itself."""
    lengths = np.zeros((len(x), len(kinds), len(moves)), np.int32)
    for i in prange(len(x)):
        own = np.empty((x.shape[1], 1), np.int32)
        own[:, 0] = q[i]
        for s in range(len(moves)):
            for c in range(len(kinds)):
                move_distances(lengths[i, c, s : s + 1], x[i], own, kinds[c], moves[s, 0], moves[s, 1], moves[s, 2])
    return lengths


@compiled(parallel=True, fastmath=True)
def neighbour_distances(q: Int32Array, P: Int32Array, undirected: bool) -> Int32Array:
    """n_items less the number of neighbours on the cycle, or successors, that q (m, n_items) and P (n, n_items) share.

    Shape (m, n); O(m n n_items).
    """
    m, n, n_items = len(q), len(P), P.shape[1]
    distances = np.empty((m, n), np.int32)
    for i in prange(m):
        x = np.argsort(q[i])
        for j in range(n):
            shared = np.int32(0)
            for k in range(n_items):
                after = x[k + 1] if k + 1 < n_items else x[0]
                shared += np.int32(follows(P[j, after] - P[j, x[k]], n_items, undirected))
            distances[i, j] = n_items - shared
    return distances


@compiled(parallel=True, fastmath=True)
def look_up(tables: FloatArray, offsets: IntArray, distances: Int32Array) -> FloatArray:
    """sum_c tables[offsets[c] + distances[:, c]]: (m, n) of (m, n_kinds, n) distances."""
    m, n_kinds, n = distances.shape
    values = np.zeros((m, n))
    for i in prange(m):
        for c in range(n_kinds):
            for t in range(n):
                values[i, t] += tables[np.uint64(offsets[c] + distances[i, c, t])]
    return values
