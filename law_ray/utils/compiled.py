"""Compile loops once per machine: numba keeps the machine code on disk for the next process."""

import fcntl
import functools
import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

# Threads that wait for the next loop must not spin: that would take processor time from the code between the loops.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

from numba import config, njit


def compiled(parallel: bool = False, fastmath: bool = False, calls: Sequence[ModuleType] = ()) -> Callable[..., Any]:
    """Return a decorator that compiles a loop at its first call, or reads its machine code from disk.

    While a loop runs, other threads can (`law_ray.utils.parallel`).

    Args:
        parallel: whether numba distributes the iterations of `prange` over threads.
        fastmath: whether floating-point operations may be reordered.
        calls: the modules, other than the loop's own, whose compiled functions or constants the loop uses. Numba itself
            does not notice that these have changed.
    """

    def decorate(function: Any) -> Any:
        jitted = _jitted(function, parallel, fastmath, calls)

        @functools.wraps(function)
        def call(*arguments: Any) -> Any:
            if not jitted.signatures:
                # Processes that write one cache at the same time can crash. With this lock, one process compiles at a
                # time, and the others then read the result from the cache.
                path = Path(tempfile.gettempdir()) / f"law-ray-compiling-{os.getuid()}.lock"
                with open(path, "w", opener=_without_links) as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    return jitted(*arguments)
            return jitted(*arguments)

        return call

    return decorate


def _without_links(path: str, flags: int) -> int:
    """Open a file for this user alone; a link in its place is refused, since other users can write that folder."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _jitted(function: Any, parallel: bool, fastmath: bool, calls: Sequence[ModuleType]) -> Any:
    """Compile with a cache folder named after a hash of the sources of the modules in `calls`."""
    before = config.CACHE_DIR  # type: ignore[attr-defined]
    try:
        if calls:
            sources = b"".join(Path(str(module.__file__)).read_bytes() for module in calls)
            home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
            folder = home / "law-ray" / hashlib.sha256(sources).hexdigest()[:16]
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)  # else numba silently caches beside the source
            config.CACHE_DIR = str(folder)  # type: ignore[attr-defined]
        return njit(parallel=parallel, fastmath=fastmath, nogil=True, cache=True)(function)
    except (OSError, RuntimeError):  # no folder is writable: compile in every process
        return njit(parallel=parallel, fastmath=fastmath, nogil=True)(function)
    finally:
        config.CACHE_DIR = before  # type: ignore[attr-defined]
