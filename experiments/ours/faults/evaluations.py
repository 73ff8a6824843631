"""Faults of evaluations: they raise, return nonsense, crash, hang or eat all memory."""

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from experiments.ours.faults.faulty import RETURNS, Faulty
from experiments.ours.faults.rays import one_node
from experiments.ours.faults.striking import Row, struck

END = 30  # seconds within which a process must have ended after its run; heuristic


def flawed(fault: str, flaw: str, seconds: float = 0.2, for_ever: bool = False, **options: Any) -> Row:
    """Return the row of a run on one node, one of whose evaluations meets a flaw; its process ends with the run."""
    with tempfile.TemporaryDirectory() as folder:
        objective = Faulty(Path(folder), seconds, flaw, for_ever)
        with one_node():
            found = struck(fault, objective, objective.arm, **options)
        assert objective.met() == (2 if for_ever else 1), objective.met()
        deadline = time.monotonic() + END
        while (left := objective.left()) and time.monotonic() < deadline:
            time.sleep(0.1)
        return replace(found, survived=False, how=f"its process is left; {found.how}") if left else found


def allow_memory(number: float) -> None:
    """Let a Ray that is started later end workers once this many more bytes are in use on this machine than now."""
    used = psutil.virtual_memory()
    threshold = (used.total - used.available + number) / used.total
    os.environ.update(RAY_memory_usage_threshold=f"{threshold:.3f}", RAY_memory_monitor_refresh_ms="100")


def memory_exhausted() -> Row:
    """Return the row of a run with an evaluation that takes ever more memory, where Ray allows it 2 GiB."""
    allow_memory(2**31)
    return flawed("an evaluation eats all memory, once", "eat memory", timeout=60.0)


SCENES: dict[str, Callable[[], Row]] = {
    "raises": lambda: flawed("raises what cannot be pickled", "raise"),
    **{name: lambda name=name: flawed(f"returns {name}", name) for name in RETURNS},  # type: ignore[misc]
    "exit": lambda: flawed("the process exits, once", "exit"),
    "segfault": lambda: flawed("a segmentation fault, once", "segfault"),
    "kill": lambda: flawed("the worker is killed, once", "kill worker"),
    "poison": lambda: flawed("one ordering kills every worker", "kill worker", for_ever=True),
    "hang": lambda: flawed("an evaluation hangs", "hang", timeout=3.0),
    "memory": memory_exhausted,
}
