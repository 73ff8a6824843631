"""Which structure learner finds the lower NML score, and which comes nearer to the true network?

`python -m experiments.ours.rivals` runs the learners that are missing, on four networks with five data sets of 10,000
rows each, and writes results/rivals.md. A finished learner is a row of results/rivals.csv; interrupted runs of law_ray
are resumed. `--seeds 0` only reports on the rows that exist.

All learners get the same data, and all DAGs are scored alike by -max log-likelihood + NML regret. The regret has a
standard error of 0.1 nats and always the same seed, so that equivalent DAGs tie exactly on one data set. The true
network is the reference.
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
from experiments import RESULTS
from experiments.machine import machine
from experiments.ours.isolated import Learned, learn
from experiments.ours.other_learners import LEARNERS
from law_ray.runs import journal
from law_ray.typing import BoolArray
from law_ray.utils.seeding import generator
from objectives import load
from objectives.nml.data.exports import read_csv
from objectives.nml.data.networks import NETWORKS, sample_network
from objectives.nml.data.tables import Table
from objectives.nml.graphs.structure import structural_hamming_distance
from objectives.nml.regret.estimators import nml_regret
from objectives.nml.scores.contingency import max_log_likelihood

ROWS = RESULTS / "rivals.csv"
RUNS = Path("law-ray-runs") / "rivals"
N_ROWS = 10_000
TARGET_SE = 0.1  # nats, of the regret in the reported scores; heuristic
SEARCH_SE = 0.5  # nats, of the regret while law_ray searches; heuristic: scores differ by tens of nats
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
@click.option("--seeds", type=click.IntRange(0), default=5, show_default=True, help="How many data sets, from seed 0.")
@click.option("--methods", multiple=True, type=click.Choice(METHODS), default=METHODS, show_default=True)
@click.option("--evals", default=620, show_default=True, help="Evaluations of a run of law_ray.")
@click.option("--limit", default=900.0, show_default=True, help="Seconds after which another learner is stopped.")
def main(networks: tuple[str, ...], seeds: int, methods: tuple[str, ...], evals: int, limit: float) -> None:
    """Run the missing learners, then write the report."""
    RESULTS.mkdir(exist_ok=True)
    known = set(pd.read_csv(ROWS)[["network", "seed", "method"]].itertuples(index=False)) if ROWS.exists() else set()
    for network, seed in itertools.product(networks, range(seeds)):
        missing = [method for method in methods if (network, seed, method) not in known]
        if missing:
            compare(network, seed, missing, evals, limit)
    (RESULTS / "rivals.md").write_text(report(pd.read_csv(ROWS), evals))


def compare(network: str, seed: int, methods: list[str], evals: int, limit: float) -> None:
    """Run some methods on one data set, and add the row of each as soon as it is known."""
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
    """Add a row to the file, or create it; the columns that the row lacks stay empty."""
    frame = pd.DataFrame([row], columns=COLUMNS)
    frame.to_csv(ROWS, mode="a", header=not ROWS.exists(), index=False, float_format="%.3f")
    click.echo(row)


def law(table: Table, seed: int, evals: int) -> Learned:
    """Return the DAG of a run of law_ray on the data of `seed`, resumed if it was interrupted."""
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
    """Return the DAG of a CSV file with the columns parent and child."""
    dag = np.zeros((len(names), len(names)), dtype=bool)
    for parent, child in read_csv(file):
        dag[names.index(parent), names.index(child)] = True
    return dag


def measured(table: Table, learned: Learned, true_dag: BoolArray) -> dict[str, Any]:
    """Return the columns of a DAG: its score and standard error in nats, its distance to the true network, etc."""
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
    """Return the report: per network a table of the methods, and where law_ray falls short."""
    about = machine(len(os.sched_getaffinity(0)))
    versions = ", ".join(f"{package} {metadata.version(package)}" for package in ("pgmpy", "causal-learn"))
    parts = [
        "# law_ray beside other structure learners\n",
        f"{about} {versions}. Regenerate with `python -m experiments.ours.rivals`.\n",
        f"{N_ROWS:,} rows; law_ray after {evals} evaluations on all threads, the others on one thread. Means over the "
        "data sets +- their standard errors. Score: -max log-likelihood + NML regret, minus that of the true network. "
        "SHD: structural Hamming distance to the true network, the sum of its skeleton and orientation parts. Seconds: "
        "for law_ray those of choosing and evaluating, without the start of Ray. They are upper bounds, because the "
        "machine had other work.\n",
    ]
    for network, of_network in rows.groupby("network", sort=False):
        parts += [f"## {network}\n", tabulate(of_network), shortfalls(of_network)]
    return "\n".join(parts)


def tabulate(rows: pd.DataFrame) -> str:
    """Return a Markdown table of the methods on one network; a learner that was stopped counts in the seconds only."""
    truth = rows[rows["method"] == TRUTH].set_index("seed")["score"]
    rows = rows.assign(gap=rows["score"] - rows["seed"].map(truth))
    columns = ["method", "score (nats)", "SHD", "SHD skeleton", "SHD orientation", "edges", "seconds", "data sets"]
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
    """Return the mean, and its standard error if there are several values."""
    values = values.dropna()
    if values.empty:
        return ""
    mean = f"{values.mean():.1f}".replace("-0.0", "0.0")
    return mean if len(values) == 1 else f"{mean} +- {values.sem():.1f}"


def shortfalls(rows: pd.DataFrame) -> str:
    """Say where law_ray scores higher than another method, or is over an edge further from the truth than the best.

    Differences are paired over the data sets that both have finished, and a higher score counts beyond its error. That
    is the standard error of the mean difference, or the error propagated from those of the regrets if it is larger.
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
