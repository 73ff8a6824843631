"""What do thousands of values bring? A noisy assignment of 30 items, 10,000 evaluations.

`python -m experiments.ours.many_values` plays the runs that are missing, one per CPU, and writes
results/many_values.md. A finished run is a row of results/many_values.csv. `--runs 0` only reports on the rows that
exist.

With more than 1,500 values, law-auto's process is given a part of them, and its pairwise model all. A variant gives the
pairwise model the same part.
"""

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from experiments import RESULTS, markdown
from experiments.machine import played_on
from experiments.markdown import plus_minus
from experiments.ours.held_out import symmetric
from experiments.ours.imperfect import play_observed
from experiments.runs import COLUMNS, RUNS, Budget, Run, planned, values_after
from experiments.statistics import standard_error
from experiments.tasks import Row, complete
from law_ray.methods.registry import METHODS, PAIRWISE_MODEL
from law_ray.typing import FloatArray, IntArray

PROBLEM = "noisy assignment"
CHECKED = (500, 1000, 2500, 5000, 10_000)
VARIANTS = {
    "law-auto": METHODS["law-auto"],
    "law-auto, all models given 1,500 values": replace(
        METHODS["law-auto"], model=replace(PAIRWISE_MODEL, of_all=False)
    ),
    "local-search": METHODS["local-search"],
}


@dataclass(frozen=True, eq=False)
class Assignment:
    """An assignment of 30 items to places in the plane, whose costs are seen with noise."""

    flows: FloatArray
    distances: FloatArray
    error: float
    """the standard deviation of the noise: a tenth of that of random orderings' costs"""

    budget = Budget(batch_size=100, rounds=100)

    @classmethod
    def drawn(cls) -> "Assignment":
        """Draw the instance."""
        rng = np.random.default_rng(2026)
        places = rng.random((30, 2))
        distances = np.linalg.norm(places[:, None] - places[None], axis=2)
        exact = cls(symmetric(rng.integers(0, 100, (30, 30))), distances, 0.0)
        costs = [exact.truth(rng.permutation(30)) for _ in range(1000)]
        return replace(exact, error=0.1 * float(np.std(costs)))

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.flows)

    def truth(self, permutation: IntArray) -> float:
        """Return the cost of putting item permutation[k] to place k."""
        return float((self.flows[np.ix_(permutation, permutation)] * self.distances).sum())

    def observed(self, permutation: IntArray, rng: np.random.Generator) -> tuple[float, float]:
        """Return the cost with noise, and its standard error."""
        return self.truth(permutation) + self.error * float(rng.normal()), self.error


@click.command()
@click.option("--runs", type=click.IntRange(0, RUNS), default=3, show_default=True, help="How many, from the first.")
def main(runs: int) -> None:
    """Play the missing runs, then write the report."""
    complete(planned([PROBLEM], VARIANTS, runs), play, report, RESULTS / "many_values", (*COLUMNS, "megabytes"))


def play(run: Run) -> list[Row]:
    """Return the row of a run, with the largest memory that its process had meanwhile (on Linux)."""
    Path("/proc/self/clear_refs").write_text("5")  # begins the count of VmHWM: the process may have played other runs
    row = play_observed(run, Assignment.drawn(), VARIANTS[run.method])
    kilobytes = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    assert kilobytes is not None
    return [row | {"megabytes": int(kilobytes[1]) * 1024 / 1e6}]


def report(rows: pd.DataFrame) -> str:
    """Return the report: a line for each variant."""
    lines: list[list[Any]] = []
    for method in [method for method in VARIANTS if method in set(rows["method"])]:
        runs = rows[rows["method"] == method]
        values = values_after(runs, CHECKED)
        cells = [plus_minus(column.mean(), standard_error(column)) for column in values.T]
        lines.append([method, len(runs), *cells, f"{runs['seconds'].mean():.0f}", f"{runs['megabytes'].max():.0f}"])
    header = ["method", "runs", *(f"after {count:,}" for count in CHECKED), "seconds", "MB"]
    return REPORT.format(machine=played_on(rows), table=markdown.table(header, lines))


REPORT = """# Thousands of values

{machine} Regenerate with `python -m experiments.ours.many_values`.

A quadratic assignment of 30 items to places in the plane, with random flows. Each cost is seen with noise, a tenth of
the standard deviation of random orderings' costs, and with its standard error. Batches of 100.

The least true value among the orderings evaluated: mean +- standard error over the runs. Seconds: processor time spent
choosing in a run. MB: the largest memory of the process.

{table}"""


if __name__ == "__main__":
    main()
