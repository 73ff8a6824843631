"""Are edges as certain as law_ray says, and would the bootstrap say it better?

`python -m experiments.ours.edge_confidence` plays the data sets that are missing, one per CPU, and writes
results/edge_confidence.md. A finished data set is some rows of results/edge_confidence.csv. `--seeds 0` only reports.

Three measures of the confidence that two variables are adjacent, in the same networks, those of greedy starts:
- weights: the networks' weights exp(-total) alone, with the NML total;
- chain: what law_ray reports (`objectives.nml.search.confidence`), a Markov chain that starts at these networks;
- bootstrap: the share of resampled tables whose greedy network joins the two (Friedman, Goldszmidt & Wyner 1999).
Each is compared with the true network's adjacencies: by bins, and by the logarithmic and the Brier score.
"""

import itertools
import time
from collections.abc import Callable
from typing import NamedTuple

import click
import numpy as np
import pandas as pd

from experiments import RESULTS, markdown
from experiments.machine import played_on
from experiments.markdown import plus_minus
from experiments.statistics import standard_error
from experiments.tasks import Row, complete
from law_ray.typing import BoolArray, FloatArray, IntArray
from law_ray.utils.seeding import generator
from objectives.nml import NML
from objectives.nml.data.networks import sample_network
from objectives.nml.data.tables import Table
from objectives.nml.scores.decomposable import QuotientNML
from objectives.nml.search.greedy import greedy_orderings
from objectives.nml.search.grow_shrink import GrowShrink

NETWORKS = ("sachs", "child", "insurance", "alarm")
ROWS = (50, 200, 1000)
METHODS = ("weights", "chain", "bootstrap")
BINS = (0.0, 0.05, 0.2, 0.5, 0.8, 0.95, 1.01)
N_STARTS = 30
"""Networks of the greedy starts whose totals are computed; a run evaluates about as many near the best (heuristic)."""
RESAMPLES = 50
CLIP = 0.005
"""Probabilities are at least so far from 0 and 1 in the logarithmic score: 50 resamples cannot say more."""
SUMS = ("pairs", "joined", "log_score", "brier")
COLUMNS = ("network", "n_rows", "seed", "method", "bin", *SUMS, "seconds")


class Run(NamedTuple):
    """A data set."""

    network: str
    n_rows: int
    seed: int

    def __str__(self) -> str:
        return " ".join(map(str, self))


@click.command()
@click.option("--networks", multiple=True, type=click.Choice(NETWORKS), default=NETWORKS, show_default=True)
@click.option("--rows", "n_rows", multiple=True, type=click.IntRange(1), default=ROWS, show_default=True)
@click.option("--seeds", type=click.IntRange(0), default=3, show_default=True, help="How many data sets, from seed 0.")
def main(networks: tuple[str, ...], n_rows: tuple[int, ...], seeds: int) -> None:
    """Play the missing data sets, then write the report."""
    runs = [Run(*each) for each in itertools.product(networks, n_rows, range(seeds))]
    complete(runs, play, report, RESULTS / "edge_confidence", COLUMNS)


def play(run: Run, resamples: int = RESAMPLES) -> list[Row]:
    """Return the rows of a data set: one for each method and bin of confidence."""
    table = sample_network(run.network, run.n_rows, run.seed)
    assert table.true_dag is not None
    truth = table.true_dag | table.true_dag.T
    objective = NML(table)
    orderings = objective.starts(N_STARTS, generator(run.seed, "starts", 0))
    totals = np.array([_total(objective, each, run.seed) for each in orderings])
    measures: dict[str, Callable[[], FloatArray]] = {
        "weights": lambda: weights_alone(objective, orderings, totals),
        "chain": lambda: objective.edge_probabilities(orderings[totals.argmin()], (orderings, totals)),
        "bootstrap": lambda: bootstrap(table, resamples, generator(run.seed, "bootstrap", 0)),
    }
    rows = []
    for method, measure in measures.items():
        start = time.perf_counter()
        directed = measure()
        seconds = time.perf_counter() - start
        rows += [{**run._asdict(), "method": method, **each, "seconds": seconds} for each in binned(directed, truth)]
    return rows


def _total(objective: NML, ordering: IntArray, seed: int) -> float:
    value = objective(ordering, generator(seed, "evaluate", 0))
    return value[0] if isinstance(value, tuple) else value


def weights_alone(objective: NML, orderings: IntArray, totals: FloatArray) -> FloatArray:
    """Return how probable each directed edge is by the weights exp(-total) of networks of different classes."""
    weights = np.exp(totals.min() - totals)
    dags = np.array([objective.dag(ordering) for ordering in orderings], dtype=np.float64)
    return np.tensordot(weights / weights.sum(), dags, 1)


def bootstrap(table: Table, resamples: int, rng: np.random.Generator) -> FloatArray:
    """Return the share of the greedy networks of resampled tables that have each directed edge."""
    n, p = table.codes.shape
    counts = np.zeros((p, p))
    for _ in range(resamples):
        parent_sets = GrowShrink(QuotientNML(table.codes[rng.integers(n, size=n)], table.cardinalities))
        orderings, _ = greedy_orderings(parent_sets, 1, rng, n_starts=1)
        counts += parent_sets.dag(orderings[0])
    return counts / resamples


def binned(directed: FloatArray, truth: BoolArray) -> list[Row]:
    """Return the calibration of the adjacencies by bins of confidence: a row for each bin that has a pair."""
    upper = np.triu_indices(len(truth), 1)
    confidence, joined = (directed + directed.T)[upper], truth[upper]
    inside = np.clip(confidence, CLIP, 1 - CLIP)
    surprise = -np.log(np.where(joined, inside, 1 - inside))
    which = np.digitize(confidence, BINS) - 1
    rows = []
    for number in np.unique(which):
        mine = which == number
        sums: Row = {
            "bin": int(number),
            "pairs": int(mine.sum()),
            "joined": int(joined[mine].sum()),
            "log_score": float(surprise[mine].sum()),
            "brier": float(((confidence - joined)[mine] ** 2).sum()),
        }
        rows.append(sums)
    return rows


def report(rows: pd.DataFrame) -> str:
    """Return the report: a table of calibration, and the scores by network and rows."""
    parts = [
        "# How sure is an edge\n",
        f"{played_on(rows)} Regenerate with `python -m experiments.ours.edge_confidence`.\n",
        "Confidence that two variables are adjacent, in networks learned from sampled tables, against the true one. "
        "weights: the weights exp(-NML total) of the networks of greedy starts alone. chain: what law_ray "
        f"reports from the same networks. bootstrap: shares of {RESAMPLES} resampled tables, a greedy search each.\n",
        "## Calibration\n",
        "The share of the pairs with a confidence in each range that the true network joins, and how many such pairs "
        "there are.\n",
        calibration(rows),
        "## Scores\n",
        "Means over the data sets +- their standard errors; lower is better. The logarithmic score is in nats, of all "
        "pairs together; probabilities are clipped at 0.005. Seconds: of the measure alone, on one thread.\n",
        scores(rows),
    ]
    return "\n".join(parts)


def calibration(rows: pd.DataFrame) -> str:
    """Return a Markdown table of the bins by method and number of rows, over all data sets."""
    sums = rows.groupby(["method", "bin", "n_rows"])[["joined", "pairs"]].sum()
    sizes = sorted(set(rows["n_rows"]))
    lines = []
    for method, (number, low) in itertools.product(METHODS, enumerate(BINS[:-1])):
        found = [sums.loc[key] if (key := (method, number, size)) in sums.index else None for size in sizes]
        cells = ["" if each is None else f"{each['joined'] / each['pairs']:.2f} of {each['pairs']}" for each in found]
        lines.append([method, f"{low:g} to {min(BINS[number + 1], 1.0):g}", *cells])
    return markdown.table(["method", "confidence", *(f"{size:,} rows" for size in sizes)], lines)


def scores(rows: pd.DataFrame) -> str:
    """Return a Markdown table of the two scores by network, rows and method."""
    keys = [*Run._fields, "method"]
    rows = rows.sort_values(["network", "n_rows", "seed"], kind="stable")
    sums = rows.groupby(keys, sort=False)[["log_score", "brier"]].sum()
    sums["seconds"] = rows.groupby(keys, sort=False)["seconds"].first()
    lines = []
    for (network, n_rows, method), group in sums.groupby(["network", "n_rows", "method"], sort=False):
        means = [plus_minus(group[each].mean(), standard_error(group[each]), 1) for each in ("log_score", "brier")]
        lines.append([network, n_rows, method, len(group), *means, float(group["seconds"].mean())])
    header = ["network", "rows", "method", "data sets", "log score", "Brier score", "seconds"]
    return markdown.table(header, lines, 1)


if __name__ == "__main__":
    main()
