import numpy as np
import pytest

from law_ray.methods import law
from law_ray.methods.q_point import q_ei, q_est
from tests.oracles.contexts import context_of
from tests.oracles.problems import Problem, assert_greedy, smooth_process

problems = pytest.mark.parametrize(
    ("n_items", "seed", "batch_size"), [(4, 0, 4), (5, 1, 5), (6, 2, 5), (6, 3, 5), (6, 4, 5), (6, 5, 9)]
)


def believed_best(problem, batch):
    """The least value once each point of the batch was observed at its mean."""
    return min([problem.best, *problem.mean(batch)]) if len(batch) else problem.best


@problems
def test_each_point_of_q_ei_has_the_largest_ei_given_the_others_at_their_means(n_items, seed, batch_size):
    problem = Problem(n_items, seed)

    def objective(A, batch):
        return np.log(problem.ei(A, believed_best(problem, batch), batch))

    assert_greedy(problem, q_ei(problem.context(), batch_size), objective)


@problems
def test_each_point_of_q_est_has_the_largest_est_given_the_others_at_their_means(n_items, seed, batch_size):
    problem = Problem(n_items, seed)

    def objective(A, batch):
        return problem.est(A, problem.optimum(believed_best(problem, batch), batch), batch)

    assert_greedy(problem, q_est(problem.context(), batch_size), objective)


@pytest.mark.parametrize(("choose", "value"), [(q_ei, "ei"), (q_est, "est")])
def test_batches_of_a_large_space_consist_of_local_maxima(choose, value):
    problem = Problem(8, 1)

    def objective(A, batch):
        best = believed_best(problem, batch)
        if value == "ei":
            return np.log(problem.ei(A, best, batch))
        return problem.est(A, problem.optimum(best, batch), batch)

    assert_greedy(problem, choose(problem.context(), 3), objective)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_point_believed_to_be_better_than_all_values_is_the_least_value_for_the_next(seed):
    """As above, where the mean at the first point is so far below the best value that the best value would not do."""
    problem = Problem(6, seed, n=60, decay=0.1, noise=1e-4)

    def ei(A, batch):
        return np.log(problem.ei(A, believed_best(problem, batch), batch))

    def est(A, batch):
        return problem.est(A, problem.optimum(believed_best(problem, batch), batch), batch)

    for choose, objective in ((q_ei, ei), (q_est, est)):
        batch = choose(problem.context(), 4)
        assert believed_best(problem, batch[:1]) < problem.best - 0.1
        assert_greedy(problem, batch, objective)


def test_every_optimum_estimate_of_q_est_starts_from_the_least_value_then_believed(monkeypatch):
    problem, given = Problem(6, 0, n=60, decay=0.1, noise=1e-4), []

    def spy(mean, variance, best, multiplicity, original=law.optimum_estimate):
        given.append(best)
        return original(mean, variance, best, multiplicity)

    monkeypatch.setattr(law, "optimum_estimate", spy)
    batch = q_est(problem.context(), 4)
    assert given == pytest.approx([believed_best(problem, batch[:b]) for b in range(4)], abs=1e-7)
    assert given[1] < given[0] - 0.1


def test_the_optimum_estimates_of_a_large_space_are_by_a_sample_that_stands_for_ten_times_as_many(monkeypatch):
    given = []

    def spy(mean, variance, best, multiplicity, original=law.optimum_estimate):
        given.append((len(mean), multiplicity))
        return original(mean, variance, best, multiplicity)

    monkeypatch.setattr(law, "optimum_estimate", spy)
    context = context_of(smooth_process(9, 20))
    batch = q_est(context, 2)
    assert given == 2 * [(10_000, 10.0)]  # of 362,880 orderings
    assert not any(point in context.excluded for point in batch)
    assert batch[0].tolist() != batch[1].tolist()
