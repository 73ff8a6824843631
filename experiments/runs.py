"""One run of a method on a problem, as the paper plays its benchmarks, and the row that it leaves.

Run k = 0..14 begins with initial set k mod 5, which holds 30 random permutations shared by all methods on the problem,
and is repeat k div 5 of that set. Its method is seeded with k, so a shorter run is the beginning of a longer one. As in
the paper, every permutation is a point of its own: that rotations of a tour are the same tour is not used.

A run ends where it finds a proven optimum, since its best value cannot change any more. The column `seconds` of a row
is the processor time spent choosing batches until then. The column `curve` is the best value after the initial set and
after each round that improved it, as `evaluations:value` pairs separated by spaces.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from experiments import tasks
from experiments.tasks import Row
from law_ray.methods.auto import law_auto
from law_ray.methods.registry import METHODS, SELECTION_MODEL, Method
from law_ray.optimizer import Optimizer
from law_ray.space.permutations import sample
from law_ray.typing import FloatArray, IntArray
from law_ray.utils.seeding import generator
from objectives.instances.best_known import best_known

N_INIT, INITIAL_SETS, REPEATS = 30, 5, 3  # the paper's
RUNS = INITIAL_SETS * REPEATS
WITHOUT_PAIRS = "law-auto without pairs"
CONTESTANTS = {**METHODS, WITHOUT_PAIRS: Method(law_auto, "law-auto without the pairwise model", SELECTION_MODEL)}
"""The methods by name, and law-auto without the pairwise model."""
COLUMNS = ("problem", "method", "initial_set", "repeat", "evaluations", "seconds", "curve")


@dataclass(frozen=True)
class Budget:
    """How long the runs on a problem are."""

    batch_size: int
    rounds: int

    def evaluations(self, fraction: float = 1.0) -> int:
        """Return the evaluations of the initial set and of this fraction of the rounds."""
        return N_INIT + self.batch_size * round(fraction * self.rounds)


class Run(NamedTuple):
    """What identifies a run: the first columns of its row."""

    problem: str
    method: str
    initial_set: int
    repeat: int

    @property
    def number(self) -> int:
        """The number k of the run."""
        return self.repeat * INITIAL_SETS + self.initial_set

    def __str__(self) -> str:
        return f"{self.problem} {self.method} {self.number}"


def planned(problems: Iterable[str], methods: Iterable[str], runs: int) -> list[Run]:
    """Return the first `runs` runs of each method on each problem, in the order of their numbers."""
    numbers = [divmod(number, INITIAL_SETS) for number in range(runs)]
    methods = list(methods)
    return [Run(p, m, initial_set, repeat) for repeat, initial_set in numbers for p in problems for m in methods]


def initial_permutations(problem: str, n_items: int, initial_set: int) -> IntArray:
    """Return the (N_INIT, n_items) permutations of an initial set."""
    return sample(n_items, N_INIT, generator(initial_set, problem, 0))


def play(
    run: Run,
    objective: Any,
    batch_size: int,
    evaluations: int,
    method: Method | None = None,
    initial: IntArray | None = None,
) -> Row:
    """Return the row of a run; the objective is evaluated in this process, one permutation after another.

    The method is the one that the run names, unless another is given, and the run begins with its initial set, unless
    other permutations are given.
    """
    if initial is None:
        initial = initial_permutations(run.problem, objective.n_items, run.initial_set)
    optimizer = Optimizer(objective.n_items, method or CONTESTANTS[run.method], run.number, len(initial))
    optimizer.add(initial, [objective(permutation) for permutation in initial])
    curve = [(len(initial), optimizer.best.value)]
    seconds, least = 0.0, best_known().get(getattr(objective, "name", ""))
    for known in range(len(initial) + batch_size, evaluations + 1, batch_size):
        if least is not None and least.proven and optimizer.best.value <= least.value:
            break
        start = time.process_time()
        trials = optimizer.ask(batch_size)
        seconds += time.process_time() - start
        for trial in trials:
            optimizer.tell(trial.id, objective(trial.permutation))
        if optimizer.best.value < curve[-1][1]:
            curve.append((known, optimizer.best.value))
    improvements = " ".join(f"{count}:{value:.12g}" for count, value in curve)
    return {**run._asdict(), "evaluations": evaluations, "seconds": seconds, "curve": improvements}


def best_after(curve: str, evaluations: Iterable[int]) -> FloatArray:
    """Return the best values of a row's curve after these numbers of evaluations.

    Raises:
        ValueError: A number is less than the first of the curve.
    """
    counts, values = np.array([pair.split(":") for pair in curve.split()], dtype=float).T
    places = np.searchsorted(counts, list(evaluations), side="right") - 1
    if (places < 0).any():
        raise ValueError(f"the curve begins after {counts[0]:g} evaluations: ask for no fewer")
    return values[places]


def values_after(rows: pd.DataFrame, evaluations: Sequence[int]) -> FloatArray:
    """Return the best values of every row after these numbers of evaluations, as (rows, len(evaluations))."""
    return np.array([best_after(curve, evaluations) for curve in rows["curve"]])


def complete(
    runs: Iterable[Run], play_alone: Callable[[Run], list[Row]], report: Callable[[pd.DataFrame], str], stem: Path
) -> None:
    """Play the runs that have no row yet, in the order of their numbers, and write the report (`tasks.complete`)."""
    tasks.complete(sorted(runs, key=lambda run: run.number), play_alone, report, stem, COLUMNS)
