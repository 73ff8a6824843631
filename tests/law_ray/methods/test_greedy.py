import numpy as np
import pytest

from law_ray.acquisition.landscape import Landscape
from law_ray.methods import greedy
from law_ray.models.gp import GaussianProcess
from law_ray.models.prior_mean import PriorMean
from law_ray.space.permutations import sample
from tests.oracles.contexts import context_of
from tests.oracles.problems import smooth_process


@pytest.mark.parametrize("prior", [False, True])
@pytest.mark.parametrize("prior_mean", [None, PriorMean(lambda permutations: permutations[:, 0], 1.0)])
def test_the_moments_of_a_pool_are_those_of_the_posterior_and_of_the_gauge_given_the_batch(prior, prior_mean):
    process, rng = smooth_process(9, 30), np.random.default_rng(0)
    process = GaussianProcess(process.X, np.arange(30.0), process.hyperparameters, prior_mean=prior_mean)
    points, added = sample(9, 3, rng), sample(9, 4, rng)
    gauge = process.prior() if prior else process
    pool, given_batch = greedy.Pool(process, gauge, [process.X, sample(9, 50, rng)], 5), gauge
    for b, point in enumerate(points):
        if b == 1:
            pool.add(given_batch, list(added))
        pool.condition(given_batch, point)
        given_batch = given_batch.condition(point[None])
    mean, variance = process.predict(pool._permutations)
    alone = GaussianProcess(points, np.zeros(3), process.hyperparameters)
    expected = (alone if prior else process.condition(points)).predict(pool._permutations)[1]
    assert pool._permutations[-4:].tolist() == added.tolist()
    np.testing.assert_allclose(pool._mean, mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(pool._variance, variance, rtol=0, atol=1e-10)
    np.testing.assert_allclose(pool._given_batch, expected, rtol=0, atol=1e-10)


def test_starts_are_the_best_of_each_source_and_others():
    process = smooth_process(9, 30)
    drawn, others = sample(9, 50, np.random.default_rng(1)), sample(9, 20, np.random.default_rng(2))
    pool = greedy.Pool(process, process, [process.X, drawn, others], 1)
    landscape = Landscape(process, process, lambda mean, variance, given_batch: -mean)
    starts = {tuple(p) for p in pool.starts(landscape, np.random.default_rng(0)).tolist()}
    for source in (process.X, drawn, others):
        best = source[np.argsort(process.predict(source)[0])[: greedy.N_GOOD]]
        assert {tuple(p) for p in best.tolist()} <= starts
        assert len(starts & {tuple(p) for p in source.tolist()}) > greedy.N_GOOD


def test_of_equal_values_a_pool_takes_the_first():
    """Else the batch would depend on how a machine sorts."""
    process = smooth_process(9, 30)
    pool = greedy.Pool(process, process, [process.X, sample(9, 50, np.random.default_rng(1))], 1)
    better = np.arange(80) % 2 == 0
    landscape = Landscape(process, process, lambda mean, variance, given_batch: 1.0 * better)
    first = [pool._permutations[better & source][:4] for source in (np.arange(80) < 30, np.arange(80) >= 30)]
    np.testing.assert_array_equal(pool.best(landscape, 4), first[0])
    starts = pool.starts(landscape, np.random.default_rng(0)).reshape(2, -1, 9)  # of each source, the best come first
    np.testing.assert_array_equal(starts[:, :4], first)


def test_starts_at_random_are_drawn_without_replacement():
    process = smooth_process(9, 30)
    pool = greedy.Pool(process, process, [process.X[:2]], 1)
    landscape = Landscape(process, process, lambda mean, variance, given_batch: -mean)
    for seed in range(10):
        found, counts = np.unique(pool.starts(landscape, np.random.default_rng(seed)), axis=0, return_counts=True)
        assert len(found) == 2
        assert counts.tolist() == [2, 2]  # once as the best, once at random


def test_permutations_that_are_added_belong_to_the_random_source():
    """If they belonged to the data, they would take the place of the best of these among the starts."""
    process, rng = smooth_process(9, 30), np.random.default_rng(1)
    drawn, added = sample(9, 50, rng), sample(9, 3_000, rng)
    added = added[np.argsort(process.predict(added)[0])[: greedy.N_GOOD + 2]]
    pool = greedy.Pool(process, process, [process.X, drawn], 1)
    pool.add(process, list(added))
    landscape = Landscape(process, process, lambda mean, variance, given_batch: -mean)
    for seed in range(5):
        starts = {tuple(p) for p in pool.starts(landscape, np.random.default_rng(seed)).tolist()}
        for source in (process.X, added):
            best = source[np.argsort(process.predict(source)[0])[: greedy.N_GOOD]]
            assert {tuple(p) for p in best.tolist()} <= starts


def test_variances_of_a_pool_stay_positive_however_little_noise_there_is():
    process = smooth_process(7, 40, noise=1e-15)
    pool = greedy.Pool(process, process, [process.X, sample(7, 50, np.random.default_rng(0))], 5)
    given_batch = process
    for point in process.X[:3]:
        pool.condition(given_batch, point)
        given_batch = given_batch.condition(point[None])
    assert pool._given_batch.min() >= process.least_variance


def test_a_growing_batch_keeps_its_pool_up_to_date():
    """Each step has what came before: points that are excluded, conditioned on, and further permutations."""
    process, rng, steps = smooth_process(9, 30), np.random.default_rng(2), []
    given = sample(9, 12, rng).reshape(4, 3, 9)

    def next_point(step):
        variance = step.given_batch.predict(step.pool._permutations)[1]
        np.testing.assert_allclose(step.pool._given_batch, variance, atol=1e-10)
        pooled = {tuple(p) for p in step.pool._permutations.tolist()}
        assert {tuple(p) for p in given[: len(steps), 1:].reshape(-1, 9).tolist()} <= pooled
        assert len(pooled) == 30 + 50 + 2 * len(steps)
        assert [tuple(p) for p in step.batch] == [tuple(p) for p in given[: len(steps), 0]]
        assert all(point in step.excluded for point in step.batch)
        steps.append(step)
        return list(given[len(steps) - 1])

    context = context_of(process)
    batch = greedy.grow(context, 4, process, 50, next_point)
    assert np.array_equal(batch, given[:, 0])
    assert len(context.excluded) == 30  # which stays as it was


@pytest.mark.parametrize("pooled", [False, True])
def test_every_value_is_made_of_the_gauge_given_the_points_before_and_of_them(pooled):
    process, seen = smooth_process(9, 30), []
    gauge = process.prior()

    def value_of(given_batch, batch):
        seen.append((given_batch.X.copy(), np.array(batch)))
        return lambda mean, variance, given_batch: -mean

    batch = greedy.greedy(context_of(process), 9, gauge, value_of, pooled)
    assert len(seen) == len(batch) == 9
    for b, (given, before) in enumerate(seen):
        assert given.tolist() == np.array(batch[:b]).tolist() == before.tolist()


def test_a_batch_that_is_not_pooled_ends_at_local_maxima_however_large_and_a_pooled_one_is_not_searched_throughout(
    monkeypatch,
):
    process, proofs, pools = smooth_process(9, 30), [], set()

    def spy(landscape, starts, excluded, constraints, rng, certify, original=greedy.maximise):
        proofs.append((len(starts) > 1, certify))
        return original(landscape, starts, excluded, constraints, rng, certify)

    def spy_on_starts(pool, *arguments, original=greedy.Pool.starts):
        pools.add(len(pool._permutations))
        return original(pool, *arguments)

    monkeypatch.setattr(greedy, "maximise", spy)
    monkeypatch.setattr(greedy.Pool, "starts", spy_on_starts)
    for option in ({}, {"pooled": True}):
        greedy.greedy(context_of(process), 12, process, lambda *_: lambda mean, *variances: -mean, **option)
        assert (len(pools) == 1) == (not option)  # the ends of climbs are for a pooled batch only
    assert proofs[:12] == [(True, True)] * 12
    searched = {0, 1, 2, 3, 4, 5, 6, 9}  # the first six, and every third of the others
    assert [b for b, (search, _) in enumerate(proofs[12:]) if search] == sorted(searched)
    assert [b for b, (_, certify) in enumerate(proofs[12:]) if certify] == [0]
