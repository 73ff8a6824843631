"""Evaluations as Ray tasks: submitted, watched, submitted again where a worker is lost, and collected, part by part."""

import itertools
import math
import os
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import cloudpickle
import ray
from ray.exceptions import RayError, WorkerCrashedError

from law_ray import threads
from law_ray.driver.pulse import Pulse
from law_ray.evaluation import Outcome, Part, combine, evaluate, evaluate_part
from law_ray.optimizer import Trial
from law_ray.permutations import IntArray
from law_ray.seeding import generator
from law_ray.settings import Settings

POLL = 0.2  # seconds between two looks at the clock while evaluations run
# A lost attempt is submitted again until it has cost this much. A worker that crashes is likely its evaluation's fault,
# and nobody needs a third crash; that a node dies, or the memory of one is exhausted, may be another's.
MAX_COST = 4
CRASH, LOST = 2, 1

_objectives: dict[str, Any] = {}  # in a worker: the objective by the hex of its reference, so that it is unpickled once


class Job(NamedTuple):
    """One evaluation of a trial; repeat 0 is the first."""

    trial: Trial
    repeat: int = 0


class TaskId(NamedTuple):
    """An attempt at a part of an evaluation."""

    trial_id: int
    repeat: int
    part: int
    attempt: str  # told apart from those of a driver that died


@dataclass
class Attempt:
    """A task that was submitted."""

    job: Job
    part: int
    id: TaskId
    avoided: frozenset[str]  # nodes, by id
    node: str | None = None  # where it runs, once it does
    begun: float = math.inf


class Evaluations:
    """The evaluations of one objective that are under way."""

    def __init__(self, objective: Any, pickled: bytes, settings: Settings) -> None:
        self._objective = objective
        self._reference = [ray.put(pickled)]  # in a list a task gets the reference, so that a worker fetches it once
        self._settings = settings
        self._driver = ray.get_runtime_context().current_actor
        self._pulse = Pulse()
        self._attempts: dict[Any, Attempt] = {}  # by reference
        self._by_id: dict[TaskId, Attempt] = {}
        self._numbers = itertools.count()
        self._parts: dict[Job, list[Part | None]] = {}  # of each job, as they come in
        self._costs: Counter[tuple[Job, int]] = Counter()  # of the attempts lost, by job and part

    def submit(self, job: Job) -> None:
        """Start a job, as `split` tasks."""
        self._parts[job] = [None] * self._settings.split
        for part in range(self._settings.split):
            self._attempt(job, part)

    def started(self, task_id: TaskId, node: str) -> None:
        """A worker on that node says that it begins a task: from now on its time counts."""
        if attempt := self._by_id.get(task_id):
            attempt.node, attempt.begun = node, time.monotonic()

    def __len__(self) -> int:
        return len(self._parts)

    def wait(self) -> Iterator[tuple[Job, Outcome]]:
        """The jobs that end within POLL seconds, or have run out of time, with their outcomes."""
        references = list(self._attempts)
        if ray.wait(references, num_returns=1, timeout=POLL)[0]:
            for reference in ray.wait(references, num_returns=len(references), timeout=0)[0]:
                if attempt := self._attempts.get(reference):  # not if its job ended a moment ago
                    yield from self._returned(reference, attempt)
        yield from self._late()
        self._leave(self._pulse.silent())

    def cancel(self) -> None:
        """Stop all that is under way."""
        for job in list(self._parts):
            self._ended(job, Outcome())

    def _attempt(self, job: Job, part: int, avoided: frozenset[str] = frozenset()) -> None:
        settings, request = self._settings, dict(self._settings.request)
        task_id = TaskId(job.trial.id, job.repeat, part, f"{os.getpid()}-{next(self._numbers)}")
        attempt = Attempt(job, part, task_id, avoided)
        task = evaluation_task.options(
            num_cpus=request.pop("CPU"),
            num_gpus=request.pop("GPU", 0),
            # Ray throttles tasks like those of a driver that died: these are of another kind by a few bytes.
            memory=request.pop("memory", 0) + os.getpid(),
            resources=request,
            label_selector={"ray.io/node-id": f"!in({','.join(sorted(avoided))})"} if avoided else None,
        )
        self._by_id[task_id] = attempt
        reference = task.remote(self._reference, self._driver, task_id, job.trial.permutation, settings)
        self._attempts[reference] = attempt

    def _returned(self, reference: Any, attempt: Attempt) -> Iterator[tuple[Job, Outcome]]:
        """What follows from a task that ended: its job may have."""
        job, part = attempt.job, attempt.part
        self._forget(reference)
        try:
            result: Outcome | Part = ray.get(reference)
        except RayError as error:
            self._costs[job, part] += CRASH if isinstance(error, WorkerCrashedError) else LOST
            if self._costs[job, part] < MAX_COST:
                self._attempt(job, part, attempt.avoided)
            else:
                yield job, self._ended(job, Outcome(reason=f"{type(error).__name__}: the worker died, again"))
            return
        if isinstance(result, Outcome):  # whole, or a part that did not even begin
            yield job, self._ended(job, result)
            return
        parts = self._parts[job]
        parts[part] = result
        for other in self._of(job, part):
            self._stop(other)
        finished = [each for each in parts if each is not None]
        if result.reason or len(finished) == len(parts):
            yield job, self._ended(job, combine(self._objective, finished))

    def _late(self) -> Iterator[tuple[Job, Outcome]]:
        """The jobs that have run out of time."""
        timeout = self._settings.timeout or math.inf
        for attempt in list(self._attempts.values()):
            if attempt.job in self._parts and time.monotonic() - attempt.begun > timeout:
                outcome = Outcome(seconds=timeout, reason=f"timed out after {timeout:g} s")
                yield attempt.job, self._ended(attempt.job, outcome)

    def _leave(self, silent: frozenset[str]) -> None:
        """Attempt elsewhere what is on a silent node, or may be on its way to one; the first result counts."""
        for reference, attempt in list(self._attempts.items()):
            if silent <= attempt.avoided:
                continue
            if attempt.node is None:
                self._stop(reference)
            elif attempt.node not in silent:
                continue
            elif all(self._attempts[other].node in silent for other in self._of(attempt.job, attempt.part)):
                attempt.avoided, attempt.begun = silent, math.inf  # its result is welcome, but its clock stands still
            else:
                continue
            self._attempt(attempt.job, attempt.part, silent)

    def _of(self, job: Job, part: int | None = None) -> list[Any]:
        """The references of what is under way for a job, or for a part of it."""
        return [
            reference
            for reference, attempt in self._attempts.items()
            if attempt.job is job and part in (None, attempt.part)
        ]

    def _ended(self, job: Job, outcome: Outcome) -> Outcome:
        """Forget a job, and stop what is left of it."""
        del self._parts[job]
        for reference in self._of(job):
            self._stop(reference)
        return outcome

    def _stop(self, reference: Any) -> None:
        self._forget(reference)
        # Recursive, as by default, it would also cancel the task's call of `started`, by killing the driver.
        ray.cancel(reference, force=True, recursive=False)

    def _forget(self, reference: Any) -> None:
        del self._by_id[self._attempts.pop(reference).id]


def _evaluate(
    objective: list[Any], driver: Any, task_id: TaskId, permutation: IntArray, settings: Settings
) -> Outcome | Part:
    driver.started.remote(task_id, ray.get_runtime_context().get_node_id())
    reference = objective[0]
    if reference.hex() not in _objectives:
        _objectives.clear()
        threads.limit(max(1, math.floor(settings.num_cpus)))  # once: it takes a millisecond
        try:
            _objectives[reference.hex()] = cloudpickle.loads(ray.get(reference))
        except Exception as error:
            return Outcome(reason=f"the objective cannot be unpickled on a worker: {type(error).__name__}: {error}")
    loaded = _objectives[reference.hex()]
    purpose = f"evaluate {task_id.repeat}" if task_id.repeat else "evaluate"
    rng = generator(settings.seed, purpose, task_id.trial_id)
    if settings.split > 1:
        return evaluate_part(loaded, task_id.part, settings.split, permutation, rng)
    return evaluate(loaded, permutation, rng)


evaluation_task: Any = ray.remote(max_retries=0)(_evaluate)  # `Evaluations` decides what is tried again
