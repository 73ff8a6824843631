"""Play the missing runs, then write the report."""

import functools

import click

from experiments import RESULTS
from experiments.ours.networks.methods import METHODS, installed
from experiments.ours.networks.playing import COLUMNS, Effort, Run, planned, play
from experiments.ours.networks.report import report
from experiments.ours.networks.time_to_quality import draw
from experiments.tasks import play_all, read
from objectives.nml.data.networks import LARGER, NETWORKS

STEM = RESULTS / "networks"
ALL = (*NETWORKS, *LARGER)
SMALL = ALL[:-1]
ROWS = (100, 200, 500, 1000, 2000, 10_000)


@click.command()
@click.option("--networks", multiple=True, type=click.Choice(ALL), default=SMALL, show_default=True)
@click.option("--rows", "n_rows", multiple=True, type=click.IntRange(1), default=ROWS, show_default=True)
@click.option("--methods", multiple=True, type=click.Choice(list(METHODS)), help="By default all that are installed.")
@click.option("--seeds", type=click.IntRange(0), default=5, show_default=True, help="How many data sets, from seed 0.")
@click.option("--evals", default=100, show_default=True, help="Evaluations of a run of law_ray.")
@click.option("--limit", default=600.0, show_default=True, help="Seconds after which another learner is stopped.")
def main(
    networks: tuple[str, ...],
    n_rows: tuple[int, ...],
    methods: tuple[str, ...],
    seeds: int,
    evals: int,
    limit: float,
) -> None:
    """Play the missing runs, then write the report."""
    file = STEM.with_suffix(".csv")
    known = set(read(file, COLUMNS)[list(Run._fields)].itertuples(index=False, name=None))
    runs = planned(networks, n_rows, installed(methods), seeds)
    todo = [run for run in runs if run not in known]
    failed = play_all(functools.partial(play, Effort(evals, limit)), todo, file)
    rows = read(file, COLUMNS)
    STEM.with_suffix(".md").write_text(report(rows, evals))
    draw(rows, STEM.with_suffix(".png"))
    if failed:
        raise click.ClickException(f"{failed} runs failed, see above: start again to repeat them")


if __name__ == "__main__":
    main()
