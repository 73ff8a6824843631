"""Evaluations as Ray tasks, in one part or several: submitted, timed, resubmitted after a crash, and collected."""

import logging
import math
import os
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import ray
from ray.exceptions import RayError, RayTaskError, WorkerCrashedError

from law_ray.driver.capture import left_behind, path_of
from law_ray.driver.children import end_children, mark_of_run, new_mark
from law_ray.driver.heartbeat import Heartbeats
from law_ray.driver.worker import Home, Place, TaskId, evaluation_task
from law_ray.runs.evaluation import MAX_REASON, Outcome, Part, combine
from law_ray.runs.settings import Settings
from law_ray.trial import Trial

POLL = 0.2
"""Seconds between two checks for timeouts and silent nodes while evaluations run (heuristic)."""
MAX_COST = 4
"""A lost evaluation is submitted again until its lost attempts have cost this much in all (heuristic)."""
CRASH, LOST, DAMAGED, LEAKED = 2, 1, 0.5, 0
"""What a lost attempt costs.

A crash of the worker is most likely the fault of its evaluation, so the second crash is final. The death of a node, or
a lack of memory there, may be the fault of another evaluation: the fourth such loss is final. A process that is damaged
is the fault of another one, and there may be several of them. One that holds too much memory has evaluated others
before, and its end makes room for a new one.
"""

log = logging.getLogger(__name__)


class Job(NamedTuple):
    """One evaluation of a trial; repeat 0 is the first."""

    trial: Trial
    repeat: int = 0


@dataclass
class Attempt:
    """A task that was submitted, and what is known of it."""

    job: Job
    part: int
    id: TaskId
    avoided: frozenset[str]
    """ids of the nodes where it must not run"""
    submitted: float
    """monotonic time at which it was submitted, in seconds"""
    place: Place | None = None
    """where it runs, once it has begun"""
    begun: float = math.inf
    """monotonic time at which it began, in seconds; infinite while its timeout does not count"""
    damage: str = ""
    """why its process is no longer usable, if it said so before it ended"""
    leaked: bool = False
    """whether that is because it holds too much memory"""

    @property
    def worker(self) -> str:
        """The process that runs it; empty if none has begun."""
        return "" if self.place is None else self.place.worker


class Evaluations:
    """The evaluations of one objective that are under way; `len` is the number of jobs that have not ended."""

    def __init__(self, objective: Any, pickled: bytes, settings: Settings, prints: Path) -> None:
        self._objective = objective
        self._reference = [ray.put(pickled)]  # in a list, so that a task gets the reference and a worker fetches once
        self._settings = settings
        self._driver = ray.get_runtime_context().current_actor
        self._home = Home(ray.get_runtime_context().get_node_id(), prints)
        self._run = mark_of_run(prints.parent)
        self._heartbeats = Heartbeats()
        self._attempts: dict[Any, Attempt] = {}  # by reference
        self._by_id: dict[TaskId, Attempt] = {}
        self._parts: dict[Job, list[Part | None]] = {}  # by job: the parts that have returned, None for the others
        self._costs: defaultdict[tuple[Job, int], float] = defaultdict(float)  # what lost attempts of a part have cost
        self._submitted: Counter[tuple[Job, int]] = Counter()  # by job and part: the number of attempts
        self._abandoned: list[Attempt] = []  # stopped or lost, with processes that may be left
        self._printed: defaultdict[Job, list[str]] = defaultdict(list)  # by job: what its unfinished attempts printed

    def submit(self, job: Job) -> None:
        """Submit a job as `settings.split` tasks."""
        self._parts[job] = [None] * self._settings.split
        for part in range(self._settings.split):
            self._attempt(job, part)

    def started(self, task_id: TaskId, place: Place) -> None:
        """Note that a worker begins a task: its timeout counts from now on."""
        if attempt := self._by_id.get(task_id):
            attempt.place, attempt.begun = place, time.monotonic()

    def damaged(self, task_id: TaskId, damage: str, leaked: bool = False) -> None:
        """Note why the process of a task is no longer usable and ends: earlier evaluations have damaged it."""
        if attempt := self._by_id.get(task_id):
            attempt.damage, attempt.leaked = damage, leaked

    def ages(self) -> dict[int, float]:
        """Return the seconds since each trial that is being evaluated began, by id."""
        begun: defaultdict[int, float] = defaultdict(lambda: math.inf)
        for attempt in self._attempts.values():
            begun[attempt.job.trial.id] = min(begun[attempt.job.trial.id], attempt.begun)
        return {number: time.monotonic() - since for number, since in begun.items() if since < math.inf}

    @property
    def waiting_for(self) -> float:
        """Seconds since the last task was submitted, if none of them has begun; else 0. Any thread may ask."""
        attempts = list(self._attempts.values())
        if not attempts or any(attempt.place is not None for attempt in attempts):
            return 0.0
        return time.monotonic() - max(attempt.submitted for attempt in attempts)

    def __len__(self) -> int:
        return len(self._parts)

    def wait(self) -> Iterator[tuple[Job, Outcome]]:
        """Yield the jobs that end within POLL seconds or have timed out, with their outcomes."""
        self._end_children()
        references = list(self._attempts)
        if ray.wait(references, num_returns=1, timeout=POLL)[0]:
            for reference in ray.wait(references, num_returns=len(references), timeout=0)[0]:
                if attempt := self._attempts.get(reference):  # None if another of these tasks has just ended its job
                    yield from self._returned(reference, attempt)
        yield from self._timed_out()
        self._retry_elsewhere(self._heartbeats.silent())

    def cancel(self) -> None:
        """Stop everything that is under way."""
        for job in list(self._parts):
            self._end(job, Outcome())
        self._end_children()

    def _attempt(self, job: Job, part: int, avoided: frozenset[str] = frozenset()) -> None:
        settings, request = self._settings, dict(self._settings.request)
        memory, few = request.pop("memory", 0), os.getpid()
        task_id = TaskId(job.trial.id, job.repeat, part, new_mark(self._run))
        attempt = Attempt(job, part, task_id, avoided, time.monotonic())
        task = evaluation_task.options(
            num_cpus=request.pop("CPU"),
            num_gpus=request.pop("GPU", 0),
            # Ray throttles tasks with the same request as those of a driver that died, so this request differs from
            # theirs by a few bytes. They are not added to what was asked for, which may be all that a node has.
            memory=memory - few if memory > few else few,
            resources=request,
            label_selector={"ray.io/node-id": f"!in({','.join(sorted(avoided))})"} if avoided else None,
        )
        self._by_id[task_id] = attempt
        self._submitted[job, part] += 1
        reference = task.remote(self._reference, self._driver, self._home, task_id, job.trial.permutation, settings)
        self._attempts[reference] = attempt

    def _returned(self, reference: Any, attempt: Attempt) -> Iterator[tuple[Job, Outcome]]:
        """Take the result of a task, and yield its job if that has ended with it; resubmit a task that was lost."""
        job, part = attempt.job, attempt.part
        self._forget(reference)
        try:
            result: Outcome | Part = ray.get(reference)
        except RayError as error:
            self._abandon(attempt)
            if self._references(job, part):  # its node was silent, and it is evaluated elsewhere too
                return
            damaged = LEAKED if attempt.leaked else DAMAGED
            crash = CRASH if isinstance(error, WorkerCrashedError) else LOST
            self._costs[job, part] += damaged if attempt.damage else crash
            what = attempt.damage or _what(error)
            if self._costs[job, part] < MAX_COST:
                log.warning("trial %d: %s, it is evaluated again", job.trial.id, what)
                self._attempt(job, part, attempt.avoided)
            else:
                log.warning("trial %d: %s, again, so it has failed", job.trial.id, what)
                yield job, self._end(job, Outcome(reason=f"{what}, again", worker=attempt.worker))
            return
        if isinstance(result, Outcome):  # of a whole evaluation, or of a part that could not begin
            yield job, self._end(job, result)
            return
        parts = self._parts[job]
        parts[part] = result
        for other in self._references(job, part):
            self._stop(other)
        finished = [each for each in parts if each is not None]
        if result.reason or len(finished) == len(parts):
            yield job, self._end(job, combine(self._objective, finished))

    def _timed_out(self) -> Iterator[tuple[Job, Outcome]]:
        """Yield the jobs that have run for longer than the timeout, with their outcomes."""
        timeout = self._settings.timeout or math.inf
        for attempt in list(self._attempts.values()):
            if attempt.job in self._parts and time.monotonic() - attempt.begun > timeout:
                reason = f"timed out after {timeout:g} s"
                log.warning("trial %d %s", attempt.job.trial.id, reason)
                outcome = Outcome(seconds=timeout, reason=reason, worker=attempt.worker)
                yield attempt.job, self._end(attempt.job, outcome)

    def _retry_elsewhere(self, silent: frozenset[str]) -> None:
        """Submit again, to other nodes, what runs on a silent node or may be on its way to one.

        What runs there goes on, and the first result counts: the node may answer again. Then what waits may run there.
        """
        for reference, attempt in list(self._attempts.items()):
            if attempt.place is None:
                if attempt.avoided != silent:
                    self._stop(reference)
                    self._attempt(attempt.job, attempt.part, silent)
            elif attempt.place.node in silent - attempt.avoided and all(
                self._is_on(silent, other) for other in self._references(attempt.job, attempt.part)
            ):
                attempt.avoided, attempt.begun = silent, math.inf  # its result still counts, its timeout does not
                log.warning("trial %d: its node is silent, it is evaluated elsewhere", attempt.job.trial.id)
                self._attempt(attempt.job, attempt.part, silent)

    def _is_on(self, nodes: frozenset[str], reference: Any) -> bool:
        place = self._attempts[reference].place
        return place is not None and place.node in nodes

    def _references(self, job: Job, part: int | None = None) -> list[Any]:
        """Return the references of the tasks that are under way for a job, or for one part of it."""
        return [
            reference
            for reference, attempt in self._attempts.items()
            if attempt.job is job and part in (None, attempt.part)
        ]

    def _end(self, job: Job, outcome: Outcome) -> Outcome:
        """Forget a job, stop the tasks that are left of it, and return the outcome with what all attempts add to it."""
        del self._parts[job]
        for reference in self._references(job):
            self._stop(reference)
        attempts = max(self._submitted.pop((job, part), 0) for part in range(self._settings.split))
        printed = "\n".join([*self._printed.pop(job, []), outcome.printed])
        return outcome._replace(attempts=attempts, printed=printed)

    def _stop(self, reference: Any) -> None:
        attempt = self._attempts[reference]
        self._forget(reference)
        # With Ray's default, recursive=True, this would also cancel the task's call of `started`: it kills the driver.
        ray.cancel(reference, force=True, recursive=False)
        self._abandon(attempt)

    def _abandon(self, attempt: Attempt) -> None:
        """Keep what an attempt that returns nothing has printed, if it ran on this node, and end what it started."""
        self._abandoned.append(attempt)
        if text := left_behind(path_of(self._home.prints, attempt.id.attempt)):
            self._printed[attempt.job].append(text.rstrip("\n"))

    def _end_children(self) -> None:
        """End the processes that the attempts have started that were stopped or lost since the last call."""
        here = []
        for attempt in self._abandoned:
            if attempt.place is None or attempt.place.node == self._home.node:
                here.append(attempt.id.attempt)
            else:
                self._heartbeats.end_children(attempt.place.node, attempt.id.attempt)
        end_children(here)
        self._abandoned = []

    def _forget(self, reference: Any) -> None:
        del self._by_id[self._attempts.pop(reference).id]


def _what(error: RayError) -> str:
    """Return in one line how an attempt was lost."""
    if isinstance(error, RayTaskError):  # its result cannot be pickled, for example
        cause = f"{type(error.cause).__name__}: {error.cause}".splitlines()[0]
        return f"the worker could not return it ({cause[:MAX_REASON]})"
    return f"{type(error).__name__}: the worker died or was lost"
