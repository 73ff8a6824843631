"""Signals: to the client, whose run ends and is resumed, and to the processes of a run that goes on."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import law_ray
from experiments.ours.faults.evaluations import flawed
from experiments.ours.faults.faulty import Faulty
from experiments.ours.faults.processes import client
from experiments.ours.faults.rays import one_node
from experiments.ours.faults.strangers import checked
from experiments.ours.faults.striking import EVALS, Row, row, strike_when_due
from law_ray.driver import children
from law_ray.driver.progress import CHOOSING, PREPARING
from law_ray.runs import journal

END = 60  # seconds within which all processes of a client that was told to end must have ended; heuristic
PAUSE = 10  # seconds for which processes are stopped; heuristic: longer than the client waits for an answer


def ended(fault: str, numbers: list[signal.Signals], says: str) -> Row:
    """Return the row of a run whose client gets signals, one after another; the run is resumed.

    Args:
        fault: In words.
        numbers: The signals.
        says: What the client has to say in the end.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        follower = client(folder, "None")
        processes: list[psutil.Process] = []

        def strike() -> None:
            root = psutil.Process(follower.pid)
            processes.extend([root, *root.children(recursive=True)])
            for number in numbers:
                follower.send_signal(number)
                time.sleep(0.3)

        at_strike: dict[str, Any] = {}
        strike_when_due(folder / "run", strike, at_strike)
        said = follower.communicate(timeout=END)[1]
        left = _left(processes)
        with one_node():
            result = law_ray.resume(folder / "run", Faulty(folder, 0.2), progress=False)
        whole = says in said and not left and len(result.history) == EVALS
        wrong = f"left: {left}; {len(result.history)} trials; {said[-200:]}"
        how = "no process is left; resumed" if whole else wrong
        return row(fault, Faulty(folder, 0), folder / "run", at_strike, whole, how)


def _left(processes: list[psutil.Process]) -> list[psutil.Process]:
    """Wait at most END seconds for processes to end, and return those that go on."""
    deadline = time.monotonic() + END
    while (left := [each for each in processes if _goes_on(each)]) and time.monotonic() < deadline:
        time.sleep(0.2)
    return left


def _goes_on(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def paused(fault: str, which: Callable[[psutil.Process], bool]) -> Row:
    """Return the row of a run one of whose processes is stopped for PAUSE seconds, and then goes on."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        follower = client(folder, "None")

        def strike() -> None:
            root = psutil.Process(follower.pid)
            chosen = next(process for process in [root, *root.children(recursive=True)] if which(process))
            chosen.suspend()
            time.sleep(PAUSE)
            chosen.resume()

        at_strike: dict[str, Any] = {}
        strike_when_due(folder / "run", strike, at_strike)
        said = follower.communicate(timeout=120)[1]
        whole = follower.returncode == 0 and len(law_ray.load(folder / "run").ended) == EVALS
        return row(fault, Faulty(folder, 0), folder / "run", at_strike, whole, "goes on" if whole else said[-100:])


def _is_called(name: str) -> Callable[[psutil.Process], bool]:
    def is_called(process: psutil.Process) -> bool:
        with contextlib.suppress(psutil.Error):
            return name in "".join(process.cmdline()[:1])
        return False

    return is_called


class Slow:
    """An objective that keeps the driver busy: while it prepares, or while it chooses.

    Args:
        folder: Where it leaves a file `busy`.
        doing: Of the two, PREPARING or CHOOSING.
    """

    n_items = 8

    def __init__(self, folder: Path, doing: str) -> None:
        self.folder, self.doing = folder, doing
        if doing == PREPARING:
            self.starts = self._never_ends
        elif doing == CHOOSING:
            self.prior_mean = self._never_ends

    def __call__(self, permutation: Any) -> float:
        """Return the first item."""
        return float(permutation[0])

    def _never_ends(self, permutations: Any, *_: Any) -> Any:
        if self.doing == CHOOSING and not (self.folder / "run" / journal.NAME).exists():
            return np.zeros(len(permutations))  # it is checked before the run begins
        (self.folder / "busy").touch()
        time.sleep(10_000)


def interrupted_busy(fault: str, doing: str, says: str) -> Row:
    """Return the row of a run that is interrupted while its driver prepares or chooses, or Ray starts."""
    code = (
        "import law_ray\nfrom pathlib import Path\nfrom experiments.ours.faults.signals import Slow\n"
        "print('begun', flush=True)\n"
        "try: law_ray.minimize(Slow(Path('.'), {doing!r}), evals=60, n_init=4, batch_size=4, out='run')\n"
        "except KeyboardInterrupt as error: print(error)"
    )
    with tempfile.TemporaryDirectory() as name:
        command = [sys.executable, "-c", code.format(doing=doing)]
        environment = os.environ | {"PYTHONPATH": os.getcwd(), children.MARK: name}
        with subprocess.Popen(command, cwd=name, env=environment, stdout=subprocess.PIPE, text=True) as follower:
            assert follower.stdout is not None
            follower.stdout.readline()
            root, deadline = psutil.Process(follower.pid), time.monotonic() + 2 * END
            while time.monotonic() < deadline:
                if (Path(name) / "busy").exists() if doing else any(map(_is_called("gcs_server"), root.children())):
                    break
                time.sleep(0.1)
            begun = time.monotonic()
            follower.send_signal(signal.SIGINT)
            said = follower.communicate(timeout=END)[0].strip()
            seconds = time.monotonic() - begun
        left = _left([psutil.Process(each) for each in children.marked([name])])
        whole = said.startswith(says) and "\n" not in said and not left
        how = f"ends with one line in {seconds:.0f} s, no process is left"
        how = how if whole else f"left: {left}; {seconds:.0f} s; {said[-200:]}"
        return checked(fault, whole, how)


def two_resumes() -> Row:
    """Return the row of a run that two processes resume at once."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        follower = client(folder, "None")
        at_strike: dict[str, Any] = {}
        strike_when_due(folder / "run", follower.terminate, at_strike)
        follower.communicate(timeout=END)
        code = (
            "import sys, law_ray\nfrom pathlib import Path\nfrom experiments.ours.faults.faulty import Faulty\n"
            f"try: law_ray.resume({str(folder / 'run')!r}, Faulty(Path({name!r}), 0.2), progress=False)\n"
            "except law_ray.InputError as error: sys.exit(str(error))"
        )
        command = [sys.executable, "-c", code]
        both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
        said = [each.communicate(timeout=120)[1] for each in both]
        refused = [text for text, each in zip(said, both, strict=True) if each.returncode]
        whole = len(refused) == 1 and "in use by another process" in refused[0]
        whole = whole and len(law_ray.load(folder / "run").ended) == EVALS
        how = "one of them is refused" if whole else " ".join(refused)[-100:]
        return row("two processes resume a run at once", Faulty(folder, 0), folder / "run", at_strike, whole, how)


SCENES: dict[str, Callable[[], Row]] = {
    "interrupt": lambda: ended("Ctrl-C", [signal.SIGINT], "continues"),
    "interrupt-twice": lambda: ended("Ctrl-C, twice", [signal.SIGINT] * 2, "continues"),
    "terminate": lambda: ended("the client is told to end (SIGTERM)", [signal.SIGTERM], "continues"),
    "hang-up": lambda: ended("the terminal is closed (SIGHUP)", [signal.SIGHUP], "continues"),
    "interrupt-start": lambda: interrupted_busy("Ctrl-C while Ray starts", "", "interrupted before the run began"),
    "interrupt-prepare": lambda: interrupted_busy(
        "Ctrl-C while the driver prepares", PREPARING, "interrupted before the run began"
    ),
    "interrupt-choose": lambda: interrupted_busy(
        "Ctrl-C while the driver chooses", CHOOSING, "interrupted: every finished evaluation is kept"
    ),
    "client-stopped": lambda: paused("the client is stopped for 10 s", lambda process: process.ppid() == os.getpid()),
    "driver-stopped": lambda: paused("the driver is stopped for 10 s", _is_called("ray::Driver")),
    "worker-stopped": lambda: paused("a worker is stopped for 10 s", _is_called("ray::_evaluate")),
    "worker-terminate": lambda: flawed("a worker is told to end (SIGTERM)", "terminate worker"),
    "two-resumes": two_resumes,
}
