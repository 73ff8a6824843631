"""How well a run uses what a cluster gives it: evaluations that sleep, on a Ray that believes in as many CPUs.

`python -m experiments.scaling` measures what is missing and writes results/scaling.md anew; a finished measurement is
a row of results/strong_scaling.csv or results/asynchronous.csv.

- Strong scaling: rounds as large as the cluster, of evaluations that all take as long. Efficiency: the ideal time of a
  round, which is that of one evaluation, over the time from its ask to its last result. All workers have begun before,
  and the first round, in which they import the package, is left out. Beside it bare Ray: as many tasks that sleep.
- Rounds against refills: evaluation times are log-normal, a twentieth of them below 60 s and a twentieth above 220 s,
  scaled down by SCALE; the chosen points and the time that choosing takes are real. Idle share: of slots x time since
  the initial design, what no evaluation used.
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
from experiments.markdown import table
from experiments.speed import machine
from experiments.tasks import append, read
from law_ray import journal
from law_ray.permutations import IntArray
from objectives import load

RESULTS = Path(__file__).parent / "results"
STRONG = RESULTS / "strong_scaling.csv"
STRONG_COLUMNS = ("slots", "seconds", "rounds", "mean_round", "efficiency", "bare_ray")
ASYNCHRONOUS = RESULTS / "asynchronous.csv"
ASYNCHRONOUS_COLUMNS = ("slots", "mode", "seed", "best", "seconds", "idle", "asking")
STRONG_CASES = ((2, 1.0), (8, 1.0), (32, 1.0), (128, 5.0))  # slots, and seconds of an evaluation
N_ROUNDS = 5
SLOTS, SEEDS, EVALS = (8, 16, 32, 64), 3, 256
MODES = ("sync", "async")
SCALE = 1 / 60
PROBLEM = "fsp:ta001"


class Sleeper:
    """Takes its time; of value 0."""

    name, n_items = "sleeper", 12

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __call__(self, permutation: IntArray) -> float:
        time.sleep(self.seconds)
        return 0.0


class Slow:
    """A problem whose evaluations take log-normal times."""

    def __init__(self, name: str) -> None:
        self._problem = load(name)
        self.name, self.n_items = f"slow {name}", self._problem.n_items

    def __call__(self, permutation: IntArray, rng: np.random.Generator) -> Any:
        middle, spread = math.sqrt(60 * 220), math.log(220 / 60) / (2 * 1.645)
        time.sleep(SCALE * middle * math.exp(spread * rng.standard_normal()))
        return self._problem(permutation)


@click.command()
def main() -> None:
    """Measure what is missing, then write the tables."""
    known = read(STRONG, STRONG_COLUMNS)
    for slots, seconds in STRONG_CASES:
        if not (known["slots"] == slots).any():
            append(STRONG, [strong(slots, seconds)])
    known = read(ASYNCHRONOUS, ASYNCHRONOUS_COLUMNS)
    done = set(known[["slots", "mode", "seed"]].itertuples(index=False, name=None))
    for slots in SLOTS:
        todo = [(mode, seed) for seed in range(SEEDS) for mode in MODES if (slots, mode, seed) not in done]
        with believing(slots) if todo else contextlib.nullcontext():
            for mode, seed in todo:
                append(ASYNCHRONOUS, [compared(slots, mode, seed)])
    (RESULTS / "scaling.md").write_text(report(read(STRONG, STRONG_COLUMNS), read(ASYNCHRONOUS, ASYNCHRONOUS_COLUMNS)))


@contextlib.contextmanager
def believing(cpus: int) -> Iterator[None]:
    """A Ray of so many CPUs. On fractions of fewer it would keep too few workers, and start others every round."""
    ray.init(
        "local", num_cpus=cpus, include_dashboard=False, object_store_memory=100_000_000, logging_level=logging.ERROR
    )
    try:
        with tempfile.TemporaryDirectory() as folder:  # one task a worker: none ends before all have begun
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
    """The mean time of rounds of tasks that sleep, without this package."""
    lengths = []
    for _ in range(N_ROUNDS + 1):
        begun = time.perf_counter()
        ray.get([_sleep.remote(seconds) for _ in range(slots)])
        lengths.append(time.perf_counter() - begun)
    return float(np.mean(lengths[1:]))


def strong(slots: int, seconds: float) -> dict[str, Any]:
    """The efficiency of rounds of so many evaluations at once."""
    with tempfile.TemporaryDirectory() as folder, believing(slots):
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
    asked = {record["round"]: record["time"] for record in records if record["type"] == "ask"}
    rounds = {trial["id"]: r["round"] for r in records if r["type"] == "ask" for trial in r["trials"]}
    told = {rounds[record["id"]]: record["time"] for record in records if record["type"] == "tell"}  # the last counts
    lengths = [told[number] - asked[number] for number in asked if number > 0]
    mean = float(np.mean(lengths))
    values = (slots, seconds, len(lengths), mean, seconds / mean, seconds / mean_bare)
    return dict(zip(STRONG_COLUMNS, values, strict=True))


def compared(slots: int, mode: str, seed: int) -> dict[str, Any]:
    """One run in rounds, or with refills, on the Ray there is."""
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
    begun = next(record["time"] - record["seconds"] for record in records if record.get("round", 0) > 0)
    ended = [record for record in records if record["type"] == "tell" and record["time"] > begun]
    # The last results come in while nothing is left to begin: that is the budget's doing, in either mode.
    last_ask = max(record["time"] for record in records if record["type"] == "ask")
    busy = sum(
        max(0.0, min(last_ask, record["time"]) - max(begun, record["time"] - record["seconds"])) for record in ended
    )
    idle = 1 - busy / (slots * (last_ask - begun)) if last_ask > begun else math.nan
    values = (slots, mode, seed, result.best.value, ended[-1]["time"] - begun, idle, result.seconds_asking)
    return dict(zip(ASYNCHRONOUS_COLUMNS, values, strict=True))


def report(strong: pd.DataFrame, asynchronous: pd.DataFrame) -> str:
    """The tables, in Markdown."""
    means = asynchronous.groupby(["slots", "mode"], sort=True)[["best", "seconds", "idle", "asking"]]
    summary = means.mean().join(means.sem()["best"].rename("error")).join(means.size().rename("runs")).reset_index()
    columns = ["slots", "mode", "runs", "best", "error", "seconds", "idle", "asking"]
    return REPORT.format(
        machine=machine(2),
        strong=table(
            ["slots", "seconds an evaluation", "rounds", "mean round", "efficiency", "of bare Ray"],
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

{machine} Regenerate with `python -m experiments.scaling`. The evaluations sleep, on a Ray that
believes in as many CPUs as there are slots; each of its workers takes some 90 MB.

## Strong scaling

Rounds as large as the cluster; efficiency: seconds of an evaluation over the mean time from a round's ask to its last
result. Of bare Ray: the same of as many tasks that only sleep, without this package.

{strong}
## Rounds (sync) against refills (async)

{problem}, {evals} evaluations by law-est, of log-normal times from 60 to 220 s, run {scale} times faster: choosing,
which is not, weighs so many times more than it would. Seconds: of the run, after the initial design. Idle share: of
the slots, from then to the last ask.

{asynchronous}"""


if __name__ == "__main__":
    main()
