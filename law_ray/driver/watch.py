"""Following a driver from the client: the progress line, what Ctrl-C does, and what errors mean."""

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

from law_ray import journal
from law_ray.driver.cluster import knock
from law_ray.driver.shipping import parts
from law_ray.errors import InputError, RunError

POLL = 0.2  # seconds between two looks at the driver
LOG_INTERVAL = 30  # seconds between two progress lines where nobody watches
STOP_TIMEOUT = 10  # seconds that an interrupted driver has to end
PATIENCE = 5  # seconds for an answer of the driver before the head is looked for


def watch(driver: Any, pickled: bytes, evals: int, progress: bool) -> str:
    """Follow the driver to its end, drawing a progress line on stderr; returns why it ended.

    `pickled` is the objective, if the driver waits for it. An interrupt is raised as KeyboardInterrupt; the driver goes
    on.
    """
    done = driver.result.remote(*parts(pickled))
    live = sys.stderr.isatty()  # else, in a log file, a line now and then
    interval = 0.1 if live else LOG_INTERVAL
    line = "{n_fmt}/{total_fmt} evaluations [{elapsed}{postfix}]"  # fits 80 columns
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
    """End a driver's run as soon as may be; what is running is left to a resume."""
    driver.stop.remote()
    ray.wait([driver.result.remote()], timeout=STOP_TIMEOUT)


def understood(error: Exception, folder: Path) -> Exception:
    """What the user should know of an error: what the driver raised for them, or that Ray failed, or its head."""
    if isinstance(error, RayTaskError):
        cause = error.cause
        if isinstance(cause, InputError | RunError):
            return cause
        if not isinstance(cause, RayError):
            return error
        error = cause  # what failed around the driver
    elif isinstance(error, OSError):
        return RunError(f"the head of the Ray cluster is gone; finished evaluations are in {folder}: resume it")
    begun = (folder / journal.NAME).exists()
    rest = f"finished evaluations are in {folder}: resume it" if begun else "the run has not begun"
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    return RunError(f"Ray failed ({what}); {rest}")


def _status(driver: Any) -> dict[str, Any] | None:
    """The driver's status, None where it has none yet. OSError when the cluster's head is gone."""
    asked = driver.status.remote()
    while True:
        try:
            status: dict[str, Any] | None = ray.get(asked, timeout=PATIENCE)
            return status
        except GetTimeoutError:  # the driver may be restarting
            knock(ray.get_runtime_context().gcs_address)


@contextmanager
def _interrupts() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C sets; a second one acts as ever.

    Raised wherever the program happens to be, a KeyboardInterrupt can land in a callback of Ray, which swallows it.
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
