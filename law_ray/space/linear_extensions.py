"""The compiled loops over the linear extensions that constraints allow: random draws and enumeration.

Both build an ordering position by position from the items that may come next. Every item has a first and a last
possible position. Suppose that as many unplaced items must come by position d as there are positions left up to d. Then
the next item must be one of them. This rule never leads into a dead end, provided that some ordering satisfies the
constraints. By Hall's theorem for intervals, the unplaced items fit if and only if no interval of the remaining
positions must hold more of them than it can. Placing an item changes this only for the intervals that begin at the next
position.

The loops copy the arrays of an Order to local variables first: each access to a field costs as much as a step.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from law_ray.typing import BoolArray, FloatArray, IntArray
from law_ray.utils.compiled import compiled

PLACED = -1  # in `waiting`: the item has its position already


class Order(NamedTuple):
    """Satisfiable precedences and fixed positions, in the arrays that the loops need."""

    followers: IntArray
    """The direct followers of item a are followers[starts[a] : starts[a + 1]]."""
    starts: IntArray
    """(n_items + 1,)"""
    waiting: IntArray
    """(n_items,) How many direct predecessors each item has."""
    first: IntArray
    """(n_items,) The first position that each item can have."""
    last: IntArray
    """(n_items,) The last position that each item can have; for a fixed item, it equals `first`."""
    precedes: BoolArray
    """(n_items, n_items) Whether the first item must come before the second, directly or through others."""


@njit
def _due(position, to_come):  # type: ignore[no-untyped-def]
    """Return the largest last position that an item placed at `position` may have.

    `to_come[d]` is the number of unplaced items whose last position is d.
    """
    left = 0
    for last in range(position, len(to_come)):
        left += to_come[last]
        if left == last - position + 1:
            return last
    return len(to_come)  # not reached: all unplaced items must come by the last position


@njit
def _build(permutation, order, weights, rng):  # type: ignore[no-untyped-def]
    """Fill `permutation` from the front; possible next items have probabilities proportional to their weights."""
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
    """Randomly swap the items at two of the positions `free`, neighbouring or any, wherever that is allowed.

    A step is as likely as its reverse. The two positions may be equal, which keeps the walk from alternating between
    odd and even orderings.
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


@compiled(fastmath=True)  # not parallel: all draws come from one generator
def draw(size: int, order: Order, weights: FloatArray, n_steps: int, rng: np.random.Generator) -> IntArray:
    """Draw (size, n_items) independent permutations that satisfy `order`.

    Each is built from the front and then changed by a random walk. Cost O(n_items^2 + n_steps n_items) each.

    Args:
        size: the number of permutations.
        order: the constraints.
        weights: (n_items,) to which the probabilities of the next item are proportional.
        n_steps: the length of the random walk.
        rng: the source of randomness.
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
    """Return the first `limit` permutations in lexicographic order, and whether these are all; O(n_items^2) each."""
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
        if item >= 0:  # every ordering with this item here has been tried: remove it again
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
