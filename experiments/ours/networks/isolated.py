"""Run a structure learner in a process of its own, with a time limit.

The learners are not imported here. The new process imports the module of its learner on unpickling it, before the
clock starts.
"""

import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import NamedTuple

from law_ray.errors import RunError
from law_ray.typing import BoolArray
from objectives.nml.data.tables import Table

Learner = Callable[[Table], BoolArray]
"""From data to a DAG, (p, p) bool, dag[parent, child]."""


class Learned(NamedTuple):
    """The result of a learner."""

    dag: BoolArray
    """(p, p) bool, dag[parent, child]"""
    seconds: float
    """wall time of the learner, without the start of its process and the imports"""


def learn(learner: Learner, table: Table, limit: float) -> Learned | None:
    """Run a learner in a process of its own.

    Args:
        learner: A function of a module, so that it can be pickled.
        table: The data.
        limit: Seconds after which the process is stopped, its start included.

    Returns:
        What the learner found, or None if it was stopped.

    Raises:
        RunError: When the learner fails; its traceback is on stderr.
    """
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(sender, learner, table))
    process.start()
    sender.close()  # so that the end of the process ends the wait
    try:
        return receiver.recv() if receiver.poll(limit) else None
    except EOFError:
        raise RunError(f"{learner.__name__} failed on {table.name}: see its traceback above") from None
    finally:
        process.kill()
        process.join()


def _send(sender: Connection, learner: Learner, table: Table) -> None:
    start = time.perf_counter()
    dag = learner(table)
    sender.send(Learned(dag, time.perf_counter() - start))
