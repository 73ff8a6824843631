"""What each part of law-auto is worth: runs without it, on four problems of different kinds.

`python -m experiments.ablation` runs what is missing, one run a CPU, and writes results/ablation.md anew. A finished
run is a row of results/ablation.csv. `--runs 0` reports the rows there are.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest.mock import patch

import click
import numpy as np
import pandas as pd

from experiments import markdown
from experiments.benchmark_report import average_ranks, standard_error
from experiments.benchmark_runs import N_INIT, RUNS, Budget, Run, best_after, complete, planned, play
from experiments.markdown import plus_minus
from experiments.speed import machine
from experiments.tasks import Row
from law_ray import gp, mixture_fit, moves, neighbourhoods
from law_ray.methods import FITS, METHODS, auto
from law_ray.methods.law import law_est
from law_ray.permutations import swap_neighbours
from objectives import load
from objectives.best_known import best_known

RESULTS = Path(__file__).parent / "results"
BUDGET = Budget(batch_size=5, rounds=60)
PROBLEMS = ("qap:chr12a", "fsp:hel2", "tsp:burma14", "tsp:bayg29")
WHOLE = "law-auto"


def best_point(state: Any) -> int:
    """In place of `basins.incumbent`."""
    return int(np.argmin(state.y))


def nowhere(state: Any) -> bool:
    """In place of `basins.on_plateau`."""
    return False


def swaps(n_items: int) -> Any:
    """In place of `moves.all_moves`."""
    found = ALL_MOVES(n_items)
    return found[found[:, 0] == moves.SWAP]


ALL_MOVES = moves.all_moves
# What stands in for which attribute of which module, or for which entry of a table, by the name of the variant.
VARIANTS: Mapping[str, list[tuple[Any, str, Any]]] = {
    WHOLE: [],
    "no latent kernel": [(FITS, "law-auto", mixture_fit.fit)],
    "position kernel and swaps": [
        (FITS, "law-auto", gp.fit),
        (auto, "ALL_NEIGHBOURS", (swap_neighbours,)),
    ],
    "swaps alone": [(moves, "all_moves", swaps), (auto, "ALL_NEIGHBOURS", (swap_neighbours,))],
    "no points that search locally": [(auto, "PURPOSES", (auto.IMPROVE, auto.EXPLORE))],
    "no points that explore": [(auto, "PURPOSES", (auto.IMPROVE, auto.LOCALLY)), (auto, "on_plateau", nowhere)],
    "points that improve alone": [(auto, "PURPOSES", (auto.IMPROVE,)), (auto, "on_plateau", nowhere)],
    "the best basin only": [(auto, "incumbent", best_point)],
    "plateaus like other ground": [(auto, "on_plateau", nowhere)],
    "batches of LAW-EST": [(METHODS, "law-auto", law_est)],
    "LAW-EST": [(METHODS, "law-auto", law_est), (FITS, "law-auto", gp.fit)],
}


@click.command()
@click.option("--runs", type=click.IntRange(0, RUNS), default=5, show_default=True)
def main(runs: int) -> None:
    """Run what is missing, then write the table."""
    complete(planned(PROBLEMS, VARIANTS, runs), play_alone, report, RESULTS / "ablation")


def play_alone(run: Run) -> list[Row]:
    """One run of a variant, as its row; the method is law-auto by name, so all have the same random numbers."""
    with varied(run.method):
        row = play(run._replace(method=WHOLE), load(run.problem), BUDGET.batch_size, BUDGET.evaluations())
    return [row | {"method": run.method}]


@contextlib.contextmanager
def varied(variant: str) -> Iterator[None]:
    """With the stand-ins of a variant in place."""
    neighbourhoods._shuffled.cache_clear()
    with contextlib.ExitStack() as stack:
        for where, name, instead in VARIANTS[variant]:
            stack.enter_context(
                patch.dict(where, {name: instead}) if isinstance(where, dict) else patch.object(where, name, instead)
            )
        yield
    neighbourhoods._shuffled.cache_clear()


def report(rows: pd.DataFrame) -> str:
    """The table, in Markdown: a line a variant, a column a problem."""
    found = []
    for (problem, variant), runs in rows.groupby(["problem", "method"], sort=False):
        values = np.array([best_after(curve, [BUDGET.evaluations()])[0] for curve in runs["curve"]])
        row = {"problem": problem, "method": variant, "runs": len(runs), "mean": values.mean()}
        found.append(row | {"error": standard_error(values)})
    table = pd.DataFrame(found)
    ranks = average_ranks(table)
    by_both = table.set_index(["method", "problem"])
    best = [plus_minus(best_known()[problem].value, np.nan) for problem in PROBLEMS]
    lines: list[list[Any]] = []
    for variant in [v for v in VARIANTS if v in ranks.index]:
        cells = [
            plus_minus(by_both.loc[(variant, p), "mean"], by_both.loc[(variant, p), "error"])
            if (variant, p) in by_both.index
            else ""
            for p in PROBLEMS
        ]
        lines.append([variant, *cells, ranks[variant]])
    runs_each = " to ".join(map(str, sorted({table["runs"].min(), table["runs"].max()})))
    return REPORT.format(
        machine=machine(len(os.sched_getaffinity(0))),
        init=N_INIT,
        evaluations=BUDGET.evaluations(),
        runs=runs_each,
        table=markdown.table(["", *PROBLEMS, "average rank"], [["best known", *best, ""], *lines]),
    )


REPORT = """# What each part of law-auto is worth

{machine} Regenerate with `python -m experiments.ablation`.

Best values after {evaluations} evaluations, {init} of them random and shared, in batches of five: mean +- standard
error over {runs} runs. Each line leaves something out or puts something else in its place: the model learns with the
mixture alone; it is the position kernel, and the search exchanges two items; the search exchanges two items; batches
have points of fewer purposes; the local search stays at the best point; batches stay as they are where the best value
was found again and again; batches are LAW-EST's, with law-auto's model; LAW-EST itself. What plateaus cost shows where
they are large, as on weighted tardiness (held_out.md), not on these four.

{table}"""


if __name__ == "__main__":
    main()
