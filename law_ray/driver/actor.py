"""The driver actor, which holds the run."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from law_ray import journal, threads
from law_ray.copies import copying
from law_ray.driver.cluster import slots
from law_ray.driver.evaluations import Evaluations, Job, TaskId
from law_ray.driver.shipping import dumps, load_as
from law_ray.errors import InputError
from law_ray.evaluation import Outcome
from law_ray.run import Run, spans
from law_ray.seeding import generator
from law_ray.settings import Settings

NAMESPACE = "law_ray"  # of the named drivers
MAX_CONCURRENCY = 32  # calls answered at once: some wait for the end
MAX_RESTARTS = 5  # of a driver whose process dies: more often is no accident


class Start(NamedTuple):
    """What the initial design holds before it is filled up at random."""

    orderings: list[list[int]] = []  # noqa: RUF012 - never changed
    greedy: bool = True  # whether the objective adds good orderings of its own


class Spec(NamedTuple):
    """What a run is of, and where. Ray keeps it for a driver that restarts, so no reference to an object is in it."""

    folder: Path
    settings: Settings
    about: dict[str, Any] | None  # None: the run in the folder is to be resumed
    start: Start = Start()
    name: str | None = None  # of a driver that outlives its client, and loads the objective by its name


class Driver:
    """Holds the run folder: asks, submits, waits, journals, tells, until a stop rule ends the run.

    It works in a thread of its own, and its methods answer meanwhile. When its process dies, Ray starts another, which
    goes on from the journal.
    """

    def __init__(self, spec: Spec) -> None:
        threads.limit(spec.settings.threads, blas=1)  # as `Optimizer.ask` wants it; in its own thread it comes too late
        self._spec = spec
        self._stopped = False
        self._run: Run | None = None
        self._evaluations: Evaluations | None = None
        self._end: Future[str] = Future()
        self._begun = threading.Lock()
        if spec.name is not None:
            self._begin()

    def result(self, *objective: bytes) -> str:
        """Wait for the end of the run; returns the reason for it, or raises what the user should know.

        It begins with the first call, unless the driver has a name, as no client may be there to call again when the
        driver restarts. `objective` is the pickled one, in parts (`shipping.parts`).
        """
        self._begin(*objective)
        return self._end.result()

    def stop(self) -> None:
        """End the run as soon as may be; what is running is left to a resume."""
        self._stopped = True

    def started(self, task_id: TaskId, node: str) -> None:
        """A worker says that it begins a task."""
        if self._evaluations is not None:
            self._evaluations.started(task_id, node)

    def spec(self) -> Spec:
        """What the run is of; its folder is on this node."""
        return self._spec

    def status(self) -> dict[str, Any] | None:
        """What the progress line shows; None before the run is open."""
        if self._run is None:
            return None
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

    def _begin(self, *objective: bytes) -> None:
        if self._begun.acquire(blocking=False):
            threading.Thread(target=self._live, args=objective, daemon=True).start()

    def _live(self, *objective: bytes) -> None:
        try:
            threads.limit(self._spec.settings.threads, blas=1)  # numba's are a thread's own
            self._end.set_result(self._work(b"".join(objective)))
        except BaseException as error:
            self._end.set_exception(error)

    def _work(self, pickled: bytes) -> str:
        """Work until a stop rule ends the run."""
        if self._spec.name is not None and self._spec.about is not None:
            pickled = dumps(load_as(self._spec.about))
        objective = cloudpickle.loads(pickled)
        run = self._open(objective)
        self._evaluations = evaluations = Evaluations(objective, pickled, run.settings)
        self._run = run
        try:
            with copying(self._spec.folder, self._spec.settings.copy):
                return self._until_stopped(run, evaluations)
        finally:
            evaluations.cancel()
            run.journal.close()

    def _until_stopped(self, run: Run, evaluations: Evaluations) -> str:
        reason = (self._keep_busy if run.settings.mode == "async" else self._work_in_rounds)(run, evaluations)
        while self._time_left(run) and (again := run.ask_again()):
            jobs = [Job(*each) for each in again]
            self._carry_out(evaluations, jobs, run.enter_again, lambda: self._time_left(run))
        return reason

    def _open(self, objective: Any) -> Run:
        """Start the run; or resume it if it is to be, or if an earlier process of this driver has begun it."""
        folder, settings, about, start = self._spec[:4]
        key, prior_mean = (getattr(objective, name, None) for name in ("key", "prior_mean"))
        if about is None or (
            (folder / journal.NAME).exists() and journal.read(folder)[0]["objective"].get("launch") == about["launch"]
        ):
            return Run.resume(folder, settings.evals, key, prior_mean)
        room = min(settings.n_init // 2, settings.n_init - len(start.orderings))
        own = _good_orderings(objective, settings, room) if start.greedy and room else []
        return Run.start(folder, settings, about, key, [*start.orderings, *own], prior_mean)

    def _work_in_rounds(self, run: Run, evaluations: Evaluations) -> str:
        """Batch after batch, each as large as the cluster is then."""
        while (reason := self._stop_reason(run)) is None:
            trials = run.pending or run.ask(run.settings.batch_size or slots(run.settings))
            jobs = [Job(trial) for trial in trials]
            self._carry_out(evaluations, jobs, run.enter, lambda: self._stop_reason(run) is None)
        return reason

    def _keep_busy(self, run: Run, evaluations: Evaluations) -> str:
        """Each trial that ends makes room for another at once."""
        waiting = run.pending
        while (reason := self._stop_reason(run)) is None:
            for trial in waiting or run.refill(run.settings.batch_size or slots(run.settings)):
                evaluations.submit(Job(trial))
            waiting = []
            if evaluations:
                for job, outcome in evaluations.wait():
                    run.enter(job.trial.id, outcome)
        return reason

    def _stop_reason(self, run: Run) -> str | None:
        return "it was interrupted" if self._stopped else run.stop_reason()

    def _time_left(self, run: Run) -> bool:
        return not self._stopped and not run.late

    def _carry_out(
        self,
        evaluations: Evaluations,
        jobs: list[Job],
        enter: Callable[[int, Outcome], None],
        going_on: Callable[[], bool],
    ) -> None:
        """Have jobs evaluated and their outcomes entered as they come, while `going_on()` and until all are in."""
        for job in jobs:
            evaluations.submit(job)
        while evaluations and going_on():
            for job, outcome in evaluations.wait():
                enter(job.trial.id, outcome)
        evaluations.cancel()


def _good_orderings(objective: Any, settings: Settings, count: int) -> list[list[int]]:
    """What the objective has to begin with, at most `count` orderings."""
    if not hasattr(objective, "starts"):
        return []
    try:
        found = np.asarray(objective.starts(count, generator(settings.seed, "starts", 0)), dtype=np.int64)
    except Exception as error:
        raise InputError(f"the objective's starts failed ({type(error).__name__}: {error}): mend them") from error
    return found[settings.constraints.allows(found)][:count].tolist()


def start_driver(spec: Spec) -> Any:
    """A driver actor on this node, where the run folder is. ValueError if its name is taken."""
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    detached = {} if spec.name is None else {"name": spec.name, "namespace": NAMESPACE, "lifetime": "detached"}
    options = {
        "num_cpus": 0,
        "max_concurrency": MAX_CONCURRENCY,
        "max_restarts": MAX_RESTARTS,
        "max_task_retries": -1,
        **detached,
    }
    return ray.remote(Driver).options(scheduling_strategy=here, **options).remote(spec)
