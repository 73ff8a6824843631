import numpy as np
import pytest

from experiments.ours.general_rivals.problems import (
    PROBLEMS,
    REPLICATES,
    is_noisy,
    observed,
    problem,
    published,
    truth,
)
from law_ray.errors import InputError

BUILT_IN = [name for name in PROBLEMS if name.partition(":")[0] in ("asteroid", "line", "slots")]


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_heuristics_of_a_domain_exist_and_propose_allowed_orderings(name):
    objective = problem(name)
    assert len(PROBLEMS[name].heuristics) >= 1
    for method in PROBLEMS[name].heuristics.values():
        permutation = getattr(objective, method)()
        assert sorted(permutation.tolist()) == list(range(objective.n_items))
        assert not hasattr(objective, "allows") or objective.allows(permutation[None]).all()


@pytest.mark.parametrize("name", [name for name in BUILT_IN if is_noisy(name)])
def test_the_truth_of_a_noisy_problem_is_fixed_and_within_the_errors_of_its_evaluations(name):
    rng = np.random.default_rng(0)
    permutation = rng.permutation(problem(name).n_items)
    true = truth(name, permutation)
    assert true == truth(name, permutation)
    values, errors = np.array([observed(name, permutation, rng) for _ in range(REPLICATES)]).T
    assert errors.min() > 0.0
    assert abs(values.mean() - true) < 4.0 * np.sqrt(2.0 / REPLICATES) * errors.mean()


def test_the_truth_of_an_exact_problem_is_its_value():
    permutation = np.random.default_rng(0).permutation(15)
    value, error = observed("asteroid:15", permutation, np.random.default_rng(1))
    assert (truth("asteroid:15", permutation), error) == (value, 0.0)


def test_the_published_figures_are_complete():
    figures = published()
    classical = [name for name in PROBLEMS if name not in BUILT_IN]
    assert len(figures) == len(classical) * 3 * 3  # methods and budgets
    assert set(figures["problem"]) == set(classical)


def test_a_linear_ordering_problem_sums_what_lies_below_the_diagonal(tmp_path, monkeypatch):
    (tmp_path / "N-p40-01").write_text("3\n 1 2 3\n 4 5 6\n 7 8 9\n")
    monkeypatch.setenv("LAW_RAY_INSTANCES", str(tmp_path))
    problem.cache_clear()
    try:
        assert truth("lop:N-p40-01", np.array([0, 1, 2])) == 4 + 7 + 8
        assert truth("lop:N-p40-01", np.array([2, 0, 1])) == 3 + 6 + 4
    finally:
        problem.cache_clear()


def test_a_missing_instance_is_named_with_the_remedy(tmp_path, monkeypatch):
    monkeypatch.setenv("LAW_RAY_INSTANCES", str(tmp_path))
    problem.cache_clear()
    with pytest.raises(InputError, match="lop:N-p50-01 is not in LAW_RAY_INSTANCES: put"):
        problem("lop:N-p50-01")
