"""Processes that evaluations have started, and that outlive the worker that ran the evaluation.

Ray ends the children of a worker with it, but not those in a session of their own. So each evaluation has a mark in its
environment, which all processes that it starts inherit. They are ended by their mark: those of an evaluation that is
stopped or lost, and all of a run at its end.
"""

import contextlib
import hashlib
import os
import signal
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path

from law_ray.errors import InputError

MARK = "LAW_RAY_EVALUATION"
"""The environment variable."""
PROCESSES = Path("/proc")
"""Where Linux tells of processes; on other systems nothing is ended here."""


def mark_of_run(folder: Path) -> str:
    """Return what the marks of the run in a folder begin with, on the machine that has the folder."""
    return hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:16]


def new_mark(run: str) -> str:
    """Return the mark of one more attempt at an evaluation; `run` is what it begins with."""
    return f"{run}-{uuid.uuid4().hex}"


def mark_children(mark: str) -> None:
    """Give the processes that this one starts from now on a mark."""
    os.environ[MARK] = mark


def end_children(marks: Sequence[str]) -> None:
    """Kill all processes on this node that belong to this user and whose mark begins with one of `marks`."""
    for process in marked(marks):
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            os.kill(process, signal.SIGKILL)


@contextlib.contextmanager
def children_ended(folder: Path) -> Iterator[None]:
    """End, after all else has ended, what the evaluations of the run in a folder have started on this node."""
    refused = False
    try:
        yield
    except InputError:  # another process may hold the folder
        refused = True
        raise
    finally:
        if not refused:
            end_children([mark_of_run(folder)])


def marked(marks: Sequence[str]) -> list[int]:
    """Return the ids of the processes, other than this one, whose mark begins with one of `marks`."""
    wanted = [f"\0{MARK}={mark}".encode() for mark in marks]
    found = []
    for folder in PROCESSES.glob("[0-9]*") if wanted else ():
        with contextlib.suppress(OSError):  # it has ended, or is another user's
            environment = b"\0" + (folder / "environ").read_bytes()
            if any(each in environment for each in wanted):
                found.append(int(folder.name))
    return [process for process in found if process != os.getpid()]
