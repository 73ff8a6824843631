"""How well does each kernel on permutations predict the benchmarks at held-out points?

`python -m experiments.paper.kernels` computes what is missing of nine problems with five seeds, and writes
results/kernels.md. A kernel fitted to the points of one seed is a row of results/kernels.csv. `--seeds 0` only reports
on the rows that exist.

Each seed draws 400 points (`experiments.points`), of which 250 are for fitting and the others for testing. All kernels
get the same points.
"""

import functools
import itertools
from typing import NamedTuple

import click
import numpy as np
import pandas as pd

from experiments import RESULTS
from experiments.markdown import publish
from experiments.paper.problems import PROBLEMS
from experiments.points import N_FIT, N_SEARCHES, N_TEST, N_TRIALS, points
from experiments.tasks import Row, append, missing, read
from law_ray.kernels.distance import KERNELS, POSITION_KERNEL, DistanceKernel
from law_ray.models.fit_distance import fit
from law_ray.models.gp import GaussianProcess
from law_ray.typing import FloatArray, IntArray
from law_ray.utils import threads
from law_ray.utils.seeding import generator
from objectives import load

ROWS = RESULTS / "kernels.csv"
MEASURES = {"nlpd": "Negative log predictive density (nats a point)", "rank_correlation": "Rank correlation"}
COLUMNS = ("problem", "seed", "kernel", *MEASURES, "decay", "signal_variance", "noise")


class Fit(NamedTuple):
    """A kernel that is fitted to the points of one seed of a problem."""

    problem: str
    seed: int
    kernel: str

    def __str__(self) -> str:
        return f"{self.problem}, seed {self.seed}, {self.kernel}"


PAPER = (
    "In a footnote of Section 3.3 the paper compares the Kendall, Mallows, Hamming, Manhattan and position kernels, "
    "and a neural network of these, on its regression tasks. It says, without figures, that the position kernel and "
    "the network are the best, and similarly good. It does not name the Spearman kernel.\n"
)


@click.command()
@click.option("--problems", multiple=True, type=click.Choice(list(PROBLEMS)), default=list(PROBLEMS), show_default=True)
@click.option(
    "--seeds", type=click.IntRange(0), default=5, show_default=True, help="How many sets of points, from seed 0."
)
def main(problems: tuple[str, ...], seeds: int) -> None:
    """Compute the missing rows, then write the report."""
    threads.limit(1)  # the matrices are small
    fits = [Fit(*each) for each in itertools.product(problems, range(seeds), KERNELS)]
    for fit_of_kernel in missing(fits, read(ROWS, COLUMNS)):
        append(ROWS, [play(fit_of_kernel)], "%.5g")
        click.echo(fit_of_kernel)
    publish(RESULTS / "kernels.md", report(read(ROWS, COLUMNS)))


def play(run: Fit) -> Row:
    """Return the row of a kernel: fitted to some of the points of a seed, and tested on the others."""
    X, y = _points(run.problem, run.seed)
    return {**run._asdict(), **held_out(KERNELS[run.kernel], X, y, run.seed)}


@functools.lru_cache(1)
def _points(problem: str, seed: int) -> tuple[IntArray, FloatArray]:
    return points(load(problem), generator(seed, "points", 0))


def held_out(kernel: DistanceKernel, X: IntArray, y: FloatArray, seed: int) -> dict[str, float]:
    """Fit a kernel to the first N_FIT points, test it on the others, and return the measures and hyperparameters.

    `nlpd` is the mean negative log predictive density of the values in nats, noise included, in units of the
    standardized values. `rank_correlation` is Spearman's, between the predicted means and the values.
    """
    fitted = fit(X[:N_FIT], y[:N_FIT], generator(seed, "fit", 0), kernel=kernel)
    process = GaussianProcess(X[:N_FIT], y[:N_FIT], fitted)
    mean, variance = process.predict(X[N_FIT:])
    variance = variance + fitted.noise
    values = process.standardize(y[N_FIT:])
    return {
        "nlpd": float(0.5 * np.mean(np.log(2.0 * np.pi * variance) + (values - mean) ** 2 / variance)),
        "rank_correlation": float(pd.Series(mean).corr(pd.Series(values), method="spearman")),
        "decay": fitted.decay,
        "signal_variance": fitted.signal_variance,
        "noise": fitted.noise,
    }


def report(rows: pd.DataFrame) -> str:
    """Return the report: a table per measure, with one line per problem, and where each kernel is among the best."""
    return "\n".join(
        [
            "# The kernels on held-out points\n",
            "Regenerate with `python -m experiments.paper.kernels`.\n",
            f"Gaussian processes fitted by evidence to {N_FIT} points and tested on {N_TEST} others. Half of all "
            f"points are uniform, the other half are visited by {N_SEARCHES} local searches of {N_TRIALS} evaluations. "
            "Means over the sets of points +- their standard errors, in units of the standardized values; the best "
            "mean of a line is bold.\n",
            *(f"## {title}\n\n{tabulate(rows, measure)}" for measure, title in MEASURES.items()),
            "## Compared with the paper\n",
            PAPER,
            verdict(rows),
        ]
    )


def tabulate(rows: pd.DataFrame, measure: str) -> str:
    """Return a Markdown table of a measure, with one line per problem and one column per kernel."""
    lines = ["| problem | " + " | ".join(KERNELS) + " | seeds |", "|---" * (len(KERNELS) + 2) + "|"]
    for problem, of_problem in rows.groupby("problem", sort=False):
        values = of_problem.pivot(index="seed", columns="kernel", values=measure).reindex(columns=list(KERNELS))
        means, errors = values.mean(), values.sem()
        best = means.idxmin() if measure == "nlpd" else means.idxmax()
        cells = []
        for kernel in KERNELS:
            text = f"{means[kernel]:.2f}"
            text = f"**{text}**" if kernel == best else text
            cells.append(text if len(values) == 1 else f"{text} +- {errors[kernel]:.2f}")
        lines.append(f"| {problem} | " + " | ".join(cells) + f" | {len(values)} |")
    return "\n".join(lines) + "\n"


def verdict(rows: pd.DataFrame) -> str:
    """Return how often the density of each kernel is the best, or within the error of the difference from the best.

    Differences are paired over the sets of points; the error is the standard error of their mean.
    """
    good: dict[str, list[str]] = {kernel: [] for kernel in KERNELS}
    for problem, of_problem in rows.groupby("problem", sort=False):
        values = of_problem.pivot(index="seed", columns="kernel", values="nlpd").reindex(columns=list(KERNELS))
        behind = values.sub(values[values.mean().idxmin()], axis=0)
        errors = behind.sem().fillna(0.0)  # NaN for a single set of points
        for kernel in KERNELS:
            if behind[kernel].mean() <= errors[kernel]:
                good[kernel].append(str(problem))
    counts = ", ".join(f"{kernel} {len(problems)}" for kernel, problems in good.items())
    elsewhere = [problem for problem in rows["problem"].unique() if problem not in good[POSITION_KERNEL.name]]
    return (
        "Here, each kernel has the best density, within the standard error of the difference, on this many of "
        f"{rows['problem'].nunique()} problems: {counts}. The position kernel is not among the best on: "
        f"{', '.join(elsewhere) or 'none'}.\n"
    )


if __name__ == "__main__":
    main()
