import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from law_ray.acquisition import est, optimum_estimate, sigmoid_weight


def integrated_optimum(mean, sigma, best):
    """m0 - integral from -inf to m0 of [1 - prod_x (1 - Phi((w - mu) / sigma))] dw, piece by piece."""

    def some_below(w):
        return 1.0 - np.prod(norm.sf((w - mean) / sigma))

    kinks = np.unique(np.concatenate([mean + k * sigma for k in (-40, -8, -4, -2, -1, 0, 1, 2, 4, 8)]))
    edges = [*kinks[kinks < best], best]
    pieces = [quad(some_below, low, high, epsabs=1e-12)[0] for low, high in itertools.pairwise(edges)]
    return best - sum(pieces)


def random_points(seed, n_points):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n_points), np.exp(0.5 * rng.normal(size=n_points)), float(rng.normal() - 0.5)


@pytest.mark.parametrize("n_points", [1, 2, 6, 20])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_optimum_estimate_is_the_integral_that_defines_it(seed, n_points):
    mean, sigma, best = random_points(seed, n_points)
    assert optimum_estimate(mean, sigma**2, best) == pytest.approx(integrated_optimum(mean, sigma, best), abs=1e-8)


@pytest.mark.parametrize("width", [0.1, 0.01, 1e-6])
def test_optimum_estimate_is_good_to_a_hundredth_when_one_point_is_all_but_known(width):
    mean, sigma = np.array([0.0, 0.0]), np.array([1.0, width])
    assert optimum_estimate(mean, sigma**2, 0.5) == pytest.approx(integrated_optimum(mean, sigma, 0.5), abs=0.01)


@pytest.mark.parametrize("n_points", [1, 3, 30])
def test_optimum_estimate_is_the_expected_minimum_of_best_and_independent_normals(n_points):
    mean, sigma, best = random_points(7, n_points)
    draws = np.random.default_rng(0).normal(mean, sigma, size=(200_000, n_points)).min(axis=1)
    minima = np.minimum(draws, best)
    standard_error = minima.std() / np.sqrt(len(minima))
    assert abs(optimum_estimate(mean, sigma**2, best) - minima.mean()) < 5 * standard_error


def test_optimum_estimate_of_one_point_has_the_closed_form_of_expected_improvement():
    mean, sigma, best = 0.3, 0.7, 0.1
    z = (best - mean) / sigma
    improvement = sigma * (z * norm.cdf(z) + norm.pdf(z))
    assert optimum_estimate(np.array([mean]), np.array([sigma**2]), best) == pytest.approx(
        best - improvement, abs=1e-12
    )


def test_optimum_estimate_falls_with_every_point_added():
    mean, sigma, best = random_points(3, 40)
    estimates = [optimum_estimate(mean[:m], sigma[:m] ** 2, best) for m in range(1, 41)]
    assert np.all(np.diff(estimates) <= 1e-9)
    assert estimates[-1] < estimates[0] < best


def test_optimum_estimate_is_the_best_value_when_no_point_can_beat_it():
    assert optimum_estimate(np.array([50.0, 60.0]), np.array([1.0, 4.0]), -3.0) == -3.0


def test_optimum_estimate_shifts_and_scales_with_the_values():
    mean, sigma, best = random_points(5, 10)
    scaled = optimum_estimate(3 * mean + 2, (3 * sigma) ** 2, 3 * best + 2)
    assert scaled == pytest.approx(3 * optimum_estimate(mean, sigma**2, best) + 2, abs=1e-9)


def test_est_counts_the_standard_deviations_between_the_mean_and_the_optimum_estimate():
    mean, variance = np.array([1.0, -3.0, 0.5]), np.array([4.0, 0.25, 1.0])
    np.testing.assert_allclose(est(mean, variance, -1.0), [-1.0, 4.0, -1.5], rtol=1e-15)


def test_weight_is_the_papers_sigmoid():
    acquisition = np.linspace(-30, 30, 61)
    expected = [0.01 + 0.99 / (1 + np.exp(-0.2 * a)) for a in acquisition]
    np.testing.assert_allclose(sigmoid_weight(acquisition), expected, rtol=1e-14)


def test_weight_increases_between_its_bounds():
    weights = sigmoid_weight(np.linspace(-60, 60, 241))
    assert np.all(np.diff(weights) > 0)
    assert weights.min() > 0.01
    assert weights.max() < 1.0


def test_weight_stays_within_its_bounds_at_extreme_acquisitions():
    np.testing.assert_allclose(sigmoid_weight(np.array([-1e300, 1e300])), [0.01, 1.0], rtol=1e-15)
