"""Compiling loops once a machine: the machine code is kept on disk for the next process."""

import fcntl
import functools
import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

# Threads that wait for the next loop must not spin: they would take the cores from what runs in between.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from numba import config, njit


def compiled(parallel: bool = False, fastmath: bool = False, calls: Sequence[ModuleType] = ()) -> Callable[..., Any]:
    """A decorator that compiles a loop at its first call, unless the disk has it.

    calls: the modules, other than its own, whose compiled functions it calls; numba itself would not notice that these
    have changed.
    """

    def decorate(function: Any) -> Any:
        jitted = _jitted(function, parallel, fastmath, calls)

        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            if not jitted.signatures:
                # Several processes that write one cache at once can crash: they take turns, and find it made.
                with open(Path(tempfile.gettempdir()) / f"law-ray-compiling-{os.getuid()}.lock", "w") as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    return jitted(*arguments)
            return jitted(*arguments)

        return call

    return decorate


def _jitted(function: Any, parallel: bool, fastmath: bool, calls: Sequence[ModuleType]) -> Any:
    """Compiled into a cache whose folder says which sources of other modules went into it."""
    before = config.CACHE_DIR  # type: ignore[attr-defined]
    try:
        if calls:
            sources = b"".join(Path(str(module.__file__)).read_bytes() for module in calls)
            home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
            folder = home / "law-ray" / hashlib.sha256(sources).hexdigest()[:16]
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # numba would go on to the folder of the source
            config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
        return njit(parallel=parallel, fastmath=fastmath, cache=True)(function)
    except (OSError, RuntimeError):  # no folder can be written to
        return njit(parallel=parallel, fastmath=fastmath)(function)
    finally:
        config.CACHE_DIR = before  # type: ignore[attr-defined]
