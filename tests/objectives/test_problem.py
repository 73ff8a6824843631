import cloudpickle
import numpy as np
import pytest

from law_ray.errors import InputError
from law_ray.space.permutations import sample
from objectives import Objective
from objectives.fsp import FSP
from objectives.problem import Problem
from objectives.qap import QAP
from objectives.tsp import TSP

N_ITEMS = 6


def problems(seed: int = 0) -> list[Problem]:
    rng = np.random.default_rng(seed)
    A, B, times = rng.random((3, N_ITEMS, N_ITEMS))
    return [QAP("qap:a", 1.0, A, B), FSP("fsp:a", None, times), TSP("tsp:a", None, A)]


COMPONENTS = pytest.mark.parametrize("kind", range(3), ids=["qap", "fsp", "tsp"])


@COMPONENTS
def test_many_values_equal_the_single_ones(kind: int) -> None:
    problem = problems()[kind]
    permutations = sample(N_ITEMS, 20, np.random.default_rng(1))
    assert isinstance(problem, Objective)
    for many in (permutations, permutations.astype(np.uint8), np.asfortranarray(permutations), permutations.tolist()):
        np.testing.assert_array_equal(problem.values(many), [problem(permutation) for permutation in permutations])
    assert problem.values(np.empty((0, N_ITEMS), dtype=int)).shape == (0,)


@COMPONENTS
def test_a_pickle_is_the_same_problem(kind: int) -> None:
    problem = problems()[kind]
    copy = cloudpickle.loads(cloudpickle.dumps(problem))
    order = np.arange(N_ITEMS)
    assert (copy.name, copy.optimum, copy.fingerprint) == (problem.name, problem.optimum, problem.fingerprint)
    assert copy(order) == problem(order)


def test_fingerprints_depend_on_the_kind_and_the_data_alone() -> None:
    A, B = np.arange(16.0).reshape(2, 2, 4)[:, :, :2]
    prints = {
        each.fingerprint
        for each in (
            QAP("q", None, A, B),
            QAP("q", None, B, A),
            QAP("q", None, A, A),
            FSP("q", None, A),
            TSP("q", None, A),
        )
    }
    assert len(prints) == 5
    assert QAP("other", 3.0, A.astype(int), B).fingerprint == QAP("q", None, A, B).fingerprint
    assert FSP("q", None, np.ones((2, 3))).fingerprint != FSP("q", None, np.ones((3, 2))).fingerprint


def test_the_data_are_a_read_only_copy() -> None:
    times = np.ones((2, 3))
    problem = FSP("fsp:a", None, times)
    times[:] = 5
    assert problem([0, 1]) == 4
    with pytest.raises(ValueError, match="read-only"):
        problem.times[0, 0] = 5


@COMPONENTS
@pytest.mark.parametrize(
    "wrong",
    [[0, 1, 2, 3, 4], [0, 1, 2, 3, 4, 6], [-1, 0, 1, 2, 3, 4], [0, 0, 1, 2, 3, 4], [0.0, 1, 2, 3, 4, 5]],
)
def test_anything_but_a_permutation_is_refused(kind: int, wrong: list[float]) -> None:
    problem = problems()[kind]
    for call in (lambda: problem(wrong), lambda: problem.values([wrong]), lambda: problem.values(wrong)):
        with pytest.raises(InputError, match="permutation") as caught:
            call()
        assert "\n" not in str(caught.value)


def test_the_explanation_gives_the_best_known_value_and_the_gap_to_it() -> None:
    order = np.arange(N_ITEMS)
    with_optimum, without = QAP("qap:a", 24.0, np.eye(N_ITEMS), 5 * np.eye(N_ITEMS)), problems()[1]
    assert with_optimum.explain(order, np.random.default_rng(0)) == {"best_known": 24.0, "gap": 6.0}
    assert without.explain(order, np.random.default_rng(0)) == {}
