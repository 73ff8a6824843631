"""How well do the kernels of law-auto predict where values depend on the order of pairs of items?

`python -m experiments.ours.pair_orders` computes what is missing of nine problems with five seeds, and writes
results/pair_orders.md. The kernels fitted to the points of one seed are rows of results/pair_orders.csv, one for each
number of points. `--seeds 0` only reports on the rows that exist.

Half of the points are uniform, the other half are visited by local searches (`experiments.points`). Networks are
orderings of the edges of the paper's skeleton, by quotient NML, whose values take no time.
"""

import itertools
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd

from experiments import RESULTS, markdown
from experiments.markdown import plus_minus
from experiments.ours import held_out
from experiments.ours.general_rivals import problems as rivals
from experiments.points import N_FIT, N_SEARCHES, N_TEST, N_TRIALS, points
from experiments.tasks import Row, complete
from law_ray.kernels.protocol import Hyperparameters
from law_ray.models import fit_additive, fit_distance, fit_weighted_precedence
from law_ray.models.gp import GaussianProcess
from law_ray.typing import FloatArray, IntArray
from law_ray.utils.seeding import generator
from objectives import load

PROBLEMS = (
    *("nml:sachs", "nml:child", "nml:insurance", "nml:alarm", "nml:hailfinder"),
    *("lop:N-p40-01", "lop:N-sgb75.01", "fsp:reC19", "weighted tardiness"),
)
KERNELS = ("position", "additive", "weighted precedence")
SIZES = (100, N_FIT)  # points that a kernel is fitted to
COLUMNS = ("problem", "seed", "points", "kernel", "error")


class Case(NamedTuple):
    """The points of one seed of a problem."""

    problem: str
    seed: int

    def __str__(self) -> str:
        return f"{self.problem}, seed {self.seed}"


@click.command()
@click.option("--problems", multiple=True, type=click.Choice(PROBLEMS), default=PROBLEMS, show_default=True)
@click.option("--seeds", type=click.IntRange(0), default=5, show_default=True, help="Sets of points, from seed 0.")
def main(problems: tuple[str, ...], seeds: int) -> None:
    """Compute the missing rows, then write the report."""
    cases = [Case(*each) for each in itertools.product(problems, range(seeds))]
    complete(cases, play, report, RESULTS / "pair_orders", COLUMNS)


class Network:
    """Quotient NML of orderings of a skeleton, a function of the ordering alone."""

    def __init__(self, name: str) -> None:
        self._objective = load(name, score="qnml", edges="skeleton")
        self.n_items = self._objective.n_items

    def __call__(self, permutation: IntArray) -> float:
        """Return the score of an ordering, in nats."""
        return float(self._objective(permutation, generator(0, "unused", 0)))


def problem(name: str) -> Any:
    """Return one of PROBLEMS by its name."""
    if name.startswith("nml:"):
        return Network(name)
    return held_out.problem(name) if name in held_out.PROBLEMS else rivals.problem(name)


def play(case: Case) -> list[Row]:
    """Return the rows of the points of one seed: the kernels' errors after each number of points."""
    X, y = points(problem(case.problem), generator(case.seed, "points", 0))
    rows: list[Row] = []
    for size, kernel in itertools.product(SIZES, KERNELS):
        h = fitted(kernel, X[:size], y[:size], generator(case.seed, "fit", size))
        error = left(GaussianProcess(X[:size], y[:size], h), X[N_FIT:], y[N_FIT:])
        rows.append({**case._asdict(), "points": size, "kernel": kernel, "error": error})
    return rows


def fitted(kernel: str, X: IntArray, y: FloatArray, rng: np.random.Generator) -> Hyperparameters:
    """Return the hyperparameters of one of KERNELS, fitted afresh."""
    if kernel == "weighted precedence":
        return fit_weighted_precedence.fit(X, y)
    return fit_additive.fit(X, y, rng) if kernel == "additive" else fit_distance.fit(X, y, rng)


def left(process: GaussianProcess, X: IntArray, y: FloatArray) -> float:
    """Return the share of the variance of values y (n,) at X (n, n_items) that the predicted means leave."""
    errors = process.predict(X)[0] - process.standardize(y)
    return float(np.mean(errors**2) / np.var(process.standardize(y)))


def report(rows: pd.DataFrame) -> str:
    """Return the report: a table for each number of points, with a line for each problem."""
    text = (
        f"Gaussian processes fitted to {' and '.join(map(str, SIZES))} points and tested on {N_TEST} others. Half of "
        f"all points are uniform, the other half are visited by {N_SEARCHES} local searches of {N_TRIALS} evaluations. "
        "The share of the variance that the predicted means leave: means over the sets of points +- their standard "
        "errors; the best mean of a line is bold. The position kernel is LAW-EST's, the others are law-auto's. "
        "Networks (nml) have the paper's skeleton and the score quotient NML.\n"
    )
    parts = [
        "# The order of pairs\n",
        "Regenerate with `python -m experiments.ours.pair_orders`.\n",
        text,
        *(f"## {size} points\n\n{tabulate(rows[rows['points'] == size])}" for size in SIZES),
    ]
    return "\n".join(parts)


def tabulate(rows: pd.DataFrame) -> str:
    """Return the table of one number of points."""
    lines = []
    for name in PROBLEMS:
        of_problem = rows[rows["problem"] == name]
        means = of_problem.groupby("kernel")["error"].agg(["mean", "sem", "size"]).reindex(KERNELS)
        if means["size"].notna().any():
            cells = [plus_minus(mean, error, 3) for mean, error in zip(means["mean"], means["sem"], strict=True)]
            best = int(np.argmin(means["mean"]))
            cells[best] = f"**{cells[best].replace(' ', '** ', 1)}" if " " in cells[best] else f"**{cells[best]}**"
            lines.append([name, *cells, int(means["size"].max())])
    return markdown.table(["problem", *KERNELS, "seeds"], lines)


if __name__ == "__main__":
    main()
