import itertools

import numpy as np
import pytest

from law_ray.acquisition.functions import optimum_estimate
from law_ray.acquisition.landscape import Landscape
from law_ray.acquisition.local_search import climb
from law_ray.kernels.distance import DistanceHyperparameters
from law_ray.methods import greedy, law
from law_ray.methods.registry import METHODS
from law_ray.models.gp import GaussianProcess
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import enumerate_all, sample
from tests.oracles.contexts import context_of
from tests.oracles.orderings import known_of
from tests.oracles.plain_law import neighbours
from tests.oracles.problems import Problem, assert_greedy, smooth_process


@pytest.fixture
def optimum(monkeypatch):
    """Record what the optimum estimate is given and returns, as it depends on the permutations that are sampled."""
    record = {}

    def spy(mean, variance, best, multiplicity, original=law.optimum_estimate):
        estimate = original(mean, variance, best, multiplicity)
        record.update(mean=mean, variance=variance, best=best, estimate=estimate)
        return record["estimate"]

    monkeypatch.setattr(law, "optimum_estimate", spy)
    return record


problems = pytest.mark.parametrize(("n_items", "seed"), [(n_items, seed) for n_items in (4, 5, 6) for seed in range(4)])


ROUND = 4


def sigmoid(a):
    return 0.01 + 0.99 / (1 + np.exp(-0.2 * a))


def plain(problem, method, batch_size):
    """Return the acquisition and its weight, by direct formulas, as functions of permutations."""
    if method.endswith("-ei"):
        return lambda A: np.log(problem.ei(A, problem.best)), lambda a: 0.01 + np.exp(a)
    if method.endswith("-est"):
        optimum = problem.optimum()
        return lambda A: problem.est(A, optimum), sigmoid
    everywhere = problem.ucb(problem.candidates, batch_size, ROUND)
    return (
        lambda A: problem.ucb(A, batch_size, ROUND),
        lambda a: sigmoid((a - everywhere.mean()) / everywhere.std()),
    )


@pytest.mark.parametrize("method", ["law-est", "law-ei", "law-ucb", "law-prior-est", "law-prior-ei"])
@pytest.mark.parametrize(("n_items", "seed", "batch_size"), [(4, 0, 4), (5, 1, 5), (6, 2, 6), (6, 3, 5), (8, 0, 3)])
@pytest.mark.parametrize("continue_round", [False, True])
def test_each_point_is_the_greedy_choice_by_direct_formulas(method, n_items, seed, batch_size, continue_round):
    problem = Problem(n_items, seed)
    acquisition, weight = plain(problem, method, batch_size)
    gauge = problem.prior_variance if "prior" in method else problem.variance

    def objective(A, batch):
        if len(batch) == 0 and not continue_round:
            return acquisition(A)
        return np.log(gauge(A, batch)) + 2 * np.log(weight(acquisition(A)))

    context = problem.context(round=ROUND, continue_round=continue_round)
    assert_greedy(problem, METHODS[method].choose(context, batch_size), objective)


@problems
def test_searched_objectives_are_the_direct_formulas_everywhere(n_items, seed, optimum, monkeypatch):
    problem, searched = Problem(n_items, seed), []

    def spy(score, known, excluded, constraints, rng, certify, original=greedy.maximise):
        searched.append(score(problem.candidates))
        return original(score, known, excluded, constraints, rng, certify)

    monkeypatch.setattr(greedy, "maximise", spy)
    batch = law.law_est(problem.context(), 4)
    assert len(searched) == 4
    for b, values in enumerate(searched):
        expected = problem.objective(problem.candidates, optimum["estimate"], batch[:b])
        np.testing.assert_allclose(values, expected, rtol=1e-8, atol=1e-8)


@problems
def test_optimum_is_estimated_from_the_posterior_at_permutations_and_the_best_value(n_items, seed, optimum):
    problem = Problem(n_items, seed)
    law.law_est(problem.context(), 1)
    assert optimum["best"] == pytest.approx(problem.best)
    sampled = np.column_stack([optimum["mean"], optimum["variance"]])
    everywhere = np.column_stack([problem.mean(problem.candidates), problem.variance(problem.candidates)])
    assert np.array_equal(np.unique(sampled.round(6), axis=0), np.unique(everywhere.round(6), axis=0))


@problems
def test_gains_with_noise_multiply_to_the_determinant_of_the_noisy_posterior(n_items, seed):
    problem = Problem(n_items, seed)
    batch = law.law_est(problem.context(), 5)
    gains, given_batch = [], problem.posterior
    for point in batch:
        gains.append(given_batch.predict(point[None])[1][0] + problem.h.noise)
        given_batch = given_batch.condition(point[None])
    given = np.concatenate([problem.X, problem.pending])
    noisy = problem.covariance(given, batch, batch) + problem.h.noise * np.eye(5)
    assert np.prod(gains) == pytest.approx(np.linalg.det(noisy), rel=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_gains_without_noise_multiply_to_the_determinant_of_the_acquisition_weighted_kernel(seed, optimum, monkeypatch):
    problem, gains = Problem(5, seed, noise=1e-10), []

    def spy(score, known, excluded, constraints, rng, certify, original=greedy.maximise):
        point = original(score, known, excluded, constraints, rng, certify)
        gains.append(score(point)[0])
        return point

    monkeypatch.setattr(greedy, "maximise", spy)
    batch = law.law_est(problem.context(), 5)
    _, weight = problem.weight(batch, optimum["estimate"])
    given = np.concatenate([problem.X, problem.pending])
    weighted = weight[:, None] * problem.covariance(given, batch, batch) * weight
    first = np.log(weighted[0, 0])  # the first point is the best acquisition, not a gain
    assert first + sum(gains[1:]) == pytest.approx(np.linalg.slogdet(weighted).logabsdet, abs=1e-6)


@problems
def test_a_batch_is_distinct_and_never_excluded(n_items, seed):
    problem = Problem(n_items, seed)
    batch = law.law_est(problem.context(), 8)
    rows = {tuple(p) for p in batch.tolist()}
    assert len(rows) == 8
    assert not rows & set(problem.busy)
    assert len(problem.excluded) == len(problem.busy)


def test_whole_small_space_can_be_one_batch():
    problem = Problem(4, 0)
    rows = {tuple(p) for p in law.law_est(problem.context(), 12).tolist()}
    assert rows == set(itertools.permutations(range(4))) - set(problem.busy)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_batch_holds_each_free_key_once(seed):
    problem = Problem(5, seed)
    excluded = Exclusions(lambda p: int(p[0]), problem.X[:1])
    batch = law.law_est(context_of(problem.posterior, problem.best, excluded), 4)
    assert sorted([*batch[:, 0].tolist(), int(problem.X[0, 0])]) == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("n_items", [4, 7])
def test_the_optimum_estimate_of_a_small_space_counts_each_permutation_once(n_items):
    process = smooth_process(n_items, 8)
    exact = optimum_estimate(*process.predict(enumerate_all(n_items)), 0.0)
    assert law.estimate_optimum(process, 0.0, Constraints(n_items), np.random.default_rng(0)) == exact


@pytest.mark.parametrize(("n_items", "n"), [(12, 20), (20, 100)])
def test_the_optimum_estimate_is_that_of_a_hundred_thousand_permutations(n_items, n):
    """The sample is a tenth of that, so its points must count ten times. Otherwise the estimate would be 0.3 off."""
    process = smooth_process(n_items, n)
    whole = optimum_estimate(*process.predict(sample(n_items, 100_000, np.random.default_rng(1))), -1.5)
    found = [
        law.estimate_optimum(process, -1.5, Constraints(n_items), np.random.default_rng(seed)) for seed in range(4)
    ]
    assert np.mean(found) == pytest.approx(whole, abs=0.05)


@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("n", [40, *(pytest.param(n, marks=pytest.mark.slow) for n in (41, 42))])
def test_a_batch_from_the_pool_is_as_good_as_one_searched_point_by_point(n, prior, monkeypatch):
    """On average over seeds, by the objective of the whole batch: log det of the noisy gauge, and the weights."""
    process, size = smooth_process(10, n), 20
    choose, covariance = (law.law_prior_est, process.kernel) if prior else (law.law_est, process.posterior)
    optimum = law.estimate_optimum(process, -2.0, Constraints(10), np.random.default_rng(0))

    def objective(seed):
        batch = choose(context_of(process, -2.0, seed=seed), size)
        mean, variance = process.predict(batch)
        noisy = covariance(batch, batch) + process.hyperparameters.noise * np.eye(size)
        return np.linalg.slogdet(noisy)[1] + 2 * np.log(law.sigmoid_weight(law.est(mean, variance, optimum))).sum()

    pooled = [objective(seed) for seed in range(4)]
    monkeypatch.setattr(law, "N_SEARCHES", size)
    searched = [objective(seed) for seed in range(4)]
    assert np.mean(pooled) >= np.mean(searched) - 0.01


@pytest.mark.parametrize("constant", ["a single ordering", "equal values"])
def test_law_ucb_of_orderings_that_are_all_alike_divides_by_no_zero(constant):
    single = constant == "a single ordering"
    constraints = Constraints(9, [(i, i + 1) for i in range(8)]) if single else Constraints(4)
    X = sample(constraints.n_items, 5, np.random.default_rng(0))
    process = GaussianProcess(X, np.arange(5.0), DistanceHyperparameters(1.0 if single else 1e-30, 1.0, 0.1, 0.0))
    context = context_of(process, excluded=Exclusions(), constraints=constraints)
    with np.errstate(all="raise", under="ignore"):
        batch = law.law_ucb(context, 1 if single else 3)
    assert len(np.unique(batch, axis=0)) == (1 if single else 3)


def test_law_ucb_is_standardized_over_orderings_where_there_are_too_many_to_predict_all(monkeypatch):
    process, acquisitions = smooth_process(10, 20), []
    monkeypatch.setattr(law, "law", lambda context, batch_size, acquisition, weight: acquisitions.append(acquisition))
    law.law_ucb(context_of(process), 3)
    values = acquisitions[0](*process.predict(sample(10, 10_000, np.random.default_rng(1))))
    assert values.mean() == pytest.approx(0.0, abs=0.05)
    assert values.std() == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("count", [0, 2])
def test_the_prior_is_conditioned_on_pending_points_if_there_are_any(count, monkeypatch):
    """Of matrices without rows, LAPACK complains on the standard output."""
    process, conditioned = smooth_process(9, 30), []

    def spy(gauge, permutations, original=GaussianProcess.condition):
        conditioned.append(permutations)
        return original(gauge, permutations)

    monkeypatch.setattr(GaussianProcess, "condition", spy)
    pending = sample(9, count, np.random.default_rng(1))
    law.law_prior_est(context_of(process, -2.0, without_value=pending), 1)
    np.testing.assert_array_equal(conditioned, [pending] if count else [])


def test_points_that_climb_to_one_maximum_in_the_end_stay_apart():
    """Without exclusions among them, all would end at the maximum of this value, which disregards the batch."""
    process, excluded = smooth_process(9, 30), Exclusions()

    def gains(given_batch):
        return Landscape(process, given_batch, lambda mean, variance, given: -mean)

    (top, *_), _ = climb(gains(process), process.X, Exclusions(), Constraints(9))
    points = [top, *neighbours(top)[:5]]
    for point in points:
        excluded.add(point)
    refined = law._refined(points, process, gains, excluded, Constraints(9))
    assert len({tuple(point.tolist()) for point in refined}) == 6
    assert all(point in excluded for point in refined)
    assert len(excluded) == 6  # each point left its old place free
    for point in refined:
        free = [p for p in neighbours(point) if p not in excluded]
        assert process.predict(np.array(free))[0].min() >= process.predict(point[None])[0][0] - 1e-9


def test_a_pooled_batch_has_no_point_twice_where_few_keys_are_left():
    """Twelve points of 13 keys, so that points often climb onto one another's keys."""
    process = smooth_process(13, 30)
    for seed in range(3):
        excluded = Exclusions(lambda p: int(p[0]), process.X[:1])
        batch = law.law_est(context_of(process, -2.0, excluded, seed=seed), 12)
        assert len(set(batch[:, 0].tolist())) == 12
        assert process.X[0, 0] not in batch[:, 0]


WITHIN = known_of(11)
within = pytest.mark.parametrize("known", WITHIN.values(), ids=WITHIN)


def constrained_process(constraints, n=30):
    rng = np.random.default_rng(n)
    X = constraints.sample(n, rng)
    y = rng.normal(size=(constraints.n_items,) * 2)[np.arange(constraints.n_items), X].sum(axis=1)
    return GaussianProcess(X, y, DistanceHyperparameters(1.0, 1.0, 1e-3, 0.0))


@within
@pytest.mark.parametrize("batch_size", [3, 14])
def test_a_batch_and_its_pool_satisfy_the_constraints(known, batch_size, monkeypatch):
    constraints = Constraints(*known)
    process, pooled = constrained_process(constraints), []

    def spy(pool, *arguments, original=greedy.Pool.best):
        pooled.append(pool._permutations)
        return original(pool, *arguments)

    monkeypatch.setattr(greedy.Pool, "best", spy)
    excluded = Exclusions(permutations=process.X)
    batch = law.law_est(context_of(process, -2.0, excluded, constraints), batch_size)
    assert len(np.unique(batch, axis=0)) == batch_size
    assert not any(point in excluded for point in batch)
    assert constraints.allows(batch).all()
    assert len(pooled) == (0 if batch_size == 3 else 5)
    assert all(constraints.allows(permutations).all() for permutations in pooled)


@pytest.mark.parametrize("known", [(9, [(i, i + 1) for i in range(6)]), (8, [(0, 1), (2, 1)], {3: 3})])
def test_the_optimum_estimate_of_a_small_constrained_space_counts_each_allowed_permutation_once(known):
    constraints = Constraints(*known)
    process, candidates = smooth_process(known[0], 8), enumerate_all(known[0])
    exact = optimum_estimate(*process.predict(candidates[constraints.allows(candidates)]), 0.0)
    assert law.estimate_optimum(process, 0.0, constraints, np.random.default_rng(0)) == pytest.approx(exact, abs=1e-9)


def test_the_optimum_estimate_of_a_large_constrained_space_is_over_allowed_permutations():
    """Data and model are such that the optimum is not allowed: over all permutations, the estimate is 0.5 less."""
    constraints = Constraints(20, [(i, j) for i in range(10) for j in range(10, 20)])
    X = sample(20, 200, np.random.default_rng(0))
    y = (np.argsort(X, axis=1)[:, :10] < 10).sum(axis=1).astype(float)  # the constraints make it the largest
    process = GaussianProcess(X, y, DistanceHyperparameters(0.2, 3.0, 1e-2, 0.0))
    allowed = sample(10, 100_000, np.random.default_rng(1)), 10 + sample(10, 100_000, np.random.default_rng(2))
    whole = optimum_estimate(*process.predict(np.concatenate(allowed, axis=1)), 4.0)
    found = [law.estimate_optimum(process, 4.0, constraints, np.random.default_rng(seed)) for seed in range(3)]
    anywhere = law.estimate_optimum(process, 4.0, Constraints(20), np.random.default_rng(0))
    assert np.mean(found) == pytest.approx(whole, abs=0.05)
    assert anywhere < whole - 0.5
