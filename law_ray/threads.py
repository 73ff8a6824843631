"""Numbers of threads, set explicitly: what a process inherits depends on who started it."""

import os
import sys

from threadpoolctl import threadpool_limits


def limit(threads: int, blas: int | None = None) -> None:
    """Give OpenMP, torch, numba and BLAS this many threads in this process, whether or not they are imported yet.

    `blas`: another number for BLAS. While a thread lives that gave OpenBLAS more, another thread cannot give it fewer.
    """
    blas = threads if blas is None else blas
    os.environ["OMP_NUM_THREADS"] = str(threads)
    for name in ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(blas)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(threads)
    if numba := sys.modules.get("numba"):
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    else:
        os.environ["NUMBA_NUM_THREADS"] = str(threads)
    threadpool_limits({"openmp": threads, "blas": blas})  # last: numba's call starts an OpenMP pool of its own
