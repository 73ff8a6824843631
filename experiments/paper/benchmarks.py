"""Table 1 of the paper, reproduced: every method on nine assignment, flow shop and travelling salesman problems.

`python -m experiments.paper.benchmarks` plays the runs that are missing, one per CPU, and writes results/benchmarks.md,
benchmarks_table.csv and two figures. A finished run is a row of results/benchmarks.csv; a run that failed or was
interrupted is repeated next time. `--runs 0` only reports on the rows that exist. `--fraction 0.25` plays a quarter of
the rounds, and a longer run counts as a shorter one too. `--quick` plays two rounds of everything, outside the results.

`objectives.load` finds the instances, in the folder LAW_RAY_INSTANCES if that is set.
"""

import functools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import pandas as pd

from experiments import RESULTS
from experiments.paper import benchmark_report
from experiments.paper.problems import PROBLEMS
from experiments.runs import COLUMNS, CONTESTANTS, RUNS, Run, planned, play
from experiments.tasks import Row, play_all, raise_if, read
from law_ray.errors import InputError
from objectives import load

FRACTIONS = [1.0, 0.25]  # of the rounds, after which the report compares the methods
QUICK, QUICK_FRACTION = Path("law-ray-runs") / "benchmarks-quick", 0.02
WITHOUT_MODEL = ("random", "ga", "local-search")  # prefixes of the methods that choose in no time


@click.command()
@click.option("--problems", multiple=True, type=click.Choice(list(PROBLEMS)), default=list(PROBLEMS), show_default=True)
@click.option(
    "--methods", multiple=True, type=click.Choice(list(CONTESTANTS)), default=list(CONTESTANTS), show_default=True
)
@click.option(
    "--runs", type=click.IntRange(0, RUNS), default=RUNS, show_default=True, help="How many of the 15, from the first."
)
@click.option(
    "--fraction", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="Fraction of the rounds to play."
)
@click.option("--quick", is_flag=True, help="Play two rounds of one run each, and report in law-ray-runs.")
def main(problems: tuple[str, ...], methods: tuple[str, ...], runs: int, fraction: float, quick: bool) -> None:
    """Play the missing runs, then write the report."""
    folder, fractions = RESULTS, FRACTIONS
    if quick:
        folder, fractions, runs, fraction = QUICK, [QUICK_FRACTION], 1, QUICK_FRACTION
        (folder / "benchmarks.csv").unlink(missing_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "benchmarks.csv"
    try:
        objectives = {problem: load(problem) for problem in PROBLEMS}
    except InputError as error:
        raise click.ClickException(str(error)) from error
    todo = missing(planned(problems, methods, runs), read(file, COLUMNS), fraction)
    failed = play_all(functools.partial(play_fraction, fraction), longest_first(todo, objectives), file)
    report = benchmark_report.write(read(file, COLUMNS), objectives, folder, fractions)
    click.echo(report if quick else f"{folder / 'benchmarks.md'}")
    raise_if(failed)


def missing(runs: Iterable[Run], rows: pd.DataFrame, fraction: float) -> list[Run]:
    """Return the runs that have no row of at least as many evaluations."""
    known = rows.groupby(list(Run._fields))["evaluations"].max().to_dict()
    return [run for run in runs if known.get(run, 0) < PROBLEMS[run.problem].evaluations(fraction)]


def longest_first(runs: Sequence[Run], objectives: Mapping[str, Any]) -> list[Run]:
    """Return the runs by number, so that any stop leaves a balanced table, and the longest of a number first."""

    def key(run: Run) -> tuple[int, bool, int]:
        work = objectives[run.problem].n_items * PROBLEMS[run.problem].evaluations()
        return run.number, run.method.startswith(WITHOUT_MODEL), -work

    return sorted(runs, key=key)


def play_fraction(fraction: float, run: Run) -> list[Row]:
    """Return the row of a run that plays a fraction of the rounds."""
    budget = PROBLEMS[run.problem]
    return [play(run, load(run.problem), budget.batch_size, budget.evaluations(fraction))]


if __name__ == "__main__":
    main()
