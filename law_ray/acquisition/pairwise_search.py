"""Local search by swaps for the largest value of an acquisition of the pairwise model.

All swaps of an ordering are evaluated at once for all draws, exactly (`pairwise_moves`). So a climb takes the best swap
at each step. `law_ray.acquisition.local_search` is the search on a Gaussian process.
"""

from collections.abc import Callable, Iterable

import numpy as np

from law_ray.acquisition.climbers import LEAST_GAIN
from law_ray.acquisition.pairwise_moves import Swaps
from law_ray.models.pairwise.ensemble import Ensemble
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import invert
from law_ray.typing import FloatArray, IntArray
from law_ray.utils import parallel

Value = Callable[[FloatArray, FloatArray], FloatArray]
"""(mean, variance), each (m,), -> value, larger is better"""
MAX_STEPS = 10_000
"""Of a climb, which ends long before (heuristic)."""
N_TRIED = 8
"""Swaps tried at a step, while those with a larger value lead to excluded orderings (heuristic)."""


def maximise(
    ensemble: Ensemble,
    value: Value,
    starts: Iterable[IntArray],
    excluded: Exclusions,
    constraints: Constraints,
    max_steps: int = MAX_STEPS,
) -> IntArray | None:
    """Return the free permutation (n_items,) of largest value among the ends of climbs, or None if all are excluded.

    Cost of a climb: O(n_draws n_items^3), and for each step O(n_draws^2 n_items^2), for the variances.

    Args:
        ensemble: The draws.
        value: What to maximise.
        starts: Allowed permutations (n_items,) where climbs start, in threads; they may be excluded.
        excluded: The permutations that may not be returned.
        constraints: The constraints on the orderings.
        max_steps: After this many steps a climb ends.
    """
    best, found = -np.inf, None
    climbs = parallel.each(lambda start: _climb(ensemble, value, start, excluded, constraints, max_steps), starts)
    for end, end_value in climbs:
        if end_value > best and end not in excluded:
            best, found = end_value, end
    return found


def _climb(
    ensemble: Ensemble,
    value: Value,
    start: IntArray,
    excluded: Exclusions,
    constraints: Constraints,
    max_steps: int,
) -> tuple[IntArray, float]:
    """Return the end of a climb, a permutation, and its value.

    From an excluded start, the first step goes to the best free neighbour, even downhill.
    """
    q = invert(start)
    i, j = ensemble.pairs
    swaps = Swaps(ensemble, q)
    height = -np.inf if start in excluded else float(value(*ensemble.moments(swaps.values[None]))[0])
    for _ in range(max_steps):
        heights = value(*swaps.moments())
        heights[~constraints.swaps(q[None], i, j)[0]] = -np.inf
        for _ in range(N_TRIED):
            swap = int(heights.argmax())
            if heights[swap] <= height + LEAST_GAIN:
                return invert(q), height
            moved = q.copy()
            moved[[i[swap], j[swap]]] = moved[[j[swap], i[swap]]]
            if invert(moved) not in excluded:
                q, height = moved, float(heights[swap])
                swaps.make(int(i[swap]), int(j[swap]))
                break
            heights[swap] = -np.inf
        else:
            break
    return invert(q), height
