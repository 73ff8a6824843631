"""How good is law-auto on larger assignments after 100 to 400 evaluations, beside published figures?

`python -m experiments.ours.low_budget` plays the runs that are missing, one per CPU, and writes results/low_budget.md.
A finished run is a row of results/low_budget.csv. `--runs 0` only reports on the rows that exist.
"""

from typing import Any

import click
import pandas as pd

from experiments import RESULTS, markdown
from experiments.machine import played_on
from experiments.markdown import plus_minus
from experiments.ours.general_rivals.problems import published
from experiments.runs import N_INIT, RUNS, WITHOUT_PAIRS, Budget, Run, complete, planned, play, values_after
from experiments.statistics import standard_error
from experiments.tasks import Row
from objectives import load
from objectives.instances.best_known import best_known

BUDGET = Budget(batch_size=5, rounds=74)
CHECKED = (100, 200, 400)
"""Evaluations after which the published figures were taken."""
METHODS = ("law-auto", WITHOUT_PAIRS)
PROBLEMS = ("qap:kra30a", "qap:sko42", "qap:tho30")
OTHERS = ("CEGO", "FAT-RLS")
"""Methods with published figures."""


@click.command()
@click.option("--runs", type=click.IntRange(0, RUNS), default=10, show_default=True, help="How many, from the first.")
def main(runs: int) -> None:
    """Play the missing runs, then write the report."""
    complete(planned(PROBLEMS, METHODS, runs), play_alone, report, RESULTS / "low_budget")


def play_alone(run: Run) -> list[Row]:
    """Return the row of a run."""
    return [play(run, load(run.problem), BUDGET.batch_size, BUDGET.evaluations())]


def report(rows: pd.DataFrame) -> str:
    """Return the report: a table per problem."""
    parts = [REPORT.format(machine=played_on(rows), init=N_INIT)]
    theirs = published().set_index(["problem", "method", "evaluations"])["mean"]
    header = ["method", "runs", *(f"after {count}" for count in CHECKED), "gap at the end", "seconds"]
    for problem, of_problem in rows.groupby("problem", sort=False):
        best = best_known()[str(problem)].value
        lines: list[list[Any]] = []
        for method, runs in of_problem.groupby("method", sort=False):
            values = values_after(runs, CHECKED)
            means, errors = values.mean(axis=0), [standard_error(column) for column in values.T]
            cells = [plus_minus(mean, error) for mean, error in zip(means, errors, strict=True)]
            lines.append([method, len(runs), *cells, f"{means[-1] / best - 1:.1%}", f"{runs['seconds'].mean():.0f}"])
        for method in OTHERS:
            means = [theirs[problem, method, count] for count in CHECKED]
            lines.append([f"{method} (published)", "", *(f"{m:.2f}" for m in means), f"{means[-1] / best - 1:.1%}", ""])
        parts.append(f"\n## {problem}\n\nBest known value: {best:.0f}.\n\n{markdown.table(header, lines)}")
    return "".join(parts)


REPORT = """# Larger assignments with small budgets

{machine} Regenerate with `python -m experiments.ours.low_budget`; the instances are QAPLIB's.

Best values: mean +- standard error over the runs. law-auto begins with {init} random orderings and goes on in batches
of five; the published methods are sequential. The gap is that of the last mean to the best known value. Seconds:
processor time spent choosing batches in a run, on one thread, until it ends or finds the optimum.

The places are numbered row by row: sko42's on a grid of 6 x 7, tho30's on one of 3 x 10, and kra30a's on two floors of
4 x 4 rooms, two of which are missing, where it is farther from floor to floor than from room to room. law-auto
recognises these shapes. Which shapes it knows was decided with these instances in view.
"""


if __name__ == "__main__":
    main()
