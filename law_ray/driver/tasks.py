"""Evaluations as Ray tasks, in one part or several: submitted, timed, resubmitted after a crash, and collected."""

import logging
import math
import os
import socket
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import ray
from ray.exceptions import RayError, WorkerCrashedError

from law_ray.driver.capture import Capture, left_behind, path_of
from law_ray.driver.heartbeat import Heartbeats
from law_ray.driver.serialization import loads
from law_ray.runs.evaluation import Outcome, Part, combine, evaluate, evaluate_part, traceback_of
from law_ray.runs.settings import Settings
from law_ray.trial import Trial
from law_ray.typing import IntArray
from law_ray.utils import threads
from law_ray.utils.seeding import generator

POLL = 0.2
"""Seconds between two checks for timeouts and silent nodes while evaluations run (heuristic)."""
MAX_COST = 4
"""A lost evaluation is submitted again until its lost attempts have cost this much in all (heuristic)."""
CRASH, LOST = 2, 1
"""What a lost attempt costs.

A crash of the worker is most likely the fault of its evaluation, so the second crash is final. The death of a node, or
a lack of memory there, may be the fault of another evaluation: the fourth such loss is final.
"""

NODE_DIGITS = 4
"""Of a node's id in the name of a worker: enough to tell the nodes of one machine apart."""

log = logging.getLogger(__name__)

_objectives: dict[str, Any] = {}
"""In a worker: the objective by the hex of its reference, so that each worker unpickles it only once."""


class Job(NamedTuple):
    """One evaluation of a trial; repeat 0 is the first."""

    trial: Trial
    repeat: int = 0


class TaskId(NamedTuple):
    """Identifies one attempt at one part of an evaluation."""

    trial_id: int
    repeat: int
    part: int
    attempt: str
    """unique also among the attempts of an earlier driver that died"""


class Place(NamedTuple):
    """Where an attempt runs."""

    node: str
    """id of the node"""
    worker: str
    """HOST-NODE/PID of the process; NODE is the beginning of the node's id, as nodes may share a host"""


@dataclass
class Attempt:
    """A task that was submitted, and what is known of it."""

    job: Job
    part: int
    id: TaskId
    avoided: frozenset[str]
    """ids of the nodes where it must not run"""
    place: Place | None = None
    """where it runs, once it has begun"""
    begun: float = math.inf
    """monotonic time at which it began, in seconds; infinite while its timeout does not count"""

    @property
    def worker(self) -> str:
        """The process that runs it; empty if none has begun."""
        return "" if self.place is None else self.place.worker


class Evaluations:
    """The evaluations of one objective that are under way; `len` is the number of jobs that have not ended."""

    def __init__(self, objective: Any, pickled: bytes, settings: Settings) -> None:
        self._objective = objective
        self._reference = [ray.put(pickled)]  # in a list, so that a task gets the reference and a worker fetches once
        self._settings = settings
        self._driver = ray.get_runtime_context().current_actor
        self._node = ray.get_runtime_context().get_node_id()
        self._heartbeats = Heartbeats()
        self._attempts: dict[Any, Attempt] = {}  # by reference
        self._by_id: dict[TaskId, Attempt] = {}
        self._parts: dict[Job, list[Part | None]] = {}  # by job: the parts that have returned, None for the others
        self._costs: Counter[tuple[Job, int]] = Counter()  # by job and part: what the lost attempts have cost
        self._submitted: Counter[tuple[Job, int]] = Counter()  # by job and part: the number of attempts
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

    def __len__(self) -> int:
        return len(self._parts)

    def wait(self) -> Iterator[tuple[Job, Outcome]]:
        """Yield the jobs that end within POLL seconds or have timed out, with their outcomes."""
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

    def _attempt(self, job: Job, part: int, avoided: frozenset[str] = frozenset()) -> None:
        settings, request = self._settings, dict(self._settings.request)
        task_id = TaskId(job.trial.id, job.repeat, part, uuid.uuid4().hex)
        attempt = Attempt(job, part, task_id, avoided)
        task = evaluation_task.options(
            num_cpus=request.pop("CPU"),
            num_gpus=request.pop("GPU", 0),
            # Ray throttles tasks with the same request as those of a driver that died, so this request differs from
            # theirs by a few bytes.
            memory=request.pop("memory", 0) + os.getpid(),
            resources=request,
            label_selector={"ray.io/node-id": f"!in({','.join(sorted(avoided))})"} if avoided else None,
        )
        self._by_id[task_id] = attempt
        self._submitted[job, part] += 1
        reference = task.remote(self._reference, self._driver, self._node, task_id, job.trial.permutation, settings)
        self._attempts[reference] = attempt

    def _returned(self, reference: Any, attempt: Attempt) -> Iterator[tuple[Job, Outcome]]:
        """Take the result of a task, and yield its job if that has ended with it; resubmit a task that was lost."""
        job, part = attempt.job, attempt.part
        self._forget(reference)
        try:
            result: Outcome | Part = ray.get(reference)
        except RayError as error:
            self._keep_prints(attempt)
            self._costs[job, part] += CRASH if isinstance(error, WorkerCrashedError) else LOST
            what = f"{type(error).__name__}: the worker died or was lost"
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

        What runs there goes on, and the first result counts: the node may answer again.
        """
        for reference, attempt in list(self._attempts.items()):
            if silent <= attempt.avoided:
                continue
            if attempt.place is None:
                self._stop(reference)
            elif attempt.place.node not in silent:
                continue
            elif all(self._is_on(silent, other) for other in self._references(attempt.job, attempt.part)):
                attempt.avoided, attempt.begun = silent, math.inf  # its result still counts, its timeout does not
            else:
                continue
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
        attempts = max(self._submitted.pop((job, part)) for part in range(self._settings.split))
        printed = "\n".join([*self._printed.pop(job, []), outcome.printed])
        return outcome._replace(attempts=attempts, printed=printed)

    def _stop(self, reference: Any) -> None:
        attempt = self._attempts[reference]
        self._forget(reference)
        # With Ray's default, recursive=True, this would also cancel the task's call of `started`: it kills the driver.
        ray.cancel(reference, force=True, recursive=False)
        self._keep_prints(attempt)

    def _keep_prints(self, attempt: Attempt) -> None:
        """Keep what an attempt that returns nothing has printed, if it ran on this node."""
        if text := left_behind(path_of(attempt.id.attempt)):
            self._printed[attempt.job].append(text.rstrip("\n"))

    def _forget(self, reference: Any) -> None:
        del self._by_id[self._attempts.pop(reference).id]


def _evaluate(
    objective: list[Any], driver: Any, home: str, task_id: TaskId, permutation: IntArray, settings: Settings
) -> Outcome | Part:
    """Carry out one task in a worker: a whole evaluation, or a part of a split one. `home` is the driver's node."""
    node = ray.get_runtime_context().get_node_id()
    worker = f"{socket.gethostname()}-{node[:NODE_DIGITS]}/{os.getpid()}"
    driver.started.remote(task_id, Place(node, worker))
    capture = Capture(path_of(task_id.attempt) if node == home else None)
    try:
        with capture.streams():
            found = _evaluated(objective[0], task_id, permutation, settings)
    finally:
        printed = capture.close()
    return found._replace(worker=worker, printed=printed)


def _evaluated(reference: Any, task_id: TaskId, permutation: IntArray, settings: Settings) -> Outcome | Part:
    if reference.hex() not in _objectives:
        _objectives.clear()
        threads.limit(max(1, math.floor(settings.num_cpus)))  # only here, since it takes a millisecond
        try:
            _objectives[reference.hex()] = loads(ray.get(reference))
        except Exception as error:
            reason = f"the objective cannot be unpickled on a worker: {type(error).__name__}: {error}"
            return Outcome(reason=reason, traceback=traceback_of(error))
    loaded = _objectives[reference.hex()]
    purpose = f"evaluate {task_id.repeat}" if task_id.repeat else "evaluate"
    rng = generator(settings.seed, purpose, task_id.trial_id)
    if settings.split > 1:
        return evaluate_part(loaded, task_id.part, settings.split, permutation, rng)
    return evaluate(loaded, permutation, rng)


evaluation_task: Any = ray.remote(max_retries=0)(_evaluate)  # `Evaluations` decides what is submitted again
