"""Who takes part: law-auto, the library's baselines, the domains' heuristics and the other libraries, and how."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from experiments.ours.general_rivals import evolution, samplers
from experiments.ours.general_rivals.black_box import BlackBox
from experiments.ours.general_rivals.problems import PROBLEMS
from law_ray.optimizer import Optimizer

Play = Callable[[BlackBox, int], None]
"""(black box, seed) -> nothing: it returns when it is done, or is ended by `SpentError`"""


@dataclass(frozen=True)
class Contestant:
    """A method that takes part."""

    play: Play
    how: str
    """how it is used, for the report"""
    distributions: str = ""
    """what pip installs for it, with versions; empty for what law_ray brings"""
    module: str = ""
    """what it imports"""

    @property
    def installed(self) -> bool:
        """Whether all that it needs is there."""
        return all(find_spec(name) is not None for name in self.module.split())


def ours(method: str) -> Play:
    """Return how a method of law_ray plays, as by `law_ray.minimize` with its defaults."""

    def play(box: BlackBox, seed: int) -> None:
        _ask_and_tell(box, _optimizer(box, method, seed))

    return play


def local_search(box: BlackBox, seed: int) -> None:
    """Play the local search with the move that fits the problem."""
    _ask_and_tell(box, _optimizer(box, f"local-search-{PROBLEMS[box.name].move}", seed))


def informed(box: BlackBox, seed: int) -> None:
    """Play law-auto with what the problem offers: the heuristics' orderings first, and a cheap proxy as prior mean."""
    start = [getattr(box.objective, name)() for name in PROBLEMS[box.name].heuristics.values()]
    proxy = getattr(box.objective, "prior_mean", None)
    _ask_and_tell(box, _optimizer(box, "law-auto", seed, start=start, prior_mean=proxy))


def heuristic(name: str) -> Play:
    """Return how a heuristic of the problem's domain plays: it proposes one ordering."""

    def play(box: BlackBox, seed: int) -> None:
        box.values([getattr(box.objective, PROBLEMS[box.name].heuristics[name])()])

    return play


def _optimizer(box: BlackBox, method: str, seed: int, **options: Any) -> Optimizer:
    before = getattr(box.objective, "constraints", {}).get("before", ())
    return Optimizer(box.n_items, method, seed, before=before, noisy=box.noisy, **options)


def _ask_and_tell(box: BlackBox, optimizer: Optimizer) -> None:
    while trials := optimizer.ask_up_to(box.batch_size, evals=box.budget):
        for trial, (value, error) in zip(trials, box.observe(t.permutation for t in trials), strict=True):
            optimizer.tell(trial.id, value, error or None)


OPTUNA, NEVERGRAD, PATEDA = "optuna==5.0.0", "nevergrad==1.0.12", "perm-pateda==0.2.1"
METHODS: dict[str, Contestant] = {
    "law-auto": Contestant(ours("law-auto"), "the default of law_ray: 20 random orderings, then batches"),
    "law-auto informed": Contestant(
        informed, "the same, with the domain's heuristics as start, its proxy as prior mean"
    ),
    "random": Contestant(ours("random"), "random orderings"),
    "local search": Contestant(local_search, "law_ray's, by swaps or insertions, whichever fits, after 20 random ones"),
    "Optuna TPE": Contestant(samplers.tpe_keys, "random keys; constant liar in batches", OPTUNA, "optuna"),
    "Optuna TPE Lehmer": Contestant(samplers.tpe_lehmer, "Lehmer code, as its FAQ recommends", OPTUNA, "optuna"),
    "Optuna CMA-ES": Contestant(samplers.cma_es, "random keys", f"{OPTUNA} cmaes==0.13.1", "optuna cmaes"),
    "Optuna GP": Contestant(samplers.gp, "GPSampler, random keys", f"{OPTUNA} torch", "optuna torch"),
    "Nevergrad NGOpt": Contestant(samplers.ngopt, "argsort of an array; told the budget", NEVERGRAD, "nevergrad"),
    "Nevergrad (1+1)": Contestant(
        samplers.one_plus_one, "DiscreteOnePlusOne, argsort of an array; told the budget", NEVERGRAD, "nevergrad"
    ),
    "pymoo GA": Contestant(
        evolution.pymoo, "order crossover, inversion, population 20, a batch of offspring at a time"
    ),
    "DEAP": Contestant(
        evolution.deap, "eaSimple, partially matched crossover, shuffled indexes, population 20", "deap==1.4.4", "deap"
    ),
    "scikit-opt GA_TSP": Contestant(
        evolution.scikit_opt, "population 20, mutation always, as in its example", "scikit-opt==0.6.6", "sko"
    ),
    "perm-pateda Mallows": Contestant(
        evolution.mallows, "Cayley's or Kendall's distance, whichever fits; population 20", PATEDA, "perm_pateda"
    ),
    "perm-pateda Plackett-Luce": Contestant(evolution.plackett_luce, "population 20", PATEDA, "perm_pateda"),
    "OpenTuner": Contestant(
        evolution.opentuner, "PermutationParameter, its default techniques; no batches", "opentuner==0.8.8", "opentuner"
    ),
    "SMAC": Contestant(
        samplers.smac, "HyperparameterOptimizationFacade, random keys; no batches", "smac==2.4.1", "smac"
    ),
    "Ax": Contestant(samplers.ax, "its client's own choice of models, random keys", "ax-platform==1.3.1", "ax"),
}
"""The methods by name, without the domains' heuristics."""


def methods_for(problem: str) -> dict[str, Contestant]:
    """Return the methods that can play on a problem: METHODS, and the heuristics of its domain."""
    heuristics = PROBLEMS[problem].heuristics
    own = {name: Contestant(heuristic(name), "one ordering, by the domain's heuristic") for name in heuristics}
    general = {name: each for name, each in METHODS.items() if heuristics or name != "law-auto informed"}
    return general | own
