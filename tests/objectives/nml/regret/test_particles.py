import math

import numpy as np
import pytest

from objectives.nml.regret.frontier import Schedule, schedule
from objectives.nml.regret.particles import Tables, draw, tables
from objectives.nml.scores.multinomial import multinomial_regrets
from tests.oracles.graphs import component_of, dag_of, regret_by_sum


def prepared(dag: np.ndarray, r: list[int], n_rows: int, order: list[int]) -> tuple[Schedule, Tables]:
    """The schedule of this DAG itself, not of another member of its class."""
    rows = {states: states - 1 for states in r}
    log_c = multinomial_regrets(range(1, max(r) + 1), n_rows)
    return schedule(component_of(dag, r), order, rows, n_rows), tables(log_c)


def internal_nodes(dag: np.ndarray) -> list[int]:
    """In the order of their numbers: the DAGs below number parents before children."""
    return np.flatnonzero(dag.any(axis=1)).tolist()


SMALL = [
    (dag_of(2, (0, 1)), [3, 2], 6),
    (dag_of(3, (0, 1), (1, 2)), [2, 3, 2], 5),
    (dag_of(3, (0, 1), (0, 2)), [3, 2, 2], 5),
    (dag_of(3, (0, 2), (1, 2)), [2, 2, 3], 5),  # 16% low without the skips of marking
    (dag_of(3, (0, 2), (1, 2)), [2, 3, 2], 6),
    (dag_of(3, (0, 1), (0, 2), (1, 2)), [2, 3, 2], 5),
    (dag_of(4, (0, 1), (1, 2), (2, 3)), [2, 2, 2, 2], 6),
    (dag_of(4, (0, 2), (1, 2), (2, 3)), [2, 2, 3, 2], 4),
    (dag_of(4, (0, 1), (1, 2), (0, 3), (2, 3)), [2, 2, 2, 2], 5),
    (dag_of(4, (0, 1), (1, 3), (0, 2), (2, 3)), [2, 2, 2, 2], 6),
    (dag_of(4, (0, 1), (1, 2), (1, 3), (0, 3)), [2, 2, 2, 3], 4),
    (dag_of(4, (0, 3), (1, 3), (2, 3)), [2, 2, 2, 2], 6),
    (dag_of(5, (0, 2), (1, 2), (1, 3), (2, 4), (3, 4)), [2, 2, 2, 1, 2], 5),
]


@pytest.mark.parametrize(("tilt", "resample_below"), [(1.0, 0.0), (1.0, 1.0), (4.0, 0.5)])
@pytest.mark.parametrize(("dag", "r", "n_rows"), SMALL)
def test_the_mean_estimate_is_the_sum_over_all_data(
    dag: np.ndarray, r: list[int], n_rows: int, tilt: float, resample_below: float
) -> None:
    plan = prepared(dag, r, n_rows, internal_nodes(dag))
    rng = np.random.default_rng(5)
    exact = regret_by_sum(dag, r, n_rows)
    ratios = np.exp([draw(*plan, 500, rng, tilt, resample_below)[0] - exact for _ in range(60)])
    error = ratios.std(ddof=1) / math.sqrt(len(ratios))
    assert abs(ratios.mean() - 1) < 4 * error + 1e-12
    assert error < 0.05
