"""An open run: each step is in the journal before it takes effect, until a stop rule holds."""

import itertools
import logging
import math
import platform
import statistics
import time
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Self, TypeVar

import numpy as np

from law_ray.errors import OnlyFailedError
from law_ray.models.prior_mean import Proxy
from law_ray.runs import journal as journals
from law_ray.runs.durations import LEAST_VALUES, MAX_VALUES, Durations, number_ending
from law_ray.runs.evaluation import Outcome
from law_ray.runs.journal import VERSION, Journal
from law_ray.runs.records import (
    FailRecord,
    ObjectiveRecord,
    Record,
    ResumeRecord,
    TellAgainRecord,
    TellRecord,
    to_json,
)
from law_ray.runs.reevaluation import contenders
from law_ray.runs.run import Run
from law_ray.runs.settings import Settings
from law_ray.space.exclusions import Key
from law_ray.trial import INITIAL, Trial

PACKAGES = ("law-ray", "numpy", "scipy", "ray", "pgmpy")
"""Packages whose versions the journal stores."""

FAILED_ROUNDS = 2
"""So many rounds in a row, all of whose evaluations failed, mean that the objective is broken (heuristic)."""

MAX_IDLE = 0.03
"""The share of its time that a slot may wait for a choice in asynchronous mode; beyond, points are chosen ahead
(heuristic)."""

RECENT_CHOICES = 10
"""The longest of this many choices says how long the next ones may take when points are chosen ahead (heuristic).

Some take ten times as long as others, since the model is fitted anew now and then. On a simulated cluster of 128 slots
whose evaluations take 60 seconds, with choices that take 0.3 to 6 seconds and 0.05 more for each point, slots were idle
for 6% of the time by the last choice, 4% by the longest of five and 2% by the longest of ten.
"""

TIME_IS_UP = "the time was up"
"""The reason for the end of a run whose max_time is over."""
ONLY_FAILED = "whole rounds of evaluations failed"
"""The reason for the end of a run whose objective seems to be broken."""

log = logging.getLogger(__name__)

Ending = TypeVar("Ending", TellRecord, FailRecord, TellAgainRecord)


class ActiveRun(Run):
    """A run whose journal is open for appending. `start` begins one, `resume` continues one."""

    journal: Journal

    @classmethod
    def start(
        cls,
        folder: Path,
        settings: Settings,
        objective: ObjectiveRecord,
        key: Key | None = None,
        start: Sequence[Sequence[int]] = (),
        prior_mean: Proxy | None = None,
    ) -> Self:
        """Begin a run in `folder`. The arguments after the objective are those of `Optimizer`."""
        run = cls(folder, objective, settings, start, key, prior_mean)  # what it refuses leaves no folder
        header: Record = {
            "type": "run",
            "version": VERSION,
            "time": time.time(),
            "objective": objective,
            "settings": settings.to_record(),
            "starts": [list(ordering) for ordering in start],
            "packages": {name: metadata.version(name) for name in PACKAGES},
            "python": platform.python_version(),
        }
        return run._opened(Journal.create(folder, header))

    @classmethod
    def resume(
        cls,
        folder: Path,
        evals: int | None = None,
        key: Key | None = None,
        prior_mean: Proxy | None = None,
        backup: str | None = None,
    ) -> Self:
        """Continue the run in `folder` where its journal ends; `evals` and `backup`, if given, hold from now on."""
        journal = Journal(folder)
        run = cls.replayed(folder, journal.records, key, prior_mean)._opened(journal)
        record: ResumeRecord = {"type": "resume", "time": time.time(), "evals": evals or run.settings.evals}
        if backup not in (None, run.settings.backup):
            record["backup"] = backup
        run._record(record)
        return run

    def _opened(self, journal: Journal) -> Self:
        self.journal = journal
        self.used_up = False
        self.choosing = False
        """whether a batch is being chosen now"""
        self.began = time.monotonic()
        """when max_time begins: now, unless preparing the run is to count too"""
        asks = [record for record in journal.records if record["type"] == "ask"]
        self.seconds_of_asks = [ask["seconds"] for ask in asks if ask["round"] != INITIAL]
        """that each choice of a batch took, without the initial design"""
        self.expected_seconds: dict[int, float] = {}
        """by id, what trials were expected to take when they were to begin"""
        self._durations = Durations(self.settings.seed)
        self._asked_before = len(self.optimizer.trials)  # by an earlier process
        self._entered = 0
        return self

    def _record(self, record: Record) -> None:
        """Write a record to disk, then change the state as it says."""
        self.journal.append(record)
        self.apply(record)

    @property
    def pending(self) -> list[Trial]:
        """The trials that were asked for and neither told nor failed."""
        return self.optimizer.pending

    @property
    def late(self) -> bool:
        """Whether max_time is up. Each process gets at least one result, so that resuming always makes progress."""
        return self._entered > 0 and self.seconds_left <= 0

    @property
    def must_go_on(self) -> bool:
        """Whether this process resumed the run and has no result yet: then a choice is not cut off by max_time."""
        return self._asked_before > 0 and self._entered == 0

    @property
    def seconds_left(self) -> float:
        """Seconds until max_time is up, negative after that; infinite without it."""
        return self.began + (self.settings.max_time or math.inf) - time.monotonic()

    @property
    def _too_late_to_ask(self) -> bool:
        """Whether max_time would be up before a choice ends that takes as long as the last one."""
        return self._entered > 0 and bool(self.seconds_of_asks) and self.seconds_left < self.seconds_of_asks[-1]

    def ask(self, batch_size: int, continue_round: bool = False) -> list[Trial]:
        """Return the next batch, which is on disk then; empty when the space or the budget is used up.

        It has at most `batch_size` points, and no more than the budget allows. The initial design is one batch.
        """
        start = time.perf_counter()
        self.choosing = True
        try:
            trials = self.optimizer.ask_up_to(batch_size, continue_round, self.settings.evals)
        finally:
            self.choosing = False
        self.used_up = not trials
        if trials:
            model = self.optimizer.model if trials[0].round != INITIAL else None
            seconds = time.perf_counter() - start
            self._record(
                {
                    "type": "ask",
                    "time": time.time(),
                    "seconds": seconds,
                    "round": trials[0].round,
                    "batch_size": len(trials),
                    "model": None if model is None else model.to_record(),
                    "trials": [{"id": trial.id, "permutation": trial.permutation.tolist()} for trial in trials],
                }
            )
            if trials[0].round != INITIAL:
                self.seconds_of_asks.append(seconds)
            log.info("round %d: %s chosen in %.1f s", trials[0].round, _count(len(trials), "ordering"), seconds)
            if model is not None:
                log.debug("round %d: the fitted model is %s", trials[0].round, model.to_record())
        return trials

    def refill(self, n_slots: int, ages: Mapping[int, float]) -> list[Trial]:
        """Return the points that keep all slots busy, in asynchronous mode; empty if none are needed.

        As many trials are pending as there are slots, and some more that are chosen ahead. With a batch size, that many
        are pending, and no more. The initial design is asked for at once.

        As many consecutive trials as there are slots form a round, even if the round before has not ended. LAW
        chooses the first point of a round as the acquisition's maximum, and the others as further points of that batch.

        Args:
            n_slots: How many evaluations can run at once.
            ages: The seconds that each trial which is being evaluated has run, by id.
        """
        batch_size = self.settings.batch_size or n_slots
        trials = self.optimizer.trials
        if not trials or len(trials) < self.settings.n_init:
            return self.ask(batch_size)
        free = batch_size + self._n_ahead(n_slots, ages) - len(self.pending)
        if free <= 0 or self._too_late_to_ask or self.enough() is not None:
            return []
        begun = sum(trial.round == trials[-1].round for trial in trials[-batch_size:])
        continue_round = trials[-1].round != INITIAL and begun < batch_size
        return self.ask(min(free, batch_size - begun) if continue_round else free, continue_round)

    def longest_first(self, trials: Sequence[Trial]) -> list[Trial]:
        """Return trials in the order in which to begin them, so that no slot is left with a long one at the end.

        The longest expected come first (`Durations`); all others keep their order.
        """
        if not trials:
            return []
        expected = self._durations.expected(self.ended, np.array([trial.permutation for trial in trials])).tolist()
        self.expected_seconds.update((trial.id, seconds) for trial, seconds in zip(trials, expected, strict=True))
        return sorted(trials, key=lambda trial: -self.expected_seconds[trial.id])

    def _n_ahead(self, n_slots: int, ages: Mapping[int, float]) -> int:
        """Return how many points to choose ahead: as many as trials end during this choice and the next one.

        They wait until slots become free, so that no slot waits for a choice. Each choice is taken to last as long as
        the longest of the last ones. The number is 0 if choosing is so quick that slots hardly wait, because a point
        chosen later is based on more values.
        """
        timed = [trial for trial in self.ended if math.isfinite(trial.seconds)][-MAX_VALUES:]
        if self.settings.batch_size or not timed or not self.seconds_of_asks:
            return 0
        asking = max(self.seconds_of_asks[-RECENT_CHOICES:])
        mean = max(statistics.mean(trial.seconds for trial in timed), 1e-9)
        if asking < MAX_IDLE * mean:
            return 0
        expected = {number: seconds for number, seconds in self.expected_seconds.items() if seconds > 0}
        foreseen = [trial for trial in timed if trial.id in expected]
        if len(foreseen) < LEAST_VALUES:
            expected, foreseen = {}, timed
        ratios = np.array([trial.seconds / expected.get(trial.id, mean) for trial in foreseen])
        of_running = np.array([expected.get(number, mean) for number in ages])
        return min(n_slots, math.ceil(number_ending(2 * asking, np.array(list(ages.values())), of_running, ratios)))

    def enter(self, trial_id: int, outcome: Outcome) -> None:
        """Enter a trial's outcome: on disk, then in the optimizer."""
        self._entered += 1
        now, seconds = time.time(), to_json(outcome.seconds)
        if outcome.reason:
            fail: FailRecord = {
                "type": "fail",
                "id": trial_id,
                "reason": outcome.reason,
                "time": now,
                "seconds": seconds,
            }
            self._record(_with_how(fail, outcome))
            log.info("trial %d failed: %s\n%s", trial_id, outcome.reason, outcome.traceback)
        else:
            tell: TellRecord = {
                "type": "tell",
                "id": trial_id,
                "value": outcome.value,
                "standard_error": outcome.standard_error,
                "time": now,
                "seconds": seconds,
            }
            self._record(_with_how(tell, outcome))
            log.debug("trial %d: %.10g", trial_id, outcome.value)
        if self.settings.mode == "sync" and not self.pending:
            best = f", the best value is {self.optimizer.best.value:.10g}" if self.has_value else ""
            log.info("round %d: all evaluations have ended%s", self.optimizer.trials[trial_id].round, best)

    def ask_again(self) -> list[tuple[Trial, int]]:
        """Return the best trials to evaluate once more, each with the number of the repeat; on disk then.

        Empty once it is clear which is the best, or when `repeats_left` is 0.
        """
        trials = self.optimizer.trials
        if not self.due:
            ids = contenders(trials, self.repeats, self.settings.maximize)[: max(self.repeats_left, 0)]
            if ids:
                repeats = [(i, len(self.repeats[i]) + 1) for i in ids]
                self._record({"type": "ask again", "time": time.time(), "repeats": repeats})
                log.info("the best trials are evaluated again: %s", ", ".join(map(str, ids)))
        return [(trials[i], repeat) for i, repeat in self.due]

    def enter_again(self, trial_id: int, outcome: Outcome) -> None:
        """Enter the outcome of a repeat that was asked for: on disk, then among the repeats."""
        self._entered += 1
        record: TellAgainRecord = {
            "type": "tell again",
            "id": trial_id,
            "value": to_json(outcome.value),
            "standard_error": outcome.standard_error,
            "reason": outcome.reason,
            "time": time.time(),
            "seconds": to_json(outcome.seconds),
        }
        self._record(_with_how(record, outcome))

    def end(self, reason: str) -> None:
        """Note that the run ends, and why."""
        self._record({"type": "end", "time": time.time(), "reason": reason})

    def stop_reason(self) -> str | None:
        """Return why the run should end now, or None. Raises OnlyFailedError if the objective only fails."""
        if self.has_reached_target and not self.extension.reached_target:
            return "the target was reached"
        if self.late:
            return TIME_IS_UP
        if self.pending:
            return None
        return self.enough() or (TIME_IS_UP if self._too_late_to_ask else None)

    def enough(self) -> str | None:
        """Return why no more points should be asked for, by the rounds that have ended, or None.

        Raises:
            OnlyFailedError: The last FAILED_ROUNDS rounds only failed.
        """
        settings, trials, pending = self.settings, self.optimizer.trials, self.pending
        if not trials:
            return None
        last_round = min(trial.round for trial in pending) - 1 if pending else trials[-1].round
        new = reversed(trials[self._asked_before :])  # the objective may have been corrected before a resume
        since = itertools.takewhile(lambda trial: trial.round > last_round - FAILED_ROUNDS, new)
        recent = [trial for trial in since if trial.round <= last_round]
        whole_rounds = len({trial.round for trial in recent})
        if whole_rounds == FAILED_ROUNDS and all(trial.state == "failed" for trial in recent):
            first = recent[-1]
            error = OnlyFailedError(
                f"the last {len(recent)} evaluations, {FAILED_ROUNDS} whole rounds, all failed; trial {first.id}: "
                f"{first.reason}; correct the objective, then resume {self.folder} with more evals: failed ones count "
                "and are not made again; or begin a new run if another setting, such as n_items, is wrong"
            )
            journals.note_traceback(error, self.folder, {trial.id for trial in recent})
            raise error
        if len(trials) >= settings.evals:
            return "all evaluations were made"
        if self.used_up:
            whole = len(trials) >= math.factorial(settings.n_items)
            more = "" if whole else ": every other ordering counts as one of these"
            return f"nothing new was left to evaluate{more}"
        if (
            settings.patience is not None
            and self.has_value
            and last_round - max(self.optimizer.best.round, self.extension.round) >= settings.patience
        ):
            return f"{settings.patience} rounds brought nothing better"
        return None


def _with_how(record: Ending, outcome: Outcome) -> Ending:
    """Add to the record of an outcome how the evaluation was made."""
    if outcome.worker:
        record["worker"] = outcome.worker
    if outcome.attempts > 1:
        record["attempts"] = outcome.attempts
    if outcome.traceback:
        record["traceback"] = outcome.traceback
    return record


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"
