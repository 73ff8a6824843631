"""Follow a driver from the client: show its progress, react to Ctrl-C, and say what an error means."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import ray
from ray.exceptions import GetTimeoutError, RayError, RayTaskError
from tqdm import tqdm

from law_ray.driver.cluster import knock
from law_ray.driver.serialization import parts
from law_ray.errors import InputError, RunError
from law_ray.runs import journal

POLL = 0.2
"""Seconds between two requests for the driver's status (heuristic)."""
LOG_INTERVAL = 30
"""Seconds between two progress lines where stderr is no terminal (heuristic)."""
STOP_TIMEOUT = 10
"""Seconds that an interrupted driver is given to end (heuristic)."""
PATIENCE = 5
"""Seconds to wait for an answer of the driver before checking that the cluster's head still exists (heuristic)."""


def watch(driver: Any, pickled: bytes, evals: int, progress: bool) -> str:
    """Follow a driver to its end, with a progress line on stderr.

    Args:
        driver: The actor.
        pickled: The pickled objective, or b"" for a driver that loads its objective itself.
        evals: The budget of evaluations, for the progress line.
        progress: Whether to show the progress line.

    Returns:
        Why the run ended.

    Raises:
        KeyboardInterrupt: The user interrupted; the driver goes on.
        OSError: The cluster's head is gone.
        RayError: The driver raised, or Ray failed. `user_error` says what it means.
    """
    done = driver.result.remote(*parts(pickled))
    live = sys.stderr.isatty()  # otherwise, as in a log file, a line every LOG_INTERVAL seconds
    interval = 0.1 if live else LOG_INTERVAL
    line = "{n_fmt}/{total_fmt} evaluations [{elapsed}{postfix}]"  # fits into 80 columns
    with (
        _interrupts() as interrupted,
        tqdm(total=evals, bar_format=line, disable=not progress, mininterval=interval, dynamic_ncols=True) as bar,
    ):
        while True:
            ready, _ = ray.wait([done], timeout=POLL)
            if status := _status(driver):
                evaluations = status.pop("evaluations")
                bar.set_postfix(status, refresh=live)
                bar.update(evaluations - bar.n)
            if ready:
                reason: str = ray.get(done)
                return reason
            if interrupted.is_set():
                raise KeyboardInterrupt


def stop(driver: Any) -> None:
    """End a driver's run as soon as possible; evaluations that are still running are left to a resume."""
    driver.stop.remote()
    ray.wait([driver.result.remote()], timeout=STOP_TIMEOUT)


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


def _status(driver: Any) -> dict[str, Any] | None:
    """Return the driver's status, None before its run is open. Raises OSError if the cluster's head is gone."""
    asked = driver.status.remote()
    while True:
        try:
            status: dict[str, Any] | None = ray.get(asked, timeout=PATIENCE)
            return status
        except GetTimeoutError:  # the driver may be restarting, so only a head that is gone is an error
            knock(ray.get_runtime_context().gcs_address)


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """Yield an event that the first Ctrl-C sets; a second one acts as usual.

    Python raises a KeyboardInterrupt wherever the program is at that moment. In a callback of Ray it would be lost.
    """
    event = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield event
        return
    before = signal.getsignal(signal.SIGINT)

    def note(number: int, frame: Any) -> None:
        event.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)
