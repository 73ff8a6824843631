import multiprocessing
import time

import numpy as np
import pytest

from experiments.ours.networks.isolated import learn
from law_ray.errors import RunError
from law_ray.typing import BoolArray
from objectives.nml.data.tables import Table

TABLE = Table("small", ("a", "b"), (("0", "1"), ("0", "1")), np.array([[0, 1], [1, 0]]), None)
DAG = np.array([[False, True], [False, False]])


def at_once(table: Table) -> BoolArray:
    return DAG


def for_ever(table: Table) -> BoolArray:
    time.sleep(3_600)
    return at_once(table)


def broken(table: Table) -> BoolArray:
    raise ValueError("no")


def test_a_learner_returns_from_its_process() -> None:
    learned = learn(at_once, TABLE, 300)
    assert learned is not None and (learned.dag == DAG).all() and 0 <= learned.seconds < 300


def test_a_learner_is_stopped_at_the_limit() -> None:
    assert learn(for_ever, TABLE, 1) is None
    assert not multiprocessing.active_children()


def test_a_learner_that_fails_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RunError, match="broken failed on small"):
        learn(broken, TABLE, 300)
    assert "ValueError: no" in capfd.readouterr().err
