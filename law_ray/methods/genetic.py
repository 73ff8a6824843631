"""The genetic algorithm of pymoo, one batch at a time, and what its matings need to propose free permutations."""

from collections.abc import Callable
from typing import Any

import numpy as np

from law_ray.constraints import Constraints
from law_ray.methods.baselines import completed, random
from law_ray.methods.state import State
from law_ray.permutations import IntArray, invert
from law_ray.taken import Taken

N_POPULATION, N_OFFSPRING = 100, 20  # the paper's (Section 4)
N_ATTEMPTS = 100  # pymoo's: matings to replace offspring that were not admitted


def ga(state: State, batch_size: int) -> IntArray:
    """A genetic algorithm: the (batch_size, n_items) batch is offspring of the N_POPULATION best permutations so far.

    That is pymoo's GA (Blank and Deb, 2020), with a population of 100 and generations of 20, as in the paper. Its
    survivors are the best of the former population and the offspring, hence the best of all that was evaluated, and of
    equals the earliest. So the population after g generations follows from the first 100 + 20 g points: nothing else
    needs to be kept. The first 100 points are random. Then pymoo's own mating makes the offspring: binary tournaments
    choose two parents of each, edge recombination (Whitley, Starkweather and Fuquay, 1989) joins them with probability
    0.9 and else copies one, and inversion reverses a random segment.

    A batch of 20 is a generation, that of pymoo.optimize.minimize with the same random numbers. A smaller batch is a
    part of one: its parents are those of the whole generation, so each offspring has the same distribution whatever the
    batches, except that no parent stands in two tournaments of a mating while it may in those of two batches. What goes
    beyond the end of a generation has the same parents still.

    Unlike pymoo, which knows only its population, it never evaluates a permutation twice: offspring that are taken are
    mated anew, 100 times at most, and then drawn at random. Cost O(n_items) an offspring, a millisecond or two
    at n_items = 40.
    """
    if len(state.y) < N_POPULATION:
        return random(state, batch_size)
    generations = (len(state.y) - N_POPULATION) // N_OFFSPRING
    y = state.y[: N_POPULATION + N_OFFSPRING * generations]
    survivors = np.argsort(y, kind="stable")[:N_POPULATION]
    return completed(_offspring(state, survivors, batch_size), state, batch_size)


def _offspring(state: State, parents: IntArray, size: int) -> IntArray:
    """At most `size` free and allowed offspring (m, n_items) of the `parents`, indices of evaluated permutations."""
    from pymoo.algorithms.soo.nonconvex.ga import comp_by_cv_and_fitness  # 0.3 s, and workers import this package
    from pymoo.core.population import Population
    from pymoo.core.problem import Problem
    from pymoo.operators.crossover.erx import EdgeRecombinationCrossover

    X = state.X[parents]
    population = Population.new("X", X, "F", state.y[parents, None])
    mate = mating(comp_by_cv_and_fitness, EdgeRecombinationCrossover(), state, N_ATTEMPTS)
    offspring = mate.do(Problem(n_var=X.shape[1]), population, size, random_state=state.rng)
    return offspring.get("X").reshape(-1, X.shape[1]).astype(np.int64)


def mating(compare: Callable[..., Any], crossover: Any, state: State, attempts: int) -> Any:
    """pymoo's mating of permutations: tournaments by `compare`, the `crossover`, inversion, and admission.

    It ends when it has as many offspring as it is asked for, or after so many `attempts`.
    """
    from pymoo.core.mating import Mating
    from pymoo.operators.mutation.inversion import InversionMutation
    from pymoo.operators.selection.tournament import TournamentSelection

    return Mating(
        TournamentSelection(compare),
        crossover,
        InversionMutation(),
        eliminate_duplicates=Admission(state.taken, state.constraints),
        n_max_iterations=attempts,
    )


class Admission:
    """What a pymoo algorithm calls to eliminate duplicates: admits free and allowed permutations, one of each key.

    Offspring that break the constraints are repaired first: the member of the population that is nearest by the
    distance of positions is moved towards each by allowed exchanges of two items.
    """

    def __init__(self, taken: Taken, constraints: Constraints) -> None:
        self._taken = taken
        self._constraints = constraints

    def do(self, offspring: Any, *others: Any) -> Any:
        """Those of the pymoo population `offspring` whose key none of the `others` has, the parents and the chosen."""
        if not len(offspring):
            return offspring
        X = offspring.get("X")
        broken = ~self._constraints.allows(X)
        if broken.any():
            X[broken] = moved_towards(X[broken], _nearest(X[broken], others[0].get("X")), self._constraints)
            offspring.set("X", X)
        taken = self._taken.copy()
        for other in others:
            for permutation in other.get("X"):
                taken.add(permutation)
        admitted = []
        for i, permutation in enumerate(X):
            if permutation not in taken:
                taken.add(permutation)
                admitted.append(i)
        return offspring[admitted]


def _nearest(permutations: IntArray, candidates: IntArray) -> IntArray:
    """For each of (m, n_items) permutations the one of the candidates whose items are the nearest, (m, n_items)."""
    distances = np.abs(invert(permutations)[:, None] - invert(candidates)[None]).sum(axis=2)
    return candidates[np.argmin(distances, axis=1)]


def moved_towards(targets: IntArray, starts: IntArray, constraints: Constraints) -> IntArray:
    """(m, n_items) allowed permutations: from the allowed `starts`, position by position, the item of the target there.

    It changes places with the item that has the position, where that is allowed. Cost O(m n_items^2 log n_items).
    """
    moved, rows = starts.copy(), np.arange(len(starts))
    for position, item in enumerate(targets.T):
        exchanged = moved.copy()
        exchanged[rows, invert(moved)[rows, item]] = moved[:, position]
        exchanged[:, position] = item
        moved = np.where(constraints.allows(exchanged)[:, None], exchanged, moved)
    return moved
