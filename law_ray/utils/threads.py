"""Set the numbers of threads explicitly, since those that a process inherits depend on the process that started it."""

import os
import sys

from threadpoolctl import threadpool_limits


def limit(threads: int, blas: int | None = None) -> None:
    """Limit OpenMP, torch, numba and BLAS to a number of threads in this process, whether or not they are imported yet.

    While a thread is alive that set a larger number for OpenBLAS, another thread cannot set a smaller one.

    Args:
        threads: the number of threads.
        blas: the number for BLAS; `threads` by default.
    """
    blas = threads if blas is None else blas
    os.environ["OMP_NUM_THREADS"] = str(threads)
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(blas)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(threads)
    if "numba" in sys.modules:
        limit_loops(threads)
    else:
        os.environ["NUMBA_NUM_THREADS"] = str(threads)
    threadpool_limits({"openmp": threads, "blas": blas})  # last: numba's call starts another OpenMP pool


def limit_loops(threads: int) -> None:
    """Limit compiled loops to a number of threads, where they are called by this thread: a new one has numba's most."""
    import numba  # slow to import, for those that need no loops

    numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))  # type: ignore[attr-defined]


def available_cpus() -> int:
    """Return how many CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
