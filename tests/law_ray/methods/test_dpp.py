import itertools
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chisquare

from law_ray.kernels.distance import DistanceHyperparameters
from law_ray.methods import dpp
from law_ray.methods.dpp import dpp_max_est, dpp_sample_est, sample_dpp
from law_ray.models.gp import GaussianProcess
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import enumerate_all
from tests.oracles.plain_law import PlainLaw
from tests.oracles.problems import Problem, assert_greedy


def as_set(points):
    return frozenset(tuple(p) for p in np.asarray(points).tolist())


def law_of_sets(kernel, candidates, k, distinct=lambda points: True):
    """Return the probability of each set of k candidates, proportional to its determinant; `kernel` includes noise."""
    sets = [list(s) for s in itertools.combinations(range(len(candidates)), k)]
    sets = [s for s in sets if distinct(candidates[s])]
    determinants = np.array([np.linalg.det(kernel[np.ix_(s, s)]) for s in sets])
    return dict(zip((as_set(candidates[s]) for s in sets), determinants / determinants.sum(), strict=True))


def assert_drawn_from(drawn, probabilities):
    counts = Counter(drawn)
    assert counts.keys() <= probabilities.keys()
    observed = [counts[s] for s in probabilities]
    assert chisquare(observed, len(drawn) * np.array(list(probabilities.values()))).pvalue > 1e-3


@pytest.mark.parametrize(
    ("n_items", "seed", "batch_size"), [(4, 0, 4), (5, 1, 5), (6, 2, 5), (6, 3, 5), (8, 0, 3), (4, 1, 12)]
)
def test_dpp_max_is_the_best_est_and_then_the_largest_variance_given_the_batch(n_items, seed, batch_size):
    problem = Problem(n_items, seed)
    optimum = problem.optimum()

    def objective(A, batch):
        return np.log(problem.variance(A, batch)) if len(batch) else problem.est(A, optimum)

    batch = dpp_max_est(problem.context(), batch_size)
    assert_greedy(problem, batch[: 5 if batch_size > 6 else batch_size], objective)
    assert len(as_set(batch)) == batch_size


@pytest.mark.parametrize(
    ("decay", "noise", "k"),  # far from uniform, and noise that matters
    [
        (0.3, 0.03, 3),
        (0.1, 0.3, 2),
        pytest.param(0.3, 0.03, 2, marks=pytest.mark.slow),
        pytest.param(0.1, 0.3, 3, marks=pytest.mark.slow),
    ],
)
def test_the_chain_draws_from_the_k_dpp_of_the_noisy_posterior(decay, noise, k):
    everything = enumerate_all(4)
    free, rng = everything[4:12], np.random.default_rng(0)
    excluded = Exclusions(permutations=[*everything[:4], *everything[12:]])
    process = GaussianProcess(
        everything[[12, 20]], np.array([0.0, 1.0]), DistanceHyperparameters(decay, 1.0, noise, 0.0)
    )
    drawn = [
        as_set(sample_dpp(process, list(free[:k]), everything[rng.integers(2, 14, size=70)], excluded, rng))
        for _ in range(1000)
    ]
    plain = PlainLaw(everything[[12, 20]], np.zeros(2), process.hyperparameters)
    noisy = plain.covariance(plain.X, free, free) + noise * np.eye(8)
    assert_drawn_from(drawn, law_of_sets(noisy, free, k))


def test_a_chain_without_proposals_stays_where_it_starts():
    problem = Problem(6, 1)
    start = [p for p in problem.candidates if p not in problem.excluded][:5]
    end = sample_dpp(problem.posterior, start, problem.candidates[:0], problem.excluded, np.random.default_rng(0))
    assert np.array_equal(end, start)


@pytest.mark.parametrize("batch_size", [2, 5])
def test_the_chain_gets_the_posterior_given_the_first_point_of_dpp_max_and_a_hundred_proposals(batch_size, monkeypatch):
    problem, handed = Problem(6, 1), []

    def spy(process, start, proposals, excluded, rng):
        handed.append((process, start, proposals, excluded))
        return start[::-1]

    monkeypatch.setattr(dpp, "sample_dpp", spy)
    chosen, greedy = dpp_sample_est(problem.context(), batch_size), dpp_max_est(problem.context(), batch_size)
    process, start, proposals, excluded = handed[0]
    assert chosen.tolist() == [greedy[0].tolist(), *greedy[:0:-1].tolist()]
    assert np.array_equal(start, greedy[1:])
    variance = problem.variance(problem.candidates, greedy[:1])
    np.testing.assert_allclose(process.predict(problem.candidates)[1], variance, rtol=0, atol=1e-9)
    assert proposals.shape == (100, 6)
    assert len(as_set(proposals)) > 80
    assert greedy[0] in excluded
    assert len(excluded) == len(problem.excluded) + 1


def test_a_batch_of_one_is_that_of_dpp_max():
    problem = Problem(6, 1)
    assert dpp_sample_est(problem.context(), 1).tolist() == dpp_max_est(problem.context(), 1).tolist()


@pytest.mark.parametrize("batch_size", [1, 3])
def test_of_a_batch_that_continues_a_round_all_points_are_drawn_given_the_data_alone(batch_size, monkeypatch):
    problem, handed = Problem(6, 1), []

    def spy(process, start, proposals, excluded, rng):
        handed.append((process, start, len(excluded)))
        return start[::-1]

    monkeypatch.setattr(dpp, "sample_dpp", spy)
    context = problem.context(continue_round=True)
    greedy = dpp_max_est(problem.context(continue_round=True), batch_size)
    chosen = dpp_sample_est(context, batch_size)
    assert chosen.tolist() == greedy[::-1].tolist()
    ((process, start, n_excluded),) = handed
    assert process is context.posterior
    assert np.array_equal(start, greedy)
    assert n_excluded == len(problem.excluded)


@pytest.mark.slow
def test_sampled_points_of_distinct_keys_are_draws_from_the_sets_of_such():
    """The keys stand for 1 to 5 permutations each, so that a set has more or fewer free ones beside it than another."""
    problem, rng = Problem(4, 3), np.random.default_rng(0)
    key_of = dict(zip(map(tuple, problem.candidates.tolist()), np.repeat(range(6), [10, 5, 4, 3, 1, 1]), strict=True))
    excluded = Exclusions(lambda p: key_of[tuple(p.tolist())], problem.candidates[:1])
    free = problem.candidates[10:]
    drawn = [
        as_set(sample_dpp(problem.posterior, list(free[[0, 5, 9]]), free[rng.integers(14, size=60)], excluded, rng))
        for _ in range(2000)
    ]

    def distinct(points):
        return len({key_of[tuple(p)] for p in points.tolist()}) == 3

    noisy = problem.posterior.posterior(free, free) + problem.h.noise * np.eye(len(free))
    assert_drawn_from(drawn, law_of_sets(noisy, free, 3, distinct))


def test_a_sampled_batch_of_a_large_space_is_free_and_not_that_of_dpp_max():
    problem = Problem(8, 1)
    batch = dpp_sample_est(problem.context(), 9)
    assert len(as_set(batch)) == 9
    assert not any(point in problem.excluded for point in batch)
    assert as_set(batch) != as_set(dpp_max_est(problem.context(), 9))
