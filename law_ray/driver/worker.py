"""What a worker does: it carries out one attempt at an evaluation, or at a part of one, for `law_ray.driver.tasks`."""

import contextlib
import math
import os
import resource
import signal
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import ray

from law_ray.driver.capture import Capture, path_of
from law_ray.driver.children import mark_children
from law_ray.driver.serialization import loads
from law_ray.runs.evaluation import Outcome, Part, evaluate, evaluate_part, traceback_of
from law_ray.runs.settings import Settings
from law_ray.typing import IntArray
from law_ray.utils import threads
from law_ray.utils.seeding import generator

DAMAGE_TIMEOUT = 10
"""Seconds that a worker whose process is damaged tries to say so (heuristic)."""
LIMITS = (resource.RLIMIT_NOFILE, resource.RLIMIT_AS, resource.RLIMIT_CPU, resource.RLIMIT_FSIZE)
"""Limits of a process that an evaluation may lower for itself: open files, memory, processor time, size of a file."""
NODE_DIGITS = 4
"""Of a node's id in the name of a worker: enough to tell the nodes of one machine apart."""

LEAST_GROWN = 100_000_000
"""Bytes left behind by evaluations that make it worth ending their worker, which takes a second (heuristic)."""
SHORT = 0.04
"""The share of a node's memory, below that at which Ray ends processes, which is too little (heuristic)."""
THRESHOLD = "RAY_memory_usage_threshold"
"""The environment variable for the share of a node's memory in use at which Ray ends processes; by default 0.95."""

_objectives: dict[str, Any] = {}
"""In a worker: the objective by the hex of its reference, so that each worker unpickles it only once."""

_first_limits: dict[int, tuple[int, int]] = {}
"""In a worker: the LIMITS at its first evaluation."""

_first_memory: list[int] = []
"""In a worker: the bytes that it occupied after its first evaluation, which has loaded the objective."""


class LeakedError(RuntimeError):
    """Earlier evaluations have left too much memory in this process."""


class TaskId(NamedTuple):
    """Identifies one attempt at one part of an evaluation."""

    trial_id: int
    repeat: int
    part: int
    attempt: str
    """unique also among the attempts of an earlier driver that died: the mark of the processes that it starts"""


class Place(NamedTuple):
    """Where an attempt runs."""

    node: str
    """id of the node"""
    worker: str
    """HOST-NODE/PID of the process; NODE is the beginning of the node's id, as nodes may share a host"""


class Home(NamedTuple):
    """Where the driver is."""

    node: str
    """id of its node"""
    prints: Path
    """the folder for what is printed on that node, see `capture.prints_folder`"""


def _evaluate(
    objective: list[Any], driver: Any, home: Home, task_id: TaskId, permutation: IntArray, settings: Settings
) -> Outcome | Part:
    """Carry out one task in a worker: a whole evaluation, or a part of a split one."""
    node = ray.get_runtime_context().get_node_id()
    worker = f"{socket.gethostname()}-{node[:NODE_DIGITS]}/{os.getpid()}"
    driver.started.remote(task_id, Place(node, worker))
    mark_children(task_id.attempt)
    own, found, printed = os.getpid(), None, ""
    try:
        capture = Capture(path_of(home.prints, task_id.attempt) if node == home.node else None)
        _check_limits()
        _check_memory()
        with _ended_by_sigterm(), capture.streams(), _restored():
            found = _evaluated(objective[0], task_id, permutation, settings)
            if os.getpid() != own:
                os._exit(0)  # a copy of this process that the objective has forked
        printed = capture.close()
        if not _first_memory:
            _first_memory.append(_memory())
    except BaseException as error:  # none of the objective's: those are in `found`
        if found is None:
            _end_damaged(driver, task_id, error)
            raise
    return found._replace(worker=worker, printed=printed)


def _check_limits() -> None:
    """Raise RuntimeError where an earlier evaluation has lowered a limit of this process for good."""
    for limit, value in _limits().items():
        if value != _first_limits.setdefault(limit, value):
            raise RuntimeError(f"its limit number {limit} is {value}, and was {_first_limits[limit]}")


def _check_memory() -> None:
    """Raise LeakedError where earlier evaluations have left much memory in this process, and the node is short of it.

    Without memory Ray ends several processes of a node at once, and the driver may be one of them.
    """
    grown = _memory() - _first_memory[0] if _first_memory else 0
    if grown >= LEAST_GROWN and _memory_left() < SHORT:
        raise LeakedError(f"earlier evaluations have left {grown / 1e6:.0f} MB in its process, and memory is short")


def _memory() -> int:
    """Return the bytes that this process occupies; 0 where the system does not tell."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    return 0


def _memory_left() -> float:
    """Return the share of this node's memory that can be used before Ray ends processes, by Ray's own figures.

    They respect the limits of a container. Where this version of Ray does not have them, nothing is said to be short.
    """
    try:
        from ray._common.utils import get_system_memory
        from ray._private.utils import get_used_memory
    except ImportError:
        return math.inf
    used: int = get_used_memory()  # type: ignore[no-untyped-call]
    return float(os.environ.get(THRESHOLD, 0.95)) - used / get_system_memory()


def _limits() -> dict[int, tuple[int, int]]:
    return {limit: resource.getrlimit(limit) for limit in LIMITS}


@contextlib.contextmanager
def _restored() -> Iterator[None]:
    """Restore the working folder and the limits afterwards, for the evaluations that come to this process next."""
    folder, limits = os.getcwd(), _limits()
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.chdir(folder)
        for limit, value in limits.items():
            with contextlib.suppress(ValueError, OSError):  # only root can raise what was lowered for good
                resource.setrlimit(limit, value)


@contextlib.contextmanager
def _ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end this process at once. Ray's own handler raises SystemExit, which the objective may catch."""
    before = signal.signal(signal.SIGTERM, lambda number, frame: os._exit(1))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _end_damaged(driver: Any, task_id: TaskId, error: BaseException) -> None:
    """End this process, so that no further evaluation comes here: earlier ones have damaged what our code needs."""
    leaked = isinstance(error, LeakedError)
    damage = f"an earlier evaluation has damaged its process ({type(error).__name__}: {error})"
    with contextlib.suppress(BaseException):
        ray.get(driver.damaged.remote(task_id, str(error) if leaked else damage, leaked), timeout=DAMAGE_TIMEOUT)
    os._exit(1)


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
