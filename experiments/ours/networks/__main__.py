"""Play the missing runs, then write the report."""

import click
import pandas as pd

from experiments import RESULTS
from experiments.ours.networks.methods import METHODS, installed
from experiments.ours.networks.playing import COLUMNS, planned, play
from experiments.ours.networks.report import report
from experiments.ours.networks.time_to_quality import draw
from experiments.tasks import complete
from objectives.nml.data.networks import LARGER, NETWORKS

STEM = RESULTS / "networks"
ALL = (*NETWORKS, *LARGER)
DEFAULT = tuple(name for name in ALL if name != "andes")  # which takes minutes for each greedy search
ROWS = (100, 200, 500, 1000, 2000, 10_000)


@click.command()
@click.option("--networks", multiple=True, type=click.Choice(ALL), default=DEFAULT, show_default=True)
@click.option("--rows", "n_rows", multiple=True, type=click.IntRange(1), default=ROWS, show_default=True)
@click.option("--methods", multiple=True, type=click.Choice(list(METHODS)), help="By default all that are installed.")
@click.option("--seeds", type=click.IntRange(0), default=5, show_default=True, help="How many data sets, from seed 0.")
def main(networks: tuple[str, ...], n_rows: tuple[int, ...], methods: tuple[str, ...], seeds: int) -> None:
    """Play the missing runs, then write the report."""
    complete(planned(networks, n_rows, installed(methods), seeds), play, drawn, STEM, COLUMNS)


def drawn(rows: pd.DataFrame) -> str:
    """Draw the figure, and return the report that shows it."""
    draw(rows, STEM.with_suffix(".png"))
    return report(rows)


if __name__ == "__main__":
    main()
