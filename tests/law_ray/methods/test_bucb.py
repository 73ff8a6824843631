import pytest

from law_ray.methods.bucb import gp_bucb
from tests.oracles.problems import Problem, assert_greedy


@pytest.mark.parametrize(
    ("n_items", "seed", "batch_size"), [(4, 0, 4), (5, 1, 5), (6, 2, 5), (6, 3, 5), (6, 4, 9), (8, 0, 3)]
)
@pytest.mark.parametrize("round", [1, 7])
def test_each_point_has_the_least_lower_bound_given_the_others(n_items, seed, batch_size, round):
    problem = Problem(n_items, seed)

    def objective(A, batch):
        return problem.ucb(A, batch_size, round, batch)

    assert_greedy(problem, gp_bucb(problem.context(round=round), batch_size), objective)
