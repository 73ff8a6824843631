"""The compiled loops over the orderings that constraints allow: draw them, list them.

Both build an ordering position by position from the items that may come next. Every item has a first and a last
possible position. Where as many unplaced items must come until position d as there are positions left until d, one of
them must come next. That never leads into a dead end, given constraints that some ordering keeps: by Hall's theorem for
intervals the unplaced items fit exactly if no interval of the positions left must hold more of them than it can, and
placing an item changes this only for the intervals that begin at the next position.

The loops take their arrays out of an Order before they start: each access to a field of it costs as much as a step.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from law_ray.compiled import compiled
from law_ray.permutations import IntArray
from law_ray.scan import FloatArray

BoolArray = NDArray[np.bool_]

PLACED = -1  # what a placed item waits for


class Order(NamedTuple):
    """Precedences and fixed positions, which some ordering keeps, as the loops want them."""

    followers: IntArray  # the items that come directly after item a: followers[starts[a] : starts[a + 1]]
    starts: IntArray  # (n_items + 1,)
    waiting: IntArray  # (n_items,) how many items come directly before each
    first: IntArray  # (n_items,) the first position that an item can have, and the last; of a fixed item they are one
    last: IntArray
    precedes: BoolArray  # (n_items, n_items) whether the first item comes before the second, at any distance


@njit
def _due(position, to_come):  # type: ignore[no-untyped-def]
    """What the item at `position` may have as its last position at most; to_come[d] unplaced items have d as theirs."""
    left = 0
    for last in range(position, len(to_come)):
        left += to_come[last]
        if left == last - position + 1:
            return last
    return len(to_come)  # not reached: all that are left come until the last position


@njit
def _build(permutation, order, weights, rng):  # type: ignore[no-untyped-def]
    """Fill `permutation`: the next item among those that may come, with probability in proportion to its weight."""
    followers, starts, first, last = order.followers, order.starts, order.first, order.last
    waiting, to_come = order.waiting.copy(), np.bincount(last, minlength=len(last))
    ready, n_ready = np.empty(len(last), np.int64), 0
    for item in range(len(last)):
        if waiting[item] == 0:
            ready[n_ready] = item
            n_ready += 1
    for position in range(len(last)):
        due, total = _due(position, to_come), 0.0
        for item in ready[:n_ready]:
            if first[item] <= position and last[item] <= due:
                total += weights[item]
        left, chosen = rng.random() * total, -1
        for r in range(n_ready):
            if first[ready[r]] <= position and last[ready[r]] <= due:
                chosen = r
                left -= weights[ready[r]]
                if left < 0:
                    break
        item = ready[chosen]
        permutation[position] = item
        to_come[last[item]] -= 1
        n_ready -= 1
        ready[chosen] = ready[n_ready]
        for follower in followers[starts[item] : starts[item + 1]]:
            waiting[follower] -= 1
            if waiting[follower] == 0:
                ready[n_ready] = follower
                n_ready += 1


@njit
def _walk(permutation, precedes, free, n_steps, rng):  # type: ignore[no-untyped-def]
    """Exchange two neighbours, or any two, of the positions `free`, where allowed: a step is as likely as its reverse.

    Two equal positions are drawn too, which keeps the walk from alternating between odd and even orderings.
    """
    for _ in range(n_steps):
        if rng.random() < 0.5:
            k = int(rng.random() * (len(free) - 1))
            i, j = free[k], free[k + 1]
        else:
            i, j = free[int(rng.random() * len(free))], free[int(rng.random() * len(free))]
            i, j = min(i, j), max(i, j)
        front, back = permutation[i], permutation[j]
        for k in range(i + 1, j + 1):
            if precedes[front, permutation[k]] or precedes[permutation[k - 1], back]:
                break
        else:
            permutation[i], permutation[j] = back, front


@compiled(fastmath=True)  # it has one generator
def draw(size: int, order: Order, weights: FloatArray, n_steps: int, rng: np.random.Generator) -> IntArray:
    """Draw (size, n_items) permutations, independent: each built by `weights` (n_items,), then walked `n_steps`.

    Cost O(n_items^2 + n_steps n_items) each.
    """
    permutations = np.empty((size, len(weights)), np.int64)
    precedes = order.precedes
    fixed = np.flatnonzero(order.first == order.last)
    is_free = np.ones(len(weights), np.bool_)
    is_free[order.first[fixed]] = False
    free = np.flatnonzero(is_free)
    for row in range(size):
        _build(permutations[row], order, weights, rng)
        if len(free) > 1:
            _walk(permutations[row], precedes, free, n_steps, rng)
    return permutations


@compiled(fastmath=True)
def enumerate_up_to(limit: int, order: Order) -> tuple[IntArray, bool]:
    """The first `limit` permutations in lexicographic order, and whether these are all; O(n_items^2) each."""
    followers, starts, first, last = order.followers, order.starts, order.first, order.last
    waiting, to_come = order.waiting.copy(), np.bincount(last, minlength=len(last))
    n_items = len(last)
    found, count = np.empty((limit, n_items), np.int64), 0
    permutation, position = np.full(n_items, -1), 0
    while position >= 0:
        if position == n_items:
            if count == limit:
                return found, False
            found[count] = permutation
            count += 1
            position -= 1
            continue
        item = permutation[position]
        if item >= 0:  # back from what follows it: take it off again
            waiting[item] = 0
            to_come[last[item]] += 1
            for follower in followers[starts[item] : starts[item + 1]]:
                waiting[follower] += 1
        due = _due(position, to_come)
        item += 1
        while item < n_items and (waiting[item] != 0 or first[item] > position or last[item] > due):
            item += 1
        if item == n_items:
            permutation[position] = -1
            position -= 1
            continue
        permutation[position] = item
        position += 1
        waiting[item] = PLACED
        to_come[last[item]] -= 1
        for follower in followers[starts[item] : starts[item + 1]]:
            waiting[follower] -= 1
    return found[:count], True
