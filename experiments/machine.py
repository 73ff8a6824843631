"""The machines that runs were played on, and the versions that a report was written with."""

import os
import platform
from pathlib import Path

import numpy as np
import pandas as pd

import law_ray


def cpus() -> int:
    """Return how many CPUs this process may use."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor() -> str:
    """Return the name of the processor, in few words."""
    file = Path("/proc/cpuinfo")  # of Linux
    lines = file.read_text().splitlines() if file.exists() else []
    name = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    return "Intel Xeon" if "Xeon" in name else name or platform.machine()


def machine(n_threads: int | None = None) -> str:
    """Return a sentence that names the versions, the threads (by default `cpus`), the cores and the processor."""
    n_threads = cpus() if n_threads is None else n_threads
    threads = "1 thread" if n_threads == 1 else f"{n_threads} threads"
    return f"{_versions()}, {threads} on {os.cpu_count()} cores of {processor()}."


def played_on(rows: pd.DataFrame) -> str:
    """Return which versions wrote a report, and which processors its rows were played on."""
    counts = rows["processor"].value_counts() if "processor" in rows else pd.Series(dtype=int)
    if counts.empty:
        return f"{_versions()}."
    each = [f"{name} ({count:,} rows)" for name, count in counts.items()] if len(counts) > 1 else list(counts.index)
    return f"{_versions()}. Runs on one thread each, where nothing else is said, of {' and '.join(each)}."


def _versions() -> str:
    return f"law_ray {law_ray.__version__}, Python {platform.python_version()}, NumPy {np.__version__}"
