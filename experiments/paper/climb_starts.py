"""Does LAW-EST differ from the paper on reC19 because its searches start among fewer random permutations?

`python -m experiments.paper.climb_starts` plays the runs that are missing, one per CPU, and writes
results/climb_starts.md. A finished run is a row of results/climb_starts.csv; the runs with law_ray's own number are in
results/benchmarks.csv. `--runs 0` only reports on the rows that exist.
"""

from typing import Any
from unittest.mock import patch

import click
import pandas as pd

from experiments import RESULTS, markdown
from experiments.machine import played_on
from experiments.markdown import plus_minus
from experiments.paper import published
from experiments.paper.benchmarks import play_fraction
from experiments.paper.problems import PROBLEMS
from experiments.runs import COLUMNS, RUNS, Run, complete, planned, values_after
from experiments.statistics import in_combined_errors, standard_error
from experiments.tasks import Row, read
from law_ray.methods import greedy

PROBLEM, METHOD = "fsp:reC19", "law-est"
EVALUATIONS = PROBLEMS[PROBLEM].evaluations()
N_POOL = 20_000  # the paper's


@click.command()
@click.option("--runs", type=click.IntRange(0, RUNS), default=RUNS, show_default=True, help="How many, from the first.")
def main(runs: int) -> None:
    """Play the missing runs, then write the report."""
    complete(planned([PROBLEM], [METHOD], runs), play_alone, report, RESULTS / "climb_starts")


def play_alone(run: Run) -> list[Row]:
    """Return the row of a run of Table 1 with the paper's number of permutations."""
    with patch.object(greedy, "N_POOL", N_POOL):
        return play_fraction(1.0, run)


def report(rows: pd.DataFrame) -> str:
    """Return the report: the runs with either number beside the paper's, and the mean difference of paired runs."""
    usual = read(RESULTS / "benchmarks.csv", COLUMNS)
    usual = usual[(usual["problem"] == PROBLEM) & (usual["method"] == METHOD)]
    theirs = published.figures().set_index(["problem", "method"]).loc[(PROBLEM, METHOD)]
    best = {count: _best(runs) for count, runs in ((greedy.N_POOL, usual), (N_POOL, rows))}
    lines: list[list[Any]] = [
        [
            *(f"{count:,}", len(values), plus_minus(values.mean(), standard_error(values.to_numpy()))),
            in_combined_errors(values.to_numpy(), theirs["mean"], theirs["standard_error"]),
        ]
        for count, values in best.items()
    ]
    gains = (best[N_POOL] - best[greedy.N_POOL]).dropna().to_numpy()
    return REPORT.format(
        machine=played_on(rows),
        problem=PROBLEM,
        evaluations=EVALUATIONS,
        paper=plus_minus(theirs["mean"], theirs["standard_error"]),
        table=markdown.table(["permutations", "runs", "best value", "difference"], lines),
        paired=plus_minus(gains.mean(), standard_error(gains)),
        pairs=len(gains),
    )


def _best(rows: pd.DataFrame) -> "pd.Series[float]":
    """Return the best value of each whole run, indexed by its initial set and repeat."""
    rows = rows[rows["evaluations"] >= EVALUATIONS].drop_duplicates(Run._fields, keep="last")
    rows = rows.set_index(["initial_set", "repeat"])
    return pd.Series(values_after(rows, [EVALUATIONS])[:, 0], rows.index)


REPORT = """# Among how many random permutations searches start

{machine} Regenerate with `python -m experiments.paper.climb_starts`.

LAW-EST on {problem} after {evaluations} evaluations: mean +- standard error of the best values. Its local searches
start at the best and at some others of the evaluated permutations, and of a number of random permutations.
That number is 20,000 in the paper and smaller in law_ray, which cuts the time to choose a batch to two thirds.
Difference: ours minus the paper's {paper}, divided by the root of the sum of the squared standard errors. The last line
compares runs that began alike.

{table}
Mean difference of {pairs} pairs of runs that began alike, 20,000 permutations against fewer: {paired}.
"""


if __name__ == "__main__":
    main()
