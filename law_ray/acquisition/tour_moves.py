"""The compiled loops of the tour kernel: how swaps, insertions and reversals change the similarities of tours.

`law_ray.kernels.tour` defines the notation. `additive_moves` defines the moves and finds the neighbours that a move
separates and joins. These changes of M_x are rows (a, b, -2) and (c, d, 2), each for M_x[a, b] and M_x[b, a] together.

The loops go over the points innermost, which processors vectorize. Each result is computed by one thread, so it does
not depend on the number of threads.
"""

import numpy as np
from numba import njit, prange

from law_ray.acquisition import additive_moves
from law_ray.acquisition.additive_moves import joins_changed
from law_ray.typing import FloatArray, Int32Array, IntArray
from law_ray.utils.compiled import compiled


@njit(fastmath=True)
def own_after(changes, count, image, own, alike):  # type: ignore[no-untyped-def]
    """Return R(x, x') and R(x', x') of the tour x and the tour x' after the changes, from T M_x T and R(x, x).

    Args:
        changes: (>= count, 3) the changes of M_x.
        count: the number of changes.
        image: (n_items, n_items) T M_x T.
        own: R(x, x).
        alike: (n_items, n_items) T.
    """
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
    """Add to `out` (n,) the changes of sum_ab M_x[a, b] image[a, b], with the image of every point."""
    for e in range(count):
        row, change = changes[e, 0] * n_items + changes[e, 1], np.float64(changes[e, 2])
        for t in range(len(out)):
            out[t] += change * images[row, t]


@njit(fastmath=True)
def similarities_after(out, x, images, similarities, own_image, own, alike, move):  # type: ignore[no-untyped-def]
    """Write to `out` (n,) the similarities of x to the points after a move; `similarities` (n,) are those before it."""
    changes = np.empty((2 * len(x) + 8, 3), np.int32)
    count = joins_changed(changes, x, move[0], move[1], move[2])
    _, after = own_after(changes, count, own_image, own, alike)
    for t in range(len(out)):
        out[t] = np.sqrt(own) * similarities[t]
    add_changes(out, images, changes, count, len(x))
    scale = 1.0 / np.sqrt(after)
    for t in range(len(out)):
        out[t] *= scale


@compiled(parallel=True, fastmath=True, calls=(additive_moves,))
def moved_sums(
    x: Int32Array,
    images: FloatArray,
    similarities: FloatArray,
    own_images: FloatArray,
    own: FloatArray,
    alike: FloatArray,
    weights: FloatArray,
    polynomial: FloatArray,
    moves: Int32Array,
) -> FloatArray:
    """Return the sums over the points of weight x covariance after every move of every climber.

    Cost O(m n_moves n).

    Args:
        x: (m, n_items) permutations of the climbers.
        images: (n_items^2, >= n) T M T / sqrt(R) of the points; further columns have no meaning.
        similarities: (m, n) C of the climbers to the points.
        own_images: (m, n_items, n_items) T M_x T of the climbers.
        own: (m,) R(x, x) of the climbers.
        alike: (n_items, n_items) T.
        weights: (m, n_weights, n).
        polynomial: w_1, w_2 of the covariance w_1 C + w_2 C^2.
        moves: (n_moves, 3) as in `additive_moves.all_moves`.

    Returns:
        (m, n_moves, n_weights).
    """
    m, n_moves, n, n_weights = len(x), len(moves), similarities.shape[1], weights.shape[1]
    sums = np.empty((m, n_moves, n_weights))
    for task in prange(m * n_moves):
        climber = task // n_moves
        s = task - climber * n_moves
        values = np.empty(n)
        similarities_after(
            values, x[climber], images, similarities[climber], own_images[climber], own[climber], alike, moves[s]
        )
        for t in range(n):
            values[t] *= polynomial[0] + polynomial[1] * values[t]
        for w in range(n_weights):
            total = 0.0
            for t in range(n):
                total += weights[climber, w, t] * values[t]
            sums[climber, s, w] = total
    return sums


@compiled(
    parallel=lambda x, own_images, own, alike, moves: 50 * len(x) * len(moves),  # most moves make 6 or 8 changes
    fastmath=True,
    calls=(additive_moves,),
)
def move_similarities(
    x: Int32Array, own_images: FloatArray, own: FloatArray, alike: FloatArray, moves: Int32Array
) -> FloatArray:
    """Return the similarity (m, n_moves) between each x (m, n_items) before and after every move.

    `moved_sums` describes the arguments.
    """
    similarities = np.empty((len(x), len(moves)))
    for i in prange(len(x)):
        changes = np.empty((2 * x.shape[1] + 8, 3), np.int32)
        for s in range(len(moves)):
            count = joins_changed(changes, x[i], moves[s, 0], moves[s, 1], moves[s, 2])
            towards, after = own_after(changes, count, own_images[i], own[i], alike)
            similarities[i, s] = towards / np.sqrt(after * own[i])
    return similarities


@compiled(
    parallel=lambda x, images, similarities, own_images, own, alike, climber, moves: (
        10 * len(climber) * similarities.shape[1]  # most moves make 6 or 8 changes
    ),
    fastmath=True,
    calls=(additive_moves,),
)
def moved_similarities(
    x: Int32Array,
    images: FloatArray,
    similarities: FloatArray,
    own_images: FloatArray,
    own: FloatArray,
    alike: FloatArray,
    climber: IntArray,
    moves: Int32Array,
) -> FloatArray:
    """Return the similarities (k, n) to the points after moves[r] of climber[r], for each r < k.

    `moved_sums` describes the other arguments.
    """
    moved = np.empty((len(climber), similarities.shape[1]))
    for r in prange(len(climber)):
        c = climber[r]
        similarities_after(moved[r], x[c], images, similarities[c], own_images[c], own[c], alike, moves[r])
    return moved
