"""Local search over permutations for the largest value of an acquisition.

Climbs (`climbers`) start from some permutations. A last pass over all moves whose bound could win certifies that the
best end is a local maximum. A small space is searched exhaustively.
"""

import math

import numpy as np

from law_ray.acquisition.climbers import Climbers, permutation_of
from law_ray.acquisition.landscape import Landscape
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import EXHAUSTIVE, Exclusions, draw_free
from law_ray.typing import FloatArray, IntArray


def maximise(
    landscape: Landscape,
    starts: IntArray,
    excluded: Exclusions,
    constraints: Constraints,
    rng: np.random.Generator,
    certify: bool = True,
) -> IntArray:
    """Return allowed permutations of large value that are not excluded, the one with the largest value first.

    A space of at most EXHAUSTIVE orderings is searched exhaustively, and the best permutation returned. In a larger
    space, the ends of climbs are returned or, if all of them are excluded, a random permutation.

    Args:
        landscape: The function to maximise.
        starts: (m, n_items) allowed permutations where climbs start.
        excluded: The permutations that may not be returned.
        constraints: The constraints on the orderings.
        rng: Draws the random permutation.
        certify: As for `climb`.

    Returns:
        (k, n_items) permutations, k >= 1.

    Raises:
        UsedUpError: No permutation is left.
    """
    if (candidates := constraints.enumerate(EXHAUSTIVE)) is not None:
        for best in np.argsort(-landscape(candidates), kind="stable"):
            if candidates[best] not in excluded:
                return candidates[best : best + 1]
    else:
        ends, values = climb(landscape, starts, excluded, constraints, certify)
        if values[0] > -math.inf:
            return ends[values > -math.inf]
    return draw_free(constraints, 1, excluded, rng)


def climb(
    landscape: Landscape, starts: IntArray, excluded: Exclusions, constraints: Constraints, certify: bool = True
) -> tuple[IntArray, FloatArray]:
    """Climb from `starts` and return the distinct ends and their values, the largest value first.

    A climb visits only allowed permutations, and never steps onto an excluded one. A climb that starts on an excluded
    permutation first moves to a free neighbour, even downhill. If none of the moves that it tries leads to one,
    it ends there with value -inf; with `certify`, the best climb tries all of its moves first.
    Cost of a step of m climbers: O(m n n_items^2) to rank their moves, with the weighted precedence kernel
    O(m n n_items^3), and O(m N_PROMISING n^2) to evaluate the promising ones.

    Args:
        landscape: The function to maximise.
        starts: (m, n_items) allowed permutations.
        excluded: The permutations that no climb may step onto.
        constraints: The constraints on the orderings.
        certify: Whether to make sure that no free and allowed neighbour of the first end has a larger value. For the
            other ends, and without this for the first one too, only the most promising neighbours are compared.

    Returns:
        The ends (k, n_items), and their values (k,).
    """
    climbers = Climbers(landscape, np.unique(starts, axis=0), excluded, constraints)
    climbers.ascend(np.arange(len(climbers.values)))
    while certify and climbers.step_if_any(best := int(np.argmax(climbers.values))):
        climbers.ascend(np.array([best]))
    _, distinct = np.unique(climbers.q, axis=0, return_index=True)
    order = distinct[np.argsort(-climbers.values[distinct], kind="stable")]
    return permutation_of(climbers.q[order]), climbers.values[order]


def best_neighbour(
    landscape: Landscape, centre: IntArray, excluded: Exclusions, constraints: Constraints
) -> IntArray | None:
    """Return the free and allowed neighbour (n_items,) of largest value of a permutation, None if there is none.

    Cost O(n n_items^2), or O(n n_items^3) as for `climb`, to bound the values of all neighbours, and O(n^2) for each
    that is evaluated exactly.
    """
    climbers = Climbers(landscape, centre[None], excluded, constraints)
    climbers.values[:] = -np.inf  # so that every neighbour gains
    return permutation_of(climbers.q[0]) if climbers.step_if_any(0) else None
