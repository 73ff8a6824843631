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

from numba import config, get_num_threads, njit, set_num_threads

LEAST_WORK = 300_000
"""Operations below which a loop runs on one thread (heuristic: to wake the others takes as long as 70,000 of them)."""


def compiled(
    parallel: bool | Callable[..., int] = False, fastmath: bool = False, calls: Sequence[ModuleType] = ()
) -> Callable[..., Any]:
    """Return a decorator that compiles a loop at its first call, or reads its machine code from disk.

    The loop releases the GIL, so other Python threads run meanwhile (`law_ray.utils.parallel`).

    Args:
        parallel: whether numba distributes the iterations of `prange` over threads. A function of the loop's arguments
            gives the number of operations; below `LEAST_WORK` the loop then runs on one thread.
        fastmath: whether floating-point operations may be reordered.
        calls: the modules, other than the loop's own, whose compiled functions or constants the loop uses. Numba itself
            does not notice that these have changed.
    """

    def decorate(function: Any) -> Any:
        jitted = _jitted(function, bool(parallel), fastmath, calls)
        is_compiled = False

        @functools.wraps(function)
        def compile_or_run(*arguments: Any) -> Any:
            nonlocal is_compiled
            if not is_compiled:
                # Processes that write one cache at the same time can crash. With this lock, one process compiles at a
                # time, and the others then read the result from the cache.
                path = Path(tempfile.gettempdir()) / f"law-ray-compiling-{os.getuid()}.lock"
                with open(path, "w", opener=_without_links) as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX)
                    result = jitted(*arguments)
                is_compiled = True
                return result
            return jitted(*arguments)

        if isinstance(parallel, bool):
            return compile_or_run

        @functools.wraps(function)
        def run_little_on_one_thread(*arguments: Any) -> Any:
            n_threads = get_num_threads()
            if n_threads == 1 or parallel(*arguments) >= LEAST_WORK:
                return compile_or_run(*arguments)
            set_num_threads(1)
            try:
                return compile_or_run(*arguments)
            finally:
                set_num_threads(n_threads)

        return run_little_on_one_thread

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
