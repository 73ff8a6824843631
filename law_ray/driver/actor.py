"""The driver actor, which holds the run, and the remote evaluation tasks it submits."""

import math
import time
from pathlib import Path
from typing import Any

import cloudpickle
import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from law_ray import threads
from law_ray.driver.cluster import slots
from law_ray.evaluation import Outcome, evaluate
from law_ray.optimizer import Trial
from law_ray.permutations import IntArray
from law_ray.run import Run, Settings, spans
from law_ray.seeding import generator

POLL = 0.2  # seconds between two looks at the clock while evaluations run

_objectives: dict[str, Any] = {}  # in a worker: the objective by the hex of its reference, so that it is unpickled once


class Driver:
    """Holds the run folder: asks, submits, waits, journals, tells, until a stop rule ends the run.

    Further methods answer while `run` works, in threads of their own.
    """

    def __init__(self) -> None:
        self._started: dict[int, float] = {}
        self._stopped = False

    def open(self, pickled: bytes, folder: Path, settings: Settings, about: dict[str, Any] | None) -> None:
        """Take the run folder: start a run of the objective that `about` describes, or resume the one there if None."""
        threads.limit(settings.threads)
        key = getattr(cloudpickle.loads(pickled), "key", None)
        if about is None:
            self._run = Run.resume(folder, settings.evals, key)
        else:
            self._run = Run.start(folder, settings, about, key)
        # A reference inside a list reaches a task as a reference, so that a worker fetches it once, not once a task.
        self._objective = [ray.put(pickled)]

    def run(self) -> str:
        """Work until a stop rule ends the run; returns the reason."""
        settings = self._run.settings
        try:
            while (reason := self._stop_reason()) is None:
                trials = self._run.pending or self._run.ask(settings.batch_size or slots(settings.num_cpus))
                self._evaluate(trials)
            return reason
        finally:
            self._run.journal.close()

    def stop(self) -> None:
        """End the run as soon as may be; what is running is left to a resume."""
        self._stopped = True

    def started(self, trial_id: int) -> None:
        """A worker says that it begins a trial: from now on its time counts."""
        self._started[trial_id] = time.monotonic()

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

    def _evaluate(self, trials: list[Trial]) -> None:
        """Run the trials as tasks and enter their outcomes as they come, until all are in or a stop rule applies."""
        settings = self._run.settings
        task = evaluation_task.options(num_cpus=settings.num_cpus)
        me = ray.get_runtime_context().current_actor
        tasks = {
            task.remote(self._objective, me, trial.id, trial.permutation, settings.seed, settings.num_cpus): trial
            for trial in trials
        }
        while tasks and self._stop_reason() is None:
            ready, _ = ray.wait(list(tasks), num_returns=1, timeout=POLL)
            for reference in ready:
                self._run.enter(tasks.pop(reference).id, _outcome(reference))
            for reference, trial in list(tasks.items()):
                begun = self._started.get(trial.id, math.inf)
                if settings.timeout is not None and time.monotonic() - begun > settings.timeout:
                    _cancel(reference)
                    del tasks[reference]
                    reason = f"timed out after {settings.timeout:g} s"
                    self._run.enter(trial.id, Outcome(seconds=settings.timeout, reason=reason))
        for reference in tasks:
            _cancel(reference)


def _cancel(reference: Any) -> None:
    # Recursive, as by default, it would also cancel the task's call of `started`, by killing this very actor.
    ray.cancel(reference, force=True, recursive=False)


def _outcome(reference: Any) -> Outcome:
    try:
        outcome: Outcome = ray.get(reference)
    except RayError as error:
        return Outcome(reason=f"{type(error).__name__}: the worker died")
    return outcome


def start_driver() -> Any:
    """A driver actor on this node, where the run folder is."""
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    return ray.remote(Driver).options(num_cpus=0, max_concurrency=4, scheduling_strategy=here).remote()


def _evaluate(
    objective: list[Any], driver: Any, trial_id: int, permutation: IntArray, seed: int, num_cpus: float
) -> Outcome:
    driver.started.remote(trial_id)
    threads.limit(max(1, math.floor(num_cpus)))
    reference = objective[0]
    if reference.hex() not in _objectives:
        _objectives.clear()
        try:
            _objectives[reference.hex()] = cloudpickle.loads(ray.get(reference))
        except Exception as error:
            return Outcome(reason=f"the objective cannot be unpickled on a worker: {type(error).__name__}: {error}")
    return evaluate(_objectives[reference.hex()], permutation, generator(seed, "evaluate", trial_id))


evaluation_task: Any = ray.remote(max_retries=1)(_evaluate)
