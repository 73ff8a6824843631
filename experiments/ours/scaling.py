"""How well does a run use a cluster? Evaluations that sleep, on a local Ray that claims as many CPUs as it needs.

`python -m experiments.ours.scaling` measures what is missing and writes results/scaling.md. A finished measurement is a
row of results/strong_scaling.csv or results/asynchronous.csv.

- Strong scaling: rounds as large as the cluster, whose evaluations all take equally long. Efficiency is the ideal time
  of a round, which is that of one evaluation, divided by the time from its ask to its last result. All workers have
  started before, and the first round, in which they import the package, is left out. The same number of tasks that only
  sleep shows what bare Ray takes.
- Rounds against refills: evaluation times are log-normal, 5% of them below 60 s and 5% above 220 s, and are scaled by
  SCALE. The chosen points and the time to choose them are real. The idle share is the part of slots x time since the
  initial design in which no evaluation ran.
"""

import contextlib
import logging
import math
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
import ray

import law_ray
from experiments import RESULTS
from experiments.machine import machine
from experiments.markdown import table
from experiments.tasks import append, read
from law_ray.runs import journal
from law_ray.typing import IntArray
from objectives import load

STRONG = RESULTS / "strong_scaling.csv"
STRONG_COLUMNS = ("slots", "seconds", "rounds", "mean_round", "efficiency", "bare_ray")
ASYNCHRONOUS = RESULTS / "asynchronous.csv"
ASYNCHRONOUS_COLUMNS = ("slots", "mode", "seed", "best", "seconds", "idle", "asking")
STRONG_CASES = ((2, 1.0), (8, 1.0), (32, 1.0), (128, 5.0))  # (slots, seconds of an evaluation)
N_ROUNDS = 5
SLOTS, SEEDS, EVALS = (8, 16, 32, 64), 3, 256
MODES = ("sync", "async")
SCALE = 1 / 60  # of the evaluation times, so that the experiment ends within the hour
PROBLEM = "fsp:ta001"


class Sleeper:
    """An objective that sleeps for a fixed time; all its values are 0."""

    name, n_items = "sleeper", 12

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, permutation: IntArray) -> float:
        """Sleep."""
        time.sleep(self.seconds)
        return 0.0


class Slow:
    """A problem whose evaluations take log-normally distributed times."""

    def __init__(self, name: str) -> None:
        self._problem = load(name)
        self.name, self.n_items = f"slow {name}", self._problem.n_items

    def __call__(self, permutation: IntArray, rng: np.random.Generator) -> Any:
        """Sleep for a random time, then evaluate."""
        median, spread = math.sqrt(60 * 220), math.log(220 / 60) / (2 * 1.645)  # from the 5% and 95% quantiles
        time.sleep(SCALE * median * math.exp(spread * rng.standard_normal()))
        return self._problem(permutation)


@click.command()
def main() -> None:
    """Measure what is missing, then write the report."""
    known = read(STRONG, STRONG_COLUMNS)
    for slots, seconds in STRONG_CASES:
        if not (known["slots"] == slots).any():
            append(STRONG, [strong(slots, seconds)])
    known = read(ASYNCHRONOUS, ASYNCHRONOUS_COLUMNS)
    done = set(known[["slots", "mode", "seed"]].itertuples(index=False, name=None))
    for slots in SLOTS:
        todo = [(mode, seed) for seed in range(SEEDS) for mode in MODES if (slots, mode, seed) not in done]
        with ray_of(slots) if todo else contextlib.nullcontext():
            for mode, seed in todo:
                append(ASYNCHRONOUS, [compared(slots, mode, seed)])
    (RESULTS / "scaling.md").write_text(report(read(STRONG, STRONG_COLUMNS), read(ASYNCHRONOUS, ASYNCHRONOUS_COLUMNS)))


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


def bare(slots: int, seconds: float) -> float:
    """Return the mean seconds of rounds of tasks that only sleep, without this package."""
    lengths = []
    for _ in range(N_ROUNDS + 1):
        start = time.perf_counter()
        ray.get([_sleep.remote(seconds) for _ in range(slots)])
        lengths.append(time.perf_counter() - start)
    return float(np.mean(lengths[1:]))


def strong(slots: int, seconds: float) -> dict[str, Any]:
    """Return the row of a cluster of this many slots: the efficiency of rounds that fill it."""
    with tempfile.TemporaryDirectory() as folder, ray_of(slots):
        law_ray.minimize(
            Sleeper(seconds),
            evals=slots * (N_ROUNDS + 1),
            n_init=slots,
            batch_size="auto",
            method="random",
            out=Path(folder) / "run",
            progress=False,
        )
        records = journal.read(Path(folder) / "run")
        mean_bare = bare(slots, seconds)
    asks = [record for record in records if record["type"] == "ask"]
    round_of = {trial["id"]: ask["round"] for ask in asks for trial in ask["trials"]}
    last_told = {round_of[record["id"]]: record["time"] for record in records if record["type"] == "tell"}
    lengths = [last_told[ask["round"]] - ask["time"] for ask in asks if ask["round"] > 0]
    mean = float(np.mean(lengths))
    values = (slots, seconds, len(lengths), mean, seconds / mean, seconds / mean_bare)
    return dict(zip(STRONG_COLUMNS, values, strict=True))


def compared(slots: int, mode: str, seed: int) -> dict[str, Any]:
    """Return the row of a run in rounds or with refills, on the Ray that is running."""
    with tempfile.TemporaryDirectory() as folder:
        result = law_ray.minimize(
            Slow(PROBLEM),
            evals=EVALS,
            n_init=32,
            batch_size="auto",
            method="law-est",
            mode=mode,
            seed=seed,
            out=Path(folder) / "run",
            progress=False,
        )
        records = journal.read(Path(folder) / "run")
    asks = [record for record in records if record["type"] == "ask"]
    start = next(ask["time"] - ask["seconds"] for ask in asks if ask["round"] > 0)
    ended = [record for record in records if record["type"] == "tell" and record["time"] > start]
    # After the last ask slots stay idle in either mode, because the budget is used up.
    last_ask = max(ask["time"] for ask in asks)
    busy = sum(
        max(0.0, min(last_ask, tell["time"]) - max(start, tell["time"] - (tell["seconds"] or 0.0))) for tell in ended
    )
    idle = 1 - busy / (slots * (last_ask - start)) if last_ask > start else math.nan
    values = (slots, mode, seed, result.best.value, ended[-1]["time"] - start, idle, result.seconds_asking)
    return dict(zip(ASYNCHRONOUS_COLUMNS, values, strict=True))


def report(strong: pd.DataFrame, asynchronous: pd.DataFrame) -> str:
    """Return the report: a table of the rounds, and one of rounds against refills."""
    means = asynchronous.groupby(["slots", "mode"], sort=True)[["best", "seconds", "idle", "asking"]]
    summary = means.mean().join(means.sem()["best"].rename("error")).join(means.size().rename("runs")).reset_index()
    columns = ["slots", "mode", "runs", "best", "error", "seconds", "idle", "asking"]
    return REPORT.format(
        machine=machine(2),
        strong=table(
            ["slots", "seconds per evaluation", "rounds", "mean round", "efficiency", "of bare Ray"],
            strong[list(STRONG_COLUMNS)].to_numpy(dtype=object).tolist(),
            3,
        ),
        problem=PROBLEM,
        evals=EVALS,
        scale=round(1 / SCALE),
        asynchronous=table(
            ["slots", "mode", "runs", "best value", "+-", "seconds", "idle share", "seconds asking"],
            summary[columns].to_numpy(dtype=object).tolist(),
            2,
        ),
    )


REPORT = """# Using a whole cluster

{machine} Regenerate with `python -m experiments.ours.scaling`. The evaluations sleep, on a
local Ray that claims as many CPUs as there are slots; each of its workers takes some 90 MB.

## Strong scaling

Rounds as large as the cluster. Efficiency: the seconds of an evaluation divided by the mean time from a round's ask to
its last result. Of bare Ray: the same for as many tasks that only sleep, without this package.

{strong}
## Rounds (sync) against refills (async)

{problem}, {evals} evaluations by law-est with log-normal times from 60 to 220 s, run {scale} times faster. Choosing is
not faster, so it weighs that many times more than it would. Seconds: of the run after the initial design. Idle share:
of the slots, from then to the last ask.

{asynchronous}"""


if __name__ == "__main__":
    main()
