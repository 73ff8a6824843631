"""Table 1 of the paper, regenerated: every method on nine problems of quadratic assignment, flow shop and touring.

`python -m experiments.benchmarks` runs what is missing of all methods, one run a CPU, and writes results/benchmarks.md,
benchmarks_table.csv and two figures anew. A finished run is a row of results/benchmarks.csv; one that was interrupted,
or failed, begins again next time. `--runs 0` reports the rows there are. `--fraction 0.25` plays a quarter of the
rounds; longer runs serve for shorter ones. `--quick` plays two rounds of everything, apart from the results.

`objectives.load` finds the instances, in the folder LAW_RAY_INSTANCES if that is set.
"""

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from experiments import benchmark_report
from experiments.benchmark_runs import COLUMNS, PROBLEMS, RUNS, Run, missing, planned, play
from experiments.tasks import Row, play_all, read
from law_ray.errors import InputError
from law_ray.methods import METHODS
from objectives import load

RESULTS = Path(__file__).parent / "results"
FRACTIONS = [1.0, 0.25]  # of the rounds: what the report has tables of
QUICK, QUICK_FRACTION = Path("law-ray-runs") / "benchmarks-quick", 0.02
WITHOUT_MODEL = ("random", "ga", "local-search")  # how the names of the methods begin that choose in no time


@click.command()
@click.option("--problems", multiple=True, type=click.Choice(list(PROBLEMS)), default=list(PROBLEMS), show_default=True)
@click.option("--methods", multiple=True, type=click.Choice(list(METHODS)), default=list(METHODS), show_default=True)
@click.option("--runs", type=click.IntRange(0, RUNS), default=RUNS, show_default=True, help="The first of the 15.")
@click.option("--fraction", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="Of the rounds.")
@click.option("--quick", is_flag=True, help="Two rounds of one run each, reported in law-ray-runs.")
def main(problems: tuple[str, ...], methods: tuple[str, ...], runs: int, fraction: float, quick: bool) -> None:
    """Run what is missing, then write the report."""
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
    if failed:
        raise click.ClickException(f"{failed} runs failed, see above: start again to repeat them")


def longest_first(runs: Sequence[Run], objectives: Mapping[str, Any]) -> list[Run]:
    """All first runs before all second ones, so that any stop leaves a balanced table; of equals the longest first."""

    def key(run: Run) -> tuple[int, bool, int]:
        work = objectives[run.problem].n_items * PROBLEMS[run.problem].evaluations()
        return run.number, run.method.startswith(WITHOUT_MODEL), -work

    return sorted(runs, key=key)


def play_fraction(fraction: float, run: Run) -> list[Row]:
    """One run, of a fraction of the rounds, as its row."""
    budget = PROBLEMS[run.problem]
    return [play(run, load(run.problem), budget.batch_size, budget.evaluations(fraction))]


if __name__ == "__main__":
    main()
