"""Play the missing runs, then write the report and the table of the pages that show it."""

import click

from experiments import RESULTS, markdown
from experiments.ours.general_rivals.curves import draw
from experiments.ours.general_rivals.methods import METHODS
from experiments.ours.general_rivals.overview import overview
from experiments.ours.general_rivals.playing import COLUMNS, SEEDS, Run, planned, play_alone, playable
from experiments.ours.general_rivals.problems import PROBLEMS
from experiments.ours.general_rivals.report import report
from experiments.tasks import play_all, read

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
    file = STEM.with_suffix(".csv")
    known = set(read(file, COLUMNS)[list(Run._fields)].itertuples(index=False, name=None))
    runs = playable(planned(problems, methods, batch_sizes, evaluations, seeds))
    failed = play_all(play_alone, [run for run in runs if run not in known], file)
    rows = read(file, COLUMNS)
    STEM.with_suffix(".md").write_text(report(rows), encoding="utf-8")
    draw(rows, STEM.with_suffix(".png"))
    table = overview(rows)
    for page in WITH_TABLE:
        markdown.redraw(page, "general rivals", table)
    if failed:
        raise click.ClickException(f"{failed} runs failed, see above: start again to repeat them")


if __name__ == "__main__":
    main()
