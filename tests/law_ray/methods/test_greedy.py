import numpy as np
import pytest

from law_ray.acquisition.landscape import Landscape
from law_ray.methods import greedy
from law_ray.models.gp import GaussianProcess
from law_ray.space.permutations import sample
from tests.oracles.contexts import context_of
from tests.oracles.problems import smooth_process


@pytest.mark.parametrize("prior", [False, True])
def test_the_moments_of_a_pool_are_those_of_the_posterior_and_of_the_gauge_given_the_batch(prior):
    process, rng = smooth_process(9, 30), np.random.default_rng(0)
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
    drawn = sample(9, 50, np.random.default_rng(1))
    pool = greedy.Pool(process, process, [process.X, drawn], 1)
    landscape = Landscape(process, process, lambda mean, variance, given_batch: -mean)
    starts = {tuple(p) for p in pool.starts(landscape, np.random.default_rng(0)).tolist()}
    for source in (process.X, drawn):
        best = source[np.argsort(process.predict(source)[0])[: greedy.N_GOOD]]
        assert {tuple(p) for p in best.tolist()} <= starts
        assert len(starts & {tuple(p) for p in source.tolist()}) > greedy.N_GOOD


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
    process, proofs = smooth_process(9, 30), []

    def spy(landscape, starts, excluded, constraints, rng, certify, original=greedy.maximise):
        proofs.append((len(starts) > 1, certify))
        return original(landscape, starts, excluded, constraints, rng, certify)

    monkeypatch.setattr(greedy, "maximise", spy)
    for pooled in (False, True):
        greedy.greedy(context_of(process), 12, process, lambda *_: lambda mean, *variances: -mean, pooled)
    assert proofs[:12] == [(True, True)] * 12
    searched = [b < 6 or b % 3 == 0 for b in range(12)]
    assert proofs[12:] == [(search, b == 0) for b, search in enumerate(searched)]
