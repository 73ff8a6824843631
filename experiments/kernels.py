"""The kernels on permutations beside one another: how well each predicts the benchmarks at points held out.

`python -m experiments.kernels` computes what is missing of nine problems with five seeds, and writes
results/kernels.md anew. A kernel fitted to the points of one seed is a row of results/kernels.csv.

A seed draws 400 points and fits 250 of them to test the others: half are uniform, half are some of what five local
searches of 200 evaluations meet, as in the history of an optimiser. All kernels have the same points.
"""

import itertools
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

from law_ray import threads
from law_ray.gp import GaussianProcess, fit
from law_ray.kernels import KERNELS, POSITION, FloatArray, Kernel
from law_ray.permutations import IntArray, sample
from law_ray.seeding import generator
from objectives import load

RESULTS = Path(__file__).parent / "results"
ROWS = RESULTS / "kernels.csv"
PROBLEMS = (
    *("qap:chr12a", "qap:nug22", "qap:esc32a"),
    *("fsp:car5", "fsp:hel2", "fsp:reC19"),
    *("tsp:burma14", "tsp:bayg29", "tsp:att48"),
)
N_FIT, N_TEST = 250, 150
N_SEARCHES, N_TRIALS = 5, 200
MEASURES = {"nlpd": "Negative log predictive density (nats a point)", "rank_correlation": "Rank correlation"}
COLUMNS = ("problem", "seed", "kernel", *MEASURES, "decay", "signal_variance", "noise")
PAPER = (
    "The paper (Section 3.3, footnote) says of its regression tasks, without figures, that of the Kendall, Mallows, "
    "Hamming, Manhattan and position kernels and a neural network of these, the position kernel and the network are "
    "similarly the best. It does not name the Spearman kernel.\n"
)


@click.command()
@click.option("--problems", multiple=True, type=click.Choice(PROBLEMS), default=PROBLEMS, show_default=True)
@click.option("--seeds", default=5, show_default=True, help="How many sets of points, from seed 0.")
def main(problems: tuple[str, ...], seeds: int) -> None:
    """Compute what is missing, then write the tables."""
    threads.limit(1)  # the matrices are small
    RESULTS.mkdir(exist_ok=True)
    known = set(pd.read_csv(ROWS)[["problem", "seed", "kernel"]].itertuples(index=False)) if ROWS.exists() else set()
    for problem, seed in itertools.product(problems, range(seeds)):
        missing = [kernel for kernel in KERNELS.values() if (problem, seed, kernel.name) not in known]
        if missing:
            compare(problem, seed, missing)
    (RESULTS / "kernels.md").write_text(report(pd.read_csv(ROWS)))


def compare(problem: str, seed: int, kernels: list[Kernel]) -> None:
    """Fit and test some kernels on the points of one seed; each adds its row as soon as it is known."""
    X, y = points(load(problem), generator(seed, "points", 0))
    for kernel in kernels:
        row = {"problem": problem, "seed": seed, "kernel": kernel.name, **held_out(kernel, X, y, seed)}
        frame = pd.DataFrame([row], columns=COLUMNS)
        frame.to_csv(ROWS, mode="a", header=not ROWS.exists(), index=False, float_format="%.5g")
        click.echo(row)


def points(objective: Any, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Distinct permutations (N_FIT + N_TEST, n_items), in random order, and their values."""
    n_points = N_FIT + N_TEST
    values: dict[tuple[int, ...], float] = {}
    while len(values) < n_points // 2:
        permutation = tuple(sample(objective.n_items, 1, rng)[0].tolist())
        values[permutation] = float(objective(np.array(permutation)))
    while len(values) < n_points:
        visited = list(local_search(objective, N_TRIALS, rng).items())
        part = rng.choice(len(visited), min(len(visited), n_points // 2 // N_SEARCHES), replace=False)
        values.update(visited[i] for i in part)
    order = rng.permutation(len(values))[:n_points]
    return np.array(list(values))[order], np.array(list(values.values()))[order]


def local_search(objective: Any, n_trials: int, rng: np.random.Generator) -> dict[tuple[int, ...], float]:
    """All that a local search evaluates: from a uniform start, exchanges of two items, kept where not worse."""
    incumbent = sample(objective.n_items, 1, rng)[0]
    best = float(objective(incumbent))
    values = {tuple(incumbent.tolist()): best}
    for _ in range(n_trials - 1):
        first, second = rng.choice(len(incumbent), 2, replace=False)
        tried = incumbent.copy()
        tried[[first, second]] = tried[[second, first]]
        values[tuple(tried.tolist())] = value = float(objective(tried))
        if value <= best:
            incumbent, best = tried, value
    return values


def held_out(kernel: Kernel, X: IntArray, y: FloatArray, seed: int) -> dict[str, float]:
    """What a row says of a kernel fitted to the first N_FIT points and tested on the others.

    The density is that of the value, noise included, in units of the normalised values; the rank correlation,
    Spearman's, is of the predicted mean with the value.
    """
    fitted = fit(X[:N_FIT], y[:N_FIT], generator(seed, "fit", 0), kernel=kernel)
    process = GaussianProcess(X[:N_FIT], y[:N_FIT], fitted, kernel=kernel)
    mean, variance = process.predict(X[N_FIT:])
    variance = variance + fitted.noise
    values = process.normalise(y[N_FIT:])
    return {
        "nlpd": float(0.5 * np.mean(np.log(2.0 * np.pi * variance) + (values - mean) ** 2 / variance)),
        "rank_correlation": float(pd.Series(mean).corr(pd.Series(values), method="spearman")),
        "decay": fitted.decay,
        "signal_variance": fitted.signal_variance,
        "noise": fitted.noise,
    }


def report(rows: pd.DataFrame) -> str:
    """A table for each measure, a problem a line, and where each kernel is among the best."""
    return "\n".join(
        [
            "# The kernels on points held out\n",
            "Regenerate with `python -m experiments.kernels`.\n",
            f"Gaussian processes fitted by evidence to {N_FIT} points and tested on {N_TEST} others; half of all are "
            f"uniform, half what {N_SEARCHES} local searches of {N_TRIALS} evaluations meet. Means over the sets of "
            "points +- their standard errors, in units of the normalised values; the best mean of a line is bold.\n",
            *(f"## {title}\n\n{tabulate(rows, measure)}" for measure, title in MEASURES.items()),
            "## Beside the paper\n",
            PAPER,
            verdict(rows),
        ]
    )


def tabulate(rows: pd.DataFrame, measure: str) -> str:
    """A Markdown table of a measure: problems by kernels."""
    lines = ["| problem | " + " | ".join(KERNELS) + " | seeds |", "|---" * (len(KERNELS) + 2) + "|"]
    for problem, of_problem in rows.groupby("problem", sort=False):
        values = of_problem.pivot(index="seed", columns="kernel", values=measure)
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
    """Where a kernel's density is the best, or behind it by no more than the error of the difference.

    Differences are paired over the sets of points; the error is the standard error of their mean.
    """
    good: dict[str, list[str]] = {kernel: [] for kernel in KERNELS}
    for problem, of_problem in rows.groupby("problem", sort=False):
        values = of_problem.pivot(index="seed", columns="kernel", values="nlpd")
        behind = values.sub(values[values.mean().idxmin()], axis=0)
        errors = behind.sem().fillna(0.0)  # of a single set of points
        for kernel in KERNELS:
            if behind[kernel].mean() <= errors[kernel]:
                good[kernel].append(str(problem))
    counts = ", ".join(f"{kernel} {len(problems)}" for kernel, problems in good.items())
    elsewhere = [problem for problem in rows["problem"].unique() if problem not in good[POSITION.name]]
    return (
        f"Here, of {rows['problem'].nunique()} problems the best density within the standard error of the difference: "
        f"{counts}. The position kernel is not among the best on: {', '.join(elsewhere) or 'none'}.\n"
    )


if __name__ == "__main__":
    main()
