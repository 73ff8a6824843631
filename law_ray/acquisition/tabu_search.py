"""Tabu search by swaps for the least value of one draw of the pairwise model.

The robust tabu search of Taillard (Parallel Computing 17, 1991). Each step makes the best swap, even uphill, but for
some steps two items may not both return to positions that they have left. So the search leaves local minima, of which
draws have many. `law_ray.acquisition.pairwise_search` climbs instead, on an acquisition of all draws.

Cost of a step: O(n_items^2), since the changes of the value by all swaps are kept and updated.
"""

from collections.abc import Iterable

import numpy as np
from numba import njit

from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import invert
from law_ray.typing import BoolArray, FloatArray, IntArray
from law_ray.utils import parallel
from law_ray.utils.compiled import compiled

N_STEPS = 1000
"""Swaps from each start.

Of ten tries on nug22, one search of 1,000 steps found the minimum in three, one of 10,000 in five, and ten of 1,000 in
all; on tho30 in one, three and nine. Forty climbs to local minima found that of nug22 in three tries of eight.
"""
TENURE = (0.9, 1.1)
"""For how many steps per item an item stays away from a position that it left: drawn between these (Taillard)."""


def minimise(
    items: FloatArray,
    places: FloatArray,
    starts: Iterable[IntArray],
    excluded: Exclusions,
    constraints: Constraints,
    rng: np.random.Generator,
    n_steps: int = N_STEPS,
) -> IntArray | None:
    """Return the free permutation (n_items,) of least value among those visited, or None if all are excluded.

    Args:
        items: F (n_items, n_items), symmetric with zero diagonal.
        places: D, likewise.
        starts: Allowed permutations (n_items,), each the start of a search, which run in threads. They do not count as
            visited.
        excluded: The permutations that may not be returned.
        constraints: The constraints on the orderings.
        rng: Draws for how long items stay away from positions that they left.
        n_steps: The number of swaps from each start.
    """
    low, high = (round(per_item * len(items)) for per_item in TENURE)
    drawn = [(invert(start), rng.integers(low, high + 1, (n_steps, 2))) for start in starts]

    def search(start: tuple[IntArray, IntArray]) -> tuple[IntArray, FloatArray]:
        q, tenures = start
        return _search(items, places, q, constraints.precedes, constraints.fixed_at, tenures)

    least, found = np.inf, None
    for visited, values in parallel.each(search, drawn):
        for step in np.argsort(values, kind="stable"):
            if values[step] >= least:
                break
            permutation = invert(visited[step])
            if permutation not in excluded:
                least, found = values[step], permutation
    return found


@compiled()
def _search(
    items: FloatArray,
    places: FloatArray,
    start: IntArray,
    precedes: BoolArray,
    fixed_at: IntArray,
    tenures: IntArray,
) -> tuple[IntArray, FloatArray]:
    """Return the positions visited, (n_visited, n_items), and the values there (n_visited,), up to the constant.

    Args:
        items: F (n_items, n_items).
        places: D (n_items, n_items).
        start: (n_items,) positions.
        precedes: (n_items, n_items) which item must come before which.
        fixed_at: (n_items,) the positions of fixed items, -1 for the others.
        tenures: (n_steps, 2) for how long each item of a swap stays away from the position that it leaves.
    """
    (n_steps, _), n_items = tenures.shape, len(start)
    q, value = start.copy(), 0.0
    for a in range(n_items):
        for b in range(a):
            value += items[a, b] * places[q[a], q[b]]
    placed = places[q][:, q]  # D between the positions of two items
    changes = np.zeros((n_items, n_items))  # by swaps of a and b, b < a
    for item in range(n_items):
        _compute_changes(changes, item, items, placed)
    earliest, latest = np.zeros(n_items, np.int64), np.full(n_items, n_items - 1)
    constrained = precedes.any() or (fixed_at >= 0).any()
    returns = np.zeros((n_items, n_items), np.int64)  # the first step in which an item may return to a position
    visited, values, n_visited, least = np.empty((n_steps, n_items), np.int64), np.empty(n_steps), 0, value
    for step in range(n_steps):
        if constrained:
            _find_windows(earliest, latest, q, precedes, fixed_at)
        a, b = _best_swap(changes, q, earliest, latest, returns, step, least - value)
        if a < 0:  # no swap is allowed at this step
            continue
        value += changes[a, b]
        least = min(least, value)
        returns[a, q[a]], returns[b, q[b]] = step + 1 + tenures[step, 0], step + 1 + tenures[step, 1]
        _update_changes(changes, a, b, items, placed)
        q[a], q[b] = q[b], q[a]
        _exchange(placed, a, b)
        _compute_changes(changes, a, items, placed)
        _compute_changes(changes, b, items, placed)
        visited[n_visited], values[n_visited] = q, value
        n_visited += 1
    return visited[:n_visited], values[:n_visited]


@njit
def _compute_changes(changes, a, items, placed):  # type: ignore[no-untyped-def]
    """Compute the changes of the value by all swaps of item a, O(n_items^2).

    The loop over the other item is the inner one, which processors vectorize.
    """
    n_items = len(items)
    of_swaps = np.zeros(n_items)
    for k in range(n_items):
        if k != a:
            of_a_and_k = of_swaps[k]
            for b in range(n_items):
                of_swaps[b] += (items[a, k] - items[k, b]) * (placed[k, b] - placed[a, k])
            of_swaps[k] = of_a_and_k  # to which k adds nothing
    for b in range(a):
        changes[a, b] = of_swaps[b]
    for b in range(a + 1, n_items):
        changes[b, a] = of_swaps[b]


@njit
def _update_changes(changes, a, b, items, placed):  # type: ignore[no-untyped-def]
    """Update the changes by all swaps of two other items to those after a swap of a and b, O(n_items^2).

    `placed` is that before the swap. The changes by swaps of a and of b have no meaning afterwards.
    """
    for u in range(len(items)):
        for v in range(u):
            of_items = items[a, u] - items[a, v] - items[b, u] + items[b, v]
            of_places = placed[a, u] - placed[a, v] - placed[b, u] + placed[b, v]
            changes[u, v] += of_items * of_places


@njit
def _exchange(matrix, a, b):  # type: ignore[no-untyped-def]
    """Exchange two rows, and the same two columns."""
    for k in range(len(matrix)):
        matrix[a, k], matrix[b, k] = matrix[b, k], matrix[a, k]
    for k in range(len(matrix)):
        matrix[k, a], matrix[k, b] = matrix[k, b], matrix[k, a]


@njit
def _find_windows(earliest, latest, q, precedes, fixed_at):  # type: ignore[no-untyped-def]
    """Find between which positions each item may be, the others staying where they are; O(n_items^2)."""
    for a in range(len(q)):
        earliest[a], latest[a] = 0, len(q) - 1
        for k in range(len(q)):
            if precedes[k, a]:
                earliest[a] = max(earliest[a], q[k] + 1)
            elif precedes[a, k]:
                latest[a] = min(latest[a], q[k] - 1)
        if fixed_at[a] >= 0:
            earliest[a] = latest[a] = fixed_at[a]


@njit
def _best_swap(changes, q, earliest, latest, returns, step, wanted):  # type: ignore[no-untyped-def]
    """Return the swap of the least change, or (-1, -1) if none is allowed.

    A tabu swap is allowed if its change is below `wanted` (the aspiration criterion).
    """
    least, found = np.inf, (-1, -1)
    for a in range(len(q)):
        for b in range(a):
            change = changes[a, b]
            if change >= least or not (earliest[a] <= q[b] <= latest[a] and earliest[b] <= q[a] <= latest[b]):
                continue
            if change < wanted or step >= returns[a, q[b]] or step >= returns[b, q[a]]:
                least, found = change, (a, b)
    return found
