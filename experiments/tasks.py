"""Long experiments: their runs as Ray tasks, one a CPU and on one thread, and the rows these leave in a file.

A run's rows are added when it has finished, so that an experiment that was interrupted begins only those runs again
that were under way.
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

from law_ray import threads

Run = TypeVar("Run")
Row = dict[str, Any]
OBJECT_STORE = 100_000_000  # bytes


def play_all(play: Callable[[Run], list[Row]], runs: Sequence[Run], file: Path) -> int:
    """Call play(run) for each, in this order, on a Ray of its own, and add the rows it returns to the file.

    A run that raises is reported on standard error, and the others go on. Returns how many did. Of no runs nothing is
    started.
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
    task: Any = ray.remote(num_cpus=1)(_play_alone)
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


def _play_alone(play: Callable[[Run], list[Row]], run: Run) -> list[Row]:
    threads.limit(1)
    return play(run)


def append(file: Path, rows: Sequence[Row]) -> None:
    """Add rows to the file, or begin it, floats with three decimals; a last line that was cut gives way."""
    with open(file, "a+b") as lines:
        lines.seek(0)
        whole = lines.read().rfind(b"\n") + 1
        lines.truncate(whole)
        lines.write(pd.DataFrame(rows).to_csv(header=not whole, index=False, float_format="%.3f").encode())


def read(file: Path, columns: Sequence[str]) -> pd.DataFrame:
    """The rows in a file that has these columns, without a last line that was cut when it was written."""
    text = file.read_text() if file.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    return pd.read_csv(io.StringIO(whole)) if whole else pd.DataFrame(columns=list(columns))
