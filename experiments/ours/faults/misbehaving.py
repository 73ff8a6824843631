"""Objectives that misbehave without failing: they print, fork, leave processes behind, and damage their own process."""

import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import law_ray
from experiments.ours.faults.evaluations import allow_memory, flawed
from experiments.ours.faults.rays import one_node
from experiments.ours.faults.strangers import checked
from experiments.ours.faults.striking import OPTIONS, Row
from law_ray.driver import capture, children
from law_ray.runs import journal, printed


def goes_on(fault: str, flaw: str) -> Row:
    """Return the row of a run one of whose evaluations does something odd, and no other fails for that."""
    found = flawed(fault, flaw)
    failed = found.how.partition(" failed")[0]
    if not failed.isdecimal():
        return replace(found, how="goes on")
    return replace(found, survived=found.survived and failed == "1")


def children_left() -> Row:
    """Return the row of a run whose evaluations start processes in sessions of their own; one hangs, one crashes."""

    def breeds(permutation: object) -> float:
        import os
        import subprocess

        subprocess.Popen(["sleep", "1000"], start_new_session=True)
        if permutation[0] == 0:  # type: ignore[index]
            subprocess.run("sleep 1000 & setsid sleep 1000", shell=True)
        if permutation[0] == 1:  # type: ignore[index]
            os._exit(3)
        return float(permutation[0])  # type: ignore[index]

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        start = [[0, 1, 2, 3, 4], [1, 0, 2, 3, 4], [2, 0, 1, 3, 4], [3, 0, 1, 2, 4]]
        with one_node():
            result = law_ray.minimize(breeds, 5, start=start, out=folder, evals=14, timeout=3.0, **OPTIONS)
            time.sleep(1)
            left = len(children.marked([children.mark_of_run(folder)]))
        whole = not left and set(result.history["state"][2:4]) == {"told"}
        how = f"{left} processes are left" if left else "all are ended"
        return checked("evaluations leave processes in sessions of their own", whole, how)


def memory_leaked() -> Row:
    """Return the row of a run each of whose evaluations keeps 20 MB for good, where Ray allows them 1.5 GiB."""

    def leaks(permutation: object) -> float:
        import sys

        import numpy as np

        sys.modules.setdefault("hoard", []).append(np.ones(2_500_000))  # type: ignore[arg-type]
        return float(permutation[0])  # type: ignore[index]

    allow_memory(1.5 * 2**30)
    with tempfile.TemporaryDirectory() as name, one_node():
        result = law_ray.minimize(leaks, 8, out=Path(name) / "run", evals=300, **OPTIONS)
        attempts = [record.get("attempts", 1) for record in journal.read(result.out) if record["type"] == "tell"]
        whole = set(result.history["state"]) == {"told"} and len(attempts) == 300 and max(attempts) > 1
        how = f"{sum(attempts) - 300} workers end themselves before memory runs out, and are replaced"
        return checked("evaluations leak 20 MB each, 6 GB in all", whole, how)


def much_printed() -> Row:
    """Return the row of a run one of whose evaluations prints 100 MB."""

    def prints(permutation: object) -> float:
        for _ in range(100 if permutation[0] == 0 else 0):  # type: ignore[index]
            print("x" * 2**20)
        return float(permutation[0])  # type: ignore[index]

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        with one_node():
            result = law_ray.minimize(prints, 5, start=[[0, 1, 2, 3, 4]], out=folder, evals=14, **OPTIONS)
        size = (folder / printed.NAME).stat().st_size
        whole = set(result.history["state"]) == {"told"} and size < 2 * 10**6
        return checked("an evaluation prints 100 MB", whole, f"the last {capture.MAX_BYTES / 1e3:.0f} kB are kept")


ODD = {
    "interrupts": ("raises KeyboardInterrupt", "interrupt"),
    "closes": ("closes its standard output, once", "close stdout"),
    "forks": ("forks, and both processes return, once", "fork"),
    "pool": ("uses multiprocessing with a function of its own, once", "pool"),
    "changes-folder": ("changes its working folder and deletes that, once", "change folder"),
    "clears-environment": ("clears its environment, once", "clear environment"),
    "breaks-numpy": ("replaces functions of NumPy, once", "break numpy"),
    "limits-files": ("allows its process no more files, once", "limit files"),
    "limits-recursion": ("sets the limit of the recursion to where it is, once", "limit recursion"),
    "prints-bytes": ("prints bytes that are no text, once", "print bytes"),
    "leaves-threads": ("starts threads that never end, once", "threads"),
    "futures": ("uses concurrent.futures with threads and with spawned processes, once", "futures"),
    "own-ray": ("uses Ray tasks and actors of its own, once", "Ray"),
    "ignores-signals": ("ignores SIGTERM, SIGINT and SIGHUP from then on, once", "ignore signals"),
    "exits-python": ("raises SystemExit", "exit Python"),
    "unshowable": ("raises an exception whose `__str__` raises", "raise unshowable"),
}
"""By the name of the scene: the fault, and the flaw of `Faulty`."""

SCENES: dict[str, Callable[[], Row]] = {
    **{name: lambda each=each: goes_on(*each) for name, each in ODD.items()},  # type: ignore[misc]
    "ignores-and-hangs": lambda: flawed("ignores signals and hangs", "ignore signals and hang", timeout=3.0),
    "own-ray-hangs": lambda: flawed("a Ray task of its own hangs", "Ray that hangs", timeout=3.0),
    "leaks": memory_leaked,
    "children": children_left,
    "prints": much_printed,
}
