"""Long experiments: their runs as Ray tasks with one CPU and one thread each, and the file that collects their rows.

The rows of a run are added when it has finished. An experiment that was interrupted therefore repeats only the runs
that were still in progress.
"""

import io
import itertools
import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
import pandas as pd
import ray

from law_ray.utils import threads

Run = TypeVar("Run")
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
    cpus = len(os.sched_getaffinity(0))
    for name in ("RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"):
        os.environ.setdefault(name, "0")
    ray.init(
        address="local",
        num_cpus=cpus,
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
            for run in itertools.islice(waiting, cpus - len(running)):
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
                click.echo(f"{run} failed: {error}", err=True)
            else:
                click.echo(f"{finished} of {len(runs)}: {run}")
    finally:
        ray.shutdown()


def _play_on_one_thread(play: Callable[[Run], list[Row]], run: Run) -> list[Row]:
    threads.limit(1)
    return play(run)


def append(file: Path, rows: Sequence[Row]) -> None:
    """Add rows to a CSV file, or create it with a header. Floats get three decimals; a torn last line is cut off."""
    with open(file, "a+b") as lines:
        lines.seek(0)
        whole = lines.read().rfind(b"\n") + 1
        lines.truncate(whole)
        lines.write(pd.DataFrame(rows).to_csv(header=not whole, index=False, float_format="%.3f").encode())


def read(file: Path, columns: Sequence[str]) -> pd.DataFrame:
    """Return the rows of a CSV file without a torn last line; no rows, with these columns, if there is no file."""
    text = file.read_text() if file.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    return pd.read_csv(io.StringIO(whole)) if whole else pd.DataFrame(columns=list(columns))
