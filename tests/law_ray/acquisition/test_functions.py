import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from law_ray.acquisition.functions import (
    DELTA,
    ei_weight,
    est,
    log_ei,
    log_pi,
    optimum_estimate,
    sigmoid_weight,
    ucb,
    ucb_beta,
)


def integrated_optimum(mean, sigma, best):
    """Return m0 - integral from -inf to m0 of [1 - prod_x (1 - Phi((w - mu) / sigma))] dw, piece by piece."""

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
def test_optimum_estimate_is_accurate_to_a_hundredth_when_one_point_is_almost_known(width):
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


def test_est_is_the_number_of_standard_deviations_between_the_mean_and_the_optimum_estimate():
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


def integrated_improvement(mean, sigma, best):
    """Return the integral from 0 to inf of P(f < best - t) dt, the tail formula of E[max(best - f, 0)]."""
    return quad(lambda t: norm.cdf((best - t - mean) / sigma), 0, np.inf, epsabs=0, epsrel=1e-11)[0]


@pytest.mark.parametrize("z", [-6.0, -3.0, -1.01, -1.0, -0.99, -0.3, 0.0, 0.7, 4.0, 9.0])
@pytest.mark.parametrize("sigma", [0.02, 1.0, 7.0])
def test_expected_improvement_is_the_integral_that_defines_it(z, sigma):
    best = -0.4
    mean = best - z * sigma
    found = np.exp(log_ei(np.array([mean]), np.array([sigma**2]), best))
    assert found[0] == pytest.approx(integrated_improvement(mean, sigma, best), rel=1e-8)


@pytest.mark.parametrize("z", [-12.0, -99.0, -101.0, -3000.0])
def test_expected_improvement_far_in_its_tail_is_its_integral_relative_to_the_density(z):
    """EI / (sigma phi(z)) = integral from 0 to inf of t exp(z t - t^2 / 2) dt, here with t = s / |z|."""
    scaled = quad(lambda s: s * np.exp(-s - 0.5 * (s / z) ** 2), 0, 60, epsabs=0, epsrel=1e-12)[0] / z**2
    expected = norm.logpdf(z) + np.log(scaled) + np.log(2.0)
    assert log_ei(np.array([-2.0 * z]), np.array([4.0]), 0.0)[0] == pytest.approx(expected, abs=1e-8)


def test_expected_improvement_rises_with_a_lower_mean_and_with_the_variance_everywhere():
    z = np.concatenate([-np.geomspace(1e9, 1e-3, 4000), np.geomspace(1e-3, 1e9, 4000)])
    improvement = log_ei(-z, np.ones_like(z), 0.0)
    assert np.isfinite(improvement).all()
    assert np.all(np.diff(improvement) > 0)
    for mean in (-3.0, 0.0, 3.0):
        variance = np.geomspace(1e-12, 1e4, 400)
        assert np.all(np.diff(log_ei(np.full(400, mean), variance, 0.0)) > -1e-12)


def test_expected_improvement_at_negligible_variance_is_the_improvement_of_the_mean():
    found = np.exp(log_ei(np.array([-2.0, 0.5]), np.full(2, 1e-24), 1.0))
    np.testing.assert_allclose(found, [3.0, 0.5], rtol=1e-12)


def test_probability_of_improvement_is_the_normal_probability_and_accurate_in_its_tail():
    mean, sigma, best = np.array([-1.0, 0.3, 2.0]), np.array([0.5, 1.0, 0.1]), 0.2
    np.testing.assert_allclose(np.exp(log_pi(mean, sigma**2, best)), norm.cdf(best, mean, sigma), rtol=1e-12)
    far = log_pi(np.geomspace(10, 1e6, 100), np.ones(100), 0.0)
    assert np.isfinite(far).all()
    assert np.all(np.diff(far) < 0)


@pytest.mark.parametrize("acquisition", [est, log_ei, log_pi, ucb], ids=lambda acquisition: acquisition.__name__)
def test_an_acquisition_of_a_table_is_the_table_of_the_acquisitions(acquisition):
    mean, variance = np.array([[0.3, -1.0, 2.0], [0.0, 5.0, -4.0]]), np.array([[1.0, 0.5, 2.0], [0.1, 3.0, 0.7]])
    rows = [acquisition(*row, 0.2) for row in zip(mean, variance, strict=True)]
    np.testing.assert_allclose(acquisition(mean, variance, 0.2), rows, rtol=1e-15)


def test_ucb_is_minus_the_value_that_lies_sqrt_beta_deviations_below_the_mean():
    mean, variance = np.array([1.0, -3.0]), np.array([4.0, 0.25])
    np.testing.assert_allclose(ucb(mean, variance, 9.0), [-(1.0 - 3.0 * 2.0), -(-3.0 - 3.0 * 0.5)], rtol=1e-15)


@pytest.mark.parametrize(("round", "batch_size"), [(1, 1), (1, 20), (7, 1), (4, 5)])
def test_beta_is_the_papers_formula(round, batch_size):
    exact = 2 * math.log(math.factorial(10) * math.pi**2 * ((round - 1) * batch_size + 1) ** 2 / (6 * DELTA))
    assert ucb_beta(10, round, batch_size) == pytest.approx(exact, rel=1e-13)


def test_bounds_with_beta_fail_with_probability_at_most_delta():
    """The proof bounds each probability by exp(-beta_t / 2); the sum over all x and rounds is at most DELTA."""
    failing = sum(math.factorial(6) * math.exp(-ucb_beta(6, t, 1) / 2) for t in range(1, 20_000))
    assert 0.99 * DELTA < failing <= DELTA


def test_beta_of_many_items_is_finite():
    assert 2 * 5000 * math.log(5000 / math.e) < ucb_beta(5000, 100, 200) < 2 * 5000 * math.log(5000)


def test_weight_of_expected_improvement_is_the_papers_and_never_zero():
    np.testing.assert_allclose(ei_weight(np.log([0.02, 1.0, 30.0])), [0.03, 1.01, 30.01], rtol=1e-14)
    assert ei_weight(np.array([-1e6]))[0] == 0.01
