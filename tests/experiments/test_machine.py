import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.machine import cpus, machine, played_on


def test_one_thread_is_singular() -> None:
    assert ", 1 thread on " in machine(1)
    assert ", 2 threads on " in machine(2)
    assert f", {cpus()} thread" in machine()


def test_a_system_that_tells_less_than_linux_is_described_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 5)
    monkeypatch.setattr(Path, "exists", lambda path: False)
    assert cpus() == 5
    assert ", 5 threads on 5 cores of " in machine()


def test_the_processors_of_rows_are_named_with_how_many_they_played() -> None:
    both = pd.DataFrame({"processor": ["A", "B", "B", "B"]})
    assert played_on(both).endswith(
        ". Runs on one thread each, where nothing else is said, of B (3 rows) and A (1 rows)."
    )
    assert played_on(both[:1]).endswith(" of A.")
    assert played_on(both[:0]).endswith(f"NumPy {np.__version__}.")
