"""Are the standard errors of the accurate NML regret right, for sparse and for dense networks?

`python -m experiments.ours.regret_errors` plays the networks that are missing, one per CPU, and writes
results/regret_errors.md. A network is a row of results/regret_errors.csv.

A network is estimated several times with different random numbers. If the standard errors are right, the estimates
scatter as much as they say.
"""

import itertools
import time
from typing import NamedTuple

import click
import numpy as np
import pandas as pd

from experiments import RESULTS, markdown
from experiments.machine import played_on
from experiments.tasks import Row, complete
from law_ray.typing import IntArray
from law_ray.utils.seeding import generator
from objectives.nml import NML
from objectives.nml.data.networks import LARGER, NETWORKS, sample_network
from objectives.nml.regret.estimate import log_mean
from objectives.nml.regret.estimators import nml_regret

ALL = (*NETWORKS, *LARGER)
DATA_SEED = 0
REPEATS = 8
"""Estimates of each network."""
MOST_SCATTER = 1.5
"""Scatter over the standard error beyond which a line is marked. Of REPEATS chance alone exceeds it in one of 36."""
COLUMNS = (
    *("network", "n_rows", "ordering", "edges", "repeats"),
    *("regret", "scatter", "standard_error", "least_effective", "bias", "seconds"),
)


class Case(NamedTuple):
    """A network to be estimated: that of an ordering of the variables, given a table."""

    network: str
    n_rows: int
    ordering: str
    """"greedy", or "random" with its number"""

    def __str__(self) -> str:
        return " ".join(map(str, self))


@click.command()
@click.option("--networks", multiple=True, type=click.Choice(ALL), default=NETWORKS, show_default=True)
@click.option("--rows", "n_rows", multiple=True, type=click.IntRange(1), default=(200, 1000, 10_000), show_default=True)
@click.option(
    "--random",
    "n_random",
    type=click.IntRange(0),
    default=2,
    show_default=True,
    help="How many random orderings of each table.",
)
def main(networks: tuple[str, ...], n_rows: tuple[int, ...], n_random: int) -> None:
    """Estimate the missing networks, then write the report."""
    orderings = ["greedy", *(f"random {number}" for number in range(n_random))]
    cases = [Case(*each) for each in itertools.product(networks, n_rows, orderings)]
    complete(cases, play, report, RESULTS / "regret_errors", COLUMNS)


def play(case: Case, repeats: int = REPEATS) -> list[Row]:
    """Return the row of a network."""
    table = sample_network(case.network, case.n_rows, DATA_SEED)
    objective = NML(table)
    dag = objective.dag(_ordering(objective, case.ordering))
    start = time.process_time()
    found = [
        nml_regret(dag, table.cardinalities, case.n_rows, "importance", rng=generator(repeat, "regret", 0))
        for repeat in range(repeats)
    ]
    seconds = (time.process_time() - start) / repeats
    values = np.array([each.value for each in found])
    return [
        {
            **case._asdict(),
            "edges": int(dag.sum()),
            "repeats": repeats,
            "regret": values.mean(),
            "scatter": values.std(ddof=1),
            "standard_error": np.sqrt(np.mean([each.standard_error**2 for each in found])),
            "least_effective": min(each.effective_samples for each in found),
            "bias": values.mean() - log_mean(values).value,
            "seconds": seconds,
        }
    ]


def _ordering(objective: NML, name: str) -> IntArray:
    kind, _, number = name.partition(" ")
    if kind == "greedy":
        return objective.starts(1, generator(DATA_SEED, "greedy", 0))[0]
    return generator(DATA_SEED, "ordering", int(number)).permutation(objective.n_items)


def report(rows: pd.DataFrame) -> str:
    """Return the report: how the scatter compares with the standard errors on the whole, and a line per network."""
    sampled = rows[rows["standard_error"] > 0]
    ratio = sampled["scatter"] / sampled["standard_error"]
    whole = float(np.sqrt((ratio**2).mean())) if len(ratio) else np.nan
    lines = [
        [
            *(row[name] for name in ("network", "n_rows", "ordering", "edges")),
            f"{row['regret']:.1f}",
            *(float(row[name]) for name in ("scatter", "standard_error")),
            f"{row['least_effective']:.0f}",
            *(float(row[name]) for name in ("bias", "seconds")),
            "yes" if row["scatter"] > MOST_SCATTER * row["standard_error"] else "",
        ]
        for _, row in rows.sort_values(["network", "n_rows", "ordering"], kind="stable").iterrows()
    ]
    header = ["network", "rows", "ordering", "edges", "regret", "scatter", "standard error", "effective samples"]
    text = REPORT.format(machine=played_on(rows), n=len(sampled), whole=whole, most=MOST_SCATTER)
    return text + markdown.table([*header, "bias", "seconds", "scatters too much"], lines)


REPORT = """# The errors of the NML regret

{machine} Regenerate with `python -m experiments.ours.regret_errors`.

Each network was estimated several times with other random numbers, by `score=nml` as it is by default. Scatter: the
standard deviation of these estimates, in nats. Standard error: what the estimates said of themselves, the root of its
mean square. Effective samples: the fewest of the estimates. Bias: the mean of the estimates minus the logarithm of the
mean of their exponentials, which has no bias. Seconds: processor time of one estimate, on one thread.

Over all {n} networks the scatter is {whole:.2f} times the standard error, in the root mean square. Lines with more than
{most} times are marked: by chance alone that is one line in 36.

"""


if __name__ == "__main__":
    main()
