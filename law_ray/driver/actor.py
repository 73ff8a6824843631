"""The driver actor, which holds the run."""

import contextlib
import io
import logging
import threading
import time
import warnings
from collections.abc import Callable
from concurrent import futures
from pathlib import Path
from typing import Any, NamedTuple

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from law_ray.driver.capture import prints_folder
from law_ray.driver.children import end_children, mark_of_run
from law_ray.driver.cluster import slots
from law_ray.driver.messages import Message, Messages
from law_ray.driver.progress import CHOOSING, ENDED, EVALUATING, PREPARING, REEVALUATING, WAITING, Status, status_of
from law_ray.driver.serialization import dumps, loads
from law_ray.driver.tasks import Evaluations, Job
from law_ray.driver.worker import Place, TaskId
from law_ray.errors import InputError, OnlyFailedError
from law_ray.runs import journal
from law_ray.runs.active import ONLY_FAILED, ActiveRun
from law_ray.runs.backup import backing_up
from law_ray.runs.evaluation import Outcome
from law_ray.runs.objective import BlackBox
from law_ray.runs.printed import Prints
from law_ray.runs.records import ObjectiveRecord
from law_ray.runs.run import Run
from law_ray.runs.settings import Settings
from law_ray.utils import algebra, threads

NAMESPACE = "law_ray"
"""The Ray namespace of named drivers."""
log = logging.getLogger(__name__)

MAX_CONCURRENCY = 32
"""Calls that a driver answers at once; some of them wait for its end (heuristic)."""
ANSWER_WITHIN = 5.0
"""Seconds after which a driver with a name tells a client that the run goes on (heuristic)."""
BUSY_AFTER = 10
"""Seconds for which submitted evaluations wait, none of them begun, before the cluster counts as busy (heuristic:
starting a worker takes a few seconds)."""
MAX_RESTARTS = 5
"""Restarts of a driver whose process dies; a sixth death is no accident (heuristic)."""


class Start(NamedTuple):
    """What the initial design holds before it is filled up at random."""

    orderings: list[list[int]] = []  # noqa: RUF012 - never changed
    with_suggested: bool = True
    """whether the objective adds the orderings that it suggests"""


class Spec(NamedTuple):
    """What a driver needs to know of its run. Ray keeps it for a restart, so it holds no reference to an object."""

    folder: Path
    settings: Settings
    objective: ObjectiveRecord | None
    """None: the run in the folder is to be resumed"""
    start: Start = Start()
    name: str | None = None
    """of a driver that outlives its client, and loads the objective by its name"""


class Driver:
    """The actor that holds the run folder: it asks, submits, waits, journals and tells until a stop rule ends the run.

    It works in a thread of its own, and its methods answer meanwhile. When its process dies, Ray starts another, which
    continues from the journal.
    """

    def __init__(self, spec: Spec) -> None:
        threads.limit(spec.settings.threads, blas=1)  # BLAS as in `Optimizer.ask`; too late in `_live` alone
        self._spec = spec
        self._began = time.monotonic()  # max_time counts from here
        self._doing = PREPARING
        self._slots = 1
        self._messages = Messages()
        self._prints = Prints(spec.folder)
        self._stopped = False
        self._run: ActiveRun | None = None
        self._evaluations: Evaluations | None = None
        self._end: futures.Future[str] = futures.Future()
        self._begun = threading.Lock()
        if spec.name is not None:
            self._begin()

    def result(self, *objective: bytes) -> str | None:
        """Wait for the end of the run; return the reason for it, or raise what the user should know.

        The first call begins the run. A driver with a name begins by itself, since no client may be there to call again
        when it restarts. It returns None after ANSWER_WITHIN seconds, since a call goes on though its client has left.
        `objective` is the pickled objective, in parts (`serialization.parts`).
        """
        self._begin(*objective)
        ended, _ = futures.wait([self._end], timeout=None if self._spec.name is None else ANSWER_WITHIN)
        return self._end.result() if ended else None

    def stop(self) -> None:
        """End the run as soon as possible; what still runs is left to a resume."""
        self._stopped = True

    def started(self, task_id: TaskId, place: Place) -> None:
        """Take note that a worker begins a task."""
        if self._evaluations is not None:
            self._evaluations.started(task_id, place)

    def damaged(self, task_id: TaskId, damage: str, leaked: bool) -> None:
        """Take note that a task's process is no longer usable, why, and whether because it holds too much memory."""
        if self._evaluations is not None:
            self._evaluations.damaged(task_id, damage, leaked)

    def spec(self) -> Spec:
        """Return what the driver knows of its run, whose folder is on this node."""
        return self._spec

    def status(self) -> Status:
        """Return what the progress line shows, from the very start."""
        elapsed = time.monotonic() - self._began
        if self._run is None:
            return Status(elapsed=elapsed)
        doing = CHOOSING if self._run.choosing else self._doing
        waits = self._evaluations is not None and self._evaluations.waiting_for > BUSY_AFTER
        if doing in (EVALUATING, REEVALUATING) and waits:
            doing = WAITING
        return status_of(self._run, doing, elapsed, self._slots)

    def messages(self, after: int) -> list[Message]:
        """Return what was logged after the message with this number."""
        return self._messages.after(after)

    def _begin(self, *objective: bytes) -> None:
        if self._begun.acquire(blocking=False):
            threading.Thread(target=self._live, args=objective, daemon=True).start()

    def _live(self, *objective: bytes) -> None:
        try:
            threads.limit(self._spec.settings.threads, blas=1)  # numba's limit is per thread, so set it here too
            self._end.set_result(self._work(b"".join(objective)))
        except BaseException as error:
            self._end.set_exception(error)

    def _work(self, pickled: bytes) -> str:
        """Work until a stop rule ends the run."""
        self._messages.listen()
        warnings.showwarning = lambda message, *_: log.warning("%s", message)
        with (
            _Lines(self._prints) as out,
            _Lines(self._prints) as err,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            return self._worked(pickled)

    def _worked(self, pickled: bytes) -> str:
        if self._spec.name is not None and self._spec.objective is not None:
            pickled = dumps(BlackBox.from_record(self._spec.objective).objective)
        objective = _loaded(pickled)
        run = self._open(BlackBox(objective))
        run.began = self._began
        end_children([mark_of_run(self._spec.folder)])  # of an earlier driver that was killed
        self._prints.flush()
        log.debug("prepared in %.1f s", time.monotonic() - self._began)
        self._slots = slots(run.settings)
        with run.journal, prints_folder(self._spec.folder) as prints:
            self._evaluations = evaluations = Evaluations(objective, pickled, run.settings, prints)
            self._doing, self._run = EVALUATING, run
            try:
                with backing_up(self._spec.folder, self._spec.settings.backup):
                    return self._until_stopped(run, evaluations)
            finally:
                self._doing = ENDED
                evaluations.cancel()
                end_children([mark_of_run(self._spec.folder)])

    def _until_stopped(self, run: ActiveRun, evaluations: Evaluations) -> str:
        """Work until a stop rule ends the run, and repeat the best evaluations. Return the reason for the end.

        A run all of whose evaluations fail has an end too, before the error that says so.
        """
        try:
            reason = (self._keep_busy if run.settings.mode == "async" else self._work_in_rounds)(run, evaluations)
        except OnlyFailedError:
            run.end(ONLY_FAILED)
            raise
        evaluations.cancel()  # what still runs is left to a resume: its outcome is none of a repeat
        self._doing = REEVALUATING
        while self._time_left(run) and (again := run.ask_again()):
            jobs = [Job(*each) for each in again]
            self._carry_out(evaluations, jobs, run.enter_again, lambda: self._time_left(run))
        run.end(reason)
        return reason

    def _open(self, objective: BlackBox) -> ActiveRun:
        """Start the run, or resume it if an earlier process has begun it."""
        folder, settings, record, start = self._spec[:4]
        if record is None or (
            (folder / journal.NAME).exists() and Run.load(folder).objective.get("launch") == record["launch"]
        ):
            run = ActiveRun.resume(folder, settings.evals, objective.key, objective.prior_mean, settings.backup)
            try:
                algebra.device(run.optimizer.device)
            except InputError as error:
                log.warning("%s; the run goes on with the CPU", error)
                run.optimizer.device = "cpu"
            return run
        algebra.device(settings.device)  # an error now, not after the initial design
        room = settings.n_init - len(start.orderings)
        constraints, seed = settings.constraints, settings.seed
        own = objective.good_orderings(constraints, seed, room) if start.with_suggested and room else []
        orderings = [*start.orderings, *own]
        return ActiveRun.start(folder, settings, record, objective.key, orderings, objective.prior_mean)

    def _work_in_rounds(self, run: ActiveRun, evaluations: Evaluations) -> str:
        """Evaluate batch after batch, each as large as the cluster is then."""
        while (reason := self._stop_reason(run)) is None:
            self._slots = slots(run.settings)
            trials = run.pending or run.ask(run.settings.batch_size or self._slots)
            jobs = [Job(trial) for trial in run.longest_first(trials)]
            self._carry_out(evaluations, jobs, run.enter, lambda: self._stop_reason(run) is None)
        return reason

    def _keep_busy(self, run: ActiveRun, evaluations: Evaluations) -> str:
        """Replace each trial that ends by another at once."""
        waiting = run.pending
        while (reason := self._stop_reason(run)) is None:
            self._slots = slots(run.settings)
            for trial in run.longest_first(waiting or run.refill(self._slots, evaluations.ages())):
                evaluations.submit(Job(trial))
            waiting = []
            if evaluations:
                self._enter_ended(evaluations, run.enter)
        return reason

    def _stop_reason(self, run: ActiveRun) -> str | None:
        return "it was interrupted" if self._stopped else run.stop_reason()

    def _time_left(self, run: ActiveRun) -> bool:
        return not self._stopped and not run.late

    def _carry_out(
        self,
        evaluations: Evaluations,
        jobs: list[Job],
        enter: Callable[[int, Outcome], None],
        going_on: Callable[[], bool],
    ) -> None:
        """Evaluate jobs and enter their outcomes as they come, until all have ended or `going_on()` is false."""
        for job in jobs:
            evaluations.submit(job)
        while evaluations and going_on():
            self._enter_ended(evaluations, enter)
        evaluations.cancel()

    def _enter_ended(self, evaluations: Evaluations, enter: Callable[[int, Outcome], None]) -> None:
        """Wait a moment, and enter the outcomes of the jobs that have ended."""
        for job, outcome in evaluations.wait():
            repeat = f", repeat {job.repeat}" if job.repeat else ""
            self._prints.add(f"trial {job.trial.id}{repeat}", outcome.printed)
            enter(job.trial.id, outcome)


def _loaded(pickled: bytes) -> Any:
    """Unpickle an objective. Raises InputError where what it needs is not on this node."""
    try:
        return loads(pickled)
    except Exception as error:  # whatever the user's code raises
        raise InputError(
            f"the objective cannot be unpickled where the driver runs ({type(error).__name__}: {error}): install what "
            "it needs on every node of the cluster"
        ) from None


class _Lines(io.TextIOBase):
    """A stream for what the objective prints in the driver itself, by its `key` or its `starts` for example."""

    def __init__(self, prints: Prints) -> None:
        self._prints = prints
        self._begun = ""

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        if lines:
            self._prints.add("driver", "\n".join(lines))
        return len(text)

    def close(self) -> None:
        """Add the last line, if it was begun and not ended."""
        if self._begun:
            self.write("\n")
        super().close()


def start_driver(spec: Spec) -> Any:
    """Start a driver actor on this node, where the run folder is. Raises ValueError if another has its name."""
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
