"""The machine and the versions that a report was written with."""

import os
import platform
from pathlib import Path

import numpy as np

import law_ray


def cpus() -> int:
    """Return how many CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def machine(n_threads: int | None = None) -> str:
    """Return a sentence that names the versions, the threads (by default `cpus`), the cores and the processor."""
    n_threads = cpus() if n_threads is None else n_threads
    file = Path("/proc/cpuinfo")  # of Linux
    lines = file.read_text().splitlines() if file.exists() else []
    cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    versions = f"law_ray {law_ray.__version__}, Python {platform.python_version()}, NumPy {np.__version__}"
    threads = "1 thread" if n_threads == 1 else f"{n_threads} threads"
    return f"{versions}, {threads} on {os.cpu_count()} cores of {cpu or platform.machine()}."
