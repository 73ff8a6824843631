"""The machine and the versions that a report was written with."""

import os
import platform
from pathlib import Path

import numpy as np

import law_ray


def machine(n_threads: int) -> str:
    """Return a sentence that names the versions, the number of threads, the cores and the processor."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    cpu = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), "")
    versions = f"law_ray {law_ray.__version__}, Python {platform.python_version()}, NumPy {np.__version__}"
    threads = "1 thread" if n_threads == 1 else f"{n_threads} threads"
    return f"{versions}, {threads} on {os.cpu_count()} cores of {cpu or platform.machine()}."
