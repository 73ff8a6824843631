"""How many points should the initial design have when evaluations are few, and does it help to spread them?

`python -m experiments.ours.initial_designs` plays the runs that are missing, one per CPU, and writes
results/initial_designs.md. A finished run is a row of results/initial_designs.csv. `--runs 0` only reports on the rows
that exist.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd

from experiments import RESULTS, markdown
from experiments.machine import played_on
from experiments.markdown import plus_minus
from experiments.runs import N_INIT, RUNS, Run, complete, initial_permutations, planned, play, values_after
from experiments.statistics import average_ranks, standard_error
from experiments.tasks import Row
from law_ray.methods.registry import METHODS
from law_ray.typing import IntArray
from law_ray.utils.seeding import generator
from objectives import load

EVALUATIONS = 100
CHECKED = (50, EVALUATIONS)
PROBLEMS = ("qap:chr12a", "qap:kra30a", "qap:tho30", "fsp:reC13", "tsp:bayg29")


def first_random(run: Run, n_items: int, size: int) -> IntArray:
    """Return the first permutations of the run's initial set."""
    return initial_permutations(run.problem, n_items, run.initial_set)[:size]


def latin(run: Run, n_items: int, size: int) -> IntArray:
    """Return permutations of which no two have an item at the same position, up to `n_items` of them.

    They are rows of a cyclic Latin square with its rows, columns and symbols in random order.
    """
    rng = generator(run.number, run.problem, 1)
    rows, columns, symbols = (rng.permutation(n_items) for _ in range(3))
    square: IntArray = symbols[(rows[:, np.newaxis] + columns) % n_items]
    return square[:size]


class Variant(NamedTuple):
    """An initial design, and the size of the batches after it."""

    design: Callable[[Run, int, int], IntArray]
    size: int
    batch_size: int


VARIANTS = {
    **{f"{size} random": Variant(first_random, size, 5) for size in (5, 10, 20, N_INIT)},
    **{f"{size} of a Latin square": Variant(latin, size, 5) for size in (5, 10)},
    **{f"{size} random, one by one": Variant(first_random, size, 1) for size in (10, N_INIT)},
}


@click.command()
@click.option("--runs", type=click.IntRange(0, RUNS), default=10, show_default=True, help="How many, from the first.")
def main(runs: int) -> None:
    """Play the missing runs, then write the report."""
    complete(planned(PROBLEMS, VARIANTS, runs), play_alone, report, RESULTS / "initial_designs")


def play_alone(run: Run) -> list[Row]:
    """Return the row of a run of law-auto that begins with a design."""
    problem, variant = load(run.problem), VARIANTS[run.method]
    initial = variant.design(run, problem.n_items, variant.size)
    return [play(run, problem, variant.batch_size, EVALUATIONS, METHODS["law-auto"], initial)]


def report(rows: pd.DataFrame) -> str:
    """Return the report: for each number of evaluations a table with a line per design and a column per problem."""
    values = pd.DataFrame(values_after(rows, CHECKED), rows.index, list(CHECKED))
    counts = rows.groupby(["problem", "method"]).size()
    runs_each = " to ".join(map(str, sorted({counts.min(), counts.max()})))
    parts = [REPORT.format(machine=played_on(rows), runs=runs_each)]
    for checked in CHECKED:
        found = pd.DataFrame(
            [
                {"problem": problem, "method": variant, "mean": of_both.mean(), "error": standard_error(of_both)}
                for (problem, variant), of_both in values[checked].groupby([rows["problem"], rows["method"]])
            ]
        )
        ranks, cells = average_ranks(found), found.set_index(["method", "problem"])
        cells = cells.reindex(pd.MultiIndex.from_product([VARIANTS, PROBLEMS]))  # some may have no run yet
        lines: list[list[Any]] = [
            [
                name,
                *(plus_minus(*cells.loc[(name, problem), ["mean", "error"]]) for problem in PROBLEMS),
                float(ranks.get(name, np.nan)),
            ]
            for name in VARIANTS
        ]
        header = ["", *PROBLEMS, "average rank"]
        parts.append(f"\n## After {checked} evaluations\n\n{markdown.table(header, lines)}")
    return "".join(parts)


REPORT = """# Initial designs

{machine} Regenerate with `python -m experiments.ours.initial_designs`.

Best values of law-auto: mean +- standard error over {runs} runs. Its initial design has this many random points, or
rows of a Latin square: no two of them have an item at the same position. Then come batches of five, or single points.
"""


if __name__ == "__main__":
    main()
