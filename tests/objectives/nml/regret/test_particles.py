import math

import numpy as np
import pytest

from objectives.nml.regret import particles
from objectives.nml.regret.frontier import Schedule, schedule
from objectives.nml.regret.particles import Tables, bytes_per_particle, draw, tables, workspace_bytes
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
    (dag_of(5, (0, 1), (1, 2), (2, 3), (3, 4), (0, 4)), [2, 2, 2, 2, 2], 3),
]


@pytest.mark.parametrize(("tilt", "resample_below"), [(1.0, 0.0), (1.0, 1.0), (4.0, 0.5), (4.0, 1.0)])
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


def arrays(nested: object) -> list[np.ndarray]:
    return [nested] if isinstance(nested, np.ndarray) else [each for part in nested for each in arrays(part)]


TABLE = 2**18
"""Bytes of a table whose size is the same for all DAGs, which the formula leaves out."""


@pytest.mark.parametrize(
    ("dag", "r", "n_rows", "slack"),
    [
        (dag_of(7, *((i, 6) for i in range(6)), (0, 1), (1, 2)), [4] * 7, 5000, 0.05),
        (dag_of(4, (0, 2), (1, 2), (2, 3)), [50, 50, 2, 2], 3000, 0.04),
        (dag_of(8, *((i, j) for j in range(8) for i in range(j))), [2] * 8, 3000, 0.015),
        (dag_of(2, (0, 1)), [2, 2], 1_000_000, 1e-4),
    ],
)
def test_the_memory_of_all_particles_together_is_nearly_that_of_the_arrays(
    dag: np.ndarray, r: list[int], n_rows: int, slack: float
) -> None:
    steps = schedule(component_of(dag, r), internal_nodes(dag), {states: states - 1 for states in r}, n_rows)
    own = sum(each.nbytes for each in arrays(particles._allocate(steps, n_rows))) - TABLE
    assert own == pytest.approx(workspace_bytes(steps, n_rows), rel=slack)


@pytest.mark.parametrize(("dag", "r", "n_rows"), SMALL)
def test_the_memory_of_each_particle_is_that_of_its_arrays(
    monkeypatch: pytest.MonkeyPatch, dag: np.ndarray, r: list[int], n_rows: int
) -> None:
    steps, log_c = prepared(dag, r, n_rows, internal_nodes(dag))
    made, zeros = [], np.zeros
    monkeypatch.setattr(np, "zeros", lambda *given, **more: made.append(zeros(*given, **more)) or made[-1])
    draw(steps, log_c, 500, np.random.default_rng(0))
    of_particles = [each for each in made if each.shape[:2] == (2, 500)]
    assert [each.dtype for each in of_particles] == [np.uint16, np.int32]
    assert sum(each.nbytes for each in of_particles) == 500 * bytes_per_particle(steps)


def test_particles_are_resampled_where_half_of_them_would_do() -> None:
    plan = prepared(*SMALL[-1], internal_nodes(SMALL[-1][0]))
    of = [draw(*plan, 100, np.random.default_rng(1), 4.0, *below) for below in ((), (0.5,), (1.0,), (0.0,))]
    assert of[0] == of[1]
    assert len(set(of)) == 3
