import numpy as np
import pytest
from scipy.linalg import LinAlgError
from scipy.stats import multivariate_normal

from law_ray.models import evidence
from law_ray.models.evidence import log_evidence, maximised, standardized_part
from law_ray.space.permutations import sample


def covariance(n=12, seed=0):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, n))
    return root @ root.T + np.eye(n), rng.normal(size=n)


orders = pytest.mark.parametrize("order", ["C", "F"])


@orders
def test_the_evidence_is_the_normal_density_at_its_best_mean_by_the_lower_triangle_alone(order):
    A, y = covariance()
    lower = np.array(np.tril(A) + np.triu(np.full((12, 12), np.nan), 1), order=order)
    value, alpha, inverse, mean = log_evidence(lower, y)
    densities = [multivariate_normal(np.full(12, mean + shift), A).logpdf(y) for shift in (-0.1, 0.0, 0.1)]
    assert value == pytest.approx(densities[1], abs=1e-10)
    assert densities[1] > max(densities[0], densities[2])
    np.testing.assert_allclose(alpha, np.linalg.solve(A, y - mean), atol=1e-12)
    np.testing.assert_allclose(np.tril(inverse), np.tril(np.linalg.inv(A)), atol=1e-12)


@pytest.mark.parametrize("n", [1, 2, 12, 150])
def test_the_evidence_does_not_depend_on_the_order_of_the_covariance_in_memory(n):
    A, y = covariance(n, seed=n)
    by_rows, by_columns = (log_evidence(np.array(A, order=order), y) for order in ("C", "F"))
    assert by_rows.value == pytest.approx(by_columns.value, rel=1e-12)
    assert by_rows.mean == pytest.approx(by_columns.mean, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(by_rows.alpha, by_columns.alpha, rtol=0, atol=1e-12)
    np.testing.assert_allclose(np.tril(by_rows.inverse), np.tril(by_columns.inverse), rtol=0, atol=1e-12)


@orders
def test_a_covariance_that_is_not_positive_definite_is_refused(order):
    A, y = covariance()
    with pytest.raises(LinAlgError, match="not positive definite"):
        log_evidence(np.array(A - 100 * np.eye(12), order=order), y)


def test_of_many_points_a_random_part_is_used_in_order(monkeypatch):
    rng = np.random.default_rng(0)
    X, y, errors = sample(7, 50, rng), rng.normal(3.0, 2.0, 50), rng.random(50)
    whole = standardized_part(X, y, errors, rng)
    np.testing.assert_allclose(whole[1], (y - y.mean()) / y.std(), atol=1e-12)
    np.testing.assert_allclose(whole[2], (errors / y.std()) ** 2, atol=1e-12)
    assert whole[0] is X
    monkeypatch.setattr(evidence, "N_FIT", 20)
    part = standardized_part(X, y, errors, np.random.default_rng(1))
    rows = [int(np.flatnonzero(whole[1] == z)[0]) for z in part[1]]
    assert rows == sorted(set(rows))
    assert len(rows) == 20
    for found, all_of_it in zip(part, whole, strict=True):
        np.testing.assert_array_equal(found, all_of_it[rows])
    drawn = [standardized_part(X, y, errors, np.random.default_rng(seed))[1] for seed in range(200)]
    counts = np.sum([np.isin(whole[1], each) for each in drawn], axis=0)
    assert np.abs(counts - 80).max() < 5 * np.sqrt(200 * 0.4 * 0.6)  # each of the 50 points is in 20 / 50 of the parts


def test_a_part_has_five_hundred_points():
    X, y = sample(7, 501, np.random.default_rng(0)), np.arange(501.0)
    assert [len(standardized_part(X[:n], y[:n], None, np.random.default_rng(0))[1]) for n in (500, 501)] == [500, 500]


def test_the_largest_density_of_all_starts_is_found_within_the_bounds():
    def density(x):
        if x[0] > 4:
            raise LinAlgError
        first, second = np.exp(-((x[0] + 1) ** 2)), 2.0 * np.exp(-((x[0] - 2) ** 2))
        slope = -2 * (x[0] + 1) * first - 2 * (x[0] - 2) * second
        return float(first + second), np.array([slope]), 0.0

    starts = [(np.array([-1.5]), 50), (np.array([1.2]), 50), (np.array([4.5]), 50)]
    wide, narrow = np.array([[-5.0, 5.0]]), np.array([[-5.0, 1.5]])
    assert maximised(density, 1, wide, starts) == pytest.approx([2.0], abs=1e-3)
    assert maximised(density, 1, narrow, starts[:2]) == pytest.approx([1.5])
    assert maximised(density, 1, wide, starts[:1]) == pytest.approx([-1.0], abs=1e-2)


def test_from_each_start_no_more_steps_are_made_than_it_allows():
    """On Rosenbrock's curved ridge, which takes L-BFGS some forty of them."""

    def density(x):
        across, along = x[1] - x[0] ** 2, 1.0 - x[0]
        return -100.0 * across**2 - along**2, np.array([400.0 * x[0] * across + 2.0 * along, -200.0 * across]), 0.0

    start, bounds = np.array([-1.2, 1.0]), np.array([[-5.0, 5.0], [-5.0, 5.0]])
    reached = [density(maximised(density, 1, bounds, [(start, steps)]))[0] for steps in (1, 5, 20, 100)]
    assert reached == sorted(reached)
    assert density(start)[0] < reached[0] < reached[1] < reached[2] < -1e-3 < reached[3]
    np.testing.assert_allclose(maximised(density, 1, bounds, [(start, 100)]), 1.0, atol=1e-2)
