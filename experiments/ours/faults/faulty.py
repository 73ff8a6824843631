"""An objective that fails on demand, and keeps its own log of what was evaluated."""

import ctypes
import inspect
import math
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import ray

from law_ray.runs import journal
from law_ray.typing import IntArray


class Unpicklable(Exception):  # noqa: N818 - a user's class
    """An error that cannot be sent from a worker, since locks do not pickle."""

    def __init__(self) -> None:
        super().__init__("unpicklable")
        self.lock = threading.Lock()


class Unshowable(Exception):  # noqa: N818 - a user's class
    """An error that no text can be made of."""

    def __str__(self) -> str:
        raise self


def _raise() -> None:
    raise Unpicklable


def _raise_unshowable() -> None:
    raise Unshowable


def _exit_python() -> None:
    sys.exit("enough")


def _segfault() -> None:
    ctypes.string_at(0)


def _kill_worker() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _exit() -> None:
    os._exit(3)


def _hang() -> None:
    time.sleep(10_000)


def _eat_memory() -> None:
    hoard = []
    while True:
        hoard.append(np.ones(10_000_000))
        time.sleep(0.05)


def _kill_driver() -> None:
    _driver().kill()


def _limit_journal() -> None:
    """Keep the driver's files from growing beyond the present size of the journal, as a full disk would."""
    driver = _driver()
    paths = [Path(file.path) for file in driver.open_files()]
    size = max(path.stat().st_size for path in paths if path.name == journal.NAME)
    driver.rlimit(psutil.RLIMIT_FSIZE, (size + 20, size + 20))


def _terminate_worker() -> None:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(10_000)


def _interrupt() -> None:
    raise KeyboardInterrupt


def _close_stdout() -> None:
    sys.stdout.close()


def _fork() -> None:
    os.fork()


def _square(number: int) -> int:
    return number * number


def _pool() -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:  # to fork a process that has threads may hang
        assert pool.map(_square, [1, 2]) == [1, 4]


def _futures() -> None:
    for executor in (ThreadPoolExecutor(2), ProcessPoolExecutor(1, multiprocessing.get_context("spawn"))):
        with executor:
            assert list(executor.map(_square, [1, 2])) == [1, 4]


class Counting:
    """An actor of the objective's own."""

    def square(self, number: int) -> int:
        """Return the square."""
        return _square(number)


def _ray() -> None:
    task: Any = ray.remote(_square)
    actor: Any = ray.remote(Counting).remote()
    assert ray.get([task.remote(2), actor.square.remote(3)]) == [4, 9]


def _ray_that_hangs() -> None:
    ray.get(ray.remote(_hang).remote())


def _threads() -> None:
    for daemon in (True, False):
        threading.Thread(target=_hang, daemon=daemon).start()


def _print_bytes() -> None:
    os.write(1, b"\xff\xfe\x00\n")


def _ignore_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)


def _ignore_signals_and_hang() -> None:
    _ignore_signals()
    _hang()


def _limit_recursion() -> None:
    sys.setrecursionlimit(len(inspect.stack()) + 10)  # enough for `Faulty`


def _change_folder() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)


def _break_numpy() -> None:
    np.random.SeedSequence = None  # type: ignore[assignment, misc]


def _limit_files() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))


ACTIONS: dict[str, Callable[[], None]] = {
    "nothing": lambda: None,
    "raise": _raise,
    "segfault": _segfault,
    "kill worker": _kill_worker,
    "exit": _exit,
    "hang": _hang,
    "eat memory": _eat_memory,
    "kill driver": _kill_driver,
    "limit journal": _limit_journal,
    "terminate worker": _terminate_worker,
    "interrupt": _interrupt,
    "close stdout": _close_stdout,
    "fork": _fork,
    "pool": _pool,
    "change folder": _change_folder,
    "clear environment": os.environ.clear,
    "break numpy": _break_numpy,
    "limit files": _limit_files,
    "raise unshowable": _raise_unshowable,
    "exit Python": _exit_python,
    "futures": _futures,
    "Ray": _ray,
    "Ray that hangs": _ray_that_hangs,
    "threads": _threads,
    "print bytes": _print_bytes,
    "ignore signals": _ignore_signals,
    "ignore signals and hang": _ignore_signals_and_hang,
    "limit recursion": _limit_recursion,
}
"""What an evaluation can do wrong, by the name of the flaw."""
RETURNS = {"NaN": math.nan, "infinity": -math.inf, "string": "low", "shape": np.zeros(3)}
"""What an evaluation can return wrongly, by the name of the flaw."""


class Faulty:
    """The total displacement of the items, evaluated in a fixed time, with a flaw.

    The first evaluation that begins after `arm` meets the flaw. Each evaluation that ends adds a line to the file
    `ended` in the folder.

    Args:
        folder: Where the evaluations, which run in other processes, leave their files.
        seconds: How long an evaluation takes.
        flaw: A key of ACTIONS or of RETURNS.
        for_ever: Whether further evaluations of the same ordering meet the flaw too.
    """

    name, n_items = "faulty", 8

    def __init__(self, folder: Path, seconds: float, flaw: str = "", for_ever: bool = False) -> None:
        self.folder, self.seconds, self.flaw, self.for_ever = folder, seconds, flaw, for_ever

    def arm(self) -> None:
        """Let the next evaluation that begins meet the flaw."""
        (self.folder / "armed").touch()

    def __call__(self, permutation: IntArray) -> Any:
        """Evaluate, or show the flaw."""
        line = " ".join(map(str, permutation))
        if self._meets_flaw(line):
            if self.flaw in RETURNS:
                return RETURNS[self.flaw]
            ACTIONS[self.flaw]()
        time.sleep(self.seconds)
        with open(self.folder / "ended", "a") as ended:
            ended.write(line + "\n")
        return float(np.abs(permutation - np.arange(len(permutation))).sum())

    def _meets_flaw(self, line: str) -> bool:
        try:
            (self.folder / "armed").rename(self.folder / "met")
        except FileNotFoundError:
            if not self.for_ever or self._met()[:1] != [line]:
                return False
        with open(self.folder / "met", "a") as met:
            met.write(line + "\n")
        (self.folder / "process").write_text(str(os.getpid()))
        return True

    def _met(self) -> list[str]:
        met = self.folder / "met"
        return met.read_text().splitlines() if met.exists() else []

    def met(self) -> int:
        """Return how many evaluations met the flaw."""
        return len(self._met())

    def left(self) -> bool:
        """Return whether the process that last met the flaw goes on."""
        return psutil.pid_exists(int((self.folder / "process").read_text()))

    def met_at(self) -> float | None:
        """Return when an evaluation last met the flaw, or None if none has."""
        return (self.folder / "met").stat().st_mtime if self._met() else None

    def repeated(self) -> int:
        """Return how many evaluations were repeated although an earlier one of the same ordering had ended."""
        ended = self.folder / "ended"
        counts = Counter(ended.read_text().splitlines() if ended.exists() else [])
        return sum(count - 1 for count in counts.values())


def _driver() -> psutil.Process:
    """Return the driver's process, seen from a worker on its node: both are children of the same raylet."""
    raylet = psutil.Process(os.getppid())
    return next(child for child in raylet.children() if child.cmdline()[:1] and "Driver" in child.cmdline()[0])
