"""Rivals that know permutations: genetic algorithms, estimation of distributions, and OpenTuner's ensemble.

Each function plays one library until the black box ends it. Populations hold POPULATION orderings: with 400 evaluations
at most, the hundreds that the libraries' examples use would leave no generation to improve on the first.
"""

import argparse
import multiprocessing
import random
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from experiments.ours.general_rivals.black_box import PATIENCE, BlackBox
from experiments.ours.general_rivals.problems import PROBLEMS
from law_ray.typing import FloatArray, IntArray

POPULATION = 20
"""Orderings of a population (heuristic; pymoo's own example of a tour has as many)."""
FOREVER = sys.maxsize
"""Generations: the black box ends the search."""


def pymoo(box: BlackBox, seed: int) -> None:
    """Play pymoo's GA with its operators for permutations, a batch of offspring at a time."""
    from pymoo.algorithms.soo.nonconvex.ga import GA
    from pymoo.core.problem import Problem
    from pymoo.operators.crossover.ox import OrderCrossover
    from pymoo.operators.mutation.inversion import InversionMutation
    from pymoo.operators.sampling.rnd import PermutationRandomSampling
    from pymoo.optimize import minimize

    class Ordering(Problem):
        def __init__(self) -> None:
            super().__init__(n_var=box.n_items, n_obj=1, xl=0, xu=box.n_items - 1, vtype=int)

        def _evaluate(self, X: IntArray, out: dict[str, Any], *args: Any, **kwargs: Any) -> None:
            out["F"] = np.array(box.values(X))[:, None]

    algorithm = GA(
        pop_size=POPULATION,
        n_offsprings=box.batch_size,
        sampling=PermutationRandomSampling(),
        crossover=OrderCrossover(),
        mutation=InversionMutation(),
        eliminate_duplicates=True,
    )
    minimize(Ordering(), algorithm, ("n_gen", FOREVER), seed=seed)


def deap(box: BlackBox, seed: int) -> None:
    """Play DEAP's simple evolution with the operators and rates of its example of a tour, a generation at a time."""
    from deap import algorithms, base, tools

    class Fitness(base.Fitness):
        weights = (-1.0,)

    class Individual(list[int]):
        def __init__(self, items: list[int]) -> None:
            super().__init__(items)
            self.fitness = Fitness()

    def evaluated(_: Any, individuals: Any) -> list[tuple[float]]:
        return [(value,) for value in box.values(individuals)]

    random.seed(seed)  # DEAP draws from Python's global generator
    toolbox = base.Toolbox()
    toolbox.register("mate", tools.cxPartialyMatched)
    toolbox.register("mutate", tools.mutShuffleIndexes, indpb=0.05)
    toolbox.register("select", tools.selTournament, tournsize=3)
    toolbox.register("evaluate", lambda individual: None)  # `map` evaluates a generation at once
    toolbox.register("map", evaluated)
    population = [Individual(random.sample(range(box.n_items), box.n_items)) for _ in range(POPULATION)]
    algorithms.eaSimple(population, toolbox, cxpb=0.7, mutpb=0.2, ngen=PATIENCE * box.budget, verbose=False)


def scikit_opt(box: BlackBox, seed: int) -> None:
    """Play scikit-opt's GA_TSP, one ordering at a time."""
    multiprocessing.set_start_method(None, force=True)  # scikit-opt sets it on import, which fails where it is set
    from sko.GA import GA_TSP

    np.random.seed(seed)  # noqa: NPY002 - scikit-opt draws from NumPy's global generator
    genetic = GA_TSP(
        func=lambda ordering: box.values([ordering])[0],
        n_dim=box.n_items,
        size_pop=POPULATION,
        max_iter=PATIENCE * box.budget,
        prob_mut=1,
    )
    genetic.run()


def mallows(box: BlackBox, seed: int) -> None:
    """Play perm-pateda's Mallows model: by Cayley's distance where swaps fit the problem, by Kendall's elsewhere."""
    import perm_pateda

    swaps = PROBLEMS[box.name].move == "swap"
    _pateda(box, seed, perm_pateda.MallowsCayleyEDA if swaps else perm_pateda.MallowsKendallEDA)


def plackett_luce(box: BlackBox, seed: int) -> None:
    """Play perm-pateda's Plackett-Luce model."""
    import perm_pateda

    _pateda(box, seed, perm_pateda.PlackettLuceEDA)


def _pateda(box: BlackBox, seed: int, algorithm: Callable[..., Any]) -> None:
    def fitness(ordering: FloatArray) -> float:
        return -box.values([ordering.astype(int)])[0]  # which is maximised

    generations = PATIENCE * box.budget // POPULATION + 1
    algorithm(n_vars=box.n_items, fitness_func=fitness, pop_size=POPULATION, n_gen=generations, random_seed=seed).run()


def opentuner(box: BlackBox, seed: int) -> None:
    """Play OpenTuner's ensemble of techniques on a PermutationParameter, one ordering at a time."""
    import opentuner as tuner
    from opentuner.api import TuningRunManager
    from opentuner.measurement.interface import DefaultMeasurementInterface
    from opentuner.resultsdb.models import Result
    from opentuner.search.manipulator import ConfigurationManipulator, PermutationParameter

    random.seed(seed)  # OpenTuner draws from both global generators
    np.random.seed(seed)  # noqa: NPY002
    warnings.filterwarnings("ignore", module="opentuner")  # of SQLAlchemy
    parser = argparse.ArgumentParser(parents=tuner.argparsers())
    options = parser.parse_args(["--database", "sqlite://", "--quiet"])  # in memory
    manipulator = ConfigurationManipulator()
    manipulator.add_parameter(PermutationParameter("order", range(box.n_items)))
    names = {"project_name": "rivals", "program_name": box.name, "program_version": "1"}
    manager = TuningRunManager(DefaultMeasurementInterface(args=options, manipulator=manipulator, **names), options)
    for _ in range(PATIENCE * box.budget):
        desired = manager.get_next_desired_result()
        if desired is not None:  # otherwise all its techniques proposed what is known
            (value,) = box.values([desired.configuration.data["order"]])
            manager.report_result(desired, Result(time=value))
