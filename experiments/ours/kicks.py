"""How do greedy searches for networks leave local optima: by random moves, by reversed paths, or by both?

`python -m experiments.ours.kicks` plays the data sets that are missing, one per CPU, and writes results/kicks.md. A
finished data set is some rows of results/kicks.csv. `--seeds 0` only reports.
"""

import time
from unittest.mock import patch

import click
import pandas as pd

from experiments import RESULTS, markdown
from experiments.machine import played_on
from experiments.markdown import plus_minus
from experiments.ours.edge_confidence import Run
from experiments.statistics import standard_error
from experiments.tasks import Row, complete
from law_ray.utils.seeding import generator
from objectives.nml import NML
from objectives.nml.data.networks import sample_network
from objectives.nml.objective import GUIDE_FACTOR
from objectives.nml.scores.decomposable import QuotientNML
from objectives.nml.search import greedy

TABLES = (
    ("alarm", 500),
    ("hailfinder", 100),
    ("hailfinder", 200),
    ("hailfinder", 2000),
    ("hepar2", 100),
    ("win95pts", 500),
    ("andes", 1000),
    ("andes", 10_000),
)
FIRST_SEED = 100
"""Of the data sets, so that they are none of `experiments.ours.networks`."""
DATA_SETS = {"andes": 2}
"""At most this many of a network, since a search takes minutes."""
VARIANTS = {
    "none": (0, greedy._REVERSED),
    "moves": (greedy._PATIENCE, 0.0),
    "paths": (greedy._PATIENCE, 1.0),
    "both": (greedy._PATIENCE, greedy._REVERSED),
}
"""By name the patience, and the share of kicks that reverse a path; "both" is what law_ray does."""
COLUMNS = ("network", "n_rows", "seed", "kicks", "cost", "seconds")


@click.command()
@click.option(
    "--networks", multiple=True, type=click.Choice(sorted({name for name, _ in TABLES})), help="By default all."
)
@click.option("--seeds", type=click.IntRange(0), default=5, show_default=True, help="How many data sets of each size.")
def main(networks: tuple[str, ...], seeds: int) -> None:
    """Play the missing data sets, then write the report."""
    complete(planned(networks, seeds), play, report, RESULTS / "kicks", COLUMNS)


def planned(networks: tuple[str, ...], seeds: int) -> list[Run]:
    """Return the data sets of some networks, or of all if none is named."""
    return [
        Run(network, n_rows, FIRST_SEED + seed)
        for network, n_rows in TABLES
        for seed in range(min(seeds, DATA_SETS.get(network, seeds)))
        if not networks or network in networks
    ]


def play(run: Run) -> list[Row]:
    """Return the rows of a data set: the lowest cost that each kind of kicks reaches, and the processor time."""
    table = sample_network(run.network, run.n_rows, run.seed)
    guide = QuotientNML(table.codes, table.cardinalities, GUIDE_FACTOR)
    rows = []
    for name, (patience, share) in VARIANTS.items():
        objective = NML(table)  # with no parent sets of the variant before
        start = time.process_time()
        with patch.object(greedy, "_PATIENCE", patience), patch.object(greedy, "_REVERSED", share):
            ordering = objective.starts(1, generator(run.seed, "starts", 0))[0]
        seconds = time.process_time() - start
        cost = guide.dag(objective.dag(ordering))
        rows.append({**run._asdict(), "kicks": name, "cost": cost, "seconds": seconds})
    return rows


def report(rows: pd.DataFrame) -> str:
    """Return the report: how far each kind of kicks ends above the lowest cost on the same data."""
    return REPORT.format(machine=played_on(rows), table=summary(rows))


def summary(rows: pd.DataFrame) -> str:
    """Return a Markdown table: for each size of table, means over its data sets."""
    rows = rows.assign(above=rows["cost"] - rows.groupby(list(Run._fields))["cost"].transform("min"))
    lines = []
    for (network, n_rows), own in rows.groupby(["network", "n_rows"], sort=False):
        of_kicks = own.groupby("kicks")
        above = [of_kicks["above"].get_group(name) for name in VARIANTS]
        means = [plus_minus(each.mean(), standard_error(each.to_numpy()), 1) for each in above]
        seconds = [float(of_kicks["seconds"].get_group(name).mean()) for name in VARIANTS]
        lines.append([network, n_rows, len(above[0]), *means, *seconds])
    header = ["network", "rows", "data sets", *VARIANTS, *(f"seconds: {name}" for name in VARIANTS)]
    return markdown.table(header, lines, 1)


REPORT = """# How greedy searches leave local optima

{machine} Regenerate with `python -m experiments.ours.kicks`.

The lowest cost, in nats, of five greedy searches from random orderings (quotient NML with the regret that guides a
search on NML), minus the lowest of the four variants on the same data set; means over the data sets +- their standard
errors. none: local optima under insertions alone. moves: kicks that move five random variables. paths: kicks that
reverse a random path of the network. both: one or the other, with the same chance, as law_ray does. Seconds: processor
time, one thread.

{table}"""


if __name__ == "__main__":
    main()
