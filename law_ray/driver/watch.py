"""Following a driver from the client: the progress line, and what Ctrl-C does."""

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray
from tqdm import tqdm

POLL = 0.2  # seconds between two looks at the driver
LOG_INTERVAL = 30  # seconds between two progress lines where nobody watches
STOP_TIMEOUT = 10  # seconds that an interrupted driver has to end


def watch(driver: Any, evals: int, progress: bool) -> str:
    """Run the driver to its end, drawing a progress line on stderr; returns why it ended.

    An interrupt stops it, leaves the run resumable, and is raised as KeyboardInterrupt.
    """
    done = driver.run.remote()
    live = sys.stderr.isatty()  # else, in a log file, a line now and then
    interval = 0.1 if live else LOG_INTERVAL
    line = "{n_fmt}/{total_fmt} evaluations [{elapsed}{postfix}]"  # fits 80 columns
    with (
        _interrupts() as interrupted,
        tqdm(total=evals, bar_format=line, disable=not progress, mininterval=interval, dynamic_ncols=True) as bar,
    ):
        while True:
            ready, _ = ray.wait([done], timeout=POLL)
            status = ray.get(driver.status.remote())
            evaluations = status.pop("evaluations")
            bar.set_postfix(status, refresh=live)
            bar.update(evaluations - bar.n)
            if ready:
                reason: str = ray.get(done)
                return reason
            if interrupted.is_set():
                driver.stop.remote()
                ray.wait([done], timeout=STOP_TIMEOUT)
                raise KeyboardInterrupt


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
