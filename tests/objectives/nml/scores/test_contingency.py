import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from law_ray.errors import InputError
from objectives.nml.scores import contingency
from objectives.nml.scores.contingency import family_counts, max_log_likelihood
from tests.oracles.graphs import dag_of, dags, log_likelihood_by_rows, random_codes


def test_family_counts_are_pandas_counts_with_the_last_parent_fastest() -> None:
    r = np.array([2, 3, 4])
    codes = random_codes(60, r, 0)
    frame = pd.DataFrame(codes)
    grid = pd.MultiIndex.from_product([range(4), range(2)])
    expected = frame.groupby([2, 0])[1].value_counts().unstack(fill_value=0).reindex(grid, fill_value=0)
    np.testing.assert_array_equal(family_counts(codes, r, 1, (2, 0)), expected.to_numpy())
    np.testing.assert_array_equal(family_counts(codes, r, 1, ()), [np.bincount(codes[:, 1], minlength=3)])


def test_family_counts_keep_unobserved_states_and_configurations() -> None:
    counts = family_counts(np.array([[0, 0], [0, 0]]), np.array([3, 2]), 1, (0,))
    np.testing.assert_array_equal(counts, [[2, 0], [0, 0], [0, 0]])


@given(dags(), st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_log_likelihood_is_the_sum_over_rows(dag: np.ndarray, seed: int, n_rows: int) -> None:
    r = np.random.default_rng(seed).integers(2, 5, size=len(dag))
    codes = random_codes(n_rows, r, seed)
    assert max_log_likelihood(codes, r, dag) == pytest.approx(log_likelihood_by_rows(codes, dag), abs=1e-9)


def test_huge_families_count_observed_configurations_only() -> None:
    p = 50
    codes = random_codes(40, np.full(p, 4), 1)
    codes[:, 1:] = codes[:, 1:2]  # so that configurations repeat
    dag = dag_of(p, *((parent, 0) for parent in range(1, p)))
    assert family_counts(codes, np.full(p, 4), 0, tuple(range(1, p))).shape == (len(np.unique(codes[:, 1])), 4)
    assert max_log_likelihood(codes, np.full(p, 4), dag) == pytest.approx(log_likelihood_by_rows(codes, dag))


def test_the_sparse_count_is_the_dense_count_without_its_empty_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    r = np.array([3, 4, 2, 5])
    codes = random_codes(12, r, 2)
    dense = family_counts(codes, r, 3, (0, 1, 2))
    monkeypatch.setattr(contingency, "MAX_CELLS", 30)
    np.testing.assert_array_equal(family_counts(codes, r, 3, (0, 1, 2)), dense[dense.sum(axis=1) > 0])


def test_a_family_of_very_many_states_takes_the_memory_of_its_rows() -> None:
    codes = np.repeat(np.random.default_rng(0).integers(0, 30_000, (20_000, 1)), 2, axis=1)
    tracemalloc.start()
    found = max_log_likelihood(codes, np.array([30_000, 30_000]), dag_of(2, (0, 1)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6  # all cells of the observed configurations would take 3.5e9
    n = np.unique(codes[:, 0], return_counts=True)[1]
    assert found == pytest.approx(float(n @ np.log(n / n.sum())))  # the second column follows from the first


@pytest.mark.parametrize(
    ("codes", "cardinalities", "dag", "culprit"),
    [
        ([[0, 2]], [2, 2], dag_of(2), "column 1"),
        ([[-1, 0]], [2, 2], dag_of(2), "column 0"),
        ([[0.5, 0]], [2, 2], dag_of(2), "float64"),
        ([[0, 0]], [2, 2, 2], dag_of(3), r"\(1, 2\)"),
        ([[0, 0]], [2, 2], dag_of(3), r"\(3, 3\)"),
        (np.zeros((0, 2), dtype=int), [2, 2], dag_of(2), "no rows"),
    ],
)
def test_bad_input_is_refused_by_name(codes: object, cardinalities: list[int], dag: np.ndarray, culprit: str) -> None:
    with pytest.raises(InputError, match=culprit):
        max_log_likelihood(np.array(codes), np.array(cardinalities), dag)
