"""The genetic algorithm of pymoo, one batch at a time, and what its matings need to propose free permutations."""

from collections.abc import Callable
from typing import Any

import numpy as np

from law_ray.methods.baselines import completed, random
from law_ray.methods.context import BatchContext
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import invert
from law_ray.typing import IntArray

N_POPULATION, N_OFFSPRING = 100, 20
"""Sizes of the population and of a generation, the paper's (Section 4)."""
N_ATTEMPTS = 100
"""Matings at most for the offspring of a batch; pymoo's default."""


def ga(context: BatchContext, batch_size: int) -> IntArray:
    """Choose a batch by a genetic algorithm: offspring of the N_POPULATION best permutations so far.

    This is pymoo's GA (Blank and Deb, 2020) with a population of 100 and generations of 20, as in the paper. Its
    survivors are the best of the last population and the offspring, the earliest among equals. So the population after
    g generations depends only on the first 100 + 20 g points, and nothing else needs to be stored. The first 100 points
    are random. After them, pymoo's own mating makes the offspring. Binary tournaments choose two parents for each. Edge
    recombination (Whitley, Starkweather and Fuquay, 1989) joins them with probability 0.9, and otherwise one of them is
    copied. Inversion reverses a random segment.

    A batch of 20 is a generation: that of pymoo.optimize.minimize with the same random numbers. A smaller batch is a
    part of a generation and has the same parents as the whole. So the batch size does not change the distribution of
    an offspring, with one exception. Within a mating, no parent takes part in two tournaments, but in two batches it
    may. Points beyond the end of a generation still have the parents of that generation.

    Unlike pymoo, which knows only its population, this algorithm never evaluates a permutation twice. Offspring that
    are excluded are replaced by further matings, N_ATTEMPTS at most, and after that by random permutations. Cost
    O(n_items) for each offspring, one or two milliseconds with 40 items.
    """
    if len(context.y) < N_POPULATION:
        return random(context, batch_size)
    generations = (len(context.y) - N_POPULATION) // N_OFFSPRING
    y = context.y[: N_POPULATION + N_OFFSPRING * generations]
    survivors = np.argsort(y, kind="stable")[:N_POPULATION]
    return completed(_offspring(context, survivors, batch_size), context, batch_size)


def _offspring(context: BatchContext, parents: IntArray, size: int) -> IntArray:
    """Return at most `size` free and allowed offspring (m, n_items) of parents, given by index in `context.X`."""
    from pymoo.algorithms.soo.nonconvex.ga import comp_by_cv_and_fitness  # 0.3 s, and workers import this package
    from pymoo.core.population import Population
    from pymoo.core.problem import Problem
    from pymoo.operators.crossover.erx import EdgeRecombinationCrossover

    X = context.X[parents]
    population = Population.new("X", X, "F", context.y[parents, None])
    mate = mating(comp_by_cv_and_fitness, EdgeRecombinationCrossover(), context, N_ATTEMPTS)
    offspring = mate.do(Problem(n_var=X.shape[1]), population, size, random_state=context.rng)
    return offspring.get("X").reshape(-1, X.shape[1]).astype(np.int64)


def mating(compare: Callable[..., Any], crossover: Any, context: BatchContext, attempts: int) -> Any:
    """Return pymoo's mating of permutations: tournaments, crossover, inversion, and admission of the offspring.

    Args:
        compare: Decides the tournaments.
        crossover: pymoo's crossover of two parents.
        context: What says which offspring are free and allowed.
        attempts: The mating is repeated until it has as many offspring as asked for, at most this many times.
    """
    from pymoo.core.mating import Mating
    from pymoo.operators.mutation.inversion import InversionMutation
    from pymoo.operators.selection.tournament import TournamentSelection

    return Mating(
        TournamentSelection(compare),
        crossover,
        InversionMutation(),
        eliminate_duplicates=Admission(context.excluded, context.constraints),
        n_max_iterations=attempts,
    )


class Admission:
    """Admits free and allowed permutations, one of each key. A pymoo algorithm calls it to eliminate duplicates.

    Offspring that violate the constraints are repaired first. The member of the population that is nearest by the
    position distance is moved towards the offspring by allowed exchanges of two items, and replaces it.
    """

    def __init__(self, excluded: Exclusions, constraints: Constraints) -> None:
        self._excluded = excluded
        self._constraints = constraints

    def do(self, offspring: Any, *others: Any) -> Any:
        """Return the admitted part of the pymoo population `offspring`.

        Args:
            offspring: The population; what the constraints forbid is replaced in it.
            others: Populations whose keys are excluded too: the parents first, then the offspring admitted before.
        """
        if not len(offspring):
            return offspring
        X = offspring.get("X")
        broken = ~self._constraints.allows(X)
        if broken.any():
            X[broken] = moved_towards(X[broken], _nearest(X[broken], others[0].get("X")), self._constraints)
            offspring.set("X", X)
        excluded = self._excluded.copy()
        for other in others:
            for permutation in other.get("X"):
                excluded.add(permutation)
        admitted = []
        for i, permutation in enumerate(X):
            if permutation not in excluded:
                excluded.add(permutation)
                admitted.append(i)
        return offspring[admitted]


def _nearest(permutations: IntArray, candidates: IntArray) -> IntArray:
    """Return, for each permutation (m, n_items), the candidate at the least position distance: (m, n_items)."""
    distances = np.abs(invert(permutations)[:, None] - invert(candidates)[None]).sum(axis=2)
    return candidates[np.argmin(distances, axis=1)]


def moved_towards(targets: IntArray, starts: IntArray, constraints: Constraints) -> IntArray:
    """Move each start towards its target through allowed permutations.

    Position by position, the item that the target has there changes places with the item that is there, if that is
    allowed. Cost O(m n_items^2 log n_items).

    Args:
        targets: (m, n_items) permutations, allowed or not.
        starts: (m, n_items) allowed permutations.
        constraints: The constraints.

    Returns:
        (m, n_items) allowed permutations.
    """
    moved, rows = starts.copy(), np.arange(len(starts))
    for position, item in enumerate(targets.T):
        exchanged = moved.copy()
        exchanged[rows, invert(moved)[rows, item]] = moved[:, position]
        exchanged[:, position] = item
        moved = np.where(constraints.allows(exchanged)[:, None], exchanged, moved)
    return moved
