"""law_ray beside other structure learners: whose DAG has the lower NML score, and whose is nearer to the true network.

`python -m experiments.rivals` runs what is missing of four networks with five data sets of 10,000 rows each, and writes
results/rivals.md anew. A finished learner is a row of results/rivals.csv; interrupted runs of law_ray are resumed.

All learners see the same data and all DAGs are scored alike: -max log-likelihood + NML regret, the regret to 0.1 nats
and always from the same seed, so that equivalent DAGs tie exactly on one data set. The true network is the reference.
"""

import itertools
import os
from importlib import metadata
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd

import law_ray
from experiments.other_learners import LEARNERS, Learned, learn
from experiments.speed import machine
from law_ray import journal
from law_ray.seeding import generator
from objectives import load
from objectives.contingency import BoolArray, max_log_likelihood
from objectives.networks import NETWORKS, sample_network
from objectives.regret import nml_regret
from objectives.structure import structural_hamming_distance
from objectives.tables import Table

RESULTS = Path(__file__).parent / "results"
ROWS = RESULTS / "rivals.csv"
RUNS = Path("law-ray-runs") / "rivals"
N_ROWS = 10_000
TARGET_SE = 0.1  # nats, of the regret
SEARCH_SE = 0.5  # while law_ray searches: scores differ by tens of nats
TRUTH, LAW = "true-network", "law_ray"
METHODS = (TRUTH, *LEARNERS, LAW)
DISTANCE = ("total", "skeleton", "orientation")
COLUMNS = (
    *("network", "seed", "method", "score", "standard_error"),
    *(f"shd_{part}" for part in DISTANCE),
    *("edges", "seconds", "stopped"),
)


@click.command()
@click.option("--networks", multiple=True, type=click.Choice(NETWORKS), default=NETWORKS, show_default=True)
@click.option("--seeds", default=5, show_default=True, help="How many data sets, from seed 0.")
@click.option("--methods", multiple=True, type=click.Choice(METHODS), default=METHODS, show_default=True)
@click.option("--evals", default=620, show_default=True, help="Evaluations of a run of law_ray.")
@click.option("--limit", default=900.0, show_default=True, help="Seconds after which another learner is stopped.")
def main(networks: tuple[str, ...], seeds: int, methods: tuple[str, ...], evals: int, limit: float) -> None:
    """Run what is missing, then write the tables."""
    RESULTS.mkdir(exist_ok=True)
    known = set(pd.read_csv(ROWS)[["network", "seed", "method"]].itertuples(index=False)) if ROWS.exists() else set()
    for network, seed in itertools.product(networks, range(seeds)):
        missing = [method for method in methods if (network, seed, method) not in known]
        if missing:
            compare(network, seed, missing, evals, limit)
    (RESULTS / "rivals.md").write_text(report(pd.read_csv(ROWS), evals))


def compare(network: str, seed: int, methods: list[str], evals: int, limit: float) -> None:
    """Run some methods on one data set; each adds its row as soon as it is known."""
    table = sample_network(network, N_ROWS, seed)
    assert table.true_dag is not None
    for method in methods:
        learned: Learned | None
        if method == TRUTH:
            learned = Learned(table.true_dag, 0.0)
        elif method == LAW:
            learned = law(table, seed, evals)
        else:
            learned = learn(LEARNERS[method], table, limit)
        found = {"seconds": limit, "stopped": True} if learned is None else measured(table, learned, table.true_dag)
        append({"network": network, "seed": seed, "method": method, **found})


def append(row: dict[str, Any]) -> None:
    """Add a row to the file, or begin it; what the row lacks stays empty."""
    frame = pd.DataFrame([row], columns=COLUMNS)
    frame.to_csv(ROWS, mode="a", header=not ROWS.exists(), index=False, float_format="%.3f")
    click.echo(row)


def law(table: Table, seed: int, evals: int) -> Learned:
    """One run of law_ray on the data of `seed`, resumed if it was interrupted."""
    objective = load(f"nml:{table.name}", n_rows=N_ROWS, seed=seed, target_se=SEARCH_SE)
    folder = RUNS / f"{table.name}-seed{seed}"
    if (folder / journal.NAME).exists():
        result = law_ray.resume(folder, objective, evals=evals, progress=False)
    else:
        result = law_ray.minimize(
            objective, evals=evals, method="law-est", n_init=20, batch_size=20, progress=False, out=folder
        )
    return Learned(read_dag(folder / "best_dag.csv", table.names), result.seconds_asking + result.seconds_evaluating)


def read_dag(file: Path, names: tuple[str, ...]) -> BoolArray:
    """The DAG of a file with the columns parent and child."""
    edges = pd.read_csv(file, dtype=str, na_filter=False)
    dag = np.zeros((len(names), len(names)), dtype=bool)
    dag[[names.index(parent) for parent in edges["parent"]], [names.index(child) for child in edges["child"]]] = True
    return dag


def measured(table: Table, learned: Learned, true_dag: BoolArray) -> dict[str, Any]:
    """What a row says of a DAG: its score and standard error in nats, its distance to the true network, ..."""
    rng = generator(0, "score", 0)
    regret = nml_regret(learned.dag, table.cardinalities, len(table.codes), "importance", target_se=TARGET_SE, rng=rng)
    distance = structural_hamming_distance(learned.dag, true_dag)
    return {
        "score": regret.value - max_log_likelihood(table.codes, table.cardinalities, learned.dag),
        "standard_error": regret.standard_error,
        **{f"shd_{part}": getattr(distance, part) for part in DISTANCE},
        "edges": int(learned.dag.sum()),
        "seconds": learned.seconds,
        "stopped": False,
    }


def report(rows: pd.DataFrame, evals: int) -> str:
    """A section for every network: the table of its methods, and where law_ray falls short."""
    about = machine(len(os.sched_getaffinity(0)))
    versions = ", ".join(f"{package} {metadata.version(package)}" for package in ("pgmpy", "causal-learn"))
    parts = [
        "# law_ray beside other structure learners\n",
        f"{about} {versions}. Regenerate with `python -m experiments.rivals`.\n",
        f"{N_ROWS:,} rows; law_ray after {evals} evaluations, on all threads, the others on one. Means over the data "
        "sets +- their standard errors; score: -max log-likelihood + NML regret, less that of the true network; SHD: "
        "structural Hamming distance to it; seconds: of law_ray its choices and evaluations, without Ray's start. They "
        "are upper bounds: the machine had other work.\n",
    ]
    for network, of_network in rows.groupby("network", sort=False):
        parts += [f"## {network}\n", tabulate(of_network), shortfalls(of_network)]
    return "\n".join(parts)


def tabulate(rows: pd.DataFrame) -> str:
    """A Markdown table of the methods on one network; a learner that was stopped counts with its seconds alone."""
    truth = rows[rows["method"] == TRUTH].set_index("seed")["score"]
    rows = rows.assign(gap=rows["score"] - rows["seed"].map(truth))
    columns = ["method", "score (nats)", "SHD", "of it skeleton", "of it orientation", "edges", "seconds", "data sets"]
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    for method in METHODS:
        of_method = rows[rows["method"] == method]
        if of_method.empty:
            continue
        means = [_mean(of_method[column]) for column in ("gap", *(f"shd_{part}" for part in DISTANCE), "edges")]
        stopped = int(of_method["stopped"].sum())
        data_sets = f"{len(of_method)}, stopped on {stopped}" if stopped else f"{len(of_method)}"
        lines.append("| " + " | ".join([method, *means, f"{of_method['seconds'].mean():.1f}", data_sets]) + " |")
    return "\n".join(lines) + "\n"


def _mean(values: "pd.Series[float]") -> str:
    """The mean and, of several values, its standard error."""
    values = values.dropna()
    if values.empty:
        return ""
    mean = f"{values.mean():.1f}".replace("-0.0", "0.0")
    return mean if len(values) == 1 else f"{mean} +- {values.sem():.1f}"


def shortfalls(rows: pd.DataFrame) -> str:
    """Where law_ray is not the lowest within its error, or over an edge further from the truth than the best rival.

    Differences are paired over the data sets both have finished. The error is the standard error of their mean, or what
    the regrets' errors make it where that is more.
    """
    scores, errors, distances = (
        rows.pivot(index="seed", columns="method", values=column) for column in ("score", "standard_error", "shd_total")
    )
    if LAW not in scores:
        return "law_ray has not run.\n"
    lines = []
    further = 0.0, ""
    for other in (method for method in METHODS if method != LAW and method in scores):
        behind = (scores[LAW] - scores[other]).dropna()
        if behind.empty:
            continue
        of_regrets = np.sqrt((errors.loc[behind.index, [LAW, other]] ** 2).sum(axis=None)) / len(behind)
        error = np.fmax(behind.sem(), of_regrets)
        if behind.mean() > error:
            lines.append(f"law_ray is not the lowest: {behind.mean():.1f} +- {error:.1f} nats above {other}.")
        if other != TRUTH:
            further = max(further, (float((distances[LAW] - distances[other]).mean()), other))
    if further[0] > 1:
        lines.append(f"law_ray is {further[0]:.1f} edges further from the truth than {further[1]}.")
    fine = "law_ray is the lowest within its error, and at most one edge further from the truth than the best rival."
    return "\n".join(lines or [fine]) + "\n"


if __name__ == "__main__":
    main()
