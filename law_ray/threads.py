"""Numbers of threads, set explicitly: what a process inherits depends on who started it."""

import os
import sys

from threadpoolctl import threadpool_limits


def limit(threads: int) -> None:
    """Give BLAS, OpenMP, torch and numba this many threads in this process, whether or not they are imported yet."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(threads)
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(threads)
    if numba := sys.modules.get("numba"):
        numba.set_num_threads(min(threads, numba.config.NUMBA_NUM_THREADS))
    else:
        os.environ["NUMBA_NUM_THREADS"] = str(threads)
    threadpool_limits(threads)  # last: numba's call starts an OpenMP pool of its own
