"""Follow a driver from the client: show its progress, react to signals such as Ctrl-C, and say what an error means."""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError

from law_ray.driver.cluster import knock
from law_ray.driver.messages import hand_over
from law_ray.driver.progress import CHOOSING, PREPARING, Progress, Status
from law_ray.driver.serialization import parts
from law_ray.errors import InputError, RunError
from law_ray.runs import journal
from law_ray.runs.active import TIME_IS_UP

POLL = 0.2
"""Seconds between two looks at the driver (heuristic)."""
STOP_TIMEOUT = 10
"""Seconds that an interrupted driver is given to end (heuristic)."""
GRACE = 5
"""Seconds after max_time at which a driver is ended that still prepares or chooses (heuristic)."""
INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a run so that it can be resumed: Ctrl-C, `kill` or a batch system, and a terminal that is closed."""
PATIENCE = 5
"""Seconds between two checks that the cluster's head still exists, and for an answer of the driver (heuristic)."""
HEAD_PATIENCE = 30
"""Seconds without the head that a driver which answers may go on: a new head may start. Ray itself gives it 60."""


def watch(
    driver: Any,
    pickled: bytes,
    folder: Path,
    max_time: float | None,
    interrupted: threading.Event,
    progress: bool,
    at_each_look: Callable[[], None] | None = None,
) -> str:
    """Follow a driver to its end, with a progress line on stderr, and hand its messages to the loggers of this process.

    A driver that still prepares or chooses GRACE seconds after max_time is ended from here, since nothing in its own
    process can interrupt that. The journal is complete without it. A run that was resumed may end its first choice,
    since resuming would never make progress otherwise.

    Args:
        driver: The actor.
        pickled: The pickled objective, or b"" for a driver that loads its objective itself.
        folder: The run folder.
        max_time: That option of the run, in seconds since the driver began.
        interrupted: An event that is set when the user interrupts, see `interrupts`.
        progress: Whether to show the progress line.
        at_each_look: Is called again and again, and once after the end.

    Returns:
        Why the run ended.

    Raises:
        KeyboardInterrupt: The user interrupted; the driver goes on.
        OSError: The cluster's head is gone.
        RayError: The driver raised, or Ray failed. `user_error` says what it means.
    """
    end = End(driver, *parts(pickled))
    view = _View(driver, Progress(progress))
    try:
        while True:
            ended = end.within(POLL)
            view.look(last=ended)
            late = max_time is not None and view.busy_for > max_time + GRACE
            if late and not ended:
                _kill(driver, folder)
            if at_each_look is not None:
                with view.progress.aside():
                    at_each_look()
            if ended:
                return end.reason()
            if late:
                return TIME_IS_UP
            if interrupted.is_set():
                raise KeyboardInterrupt
    finally:
        view.progress.close()


class End:
    """The end of a driver's run. A driver with a name is asked for it again and again."""

    def __init__(self, driver: Any, *objective: bytes) -> None:
        self._driver = driver
        self._answer = driver.result.remote(*objective)

    def within(self, seconds: float) -> bool:
        """Wait for the end, at most so long, and say whether the run has ended, well or with an error."""
        if not ray.wait([self._answer], timeout=seconds)[0]:
            return False
        with suppress(RayError):
            if ray.get(self._answer) is None:
                self._answer = self._driver.result.remote()
                return False
        return True

    def reason(self) -> str:
        """Return why a run that has ended did so. Raises RayError if the driver raised, or Ray failed."""
        reason: str = ray.get(self._answer)
        return reason


class _View:
    """What is known here of a driver, which may be too busy to answer."""

    def __init__(self, driver: Any, progress: Progress) -> None:
        self.progress = progress
        self._driver = driver
        self._began = self._answered = time.monotonic()
        self._status: Status | None = None
        self._seen = 0  # the number of the last message
        self._asked_at = 0.0
        self._knocked = self._headed = self._began  # when the head was last asked, and when it answered
        self._ask()

    @property
    def busy_for(self) -> float:
        """Seconds since the driver began, if it was doing what max_time cuts off when it last answered; else 0."""
        if self._status is None or self._status.doing not in (PREPARING, CHOOSING) or self._status.must_go_on:
            return 0.0
        return self._status.elapsed + time.monotonic() - self._answered

    def look(self, last: bool) -> None:
        """Show what the driver has answered, and ask it again. Raises OSError if the cluster's head is gone.

        For the last time the driver is asked once more, and an error is left to the result, which says more.
        """
        if last:
            self._ask()
            with suppress(RayError):
                self._take(timeout=1.0)
        else:
            self._take(timeout=0.0)
            self._check_head()
        status = self._status or Status()
        now = time.monotonic()
        elapsed = max(now - self._began, status.elapsed + now - self._answered)  # an attached driver began earlier
        self.progress.show(status._replace(elapsed=elapsed))

    def _check_head(self) -> None:
        """Raise OSError if the cluster's head is gone. A driver that does not answer may be restarting."""
        now = time.monotonic()
        if now - self._knocked < PATIENCE:
            return
        self._knocked = now
        try:
            knock(ray.get_runtime_context().gcs_address)
            self._headed = now
        except OSError:
            if now - self._asked_at >= PATIENCE or now - self._headed > HEAD_PATIENCE:
                raise

    def _ask(self) -> None:
        self._asked = [self._driver.status.remote(), self._driver.messages.remote(self._seen)]
        self._asked_at = time.monotonic()

    def _take(self, timeout: float) -> None:
        """Take the driver's answer, if it comes in time, and ask again."""
        if len(ray.wait(self._asked, num_returns=2, timeout=timeout)[0]) < 2:
            return
        self._status, messages = ray.get(self._asked)
        self._answered = time.monotonic()
        if messages:
            self._seen = messages[-1].number
            with self.progress.aside():
                hand_over(messages)
        self._ask()


def stop(driver: Any, folder: Path) -> None:
    """End a driver's run and the driver within about STOP_TIMEOUT; what is still being evaluated is left to a resume.

    A driver that prepares or chooses is not waited for.
    """
    driver.stop.remote()
    end = End(driver)
    deadline = time.monotonic() + STOP_TIMEOUT
    with suppress(RayError, OSError):
        while time.monotonic() < deadline and not end.within(POLL):
            knock(ray.get_runtime_context().gcs_address)  # a batch system may have told all of Ray to end too
            with suppress(GetTimeoutError):
                if ray.get(driver.status.remote(), timeout=POLL).doing in (PREPARING, CHOOSING):
                    break
    _kill(driver, folder)


def _kill(driver: Any, folder: Path) -> None:
    ray.kill(driver)
    journal.wait_until_free(folder, STOP_TIMEOUT)


def user_error(error: Exception, folder: Path) -> Exception:
    """Return the error that the user should see in place of one that `watch` raised.

    That is the driver's own InputError or RunError, or a RunError that says that Ray or the cluster's head has failed.
    An error in the code of the driver is returned as it is, with its traceback.
    """
    if isinstance(error, RayTaskError):
        cause = error.cause
        if isinstance(cause, InputError | RunError):
            return cause
        if not isinstance(cause, RayError):
            return error
        error = cause  # the failure of Ray that the driver met
    elif isinstance(error, OSError):
        return RunError(f"the head of the Ray cluster is gone; finished evaluations are in {folder}: resume it")
    begun = (folder / journal.NAME).exists()
    rest = f"finished evaluations are in {folder}: resume it" if begun else "the run has not begun"
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    return RunError(f"Ray failed ({what}); {rest}")


@contextmanager
def interrupts() -> Iterator[threading.Event]:
    """Yield an event that the first of INTERRUPTS sets; a second one acts as usual, unless ignored by then.

    Python raises a KeyboardInterrupt wherever the program is at that moment. In a callback of Ray it would be lost.
    `nohup` has SIGHUP ignored, which stays so.
    """
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = {number: signal.getsignal(number) for number in INTERRUPTS}
    if before[signal.SIGHUP] is signal.SIG_IGN:
        del before[signal.SIGHUP]

    def note(number: int, frame: Any) -> None:
        event.set()
        restore()
        with suppress(OSError, ValueError):  # the terminal may be gone, and stderr closed
            if sys.stderr.isatty():
                os.write(2, b"\ninterrupted: the run is being ended, which takes up to 15 s\n")

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)  # None: one of C

    for number in before:
        signal.signal(number, note)
    try:
        yield event
    finally:
        restore()


def ignore_interrupts() -> None:
    """Ignore INTERRUPTS until `interrupts` ends: one that stops Ray's own shutdown would let Ray end this process."""
    if threading.current_thread() is threading.main_thread():
        for number in INTERRUPTS:
            signal.signal(number, signal.SIG_IGN)
