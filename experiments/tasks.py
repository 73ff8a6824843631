"""Long experiments: their runs as Ray tasks with one CPU and one thread each, and the file that collects their rows.

The rows of a run are added when it has finished. An experiment that was interrupted therefore repeats only the runs
that were still in progress.
"""

import io
import itertools
import logging
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import click
import pandas as pd
import ray

from experiments.machine import cpus, processor
from experiments.markdown import publish
from law_ray.errors import InputError
from law_ray.utils import threads

Run = TypeVar("Run")
Keyed = TypeVar("Keyed", bound=NamedTuple)
Row = dict[str, Any]
OBJECT_STORE = 100_000_000  # bytes; heuristic: close to the least that Ray accepts, since tasks pass little data


def play_all(play: Callable[[Run], list[Row]], runs: Sequence[Run], file: Path) -> int:
    """Call play(run) for each run, in this order, and add the rows it returns to the file.

    The calls are tasks of a local Ray that is started for them, unless there are no runs. If a run raises, the error is
    printed to stderr and the other runs go on.

    Returns:
        How many runs raised.
    """
    if not runs:
        return 0
    n_cpus = cpus()
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"):
        os.environ.setdefault(name, "0")
    ray.init(
        address="local",
        num_cpus=n_cpus,
        include_dashboard=False,
        object_store_memory=OBJECT_STORE,
        logging_level=logging.ERROR,
    )
    task: Any = ray.remote(num_cpus=1)(_play_on_one_thread)
    waiting = iter(runs)
    running: dict[Any, Run] = {}
    finished = failed = 0
    try:
        while True:
            for run in itertools.islice(waiting, n_cpus - len(running)):
                running[task.remote(play, run)] = run
            if not running:
                return failed
            (done,), _ = ray.wait(list(running))
            run = running.pop(done)
            finished += 1
            try:
                append(file, ray.get(done))
            except ray.exceptions.RayError as error:
                failed += 1
                cause = getattr(error, "cause", None)
                click.echo(f"{run} failed: {cause if isinstance(cause, InputError) else error}", err=True)
            else:
                click.echo(f"{finished} of {len(runs)}: {run}")
    finally:
        ray.shutdown()


def _play_on_one_thread(play: Callable[[Run], list[Row]], run: Run) -> list[Row]:
    threads.limit(1)
    return play(run)


def append(file: Path, rows: Sequence[Row], float_format: str = "%.3f") -> None:
    """Add rows to a CSV file, or create it with a header: all of them, or none if this is interrupted.

    They get a column `processor`, which names that of this machine.

    Raises:
        ValueError: The rows have other columns than the file.
    """
    before = _whole_lines(file)
    frame = pd.DataFrame(rows).assign(processor=processor())
    if before:
        columns = list(pd.read_csv(io.StringIO(before), nrows=0))
        if sorted(columns) != sorted(frame):
            raise ValueError(f"{file} has the columns {columns}, the new rows {list(frame)}: make them equal")
        frame = frame[columns]
    publish(file, before + frame.to_csv(header=not before, index=False, float_format=float_format))


def read(file: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return the rows of a CSV file without a torn last line; no rows, with these columns, if there is no file."""
    whole = _whole_lines(file)
    return pd.read_csv(io.StringIO(whole)) if whole else pd.DataFrame(columns=list(columns))


def _whole_lines(file: Path) -> str:
    text = file.read_text() if file.exists() else ""
    return text[: text.rfind("\n") + 1]


def missing(runs: Iterable[Keyed], rows: pd.DataFrame) -> list[Keyed]:
    """Return the runs without a row: their fields are the names of the columns that identify them."""
    runs = list(runs)
    if not runs:
        return []
    known = set(rows[list(runs[0]._fields)].itertuples(index=False, name=None))
    return [run for run in runs if run not in known]


def complete(
    runs: Iterable[Keyed],
    play: Callable[[Keyed], list[Row]],
    report: Callable[[pd.DataFrame], str],
    stem: Path,
    columns: Sequence[str],
) -> None:
    """Play the runs that have no row yet, in this order, and write the report.

    Args:
        runs: The runs of the experiment.
        play: Plays one run and returns its rows.
        report: Returns the text of the report on all rows.
        stem: The path of the files without a suffix: the rows are in `stem`.csv, the report in `stem`.md.
        columns: The names of the columns.

    Raises:
        click.ClickException: A run failed, or none has a row; the report is written before, if it can be.
    """
    file = stem.with_suffix(".csv")
    failed = play_all(play, missing(runs, read(file, columns)), file)
    rows = read(file, columns)
    if rows.empty:
        raise click.ClickException(f"{file.name} has no rows to report: play some runs first")
    publish(stem.with_suffix(".md"), report(rows))
    raise_if(failed)


def raise_if(failed: int) -> None:
    """Raise click.ClickException if some runs failed."""
    if failed:
        raise click.ClickException(f"{failed} runs failed, see above: start again to repeat them")
