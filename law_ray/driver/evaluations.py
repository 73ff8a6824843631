"""Evaluations as Ray tasks: submitted, watched against the clock, collected; those of a split evaluation in parts."""

import math
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

import cloudpickle
import ray
from ray.exceptions import RayError

from law_ray import threads
from law_ray.evaluation import Outcome, Part, combine, evaluate, evaluate_part
from law_ray.optimizer import Trial
from law_ray.permutations import IntArray
from law_ray.seeding import generator
from law_ray.settings import Settings

POLL = 0.2  # seconds between two looks at the clock while evaluations run

_objectives: dict[str, Any] = {}  # in a worker: the objective by the hex of its reference, so that it is unpickled once


TaskId = tuple[int, int, int]  # trial, repeat, part


class Job(NamedTuple):
    """One evaluation of a trial; repeat 0 is the first."""

    trial: Trial
    repeat: int = 0


class Evaluations:
    """The evaluations of one objective that are under way."""

    def __init__(self, pickled: bytes, settings: Settings) -> None:
        self._objective = cloudpickle.loads(pickled)
        # A reference inside a list reaches a task as a reference, so that a worker fetches it once, not once a task.
        self._reference = [ray.put(pickled)]
        self._settings = settings
        self._driver = ray.get_runtime_context().current_actor
        self._tasks: dict[Any, tuple[Job, int]] = {}  # by reference: the job and which part of it
        self._parts: dict[Job, list[Part | None]] = {}  # of each job, as they come in
        self._started: dict[TaskId, float] = {}

    def submit(self, job: Job) -> None:
        """Start a job, as `split` tasks."""
        settings = self._settings
        task = evaluation_task.options(num_cpus=settings.num_cpus)
        for part in range(settings.split):
            task_id = (job.trial.id, job.repeat, part)
            reference = task.remote(self._reference, self._driver, task_id, job.trial.permutation, settings)
            self._tasks[reference] = job, part
        self._parts[job] = [None] * settings.split

    def started(self, task_id: TaskId) -> None:
        """A worker says that it begins a task: from now on its time counts."""
        self._started[task_id] = time.monotonic()

    def __len__(self) -> int:
        return len(self._parts)

    def wait(self) -> Iterator[tuple[Job, Outcome]]:
        """The jobs that end within POLL seconds, or have run out of time, with their outcomes."""
        ready, _ = ray.wait(list(self._tasks), num_returns=1, timeout=POLL)
        for reference in ready:
            job, part = self._tasks.pop(reference)
            result = _result(reference)
            if isinstance(result, Outcome):  # whole, or a part that did not even begin
                yield job, self._ended(job, result)
                continue
            parts = self._parts[job]
            parts[part] = result
            finished = [each for each in parts if each is not None]
            if result.reason or len(finished) == len(parts):
                yield job, self._ended(job, combine(self._objective, finished))
        timeout = self._settings.timeout or math.inf
        for job, part in list(self._tasks.values()):
            begun = self._started.get((job.trial.id, job.repeat, part), math.inf)
            if job in self._parts and time.monotonic() - begun > timeout:
                yield job, self._ended(job, Outcome(seconds=timeout, reason=f"timed out after {timeout:g} s"))

    def cancel(self) -> None:
        """Stop all that is under way."""
        for job in list(self._parts):
            self._ended(job, Outcome())

    def _ended(self, job: Job, outcome: Outcome) -> Outcome:
        """Forget a job, and stop what is left of it."""
        del self._parts[job]
        for reference in [reference for reference, (of, _) in self._tasks.items() if of is job]:
            del self._tasks[reference]
            # Recursive, as by default, it would also cancel the task's call of `started`, by killing the driver.
            ray.cancel(reference, force=True, recursive=False)
        return outcome


def _result(reference: Any) -> Outcome | Part:
    try:
        result: Outcome | Part = ray.get(reference)
    except RayError as error:
        return Outcome(reason=f"{type(error).__name__}: the worker died")
    return result


def _evaluate(
    objective: list[Any], driver: Any, task_id: TaskId, permutation: IntArray, settings: Settings
) -> Outcome | Part:
    driver.started.remote(task_id)
    threads.limit(max(1, math.floor(settings.num_cpus)))
    reference = objective[0]
    if reference.hex() not in _objectives:
        _objectives.clear()
        try:
            _objectives[reference.hex()] = cloudpickle.loads(ray.get(reference))
        except Exception as error:
            return Outcome(reason=f"the objective cannot be unpickled on a worker: {type(error).__name__}: {error}")
    loaded = _objectives[reference.hex()]
    trial_id, repeat, part = task_id
    rng = generator(settings.seed, f"evaluate {repeat}" if repeat else "evaluate", trial_id)
    if settings.split > 1:
        return evaluate_part(loaded, part, settings.split, permutation, rng)
    return evaluate(loaded, permutation, rng)


evaluation_task: Any = ray.remote(max_retries=1)(_evaluate)
