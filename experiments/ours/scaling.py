"""How well does a run use a cluster? Evaluations that sleep, on a local Ray that claims as many CPUs as it needs.

`python -m experiments.ours.scaling` measures what is missing and writes results/scaling.md. A finished measurement is a
row of results/scaling.csv.

The rounds are as large as the cluster, or several times as large, and all evaluations take equally long. Efficiency is
the ideal time of a round, which is that of one evaluation for each slot's share of it, divided by the time from its ask
to its last result. All workers have started before, and the first round, in which they import the package, is left out.
The same number of tasks that only sleep shows what bare Ray takes. Evaluations that take no time show how many there
can be in a second. The memory is the largest of the driver's process, which only asks for random orderings.
`experiments.ours.asynchronous` simulates evaluations of different lengths.
"""

import contextlib
import logging
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import ray

import law_ray
from experiments import RESULTS
from experiments.machine import played_on
from experiments.markdown import publish, table
from experiments.tasks import append, read
from law_ray.runs import journal
from law_ray.typing import IntArray

FILE = RESULTS / "scaling.csv"
COLUMNS = (
    *("slots", "points", "seconds", "rounds", "mean_round", "efficiency", "bare_ray"),
    *("tasks_a_second", "driver_megabytes", "bytes_of_journal"),
)
CASES = ((2, 2, 1.0), (8, 8, 1.0), (32, 32, 1.0), (128, 128, 5.0), (128, 1024, 5.0), (8, 1024, 0.0))
"""(slots, points of a round, seconds of an evaluation)"""
N_ROUNDS = 5


class Sleeper:
    """An objective that sleeps for a fixed time; all its values are 0."""

    name, n_items = "sleeper", 12

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, permutation: IntArray) -> float:
        """Sleep."""
        time.sleep(self.seconds)
        return 0.0


@click.command()
def main() -> None:
    """Measure what is missing, then write the report."""
    known = set(read(FILE, COLUMNS)[["slots", "points", "seconds"]].itertuples(index=False, name=None))
    spawn = multiprocessing.get_context("spawn")
    for case in CASES:
        if case not in known:
            with ProcessPoolExecutor(1, mp_context=spawn) as pool:  # a process of its own, for its memory
                append(FILE, [pool.submit(efficiency, *case).result()])
    publish(RESULTS / "scaling.md", report(read(FILE, COLUMNS)))


@contextlib.contextmanager
def ray_of(cpus: int) -> Iterator[None]:
    """Start a local Ray that claims this many CPUs, with all its workers, and stop it at the end.

    If tasks asked for fractions of the real CPUs instead, Ray would keep too few workers and start more in each round.
    """
    ray.init(
        "local", num_cpus=cpus, include_dashboard=False, object_store_memory=100_000_000, logging_level=logging.ERROR
    )
    try:
        with tempfile.TemporaryDirectory() as folder:  # one task per worker: none ends before all have started
            ray.get([_meeting.remote(Path(folder), number, cpus) for number in range(cpus)])
        yield
    finally:
        ray.shutdown()


@ray.remote
def _meeting(folder: Path, number: int, expected: int) -> None:
    (folder / str(number)).touch()
    while folder.exists() and len(list(folder.iterdir())) < expected:
        time.sleep(0.2)


@ray.remote
def _sleep(seconds: float) -> None:
    time.sleep(seconds)


def bare(points: int, seconds: float) -> float:
    """Return the mean seconds of rounds of tasks that only sleep, without this package."""
    lengths = []
    for _ in range(N_ROUNDS + 1):
        start = time.perf_counter()
        ray.get([_sleep.remote(seconds) for _ in range(points)])
        lengths.append(time.perf_counter() - start)
    return float(np.mean(lengths[1:]))


def efficiency(slots: int, points: int, seconds: float) -> dict[str, Any]:
    """Return the row of a cluster of this many slots, for rounds of this many points."""
    with tempfile.TemporaryDirectory() as folder, ray_of(slots):
        law_ray.minimize(
            Sleeper(seconds),
            evals=points * (N_ROUNDS + 1),
            n_init=points,
            batch_size=points,
            method="random",
            out=Path(folder) / "run",
            progress=False,
        )
        megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        records = journal.read(Path(folder) / "run")
        size = (Path(folder) / "run" / journal.NAME).stat().st_size / (points * (N_ROUNDS + 1))
        mean_bare = bare(points, seconds)
    asks = [record for record in records if record["type"] == "ask"]
    round_of = {trial["id"]: ask["round"] for ask in asks for trial in ask["trials"]}
    last_told = {round_of[record["id"]]: record["time"] for record in records if record["type"] == "tell"}
    lengths = [last_told[ask["round"]] - ask["time"] for ask in asks if ask["round"] > 0]
    mean, ideal = float(np.mean(lengths)), seconds * points / slots
    efficiencies = (ideal / mean, ideal / mean_bare)
    values = (slots, points, seconds, len(lengths), mean, *efficiencies, points / mean, megabytes, size)
    return dict(zip(COLUMNS, values, strict=True))


def report(rows: pd.DataFrame) -> str:
    """Return the report: a table of the rounds."""
    lines = [
        [
            *(row.slots, row.points, f"{row.seconds:g}", row.rounds, f"{row.mean_round:.2f}"),
            *(f"{share:.3f}" if row.seconds else "" for share in (row.efficiency, row.bare_ray)),
            *(f"{row.tasks_a_second:.0f}", f"{row.driver_megabytes:.0f}", f"{row.bytes_of_journal:.0f}"),
        ]
        for row in rows.itertuples(index=False)
    ]
    header = [
        *("slots", "points", "seconds per evaluation", "rounds", "mean round", "efficiency", "of bare Ray"),
        *("evaluations a second", "MB of the driver", "bytes of journal per evaluation"),
    ]
    return REPORT.format(machine=played_on(rows), table=table(header, lines))


REPORT = """# Using a whole cluster

{machine} Regenerate with `python -m experiments.ours.scaling`. The evaluations sleep, on a
local Ray that claims as many CPUs as there are slots; each of its workers takes some 90 MB.

Rounds as large as the cluster, or eight times as large. Efficiency: the time that the slots need for the evaluations of
a round, divided by the mean time from its ask to its last result. Of bare Ray: the same for as many tasks that only
sleep, without this package. The journal is that of orderings of 12 items and random choices: a model adds its record to
each choice, of 20 kB for 22 items and 75 kB for 48.

{table}"""


if __name__ == "__main__":
    main()
