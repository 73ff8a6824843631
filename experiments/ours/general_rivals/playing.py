"""The runs of the experiment: which there are, and the row that each leaves."""

import contextlib
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import click

from experiments.ours.general_rivals.black_box import BlackBox, SpentError
from experiments.ours.general_rivals.methods import METHODS, methods_for
from experiments.tasks import Row

COLUMNS = (
    *("problem", "method", "batch_size", "evaluations", "seed"),
    *("evaluated", "choosing", "evaluating", "wall", "curve"),
)

SEEDS = 10
"""Runs of each kind."""


class Run(NamedTuple):
    """What identifies a run: the first columns of its row."""

    problem: str
    method: str
    batch_size: int
    evaluations: int
    """the budget"""
    seed: int

    def __str__(self) -> str:
        return f"{self.problem} {self.method}, {self.evaluations} in batches of {self.batch_size}, seed {self.seed}"


def planned(
    problems: Iterable[str], methods: Sequence[str], batch_sizes: Iterable[int], evaluations: int, seeds: int
) -> list[Run]:
    """Return the runs, by seeds. A heuristic of the domain has one: it knows neither batches nor seeds.

    Args:
        problems: Their names.
        methods: The names of those that take part, the heuristics always included; all of them if there are none.
        batch_sizes: How many orderings are evaluated at a time.
        evaluations: The budget of a run.
        seeds: The number of runs of each kind.
    """
    runs = []
    problems, batch_sizes = list(problems), list(batch_sizes)
    for seed in range(seeds):
        for problem in problems:
            for method in methods_for(problem):
                if method not in METHODS:
                    runs += [Run(problem, method, 1, 1, 0)] if seed == 0 else []
                elif not methods or method in methods:
                    runs += [Run(problem, method, batch_size, evaluations, seed) for batch_size in batch_sizes]
    return runs


def playable(runs: Iterable[Run]) -> list[Run]:
    """Return the runs whose method is installed; say of the other methods how to install them."""
    runs = list(runs)
    absent = {run.method for run in runs if run.method in METHODS and not METHODS[run.method].installed}
    for name in sorted(absent):
        click.echo(f"{name} is skipped: install it with `pip install {METHODS[name].distributions}`", err=True)
    return [run for run in runs if run.method not in absent]


def play_alone(run: Run) -> list[Row]:
    """Return the row of a run."""
    box = BlackBox(run.problem, run.evaluations, run.batch_size, run.seed)
    used, wall = time.process_time(), time.perf_counter()
    with contextlib.suppress(SpentError):
        methods_for(run.problem)[run.method].play(box, run.seed)
    wall, used = time.perf_counter() - wall, time.process_time() - used
    seconds = {"choosing": used - box.evaluating, "evaluating": box.evaluating, "wall": wall}
    curve = " ".join(f"{count}:{value:.12g}" for count, value in box.curve())
    return [{**run._asdict(), "evaluated": len(box.evaluated), **seconds, "curve": curve}]
