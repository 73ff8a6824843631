"""The compiled loops of the kernels: distances between orderings, and similarities of tours.

Positions are int32: `P` (n, n_items) those of the points, `q` (m, n_items) those of other orderings. Each result is
computed by one thread, so it does not depend on the number of threads. `law_ray.kernels.tour` defines T, M_x and R.
"""

import numpy as np
from numba import njit, prange

from law_ray.typing import FloatArray, Int32Array, IntArray
from law_ray.utils.compiled import compiled

TOGETHER = 8
"""Tours whose images are written at once: this many numbers fill a line of the cache."""


@compiled(parallel=lambda q, P: len(q) * P.size, fastmath=True)
def position_distances(q: Int32Array, P: Int32Array) -> Int32Array:
    """Return the position distances (m, n) of q (m, n_items) to P (n, n_items); O(m n n_items)."""
    m, n = len(q), len(P)
    distances = np.empty((m, n), np.int32)
    for i in prange(m):
        for j in range(n):
            distance = 0
            for item in range(P.shape[1]):
                distance += abs(q[i, item] - P[j, item])
            distances[i, j] = distance
    return distances


@compiled(parallel=lambda q, P: len(q) * P.size, fastmath=True)
def hamming_distances(q: Int32Array, P: Int32Array) -> Int32Array:
    """Count the items that have another position: (m, n), for q (m, n_items) and P (n, n_items); O(m n n_items)."""
    m, n = len(q), len(P)
    distances = np.empty((m, n), np.int32)
    for i in prange(m):
        for j in range(n):
            distance = np.int32(0)
            for item in range(P.shape[1]):
                distance += np.int32(q[i, item] != P[j, item])
            distances[i, j] = distance
    return distances


@njit(fastmath=True)
def follows(change, n_items, undirected):  # type: ignore[no-untyped-def]
    """Say whether an item that is `change` positions after another one is its successor, or neighbour, on the cycle."""
    return (change == 1) | (change == 1 - n_items) | (undirected & ((change == -1) | (change == n_items - 1)))


@compiled(parallel=lambda q, P, undirected: len(q) * P.size, fastmath=True)
def neighbour_distances(q: Int32Array, P: Int32Array, undirected: bool) -> Int32Array:
    """Return n_items less the successors on the cycle, or the neighbours if `undirected`, that q and P share.

    Shape (m, n), for q (m, n_items) and P (n, n_items); O(m n n_items).
    """
    m, n, n_items = len(q), len(P), P.shape[1]
    P_T = P.T.copy()  # so that the inner loop goes over the points, which processors vectorize
    distances = np.full((m, n), n_items, np.int32)
    for i in prange(m):
        x = np.argsort(q[i])
        for k in range(n_items):
            item, after = x[k], x[(k + 1) % n_items]
            for j in range(n):
                distances[i, j] -= np.int32(follows(P_T[after, j] - P_T[item, j], n_items, undirected))
    return distances


@compiled(parallel=lambda tables, offsets, distances: distances.size, fastmath=True)
def look_up(tables: FloatArray, offsets: IntArray, distances: Int32Array) -> FloatArray:
    """Return sum_c tables[offsets[c] + distances[:, c]], (m, n), at distances (m, n_components, n)."""
    m, n_components, n = distances.shape
    values = np.zeros((m, n))
    for i in prange(m):
        for c in range(n_components):
            for t in range(n):
                values[i, t] += tables[np.uint64(offsets[c] + distances[i, c, t])]
    return values


@compiled(parallel=lambda x, alike: x.size * x.shape[1], fastmath=True)
def own(x: Int32Array, alike: FloatArray) -> FloatArray:
    """Return R(x, x) (m,) of permutations x (m, n_items), with `alike` = T (n_items, n_items); O(m n_items^2)."""
    n_items = x.shape[1]
    similarities = np.empty(len(x))
    for i in prange(len(x)):
        before, after = x[i], np.roll(x[i], -1)
        among, alone = 0.0, 0.0  # of two joins of the tour, in one order, and of a join and itself
        for k in range(n_items):
            a, b = before[k], after[k]
            alone += alike[a, a] * alike[b, b] + alike[a, b] * alike[a, b]
            for m in range(k):
                c, d = before[m], after[m]
                among += alike[a, c] * alike[b, d] + alike[a, d] * alike[b, c]
        similarities[i] = 2.0 * (2.0 * among + alone)
    return similarities


@compiled(parallel=lambda alike, before, after: before.size * alike.size, fastmath=True)
def images(alike: FloatArray, before: Int32Array, after: Int32Array) -> FloatArray:
    """Return T M_x T (m, n_items, n_items) of some tours, as `add_images` takes them; O(n_items^3) each."""
    found = np.empty((len(before), *alike.shape))
    for i in prange(len(before)):
        found[i] = np.dot(_neighbours_alike(alike, before[i], after[i]).T, alike)
    return found


@compiled(parallel=True, fastmath=True)
def add_images(
    images: FloatArray, own: FloatArray, first: int, alike: FloatArray, before: Int32Array, after: Int32Array
) -> None:
    """Write T M_x T / sqrt(R(x, x)) and R(x, x) of some tours; O(n_items^3) each.

    Args:
        images: (n_items^2, n), changed in the columns from `first` on.
        own: (n,), changed in the same places.
        first: Where the first tour goes.
        alike: (n_items, n_items) T.
        before: (m, n_items) the item before each item.
        after: (m, n_items) the item after each item.
    """
    m, n_items = before.shape
    n_blocks = (m + TOGETHER - 1) // TOGETHER
    for block in prange(n_blocks):
        begin, end = block * TOGETHER, min((block + 1) * TOGETHER, m)
        found = np.empty((end - begin, n_items * n_items))
        for i in range(begin, end):
            image = np.dot(_neighbours_alike(alike, before[i], after[i]).T, alike)
            total = 0.0
            for a in range(n_items):
                total += image[a, before[i, a]] + image[a, after[i, a]]
            own[first + i] = total
            found[i - begin] = image.ravel() / np.sqrt(total)
        for row in range(n_items * n_items):
            for i in range(begin, end):
                images[row, first + i] = found[i - begin, row]


@compiled(parallel=lambda images, entries, n: entries.size * n, fastmath=True)
def gathered(images: FloatArray, entries: Int32Array, n: int) -> FloatArray:
    """Return, for each row of `entries` (m, n_entries), the sum of these rows of `images` (n_items^2, >= n): (m, n)."""
    sums = np.zeros((len(entries), n))
    for i in prange(len(entries)):
        for e in range(entries.shape[1]):
            row = entries[i, e]
            for t in range(n):
                sums[i, t] += images[row, t]
    return sums


@compiled(fastmath=True)
def image_sums(alike: FloatArray, before: Int32Array, after: Int32Array, joins: Int32Array, first: int) -> FloatArray:
    """Return R(x, x') of some tours to themselves and those before them: the lower triangle of R, as it is symmetric.

    O(n_items^3) for each of m tours, and O(n_items) for each pair. One image T M_x T after the other is computed and
    used, which takes less memory than all of them, and so less time.

    Args:
        alike: (n_items, n_items) T.
        before: (m, n_items) the item before each item.
        after: (m, n_items) the item after each item.
        joins: (n, n_items) where M_x' of each tour x' is 1, in the flat matrix, as `tour.joins` returns it.
        first: which of the n tours is the first of the m.

    Returns:
        (m, n), and 0 above the triangle.
    """
    sums = np.zeros((len(before), len(joins)))
    for i in range(len(before)):
        image = np.dot(_neighbours_alike(alike, before[i], after[i]).T, alike).ravel()
        for t in range(first + i + 1):
            total = 0.0
            for e in range(joins.shape[1]):
                total += image[joins[t, e]]
            sums[i, t] = 2.0 * total
    return sums


@compiled(fastmath=True)
def weighted_products(
    alike: FloatArray, before: Int32Array, after: Int32Array, joins: Int32Array, first: int, weights: FloatArray
) -> FloatArray:
    """Return sum_it weights[i, t] M_i T M_t (n_items, n_items) of some tours i, and the tours t up to each of them.

    O(n_items^3 + n n_items) for each of m tours.

    Args:
        alike: (n_items, n_items) T.
        before: (m, n_items) the item before each item, of tours i.
        after: (m, n_items) the item after each item.
        joins: (n, n_items) where M_t is 1, in the flat matrix, as `tour.joins` returns it.
        first: which of the n tours is the first of the m.
        weights: (m, n).
    """
    n_items = len(alike)
    total = np.zeros((n_items, n_items))
    for i in range(len(before)):
        weighted = np.zeros(n_items * n_items)
        for t in range(first + i + 1):
            for e in range(joins.shape[1]):
                weighted[joins[t, e]] += weights[i, t]
        half = weighted.reshape(n_items, n_items)
        total += np.dot(_neighbours_alike(alike, before[i], after[i]), half + half.T)
    return total


@njit(fastmath=True)
def _neighbours_alike(alike, before, after):  # type: ignore[no-untyped-def]
    """Return M_x T (n_items, n_items)."""
    product = np.empty_like(alike)
    for a in range(len(alike)):
        for b in range(len(alike)):
            product[a, b] = alike[before[a], b] + alike[after[a], b]
    return product
