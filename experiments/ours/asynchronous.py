"""How much of a cluster does a run use, in rounds and with refills, and is the best value as good at equal evaluations?

`python -m experiments.ours.asynchronous` plays the runs that are missing, one per CPU, and writes
results/asynchronous.md. A finished run is a row of results/asynchronous.csv. `--runs 0` only reports on the rows that
exist. With `--threads` each run chooses with this many threads, and runs are played one after the other: then the
machine must be idle.

The runs are real: `ActiveRun` chooses points and keeps its journal as it does on Ray. The cluster is simulated: a clock
that the evaluations' times move forward, and the seconds that the choices take.
"""

import heapq
import math
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import pandas as pd

from experiments import RESULTS
from experiments.machine import played_on
from experiments.markdown import plus_minus, table
from experiments.statistics import standard_error
from experiments.tasks import Row, append, complete, missing, read
from law_ray.driver.tasks import POLL
from law_ray.runs.active import ActiveRun
from law_ray.runs.evaluation import Outcome
from law_ray.runs.objective import BlackBox
from law_ray.runs.settings import Settings
from law_ray.trial import Trial
from law_ray.utils import threads
from law_ray.utils.seeding import generator
from objectives import load
from objectives.qap import QAP

MEDIAN = 60.0
"""Seconds of an evaluation."""
SPREADS = {"equal": 0.05, "uneven": 0.4}
"""The standard deviation of the logarithm of the times. Of the uneven ones, 5% take below 31 s and 5% above 116 s."""
EVALUATIONS = {("fsp:ta001", 8): 256, ("fsp:ta001", 32): 256, ("assignment of 48", 128): 640}
"""By the problem and the slots."""
N_INIT = 32
MODES = {"sync": ("sync", 1), "sync, two a slot": ("sync", 2), "async": ("async", 1)}
"""The mode of the run, and the points of a round per slot.

Asynchronous choices know about as much as those of rounds of two a slot: while all slots are busy, each point is chosen
given as many others without a value as there are slots.
"""
COLUMNS = ("problem", "slots", "times", "mode", "threads", "seed", "best", "seconds", "idle", "asking", "asks")


class Case(NamedTuple):
    """One run."""

    problem: str
    slots: int
    times: str
    """a key of SPREADS"""
    mode: str
    threads: int
    """that choose"""
    seed: int


def assignment(n_items: int) -> QAP:
    """Return a quadratic assignment of random flows to random places in the unit square."""
    rng = generator(n_items, "asynchronous", 0)
    places = rng.random((n_items, 2))
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    flows = rng.random((n_items, n_items))
    return QAP(f"assignment of {n_items}", None, np.triu(flows, 1) + np.triu(flows, 1).T, distances)


class Cluster:
    """Slots that evaluate what is submitted, first come, first served, on a simulated clock."""

    def __init__(self, slots: int, seconds_of: Callable[[Trial], float]) -> None:
        self.now = 0.0
        self.intervals: list[tuple[float, float]] = []
        """when each evaluation that began begins and ends"""
        self._free = slots
        self._seconds_of = seconds_of
        self._queue: deque[Trial] = deque()
        self._running: list[tuple[float, int, Trial]] = []  # a heap by the end
        self._begun: dict[int, float] = {}  # when the running trials began, by id

    def submit(self, trials: Iterable[Trial]) -> None:
        """Begin to evaluate trials, or queue them where no slot is free."""
        self._queue.extend(trials)
        self._fill(self.now)

    def advance(self, seconds: float) -> list[Trial]:
        """Let time pass; return the trials that ended, in this order."""
        until, ended = self.now + seconds, []
        while self._running and self._running[0][0] <= until:
            end, _, trial = heapq.heappop(self._running)
            ended.append(trial)
            del self._begun[trial.id]
            self._free += 1
            self._fill(end)
        self.now = until
        return ended

    def wait(self, longest: float = math.inf) -> list[Trial]:
        """Let time pass until a trial ends, but at most this many seconds; return it, or none if none ended."""
        return self.advance(min(max(0.0, self._running[0][0] - self.now), longest)) if self._running else []

    def ages(self) -> dict[int, float]:
        """Return the seconds that each running trial has run, by id."""
        return {number: self.now - begun for number, begun in self._begun.items()}

    def busy(self, start: float, end: float) -> float:
        """Return the seconds that evaluations took from `start` to `end`, summed over the slots."""
        return sum(max(0.0, min(end, last) - max(start, first)) for first, last in self.intervals)

    def _fill(self, now: float) -> None:
        while self._queue and self._free:
            trial = self._queue.popleft()
            end = now + self._seconds_of(trial)
            self.intervals.append((now, end))
            self._begun[trial.id] = now
            heapq.heappush(self._running, (end, trial.id, trial))
            self._free -= 1


def simulate(
    run: ActiveRun,
    objective: Any,
    slots: int,
    seconds_of: Callable[[Trial], float],
    clock: Callable[[], float] = time.process_time,
) -> dict[str, float]:
    """Carry out a run on a simulated cluster, as the driver does on Ray; `clock` says how long a choice takes.

    Returns:
        The best value; the seconds of the run after the initial design; the idle share of the slots from then to the
        last ask; the seconds that choosing took; and the number of choices.
    """
    cluster = Cluster(slots, seconds_of)
    asks: list[tuple[float, float]] = []  # when each choice of the model began and ended

    def choose() -> list[Trial]:
        """Choose points and submit them; return the trials that ended meanwhile."""
        initial = len(run.optimizer.trials) < run.settings.n_init
        start = clock()
        if run.settings.mode == "async":
            trials = run.refill(slots, cluster.ages())
        else:
            trials = run.ask(run.settings.batch_size or slots)
        seconds = clock() - start
        if not trials or initial:
            seconds = 0.0
        else:
            run.seconds_of_asks[-1] = seconds  # which the real clock of a busy machine does not tell
            asks.append((cluster.now, cluster.now + seconds))
        ended = cluster.advance(seconds)
        cluster.submit(trials)
        return ended

    def enter(ended: list[Trial]) -> None:
        for trial in ended:
            run.enter(trial.id, Outcome(float(objective(trial.permutation)), seconds=seconds_of(trial)))

    while run.stop_reason() is None:
        ended = choose()
        if run.settings.mode == "async":
            enter(ended or cluster.wait(POLL))
            continue
        while ended or run.pending:
            enter(ended)
            ended = cluster.wait()
    start, last = asks[0][0], asks[-1][1]
    return {
        "best": run.optimizer.best.value,
        "seconds": cluster.now - start,
        "idle": 1.0 - cluster.busy(start, last) / (slots * (last - start)),
        "asking": sum(end - begin for begin, end in asks),
        "asks": len(asks),
    }


@click.command()
@click.option("--runs", type=click.IntRange(0), default=10, show_default=True, help="How many of each, from the first.")
@click.option("--slots", multiple=True, type=click.IntRange(1), help="By default of all clusters.")
@click.option("--threads", "n_threads", type=click.IntRange(1), default=1, show_default=True, help="That choose.")
def main(runs: int, slots: tuple[int, ...], n_threads: int) -> None:
    """Play the missing runs, then write the report."""
    stem = RESULTS / "asynchronous"
    cases = [
        Case(problem, n_slots, times, mode, n_threads, seed)
        for seed in range(runs)
        for problem, n_slots in EVALUATIONS
        if not slots or n_slots in slots
        for times in SPREADS
        for mode in MODES
    ]
    if n_threads > 1:
        file = stem.with_suffix(".csv")
        play_alone(missing(cases, read(file, COLUMNS)), n_threads, file)
    complete(cases, play, report, stem, COLUMNS)


def play_alone(cases: Iterable[Case], n_threads: int, file: Path) -> None:
    """Play runs in this process, one after the other, and add their rows to the file."""
    threads.limit(n_threads, blas=1)  # as the driver does
    for case in cases:
        append(file, play(case))
        click.echo(case)


def play(case: Case) -> list[Row]:
    """Return the row of a run."""
    objective = assignment(48) if case.problem == "assignment of 48" else load(case.problem)
    spread = SPREADS[case.times]

    def seconds_of(trial: Trial) -> float:
        normal = generator(case.seed, "seconds", trial.id).standard_normal()
        return float(MEDIAN * np.exp(spread * normal))

    evals = EVALUATIONS[case.problem, case.slots]
    mode, per_slot = MODES[case.mode]
    batch_size = case.slots * per_slot if mode == "sync" else None
    settings = Settings(objective.n_items, batch_size=batch_size, seed=case.seed, n_init=N_INIT, mode=mode, evals=evals)
    with tempfile.TemporaryDirectory() as folder:
        run = ActiveRun.start(Path(folder) / "run", settings, BlackBox(objective).to_record(""))
        with run.journal:
            clock = time.process_time if case.threads == 1 else time.perf_counter
            return [case._asdict() | simulate(run, objective, case.slots, seconds_of, clock)]


def report(rows: pd.DataFrame) -> str:
    """Return the report: a table for each problem."""
    parts = [REPORT.format(machine=played_on(rows), median=MEDIAN)]
    for (problem, slots), of_problem in rows.groupby(["problem", "slots"], sort=False):
        lines: list[list[Any]] = []
        for (times, mode, n_threads), runs in of_problem.groupby(["times", "mode", "threads"]):
            means = runs[["seconds", "idle", "asking", "asks"]].mean()
            best = plus_minus(runs["best"].mean(), standard_error(runs["best"].to_numpy()))
            lines.append(
                [
                    times,
                    mode,
                    n_threads,
                    len(runs),
                    best,
                    f"{means['seconds']:.0f}",
                    f"{means['idle']:.1%}",
                    f"{means['asking']:.0f}",
                    f"{means['asks']:.0f}",
                ]
            )
        evaluations = EVALUATIONS[str(problem), int(slots)]
        parts.append(f"\n## {problem}, {slots} slots, {evaluations} evaluations\n\n{table(HEADER, lines)}")
    return "".join(parts)


HEADER = ["times", "mode", "threads", "runs", "best value", "seconds", "idle", "choosing", "choices"]
REPORT = """# Rounds against refills

{machine} Regenerate with `python -m experiments.ours.asynchronous`.

Runs of law-auto on a simulated cluster, whose evaluations take {median:.0f} seconds at the median: all nearly the same,
or uneven, a twentieth of them below half and a twentieth above twice that. In rounds (sync), each round has as many
points as there are slots, or two a slot; with refills (async), each slot that becomes free gets another point.

Best value: mean +- standard error over the runs. Seconds: of the run after the initial design. Idle: the share of the
slots' time in which no evaluation ran, from then to the last choice. Choosing: on one thread, processor seconds; on
more, the seconds of a clock, with nothing else on these cores.

Four runs on four threads went on at a time. The refills of 8 slots foresaw the length of a choice by the last one, and
not by the longest of ten as they do now.
"""


if __name__ == "__main__":
    main()
