"""What is shown of a run that goes on: what its driver does now, how much is done, and how long the rest will take."""

import heapq
import math
import shutil
import statistics
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from law_ray.runs.active import ActiveRun

PREPARING, CHOOSING, EVALUATING, REEVALUATING, WAITING, ENDED = (
    "preparing",
    "choosing",
    "evaluating",
    "re-evaluating",
    "waiting for the cluster:",
    "ended",
)
"""What a driver does. Preparing is loading the objective, and asking it for orderings to begin with; it waits where
all of the cluster is taken by others."""
LOG_INTERVAL = 30
"""Seconds between two progress lines where stderr is no terminal (heuristic)."""
MIN_ENDED = 3
"""Evaluations that must have ended before the time left is estimated (heuristic)."""
MIN_BOUND = 60
"""Seconds from which a bound of the time left is worth showing while no batch was chosen yet (heuristic)."""
RECENT_ASKS = 5
"""Choices of a batch whose median predicts the next: they take longer the more is known (heuristic)."""


class Left(NamedTuple):
    """An estimate of the time until the run ends."""

    seconds: float
    at_least: bool
    """whether choosing comes on top, and is not known yet"""


class Status(NamedTuple):
    """What a driver says of its run."""

    doing: str = PREPARING
    elapsed: float = 0.0
    """seconds since the driver began"""
    evaluations: int = 0
    """trials that were told or failed, also by earlier drivers"""
    total: int = 0
    failed: int = 0
    best: float | None = None
    left: Left | None = None
    must_go_on: bool = False
    """whether a choice that is being made is not to be cut off by max_time"""


def status_of(run: ActiveRun, doing: str, elapsed: float, slots: int) -> Status:
    """Return the status of a run whose driver can make `slots` evaluations at once."""
    ended = run.ended
    known = [trial.value for trial in ended if trial.state == "told"]
    best = (max if run.settings.maximize else min)(known) if known else None
    left = time_left(run, slots) if doing in (CHOOSING, EVALUATING) else None
    failed = len(ended) - len(known)
    return Status(doing, elapsed, len(ended), run.settings.evals, failed, best, left, run.must_go_on)


def time_left(run: ActiveRun, slots: int) -> Left | None:
    """Return about how long the run will go on, by the seconds of its evaluations and of its last choices.

    Pending trials are taken to last as long as predicted (`law_ray.runs.durations`), and later ones as long as the
    mean; in rounds, the last wave of each lasts as long as its longest evaluation is expected to.

    None before MIN_ENDED evaluations have ended, and before a batch was chosen if less than MIN_BOUND seconds seem to
    be left. The stop rules by value are not foreseen.
    """
    seconds = [trial.seconds for trial in run.ended if math.isfinite(trial.seconds)]
    if len(seconds) < MIN_ENDED:
        return None
    settings, mean = run.settings, statistics.fmean(seconds)
    rest = settings.evals - len(run.optimizer.trials)
    batch = max(1, min(settings.batch_size or slots, rest))
    asks = run.seconds_of_asks[-RECENT_ASKS:]
    ask = statistics.median(asks) if asks else 0.0
    expected = [run.expected_seconds.get(trial.id, math.nan) for trial in run.pending]
    pending = [mean if math.isnan(each) else each for each in expected]
    if settings.mode == "async":
        left = (sum(pending) + rest * mean) / min(slots, settings.batch_size or slots) + rest * ask
    else:
        round_seconds = (math.ceil(batch / slots) - 1) * mean + _expected_maximum(seconds, min(batch, slots))
        left = _makespan(pending, slots) + rest / batch * (ask + round_seconds)
    if left >= run.seconds_left:
        return Left(max(0.0, run.seconds_left), at_least=False)
    if rest > 0 and not asks:
        return Left(left, at_least=True) if left >= MIN_BOUND else None
    return Left(left, at_least=False)


def _makespan(seconds: Iterable[float], slots: int) -> float:
    """Return when the last of some evaluations ends, if each begins where a slot is free first."""
    free = [0.0] * slots
    for each in seconds:
        heapq.heapreplace(free, free[0] + each)
    return max(free)


def _expected_maximum(seconds: Iterable[float], count: int) -> float:
    """Return the mean of the largest of `count` numbers that are drawn from `seconds`, each as likely as the others."""
    ordered = sorted(seconds)
    n = len(ordered)
    return sum(each * ((k / n) ** count - ((k - 1) / n) ** count) for k, each in enumerate(ordered, start=1))


def line_of(status: Status, width: int = 79) -> str:
    """Return a status as one line of at most `width` characters."""
    elapsed = _clock(status.elapsed)
    if status.doing == PREPARING:
        return f"{PREPARING}, {elapsed}"[:width]
    percent = 100 * status.evaluations // max(1, status.total)
    parts = [f"{status.doing} {status.evaluations}/{status.total} ({percent}%)"]
    parts += [] if status.best is None else [f"best {status.best:.6g}"]
    parts += [f"{status.failed} failed"] if status.failed else []
    last = [f"{'>' if status.left.at_least else ''}{_clock(status.left.seconds)} left"] if status.left else []
    whole = ", ".join([*parts, elapsed, *last])
    return whole if len(whole) <= width else ", ".join([*parts, *last])[:width]


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


class Progress:
    """A progress line on stderr; where that is no terminal, as in a log file, a line every LOG_INTERVAL seconds."""

    def __init__(self, wanted: bool) -> None:
        self._wanted = wanted
        self._live = sys.stderr.isatty()
        self._line = ""
        self._written = -math.inf  # the monotonic time of the last line in a file

    def show(self, status: Status) -> None:
        """Show a status in place of the one before."""
        self._line = line_of(status, min(79, shutil.get_terminal_size().columns - 1))
        now = time.monotonic()
        if self._live:
            self._write(f"\r{self._line}\x1b[K")
        elif now - self._written >= LOG_INTERVAL:
            self._write(f"{self._line}\n")
            self._written = now

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Take the line away while something else is written to the terminal."""
        if self._live and self._line:
            self._write("\r\x1b[K")
        yield
        if self._live:
            self._write(self._line)

    def close(self) -> None:
        """Leave the last status on a line of its own."""
        if self._line:
            self._write("\n" if self._live else f"{self._line}\n")
            self._line = ""

    def _write(self, text: str) -> None:
        if self._wanted:
            try:
                print(text, end="", file=sys.stderr, flush=True)
            except (OSError, ValueError):  # the terminal, or the reader of a pipe, is gone
                self._wanted = False
