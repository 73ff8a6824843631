import itertools
from pathlib import Path

import numpy as np
import pytest

from law_ray.errors import InputError
from law_ray.space.permutations import invert, sample
from objectives.qap import QAP, load


def problem(n: int, seed: int) -> QAP:
    A, B = np.random.default_rng(seed).integers(-5, 20, (2, n, n)).astype(float)
    return QAP("qap:test", None, A, B)


def test_the_value_is_the_sum_of_the_costs_of_all_flows() -> None:
    """As the trace of A P B' P' (for column sums, transposed), with P the matrix of the assignment."""
    qap = problem(7, seed=0)
    for permutation in sample(7, 10, np.random.default_rng(1)):
        P = np.eye(7)[permutation]
        assert qap(permutation) == np.trace(qap.A.T @ P @ qap.B @ P.T)
        by_hand = 0.0
        for i, j in itertools.product(range(7), repeat=2):
            by_hand += qap.A[i, j] * qap.B[permutation[i], permutation[j]]
        assert qap(permutation) == by_hand


def test_the_inverse_is_the_assignment_with_the_matrices_exchanged() -> None:
    qap = problem(8, seed=2)
    exchanged = QAP("qap:exchanged", None, qap.B, qap.A)
    permutations = sample(8, 10, np.random.default_rng(3))
    np.testing.assert_array_equal(exchanged.values(invert(permutations)), qap.values(permutations))


@pytest.mark.parametrize(("A", "B"), [((3, 3), (2, 2)), ((2, 3), (2, 3)), ((0, 0), (0, 0)), ((4,), (4,))])
def test_matrices_that_do_not_fit_are_refused(A: tuple, B: tuple) -> None:
    with pytest.raises(InputError, match="qap:x has matrices of shapes"):
        QAP("qap:x", None, np.zeros(A), np.zeros(B))


def test_a_file_is_loaded_as_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "mine.dat"
    path.write_text("2\n0 1 2 0\n0 3 5 0\n")
    qap = load(str(path))
    assert (qap.name, qap.n_items, qap.optimum) == ("qap:mine", 2, None)
    assert (qap([0, 1]), qap([1, 0])) == (1 * 3 + 2 * 5, 1 * 5 + 2 * 3)
