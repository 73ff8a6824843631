import numpy as np
import pytest

from law_ray.space.permutations import invert, sample
from tests.oracles.pairwise import some_ensemble, value


@pytest.fixture
def ensemble():
    return some_ensemble(np.random.default_rng(0), 7)


def test_values_are_the_sums_over_pairs(ensemble):
    X = sample(7, 20, np.random.default_rng(1))
    draws = list(zip(ensemble.items, ensemble.places, ensemble.constants, strict=True))
    expected = [[value(F, D, constant, x) for F, D, constant in draws] for x in X]
    np.testing.assert_allclose(ensemble.values(invert(X)), expected)


def covariance(values, others):
    """Return the sample covariance of the draws between points, with the weight 1 / n_draws."""
    return (
        (values - values.mean(axis=1, keepdims=True))
        @ (others - others.mean(axis=1, keepdims=True)).T
        / (values.shape[1])
    )


def test_moments_are_the_mean_and_the_variance_of_the_draws_and_the_noise(ensemble):
    values = ensemble.values(invert(sample(7, 20, np.random.default_rng(3))))
    mean, variance = ensemble.moments(values)
    np.testing.assert_allclose(mean, values.mean(axis=1))
    np.testing.assert_allclose(variance, values.var(axis=1) + ensemble.noise)


def test_conditioning_gives_the_variance_of_a_gaussian_with_the_covariance_of_the_draws(ensemble):
    rng = np.random.default_rng(4)
    points, others = (ensemble.values(invert(sample(7, m, rng))) for m in (3, 10))
    given = ensemble
    for point in points:
        given = given.given(point)
    K = covariance(points, points) + ensemble.noise * np.eye(3)
    k = covariance(points, others)
    mean, variance = given.moments(others)
    np.testing.assert_allclose(mean, others.mean(axis=1))
    np.testing.assert_allclose(variance, others.var(axis=1) - np.sum(k * np.linalg.solve(K, k), axis=0) + given.noise)
    assert (variance < ensemble.moments(others)[1]).all()
