import dataclasses
import json

import numpy as np
import pytest

from law_ray.kernels.additive import AdditiveHyperparameters
from law_ray.kernels.distance import positions_of
from law_ray.kernels.weighted_precedence import WeightedPrecedenceHyperparameters
from law_ray.models.gp import GaussianProcess
from law_ray.space.permutations import sample
from tests.oracles.weighted_precedence import gram, some_weighted


def hyperparameters(unit, item_weights, factors=None, shares=None, weight=1.0, noise=0.1, mean=0.0):
    """Return hyperparameters of equal shares and of factors of 1, unless given."""
    n_items = len(item_weights)
    shares = shares or tuple(n_items * [1 / n_items])
    factors = factors or tuple(n_items * (n_items - 1) // 2 * [1.0])
    return WeightedPrecedenceHyperparameters(weight, unit, shares, item_weights, factors, noise, mean)


@pytest.mark.parametrize("n_items", [2, 3, 7])
def test_covariances_are_those_of_the_formula(n_items):
    rng = np.random.default_rng(0)
    h, X1, X2 = some_weighted(rng, n_items), sample(n_items, 4, rng), sample(n_items, 9, rng)
    found = h.kernel.distances(positions_of(X1), positions_of(X2))
    assert found.min() >= 0
    np.testing.assert_allclose(h.covariance(n_items)[found], gram(h, X1, X2), atol=1e-12)


def test_of_two_items_it_is_the_precedence_component_of_the_additive_kernel():
    X, y = np.array([[0, 1], [1, 0]]), np.array([0.3, -0.2])
    weighted = hyperparameters(0.4 / 2, (1.0, 1.0), weight=1.3)
    additive = AdditiveHyperparameters({"precedence": [1.3, 0.4]}, 0.1, 0.0)
    for found, expected in zip(*(GaussianProcess(X, y, h).predict(X) for h in (weighted, additive)), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_it_models_sums_over_the_items_of_functions_of_what_comes_before_each():
    """Values of this kind are learned from few points, also where the function is none of single pairs."""
    rng = np.random.default_rng(0)
    X = sample(6, 400, rng)
    q = positions_of(X)
    y = 1.0 * ((q[:, 1] < q[:, 0]) & (q[:, 2] < q[:, 0])) + 2.0 * ((q[:, 4] < q[:, 3]) ^ (q[:, 5] < q[:, 3]))
    factors = tuple(1.0 if pair in ((0, 1), (0, 2), (3, 4), (3, 5)) else 1e-6 for pair in pairs_of(6))
    shares = (0.4996, 0.0002, 0.0002, 0.4996, 0.0002, 0.0002)
    process = GaussianProcess(X[:40], y[:40], hyperparameters(1.0, 6 * (1.0,), factors, shares, noise=1e-6))
    predicted = process.standardize.inverse(process.predict(X[40:])[0])
    np.testing.assert_allclose(predicted, y[40:], atol=0.05)


def pairs_of(n_items):
    return list(zip(*np.triu_indices(n_items, 1), strict=True))


def test_items_without_weight_may_have_any_order():
    h = hyperparameters(0.1, (1.0, 1e-9, 1.0, 1e-9, 1.0))
    q = positions_of(np.array([[0, 1, 2, 3, 4], [3, 0, 2, 4, 1]]))
    np.testing.assert_allclose(h.kernel.distances(q[:1], q), 0, atol=1e-8)


def test_a_pair_without_weight_may_have_any_order_though_its_items_matter():
    factors = tuple(1e-9 if pair == (1, 2) else 1.0 for pair in pairs_of(4))
    h = hyperparameters(0.1, 4 * (1.0,), factors)
    q = positions_of(np.array([[0, 1, 2, 3], [0, 2, 1, 3], [1, 0, 2, 3]]))
    lost = 1 - h.covariance(4)[h.kernel.distances(q[:1], q)]
    np.testing.assert_allclose(lost, [[0, 0, 0.5 * (1 - np.exp(-0.1))]], atol=1e-8)
    assert lost[0, 2] == pytest.approx(h.reversals[0, 1])
    np.testing.assert_allclose(np.diag(h.reversals), 0)


def test_the_gram_matrix_is_positive_semi_definite_with_one_variance():
    rng = np.random.default_rng(1)
    h, X = some_weighted(rng, 8), sample(8, 60, rng)
    K = h.covariance(8)[h.kernel.distances(positions_of(X), positions_of(X))]
    np.testing.assert_allclose(np.diag(K), h.signal_variance, rtol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-10


def test_hyperparameters_survive_json():
    h = some_weighted(np.random.default_rng(0))
    assert WeightedPrecedenceHyperparameters.from_record(json.loads(json.dumps(h.to_record()))) == h
    assert h != dataclasses.replace(h, unit=2 * h.unit)


@pytest.mark.parametrize(("n_items", "bytes_"), [(30, 4_000), (100, 32_000)])
def test_a_record_is_as_small_as_its_docstring_says(n_items, bytes_):
    assert len(json.dumps(some_weighted(np.random.default_rng(0), n_items).to_record())) < bytes_


def test_where_all_distances_are_small_it_is_ridge_regression_on_the_orders_of_the_pairs():
    """With exp(-D_a) = 1 - D_a, d_ab = (1 - o_ab o'_ab) / 2, coefficients have the variances v (h_a + h_b) w_ab / 2."""
    rng = np.random.default_rng(0)
    X, X_new, y = sample(6, 60, rng), sample(6, 20, rng), rng.normal(size=60)
    h = some_weighted(rng, 6, noise=0.1)
    h = dataclasses.replace(h, weight=1e6, unit=1e-6 * h.unit)
    process = GaussianProcess(X, y, h)
    a, b = np.triu_indices(6, 1)
    A, B = (np.where(q[:, a] < q[:, b], 1.0, -1.0) for q in (positions_of(X), positions_of(X_new)))
    A, B = (np.column_stack([orders, np.ones(len(orders))]) for orders in (A, B))  # and a constant
    shares = np.array(h.item_shares)
    variances = np.append(0.5 * h.weight * (shares[a] + shares[b]) * h.pair_weights[a, b], h.weight)
    z = process.standardize(y) - h.mean
    coefficients = np.linalg.solve(A.T @ A / h.noise + np.diag(1 / variances), A.T @ z / h.noise)
    np.testing.assert_allclose(process.predict(X_new)[0], h.mean + B @ coefficients, atol=1e-4)
