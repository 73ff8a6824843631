"""The driver actor, which holds the run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from law_ray import threads
from law_ray.driver.cluster import slots
from law_ray.driver.evaluations import Evaluations, Job, TaskId
from law_ray.errors import InputError
from law_ray.evaluation import Outcome
from law_ray.run import Run, spans
from law_ray.seeding import generator
from law_ray.settings import Settings


class Start(NamedTuple):
    """What the initial design holds before it is filled up at random."""

    orderings: list[list[int]] = []  # noqa: RUF012 - never changed
    greedy: bool = True  # whether the objective adds good orderings of its own


class Driver:
    """Holds the run folder: asks, submits, waits, journals, tells, until a stop rule ends the run.

    Further methods answer while `run` works, in threads of their own.
    """

    def __init__(self) -> None:
        self._stopped = False

    def open(
        self, pickled: bytes, folder: Path, settings: Settings, about: dict[str, Any] | None, start: Start
    ) -> None:
        """Take the run folder: start a run of the objective that `about` describes, or resume the one there if None."""
        threads.limit(settings.threads, blas=1)  # as `Optimizer.ask` wants it; in its own thread it comes too late
        objective = cloudpickle.loads(pickled)
        key = getattr(objective, "key", None)
        if about is None:
            self._run = Run.resume(folder, settings.evals, key)
        else:
            room = min(settings.n_init // 2, settings.n_init - len(start.orderings))
            own = _good_orderings(objective, settings, room) if start.greedy and room else []
            self._run = Run.start(folder, settings, about, key, [*start.orderings, *own])
        self._evaluations = Evaluations(pickled, self._run.settings)

    def run(self) -> str:
        """Work until a stop rule ends the run; returns the reason."""
        settings = self._run.settings
        try:
            while (reason := self._stop_reason()) is None:
                trials = self._run.pending or self._run.ask(
                    settings.batch_size or slots(settings.num_cpus, settings.split)
                )
                self._carry_out([Job(trial) for trial in trials], self._run.enter, lambda: self._stop_reason() is None)
            while self._time_left() and (again := self._run.ask_again()):
                self._carry_out([Job(*each) for each in again], self._run.enter_again, self._time_left)
            return reason
        finally:
            self._run.journal.close()

    def stop(self) -> None:
        """End the run as soon as may be; what is running is left to a resume."""
        self._stopped = True

    def started(self, task_id: TaskId) -> None:
        """A worker says that it begins a task."""
        self._evaluations.started(task_id)

    def status(self) -> dict[str, Any]:
        """What the progress line shows."""
        trials = self._run.optimizer.trials
        known = [trial.value for trial in trials if trial.state == "told"]
        asking, waiting = spans(self._run.journal.records)
        best = (max if self._run.settings.maximize else min)(known) if known else None
        return {
            "evaluations": sum(trial.state in ("told", "failed") for trial in trials),
            "best": "-" if best is None else f"{best:.6g}",
            "batch": sum(trial.round == trials[-1].round for trial in trials) if trials else 0,
            "asking": f"{asking:.1f}s",
            "evaluating": f"{waiting:.1f}s",
        }

    def _stop_reason(self) -> str | None:
        return "it was interrupted" if self._stopped else self._run.stop_reason()

    def _time_left(self) -> bool:
        return not self._stopped and not self._run.late

    def _carry_out(self, jobs: list[Job], enter: Callable[[int, Outcome], None], going_on: Callable[[], bool]) -> None:
        """Have jobs evaluated and their outcomes entered as they come, while `going_on()` and until all are in."""
        for job in jobs:
            self._evaluations.submit(job)
        while self._evaluations and going_on():
            for job, outcome in self._evaluations.wait():
                enter(job.trial.id, outcome)
        self._evaluations.cancel()


def _good_orderings(objective: Any, settings: Settings, count: int) -> list[list[int]]:
    """What the objective has to begin with, at most `count` orderings."""
    if not hasattr(objective, "starts"):
        return []
    try:
        found = np.asarray(objective.starts(count, generator(settings.seed, "starts", 0)), dtype=np.int64)
    except Exception as error:
        raise InputError(f"the objective's starts failed ({type(error).__name__}: {error}): mend them") from error
    return found[settings.constraints.allows(found)][:count].tolist()


def start_driver() -> Any:
    """A driver actor on this node, where the run folder is."""
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    return ray.remote(Driver).options(num_cpus=0, max_concurrency=4, scheduling_strategy=here).remote()
