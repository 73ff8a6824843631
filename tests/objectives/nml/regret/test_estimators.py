import math
from collections.abc import Callable

import numpy as np
import pytest

from law_ray.errors import InputError
from objectives.nml.regret import importance
from objectives.nml.regret.estimators import nml_regret
from objectives.nml.scores.multinomial import multinomial_regret
from tests.oracles.graphs import dag_of, regret_by_sum


@pytest.mark.parametrize(
    ("dag", "r", "n_rows"),
    [
        (dag_of(3, (0, 1), (1, 2)), [2, 3, 2], 4),
        (dag_of(3, (1, 0), (1, 2)), [2, 3, 2], 4),
        (dag_of(3, (0, 2), (1, 2)), [2, 2, 3], 4),
        (dag_of(3, (0, 1), (0, 2), (1, 2)), [2, 3, 2], 3),
        (dag_of(3), [2, 3, 4], 3),
        (dag_of(2, (0, 1)), [2, 9], 3),  # more states than a packed word holds
        (dag_of(4, (0, 1), (1, 2), (2, 3)), [2, 2, 2, 2], 4),
        (dag_of(4, (0, 2), (1, 2), (2, 3)), [2, 2, 2, 2], 4),
    ],
)
def test_uniform_estimate_has_the_exact_mean(dag: np.ndarray, r: list[int], n_rows: int) -> None:
    exact = regret_by_sum(dag, r, n_rows)
    estimate = nml_regret(dag, r, n_rows, "uniform", 400_000, rng=np.random.default_rng(11))
    error = math.expm1(estimate.value - exact)  # the mean of the weights is unbiased
    assert abs(error) < 4 * estimate.standard_error
    assert estimate.standard_error < 0.02


def test_uniform_estimate_of_isolated_nodes_adds_their_exact_regrets() -> None:
    r = [2, 3]
    estimate = nml_regret(dag_of(2), r, 5, "uniform", 200_000, rng=np.random.default_rng(1))
    exact = sum(multinomial_regret(states, 5) for states in r)
    assert abs(math.expm1(estimate.value - exact)) < 4 * estimate.standard_error < 0.1


def test_the_value_depends_on_the_state_of_the_generator() -> None:
    dag = dag_of(4, (0, 1), (1, 2), (3, 2))

    def value(seed: int) -> float:
        return nml_regret(dag, [3, 2, 4, 3], 500, "uniform", 200, rng=np.random.default_rng(seed)).value

    assert value(5) == value(5)
    assert value(5) != value(6)


def test_the_default_is_the_importance_estimate_without_its_plan() -> None:
    dag, r = dag_of(4, (0, 2), (1, 2), (2, 3)), [2, 3, 2, 4]
    found = nml_regret(dag, r, 200, rng=np.random.default_rng(5))
    plan = importance.plan(dag, r, 200, target_se=0.1, seed=int(np.random.default_rng(5).integers(2**63)))
    assert found == importance.combine(plan, importance.run(plan, range(len(plan.batches))))
    assert nml_regret(dag, r, 200) == nml_regret(dag, r, 200, "importance", target_se=0.1)


@pytest.mark.parametrize("effort", [{"n_samples": 300}, {"target_se": 0.5}])
def test_the_effort_is_that_of_the_plan(effort: dict) -> None:
    dag, r = dag_of(4, (0, 2), (1, 2), (2, 3)), [2, 3, 2, 4]
    seed = int(np.random.default_rng(0).integers(2**63))
    plan = importance.plan(dag, r, 200, **effort, seed=seed)
    assert nml_regret(dag, r, 200, **effort) == importance.combine(plan, importance.run(plan, range(len(plan.batches))))


@pytest.mark.parametrize("estimator", ["importance", "uniform"])
def test_the_generator_is_by_default_that_of_seed_0(estimator: str) -> None:
    dag, r = dag_of(4, (0, 2), (1, 2), (2, 3)), [2, 3, 2, 4]
    assert nml_regret(dag, r, 50, estimator, 30) == nml_regret(dag, r, 50, estimator, 30, np.random.default_rng(0))


@pytest.mark.parametrize("matrix", [lambda dag: dag.astype(int), lambda dag: dag.tolist()])
def test_a_dag_of_zeros_and_ones_or_of_lists_is_taken_too(matrix: Callable[[np.ndarray], object]) -> None:
    dag, r = dag_of(5, (0, 2), (1, 2), (2, 3)), [2, 3, 2, 4, 2]
    for estimator in ("importance", "uniform"):
        assert nml_regret(matrix(dag), r, 50, estimator, 30) == nml_regret(dag, np.array(r), 50, estimator, 30)


def test_the_least_values_are_taken() -> None:
    """One row, a variable of one state, one data set, two particles."""
    assert nml_regret(dag_of(2, (0, 1)), [3, 1], 1).value == pytest.approx(math.log(3))
    assert nml_regret(dag_of(2, (0, 1)), [3, 1], 1, "uniform", 1).value == pytest.approx(math.log(3))
    assert math.isfinite(nml_regret(dag_of(3, (0, 2), (1, 2)), [2, 2, 2], 10, n_samples=2).value)


def test_the_papers_estimator_draws_ten_thousand_samples_by_default() -> None:
    dag, r = dag_of(3, (0, 2), (1, 2)), [2, 3, 2]
    assert nml_regret(dag, r, 50, "uniform") == nml_regret(dag, r, 50, "uniform", 10_000)


def test_estimators_agree() -> None:
    dag, r = dag_of(4, (0, 1), (0, 2), (0, 3)), [2, 3, 2, 2]
    exact = nml_regret(dag, r, 8, "exact")
    uniform = nml_regret(dag, r, 8, "uniform", 100_000)
    assert nml_regret(dag, r, 8) == exact
    assert exact.value == pytest.approx(uniform.value, abs=4 * uniform.standard_error)


@pytest.mark.parametrize(
    ("dag", "r", "n_rows", "options", "culprit"),
    [
        (
            dag_of(2),
            [2, 2],
            10,
            {"estimator": "importent"},
            "'importent' is unknown: choose importance, uniform, exact",
        ),
        (dag_of(2), [2, 2, 2], 10, {}, r"\(2, 2\)"),
        (dag_of(2, (0, 1), (1, 0)), [2, 2], 10, {}, "cycle"),
        (dag_of(2), [2, 2], 0, {}, "n_rows=0"),
        (dag_of(2), [2, 2], 10.5, {}, "n_rows=10.5: choose a whole number"),
        (dag_of(2), [2, 0], 10, {}, "cardinalities of at least 1"),
        (dag_of(2), [2, 2], 10, {"estimator": "uniform", "n_samples": 0}, "n_samples=0"),
        (dag_of(2), [2, 2], 10, {"n_samples": 0}, "n_samples=0"),
        (dag_of(2), [2, 2], 10, {"n_samples": 1}, "n_samples=1: choose a whole number of at least 2"),
        (dag_of(2), [2, 2], 10, {"n_samples": 9.5}, "n_samples=9.5: choose a whole number"),
        (np.zeros((0, 0), dtype=bool), [], 10, {}, "^the DAG has no variables: pass at least one$"),
        (dag_of(2), [2, 2], 10, {"target_se": 0.0}, "target_se=0.0"),
        (dag_of(2), [2, 2], 10, {"target_se": math.nan}, "target_se=nan"),
        (dag_of(2), [2, 2], 10, {"target_se": math.inf}, "target_se=inf"),
        (dag_of(2), [2, 2], 10, {"n_samples": 9, "target_se": 0.1}, "n_samples=9 and target_se=0.1: choose one"),
        (dag_of(2), [2, 2], 10, {"estimator": "uniform", "target_se": 0.1}, "needs estimator='importance'"),
        (dag_of(4, (0, 2), (1, 2), (2, 3)), [2] * 4, 10, {"estimator": "exact"}, "choose estimator='importance'"),
    ],
)
def test_bad_input_is_refused_by_name(
    dag: np.ndarray, r: list[int], n_rows: float, options: dict, culprit: str
) -> None:
    with pytest.raises(InputError, match=culprit):
        nml_regret(dag, r, n_rows, rng=np.random.default_rng(0), **options)
