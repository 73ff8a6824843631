"""Play the missing runs, then write the report and the table of the pages that show it."""

import click
import pandas as pd

from experiments import RESULTS, markdown
from experiments.ours.general_rivals.curves import draw
from experiments.ours.general_rivals.methods import METHODS
from experiments.ours.general_rivals.overview import overview
from experiments.ours.general_rivals.playing import COLUMNS, SEEDS, planned, play_alone, playable
from experiments.ours.general_rivals.problems import PROBLEMS
from experiments.ours.general_rivals.report import report
from experiments.tasks import complete

STEM = RESULTS / "general_rivals"
ROOT = RESULTS.parents[1]
WITH_TABLE = (ROOT / "README.md", ROOT / "docs" / "compared.md")
"""The pages that show the overview."""


@click.command()
@click.option("--problem", "problems", multiple=True, type=click.Choice(list(PROBLEMS)), default=list(PROBLEMS))
@click.option("--method", "methods", multiple=True, type=click.Choice(list(METHODS)), help="By default all of them.")
@click.option("--batch", "batch_sizes", multiple=True, type=click.IntRange(1), default=[1, 5, 20], show_default=True)
@click.option("--evaluations", type=click.IntRange(1), default=400, show_default=True, help="The budget of a run.")
@click.option("--seeds", type=click.IntRange(0), default=SEEDS, show_default=True, help="Runs of each kind.")
def main(
    problems: tuple[str, ...],
    methods: tuple[str, ...],
    batch_sizes: tuple[int, ...],
    evaluations: int,
    seeds: int,
) -> None:
    """Play the missing runs, then write the report and the table of the pages that show it."""
    runs = playable(planned(problems, methods, batch_sizes, evaluations, seeds))
    complete(runs, play_alone, shown, STEM, COLUMNS)


def shown(rows: pd.DataFrame) -> str:
    """Draw the figure, put the overview in the pages that show it, and return the report."""
    draw(rows, STEM.with_suffix(".png"))
    table = overview(rows)
    for page in WITH_TABLE:
        markdown.redraw(page, "general rivals", table)
    return report(rows)


if __name__ == "__main__":
    main()
