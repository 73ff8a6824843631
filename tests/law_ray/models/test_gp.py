import dataclasses
import itertools

import numpy as np
import pytest

from law_ray.kernels.distance import KERNELS, DistanceHyperparameters
from law_ray.models.fit_distance import fit
from law_ray.models.gp import GaussianProcess
from tests.oracles.gaussian_process import (
    assignment_values,
    between,
    direct_posterior,
    position_covariance,
    shuffles,
    standardized,
)

H = DistanceHyperparameters(decay=1.3, signal_variance=0.8, noise=0.05, mean=0.2)


@pytest.fixture
def data():
    X = shuffles(6, 15, 4)
    return X, assignment_values(X, 4), shuffles(6, 9, 5)


@pytest.mark.parametrize("errors", [False, True])
def test_posterior_is_that_of_the_direct_formulas(data, errors):
    X, y, Z = data
    standard_errors = np.random.default_rng(0).uniform(0.0, 5.0, size=15) if errors else None
    noise = H.noise + ((standard_errors / y.std()) ** 2 if errors else 0.0)
    mean, covariance = direct_posterior(X, standardized(y) - H.mean, noise, Z, H)
    process = GaussianProcess(X, y, H, standard_errors)
    found_mean, found_variance = process.predict(Z)
    np.testing.assert_allclose(found_mean, mean, atol=1e-11)
    np.testing.assert_allclose(found_variance, np.diag(covariance), atol=1e-11)
    np.testing.assert_allclose(process.posterior(Z, Z), covariance, atol=1e-11)
    np.testing.assert_allclose(process.posterior(Z[:2], Z), covariance[:2], atol=1e-11)


def test_prior_covariance_is_the_position_kernel(data):
    X, y, Z = data
    np.testing.assert_allclose(GaussianProcess(X, y, H).kernel(X, Z), position_covariance(X, Z, H), rtol=1e-13)


@pytest.mark.parametrize("errors", [False, True])
def test_conditioning_equals_a_process_built_on_all_points_the_new_ones_with_their_predicted_values(data, errors):
    X, y, Z = data
    standard_errors = np.linspace(0.0, 4.0, 15) if errors else None
    process, new = GaussianProcess(X, y, H, standard_errors), shuffles(6, 3, 6)
    new_values = process.standardize.inverse(process.predict(new)[0])
    known = (standard_errors / y.std()) ** 2 if errors else np.zeros(15)
    noise = H.noise + np.concatenate([known, np.zeros(3)])
    residuals = (np.concatenate([y, new_values]) - y.mean()) / y.std() - H.mean
    mean, covariance = direct_posterior(np.concatenate([X, new]), residuals, noise, Z, H)
    conditioned = process.condition(new)
    found_mean, found_variance = conditioned.predict(Z)
    np.testing.assert_allclose(found_mean, mean, atol=1e-10)
    np.testing.assert_allclose(found_variance, np.diag(covariance), atol=1e-11)
    np.testing.assert_allclose(conditioned.posterior(Z, Z), covariance, atol=1e-11)


def test_conditioning_without_values_keeps_the_mean_and_gives_the_variance_of_all_points(data):
    X, y, Z = data
    pending = shuffles(6, 4, 6)
    process = GaussianProcess(X, y, H)
    everywhere = np.concatenate([Z, X, pending])
    mean, variance = process.condition(pending).predict(everywhere)
    _, covariance = direct_posterior(np.concatenate([X, pending]), np.zeros(19), H.noise, everywhere, H)
    np.testing.assert_allclose(mean, process.predict(everywhere)[0], atol=1e-12)
    np.testing.assert_allclose(variance, np.diag(covariance), atol=1e-11)
    assert np.all(variance < process.predict(everywhere)[1])


def test_a_chain_of_conditions_equals_one(data):
    X, y, Z = data
    new = shuffles(6, 5, 6)
    whole = GaussianProcess(X, y, H).condition(new)
    chained = GaussianProcess(X, y, H)
    for part in (slice(0, 1), slice(1, 3), slice(3, 5)):
        chained = chained.condition(new[part])
    np.testing.assert_allclose(chained.predict(Z), whole.predict(Z), atol=1e-11)
    np.testing.assert_allclose(chained.posterior(Z, Z), whole.posterior(Z, Z), atol=1e-11)


def test_conditioning_leaves_the_original_as_it_was(data):
    X, y, Z = data
    process = GaussianProcess(X, y, H)
    before = process.predict(Z), process.posterior(Z, Z), process.X.copy()
    conditioned = process.condition(Z[:3]).condition(Z[3:5])
    assert len(conditioned.X) == 20
    np.testing.assert_equal((process.predict(Z), process.posterior(Z, Z), process.X), before)


def test_the_weights_of_the_mean_are_those_of_the_process_itself(data):
    """They are kept once they were computed, but neither for a process given more points, nor for the prior."""
    X, y, Z = data
    process = GaussianProcess(X, y, H)
    for _ in range(2):
        for each in (process, process.condition(Z[:3]), process.prior()):
            mean = H.mean + each.mean_weights @ each.kernel(each.X, Z)
            np.testing.assert_allclose(mean, each.predict(Z)[0], atol=1e-11)
    assert process.prior().mean_weights.shape == (0,)


def test_first_rows_of_the_whitened_points_give_the_posterior_before_conditioning(data):
    X, y, Z = data
    process = GaussianProcess(X, y, H)
    V = process.condition(shuffles(6, 4, 6)).whiten(Z)[: len(X)]
    np.testing.assert_allclose([process.mean_from(V), process.variance_from(V)], process.predict(Z), atol=1e-12)


def test_a_value_with_a_large_standard_error_has_no_influence(data):
    X, y, Z = data
    standard_errors = np.zeros(15)
    standard_errors[3] = 1e7 * y.std()
    others = np.arange(15) != 3
    mean, covariance = direct_posterior(X[others], standardized(y)[others] - H.mean, H.noise, Z, H)
    found_mean, found_variance = GaussianProcess(X, y, H, standard_errors).predict(Z)
    np.testing.assert_allclose(found_mean, mean, atol=1e-9)
    np.testing.assert_allclose(found_variance, np.diag(covariance), atol=1e-9)


@pytest.mark.parametrize("signal_variance", [2.0, 2e-8])
def test_variance_is_positive_at_noiseless_data(signal_variance):
    X = np.array(list(itertools.permutations(range(5))))
    h = DistanceHyperparameters(0.3, signal_variance, 5e-17 * signal_variance, 0.0)
    process = GaussianProcess(X, assignment_values(X), h)
    assert np.any(np.diag(process.posterior(X, X)) < 0)  # by rounding
    _, variance = process.predict(X)
    assert np.all(variance > 0)
    assert np.all(variance < 1e-9 * signal_variance)


@pytest.mark.parametrize("count", [1, 2, 10])
def test_constant_values_are_predicted_everywhere(count):
    X = shuffles(5, count, 0)
    y = np.full(count, 12.5)
    process = GaussianProcess(X, y, fit(X, y, np.random.default_rng(0)))
    mean, variance = process.predict(shuffles(5, 20, 1))
    standardize = process.standardize
    np.testing.assert_allclose((mean * standardize.scale + standardize.location) * standardize.unit, 12.5)
    assert np.all(np.isfinite(variance))


@pytest.mark.parametrize("n_items", [1, 2])
def test_smallest_sizes_are_fitted_and_predicted(n_items):
    X = np.repeat(np.arange(n_items)[None], 3, axis=0)
    y = np.array([1.0, 2.0, 6.0])
    h = fit(X, y, np.random.default_rng(0))
    mean, covariance = direct_posterior(X, standardized(y) - h.mean, h.noise, X, h)
    found_mean, found_variance = GaussianProcess(X, y, h).predict(X)
    np.testing.assert_allclose(found_mean, mean, atol=1e-8)
    np.testing.assert_allclose(found_variance, np.diag(covariance), atol=1e-8)


def test_repeated_permutations_average_their_values():
    X = np.repeat(shuffles(5, 4, 0), 3, axis=0)
    y = assignment_values(X) + np.random.default_rng(0).normal(size=12)
    means = standardized(y).reshape(4, 3).mean(axis=1)
    mean, covariance = direct_posterior(X[::3], means - H.mean, H.noise / 3, X[::3], H)
    found_mean, found_variance = GaussianProcess(X, y, H).predict(X[::3])
    np.testing.assert_allclose(found_mean, mean, atol=1e-11)
    np.testing.assert_allclose(found_variance, np.diag(covariance), atol=1e-11)


each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def prior_of(kernel, X1, X2):
    return H.signal_variance * kernel.correlations(X1.shape[1], H.decay)[between(kernel, X1, X2)]


@each_kernel
def test_posterior_with_each_kernel_is_that_of_the_direct_formulas(kernel, data):
    X, y, Z = data
    new = shuffles(6, 3, 6)
    given = np.concatenate([X, new])
    before = GaussianProcess(X, y, dataclasses.replace(H, kernel=kernel))
    new_values = before.standardize.inverse(before.predict(new)[0])
    residuals = (np.concatenate([y, new_values]) - y.mean()) / y.std() - H.mean
    for n in (15, 18):
        weights = prior_of(kernel, Z, given[:n]) @ np.linalg.inv(
            prior_of(kernel, given[:n], given[:n]) + H.noise * np.eye(n)
        )
        covariance = prior_of(kernel, Z, Z) - weights @ prior_of(kernel, given[:n], Z)
        process = before.condition(new) if n == 18 else before
        mean, variance = process.predict(Z)
        np.testing.assert_allclose(mean, H.mean + weights @ residuals[:n], atol=1e-10)
        np.testing.assert_allclose(variance, np.diag(covariance), atol=1e-11)
        np.testing.assert_allclose(process.posterior(Z[:2], Z), covariance[:2], atol=1e-11)
