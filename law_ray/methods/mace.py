"""MACE: a batch from the Pareto set of several acquisition functions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from law_ray.acquisition import est, log_ei, log_pi, ucb, ucb_beta
from law_ray.kernels import FloatArray
from law_ray.methods.baselines import completed, random
from law_ray.methods.genetic import Admission, mating
from law_ray.methods.law import estimate_optimum
from law_ray.methods.state import State
from law_ray.permutations import IntArray

Acquisition = Callable[[FloatArray, FloatArray], FloatArray]  # of mean and variance

N_POPULATION = 100  # pymoo's
N_GENERATIONS = 50  # at 12 items the front has all but ceased to move by then
N_ATTEMPTS = 10  # matings for the offspring of a generation; when they do not suffice little is left to be found


def mace_ucb(state: State, batch_size: int) -> IntArray:
    """MACE-UCB: the (batch_size, n_items) batch from the Pareto set of PI, EI and UCB (Lyu et al., 2018; `mace`)."""
    beta = ucb_beta(state.X.shape[1], state.round, batch_size)
    return mace(state, batch_size, lambda mean, variance: ucb(mean, variance, beta))


def mace_est(state: State, batch_size: int) -> IntArray:
    """MACE-EST: the (batch_size, n_items) batch from the Pareto set of PI, EI and EST (paper, Section 4; `mace`)."""
    optimum = estimate_optimum(state.posterior, state.best, state.constraints, state.rng)
    return mace(state, batch_size, lambda mean, variance: est(mean, variance, optimum))


def mace(state: State, batch_size: int, third: Acquisition) -> IntArray:
    """The (batch_size, n_items) batch at random from the Pareto set of PI, EI and a `third` acquisition function.

    The set is that of the last population of pymoo's NSGA-II (Deb et al., 2002), after N_GENERATIONS generations of 100
    free permutations, the first ones random. Where it holds less than a batch the next fronts follow, and then random
    permutations. The paper names neither population nor operators: these are binary tournaments, order crossover
    (Davis, 1985) and inversion of a segment. Order crossover keeps the positions of a segment, which is what the model
    goes by; edge recombination, which keeps neighbours, ended with dominated fronts after as many generations. PI and
    EI are maximised by their logarithms, which have the same Pareto set, and no plateau of zeros. Cost N_GENERATIONS
    N_POPULATION offspring, O(n_items) each, and predictions, O(n^2) each: some seconds.
    """

    def objectives(X: IntArray) -> FloatArray:
        mean, variance = state.posterior.predict(X)
        best = state.best
        return -np.column_stack([log_pi(mean, variance, best), log_ei(mean, variance, best), third(mean, variance)])

    population = _evolved(objectives, state)
    if population is None:
        return random(state, batch_size)
    X, front = population.get("X"), population.get("rank")
    order = np.lexsort([state.rng.random(len(X)), front])
    return completed(X[order[:batch_size]], state, batch_size)


def _evolved(objectives: Callable[[IntArray], FloatArray], state: State) -> Any:
    """The last population of NSGA-II, of free permutations with the `rank` of their front; None if it found no first.

    `objectives`, of (m, n_items) permutations, are three to be minimised, (m, 3).
    """
    from pymoo.algorithms.moo.nsga2 import NSGA2, binary_tournament  # slow, and workers import this package
    from pymoo.core.problem import Problem
    from pymoo.operators.crossover.ox import OrderCrossover

    initial = state.constraints.sample(N_POPULATION, state.rng)
    if all(permutation in state.taken for permutation in initial):
        return None
    algorithm = NSGA2(
        N_POPULATION,
        initial,
        mating=mating(binary_tournament, OrderCrossover(), state, N_ATTEMPTS),
        eliminate_duplicates=Admission(state.taken, state.constraints),
    )
    algorithm.setup(Problem(n_var=initial.shape[1], n_obj=3), termination=("n_gen", 1 + N_GENERATIONS))
    algorithm.random_state = state.rng
    while algorithm.has_next() and (offspring := algorithm.ask()) is not None:
        offspring.set("F", objectives(offspring.get("X")))
        algorithm.tell(offspring)
    return algorithm.pop
