"""MACE: a batch from the Pareto set of several acquisition functions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from law_ray.acquisition.functions import est, log_ei, log_pi, ucb, ucb_beta
from law_ray.methods.baselines import completed, random
from law_ray.methods.context import BatchContext
from law_ray.methods.genetic import Admission, mating
from law_ray.methods.law import Acquisition, estimate_optimum
from law_ray.typing import FloatArray, IntArray

N_POPULATION = 100
"""Permutations in a generation; pymoo's default."""
N_GENERATIONS = 50
"""Generations of NSGA-II. With 12 items, the first front hardly changes after them."""
N_ATTEMPTS = 10
"""Matings at most for the offspring of a generation (heuristic). Where they do not suffice, little is left to find."""


def mace_ucb(context: BatchContext, batch_size: int) -> IntArray:
    """Choose a batch by MACE-UCB: from the Pareto set of PI, EI and UCB (Lyu et al., 2018). See `mace`."""
    beta = ucb_beta(context.X.shape[1], context.round, batch_size)
    return mace(context, batch_size, lambda mean, variance: ucb(mean, variance, beta))


def mace_est(context: BatchContext, batch_size: int) -> IntArray:
    """Choose a batch by MACE-EST: from the Pareto set of PI, EI and EST (paper, Section 4). See `mace`."""
    optimum = estimate_optimum(context.posterior, context.best, context.constraints, context.rng)
    return mace(context, batch_size, lambda mean, variance: est(mean, variance, optimum))


def mace(context: BatchContext, batch_size: int, third: Acquisition) -> IntArray:
    """Choose a batch at random from the Pareto set of PI, EI and a third acquisition function.

    The set is the first front of the last population of NSGA-II (Deb et al., 2002), in pymoo's implementation. It
    evolves N_POPULATION free permutations, at first random ones, for N_GENERATIONS generations. Where the front is
    smaller than the batch, the next fronts follow, and then random permutations.

    The paper names neither the population nor the operators. Here they are binary tournaments, order crossover (Davis,
    1985) and inversion of a segment. Order crossover keeps the positions of the items in a segment, on which the model
    depends. With edge recombination, which keeps neighbours, the front was still dominated after as many generations.
    The logarithms of PI and EI are maximised, which have the same Pareto set as PI and EI, but no plateau of zeros.

    Cost: N_GENERATIONS N_POPULATION offspring, O(n_items) each, and as many predictions, O(n^2) each: some seconds.

    Args:
        context: What the batch is chosen from.
        batch_size: The number of points.
        third: The third acquisition function.

    Returns:
        (batch_size, n_items) permutations.
    """

    def objectives(X: IntArray) -> FloatArray:
        mean, variance = context.posterior.predict(X)
        best = context.best
        return -np.column_stack([log_pi(mean, variance, best), log_ei(mean, variance, best), third(mean, variance)])

    population = _evolved(objectives, context)
    if population is None:
        return random(context, batch_size)
    X, front = population.get("X"), population.get("rank")
    order = np.lexsort([context.rng.random(len(X)), front])
    return completed(X[order[:batch_size]], context, batch_size)


def _evolved(objectives: Callable[[IntArray], FloatArray], context: BatchContext) -> Any:
    """Return NSGA-II's last population of free permutations, or None if no free one was found to begin with.

    The population holds the `rank` of each permutation's front. The objectives, a function of (m, n_items)
    permutations, are (m, 3), to be minimised.
    """
    from pymoo.algorithms.moo.nsga2 import NSGA2, binary_tournament  # slow, and workers import this package
    from pymoo.core.problem import Problem
    from pymoo.operators.crossover.ox import OrderCrossover

    initial = context.constraints.sample(N_POPULATION, context.rng)
    if all(permutation in context.excluded for permutation in initial):
        return None
    algorithm = NSGA2(
        N_POPULATION,
        initial,
        mating=mating(binary_tournament, OrderCrossover(), context, N_ATTEMPTS),
        eliminate_duplicates=Admission(context.excluded, context.constraints),
    )
    algorithm.setup(Problem(n_var=initial.shape[1], n_obj=3), termination=("n_gen", 1 + N_GENERATIONS))
    algorithm.random_state = context.rng
    while algorithm.has_next() and (offspring := algorithm.ask()) is not None:
        offspring.set("F", objectives(offspring.get("X")))
        algorithm.tell(offspring)
    return algorithm.pop
