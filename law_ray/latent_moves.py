"""The compiled loops of the latent kernel: what swaps, insertions and reversals do to similarities of tours.

`latent` has the notation; `moves` numbers the moves, and says which neighbours part and meet: changes of M_x are rows
(a, b, -2) and (a, b, 2), for M_x[a, b] and M_x[b, a] together. The loops go over the points innermost. Each result is
computed by one thread, so it does not depend on their number.
"""

import numpy as np
from numba import njit, prange

from law_ray import moves
from law_ray.compiled import compiled
from law_ray.moves import joins_changed
from law_ray.permutations import IntArray
from law_ray.scan import FloatArray, Int32Array


@njit(fastmath=True)
def own_after(changes, count, image, own, alike):  # type: ignore[no-untyped-def]
    """R(x, x') and R(x', x') of x and what it becomes, from T M_x T and R(x, x)."""
    towards, among = 0.0, 0.0
    for e in range(count):
        a, b, change = changes[e, 0], changes[e, 1], changes[e, 2]
        towards += change * image[a, b]
        for f in range(count):
            c, d = changes[f, 0], changes[f, 1]
            among += 0.5 * change * changes[f, 2] * (alike[a, c] * alike[b, d] + alike[a, d] * alike[b, c])
    return own + towards, own + 2.0 * towards + among


@njit(fastmath=True)
def add_changes(out, images, changes, count, n_items):  # type: ignore[no-untyped-def]
    """Add to `out` (n,) what the changes do to sum_ab M_x[a, b] image[a, b] of every point."""
    for e in range(count):
        row, change = changes[e, 0] * n_items + changes[e, 1], np.float64(changes[e, 2])
        for t in range(len(out)):
            out[t] += change * images[row, t]


@njit(fastmath=True)
def similarities_after(out, x, images, similarities, own_image, own, alike, move):  # type: ignore[no-untyped-def]
    """Write into `out` (n,) the similarities to the points after a move of x, whose own they are before."""
    changes = np.empty((2 * len(x) + 8, 3), np.int32)
    count = joins_changed(changes, x, move[0], move[1], move[2])
    _, after = own_after(changes, count, own_image, own, alike)
    for t in range(len(out)):
        out[t] = np.sqrt(own) * similarities[t]
    add_changes(out, images, changes, count, len(x))
    scale = 1.0 / np.sqrt(after)
    for t in range(len(out)):
        out[t] *= scale


@compiled(parallel=True, fastmath=True, calls=(moves,))
def moved_sums(
    x: Int32Array,
    images: FloatArray,
    similarities: FloatArray,
    own_images: FloatArray,
    own: FloatArray,
    alike: FloatArray,
    weights: FloatArray,
    polynomial: FloatArray,
    which: Int32Array,
) -> FloatArray:
    """Sums over the points of weight x kernel value after every move of every climber: (m, n_moves, n_weights).

    `x` (m, n_items) permutations of the climbers; `images` (n_items^2, n) of the points; `similarities` (m, n) of the
    climbers to them; `own_images` (m, n_items, n_items) and `own` (m,) of the climbers, not normalised; `weights`
    (m, n_weights, n); `polynomial` w_1, w_2; `which` (n_moves, 3). Cost O(m n_moves n).
    """
    m, n_moves, n, n_weights = len(x), len(which), images.shape[1], weights.shape[1]
    sums = np.empty((m, n_moves, n_weights))
    for task in prange(m * n_moves):
        climber = task // n_moves
        s = task - climber * n_moves
        values = np.empty(n)
        similarities_after(
            values, x[climber], images, similarities[climber], own_images[climber], own[climber], alike, which[s]
        )
        for t in range(n):
            values[t] *= polynomial[0] + polynomial[1] * values[t]
        for w in range(n_weights):
            total = 0.0
            for t in range(n):
                total += weights[climber, w, t] * values[t]
            sums[climber, s, w] = total
    return sums


@compiled(parallel=True, fastmath=True, calls=(moves,))
def move_similarities(
    x: Int32Array, own_images: FloatArray, own: FloatArray, alike: FloatArray, which: Int32Array
) -> FloatArray:
    """How alike every move leaves each of x (m, n_items) to itself: (m, n_moves)."""
    similarities = np.empty((len(x), len(which)))
    for i in prange(len(x)):
        changes = np.empty((2 * x.shape[1] + 8, 3), np.int32)
        for s in range(len(which)):
            count = joins_changed(changes, x[i], which[s, 0], which[s, 1], which[s, 2])
            towards, after = own_after(changes, count, own_images[i], own[i], alike)
            similarities[i, s] = towards / np.sqrt(after * own[i])
    return similarities


@compiled(parallel=True, fastmath=True, calls=(moves,))
def moved_similarities(
    x: Int32Array,
    images: FloatArray,
    similarities: FloatArray,
    own_images: FloatArray,
    own: FloatArray,
    alike: FloatArray,
    climber: IntArray,
    which: Int32Array,
) -> FloatArray:
    """Similarities (k, n) to the points after which[r] of climber[r], for each r < k; else as in `moved_sums`."""
    moved = np.empty((len(climber), images.shape[1]))
    for r in prange(len(climber)):
        c = climber[r]
        similarities_after(moved[r], x[c], images, similarities[c], own_images[c], own[c], alike, which[r])
    return moved


@compiled(parallel=True, fastmath=True)
def own(x: Int32Array, alike: FloatArray) -> FloatArray:
    """R(x, x) (m,) of permutations x (m, n_items)."""
    n_items = x.shape[1]
    similarities = np.empty(len(x))
    for i in prange(len(x)):
        total = 0.0
        for k in range(n_items):
            a, b = x[i, k], x[i, (k + 1) % n_items]
            for m in range(n_items):
                c, d = x[i, m], x[i, (m + 1) % n_items]
                total += alike[a, c] * alike[b, d] + alike[a, d] * alike[b, c]
        similarities[i] = 2.0 * total
    return similarities


@compiled(parallel=True, fastmath=True)
def gathered(images: FloatArray, entries: Int32Array) -> FloatArray:
    """The sums (m, n) of the rows `entries` (m, n_entries) of `images` (n_items^2, n)."""
    sums = np.zeros((len(entries), images.shape[1]))
    for i in prange(len(entries)):
        for e in range(entries.shape[1]):
            row = entries[i, e]
            for t in range(images.shape[1]):
                sums[i, t] += images[row, t]
    return sums


@compiled(parallel=True, fastmath=True)
def scattered(weights: FloatArray, entries: Int32Array, size: int) -> FloatArray:
    """Rows i of sum_t weights[i, t] M_t, flat: (m, size), with M_t 1 at entries[t] and 0 elsewhere."""
    sums = np.zeros((len(weights), size))
    for i in prange(len(weights)):
        for t in range(len(entries)):
            for e in range(entries.shape[1]):
                sums[i, entries[t, e]] += weights[i, t]
    return sums
