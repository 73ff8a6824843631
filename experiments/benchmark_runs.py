"""The runs behind Table 1 of the paper: 15 of every method on each of nine problems, and what a row says of one.

Run k = 0..14 begins with initial set k mod 5, 30 random permutations that all methods on the problem share, and is
repeat k div 5 of it. Its method is seeded with k, so that a shorter run is the beginning of a longer one. Permutations
are points of their own, as in the paper: rotated tours are not known to be one.

A row has `seconds`, the processor time that choosing took, and `curve`, the best value after the initial set and after
each round that improved it, as `evaluations:value` separated by spaces.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd

from experiments.tasks import Row, play_all, read
from law_ray.kernels import FloatArray
from law_ray.optimizer import Optimizer
from law_ray.permutations import IntArray, sample
from law_ray.seeding import generator

N_INIT, INITIAL_SETS, REPEATS = 30, 5, 3
RUNS = INITIAL_SETS * REPEATS
COLUMNS = ("problem", "method", "initial_set", "repeat", "evaluations", "seconds", "curve")


@dataclass(frozen=True)
class Budget:
    """What the paper gives the runs of a problem."""

    batch_size: int
    rounds: int

    def evaluations(self, fraction: float = 1.0) -> int:
        """The initial set and this fraction of the rounds."""
        return N_INIT + self.batch_size * round(fraction * self.rounds)


SMALL, LARGE = Budget(5, 100), Budget(10, 80)
PROBLEMS = {
    **{"qap:chr12a": SMALL, "qap:nug22": SMALL, "qap:esc32a": LARGE},
    **{"fsp:car5": SMALL, "fsp:hel2": SMALL, "fsp:reC19": LARGE},
    **{"tsp:burma14": SMALL, "tsp:bayg29": SMALL, "tsp:att48": LARGE},
}


class Run(NamedTuple):
    problem: str
    method: str
    initial_set: int
    repeat: int

    @property
    def number(self) -> int:
        """k."""
        return self.repeat * INITIAL_SETS + self.initial_set

    def __str__(self) -> str:
        return f"{self.problem} {self.method} {self.number}"


def planned(problems: Iterable[str], methods: Iterable[str], runs: int) -> list[Run]:
    """The first `runs` runs of each method on each problem, all first ones before all second ones."""
    numbers = [divmod(number, INITIAL_SETS) for number in range(runs)]
    methods = list(methods)
    return [Run(p, m, initial_set, repeat) for repeat, initial_set in numbers for p in problems for m in methods]


def initial_permutations(problem: str, n_items: int, initial_set: int) -> IntArray:
    """(N_INIT, n_items)."""
    return sample(n_items, N_INIT, generator(initial_set, problem, 0))


def play(run: Run, objective: Any, batch_size: int, evaluations: int) -> dict[str, Any]:
    """One run, as its row; the objective is evaluated here, one permutation after another."""
    optimizer = Optimizer(objective.n_items, run.method, run.number, N_INIT)
    permutations = initial_permutations(run.problem, objective.n_items, run.initial_set)
    optimizer.add(permutations, [objective(permutation) for permutation in permutations])
    curve = [(N_INIT, optimizer.best.value)]
    seconds = 0.0
    for known in range(N_INIT + batch_size, evaluations + 1, batch_size):
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
    """The best values of a row's curve after these numbers of evaluations, each at least N_INIT."""
    counts, values = np.array([pair.split(":") for pair in curve.split()], dtype=float).T
    return values[np.searchsorted(counts, list(evaluations), side="right") - 1]


def missing(runs: Iterable[Run], rows: pd.DataFrame, fraction: float) -> list[Run]:
    """The runs without a row of this budget or a larger one."""
    known = rows.groupby(list(Run._fields))["evaluations"].max().to_dict()
    return [run for run in runs if known.get(run, 0) < PROBLEMS[run.problem].evaluations(fraction)]


def complete(
    runs: Iterable[Run], play_alone: Callable[[Run], list[Row]], report: Callable[[pd.DataFrame], str], stem: Path
) -> None:
    """Play the runs without a row in `stem`.csv, the first of each method first, and write the report to `stem`.md."""
    file = stem.with_suffix(".csv")
    known = set(read(file, COLUMNS)[list(Run._fields)].itertuples(index=False, name=None))
    todo = [run for run in runs if run not in known]
    failed = play_all(play_alone, sorted(todo, key=lambda run: run.number), file)
    stem.with_suffix(".md").write_text(report(read(file, COLUMNS)))
    if failed:
        raise click.ClickException(f"{failed} runs failed, see above: start again to repeat them")
