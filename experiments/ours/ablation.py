"""What is each part of law-auto worth? Runs without it, on problems of different types.

`python -m experiments.ours.ablation` plays the runs that are missing, one per CPU, and writes results/ablation.md. A
finished run is a row of results/ablation.csv. `--runs 0` only reports on the rows that exist.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import click
import numpy as np
import pandas as pd

from experiments import RESULTS, markdown
from experiments.machine import played_on
from experiments.markdown import plus_minus
from experiments.ours.swaps_alone import SWAPS_MODEL
from experiments.runs import N_INIT, RUNS, Budget, Run, complete, planned, play, values_after
from experiments.statistics import average_ranks, standard_error
from experiments.tasks import Row
from law_ray.kernels.additive import AdditiveHyperparameters
from law_ray.methods.auto import DESIGN, Purpose, law_auto
from law_ray.methods.law import law_est
from law_ray.methods.registry import METHODS, POSITION_MODEL, SELECTION_MODEL, Method, Model
from law_ray.models import fit_additive
from law_ray.models.pairwise import fit_pairwise
from law_ray.models.pairwise.hyperparameters import PairwiseHyperparameters
from objectives import load
from objectives.instances.best_known import best_known

BUDGET = Budget(batch_size=5, rounds=60)
PROBLEMS = ("qap:chr12a", "qap:nug22", "fsp:hel2", "tsp:burma14", "tsp:bayg29")
WHOLE = "law-auto"


UNKNOWN_DISTANCES = tuple(kind for kind in fit_pairwise.KINDS if not kind.knows_places)
UNKNOWN_MODEL = Model(partial(fit_pairwise.fit, kinds=UNKNOWN_DISTANCES), PairwiseHyperparameters.from_record)
ADDITIVE_MODEL = Model(fit_additive.fit, AdditiveHyperparameters.from_record)


def auto(model: Model = SELECTION_MODEL, **changes: Any) -> Method:
    """Return law-auto with another model, by default without the pairwise one, or other constants of its design."""
    return Method(partial(law_auto, design=replace(DESIGN, **changes)), "a variant of law-auto", model)


def purposes(*chosen: Purpose) -> dict[str, Any]:
    """Return the changes with which all batches have these purposes, on plateaus too."""
    return {"purposes": chosen, "purposes_on_plateau": chosen}


VARIANTS: Mapping[str, Method] = {
    WHOLE: METHODS[WHOLE],
    "no known distances": auto(UNKNOWN_MODEL),
    "no pairwise model": auto(),
    "no tour kernel": auto(ADDITIVE_MODEL),
    "position kernel and swaps": auto(POSITION_MODEL),
    "swaps alone": auto(SWAPS_MODEL),
    "no points that search locally": auto(purposes=(Purpose.IMPROVE, Purpose.EXPLORE)),
    "no points that explore": auto(**purposes(Purpose.IMPROVE, Purpose.LOCAL)),
    "points that improve alone": auto(**purposes(Purpose.IMPROVE)),
    "the incumbent is the best point": auto(leaves_searched=False),
    "plateaus like other ground": auto(**purposes(*DESIGN.purposes)),
    "batches of LAW-EST": Method(law_est, "law-auto's model, LAW-EST's batches", SELECTION_MODEL),
    "LAW-EST": Method(law_est, "LAW-EST"),
}


@click.command()
@click.option("--runs", type=click.IntRange(0, RUNS), default=5, show_default=True, help="How many, from the first.")
def main(runs: int) -> None:
    """Play the missing runs, then write the report."""
    complete(planned(PROBLEMS, VARIANTS, runs), play_alone, report, RESULTS / "ablation")


def play_alone(run: Run) -> list[Row]:
    """Return the row of a run of a variant. All variants have the same random numbers."""
    problem = load(run.problem)
    return [play(run, problem, BUDGET.batch_size, BUDGET.evaluations(), VARIANTS[run.method])]


def report(rows: pd.DataFrame) -> str:
    """Return the report: a table with one line per variant and one column per problem."""
    found = []
    for (problem, variant), runs in rows.groupby(["problem", "method"], sort=False):
        values = values_after(runs, [BUDGET.evaluations()])[:, 0]
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
        machine=played_on(rows),
        init=N_INIT,
        evaluations=BUDGET.evaluations(),
        runs=runs_each,
        table=markdown.table(["", *PROBLEMS, "average rank"], [["best known", *best, ""], *lines]),
    )


REPORT = """# What each part of law-auto is worth

{machine} Regenerate with `python -m experiments.ours.ablation`.

Best values after {evaluations} evaluations in batches of five, the first {init} random and shared by all lines: mean +-
standard error over {runs} runs. The line "no known distances" leaves out the chains of the pairwise model that take
positions to lie on a known shape: so law-auto behaves where positions are numbered without such an order. The places of
nug22 are a grid of 2 x 11. The line "no pairwise model" leaves that model out.
Each further line leaves it out too, and leaves out or replaces one more part. In their order: the model has the
additive kernel alone; it has the position kernel, and the search only swaps two items; the search only swaps two items;
batches have points of fewer purposes (three lines); the local search stays at the best point; batches stay the same on
a plateau, where the best value was found again and again; batches are LAW-EST's, with law-auto's model; all of it is
LAW-EST's. What plateaus cost shows where they are large, as on weighted tardiness (held_out.md), not on these
problems.

{table}"""


if __name__ == "__main__":
    main()
