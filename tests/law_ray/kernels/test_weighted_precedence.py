import dataclasses
import json

import numpy as np
import pytest

from law_ray.kernels.additive import AdditiveHyperparameters
from law_ray.kernels.distance import DISTANCES, positions_of
from law_ray.kernels.weighted_precedence import WeightedPrecedenceHyperparameters
from law_ray.models.gp import GaussianProcess
from law_ray.space.permutations import sample
from tests.oracles.weighted_precedence import distances, gram, some_weighted


@pytest.mark.parametrize("of_pairs", [True, False], ids=["pairs", "items alone"])
@pytest.mark.parametrize("n_items", [2, 3, 7])
def test_distances_and_covariances_are_those_of_the_formula(n_items, of_pairs):
    rng = np.random.default_rng(0)
    h, X1, X2 = some_weighted(rng, n_items, of_pairs=of_pairs), sample(n_items, 4, rng), sample(n_items, 9, rng)
    kernel = h.kernel
    for points in (X2, X2[:3], X2):
        found = kernel.distances(positions_of(X1), positions_of(points))
        np.testing.assert_allclose(found, distances(h, X1, points), atol=1e-12)
    np.testing.assert_allclose(h.covariance(n_items)[found], gram(h, X1, X2), atol=1e-12)


def test_distances_to_the_same_points_are_those_to_others_of_the_same_values():
    rng = np.random.default_rng(0)
    kernel, q, points = some_weighted(rng).kernel, positions_of(sample(9, 5, rng)), positions_of(sample(9, 8, rng))
    first = kernel.distances(q, points)
    np.testing.assert_array_equal(kernel.distances(q, points), first)
    np.testing.assert_array_equal(kernel.distances(q, points.copy()), first)
    np.testing.assert_allclose(kernel.distances(q, points[:2]), first[:, :2], atol=1e-12)


def test_with_equal_weights_it_is_the_precedence_component_of_the_additive_kernel():
    rng = np.random.default_rng(0)
    X, y = sample(6, 20, rng), rng.normal(size=20)
    equal = WeightedPrecedenceHyperparameters(1.3, 0.4 / 6, 6 * (1.0,), (), 0.1, 0.2)
    additive = AdditiveHyperparameters({"precedence": [1.3, 0.4]}, 0.1, 0.2)
    others = sample(6, 50, rng)
    for found, expected in zip(*(GaussianProcess(X, y, h).predict(others) for h in (equal, additive)), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)
    assert DISTANCES["precedence"].largest(6) * 0.4 / 6 == pytest.approx(equal.pair_weights.sum())


def test_items_without_weight_may_have_any_order():
    h = WeightedPrecedenceHyperparameters(1.0, 0.1, (1.0, 1e-9, 1.0, 1e-9, 1.0), (), 0.1, 0.0)
    q = positions_of(np.array([[0, 1, 2, 3, 4], [3, 0, 2, 4, 1], [4, 1, 2, 3, 0]]))
    np.testing.assert_allclose(h.kernel.distances(q[:1], q), [[0, 0, 0.3]], atol=1e-8)


def test_a_pair_without_weight_may_have_any_order_though_its_items_matter():
    pairs = list(zip(*np.triu_indices(4, 1), strict=True))
    factors = tuple(1e-9 if pair == (1, 2) else 1.0 for pair in pairs)
    kernel = WeightedPrecedenceHyperparameters(1.0, 0.1, 4 * (1.0,), factors, 0.1, 0.0).kernel
    q = positions_of(np.array([[0, 1, 2, 3], [0, 2, 1, 3], [1, 0, 2, 3]]))
    np.testing.assert_allclose(kernel.distances(q[:1], q), [[0, 0, 0.1]], atol=1e-8)


@pytest.mark.parametrize("of_pairs", [True, False])
def test_the_gram_matrix_is_positive_semi_definite_with_one_variance(of_pairs):
    rng = np.random.default_rng(1)
    h, X = some_weighted(rng, 8, of_pairs=of_pairs), sample(8, 60, rng)
    K = h.covariance(8)[h.kernel.distances(positions_of(X), positions_of(X))]
    np.testing.assert_allclose(np.diag(K), h.signal_variance, rtol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-10


@pytest.mark.parametrize("of_pairs", [True, False])
def test_hyperparameters_survive_json(of_pairs):
    h = some_weighted(np.random.default_rng(0), of_pairs=of_pairs)
    assert WeightedPrecedenceHyperparameters.from_record(json.loads(json.dumps(h.to_record()))) == h
    assert h != dataclasses.replace(h, unit=2 * h.unit)


@pytest.mark.parametrize(("n_items", "bytes_"), [(30, 4_000), (100, 30_000)])
def test_a_record_is_as_small_as_its_docstring_says(n_items, bytes_):
    assert len(json.dumps(some_weighted(np.random.default_rng(0), n_items).to_record())) < bytes_


def test_where_all_distances_are_small_it_is_ridge_regression_on_the_orders_of_the_pairs():
    """With v exp(-D) = v - v D and D = sum of w_ab (1 - o_ab o'_ab) / 2, coefficients have the variances v w_ab / 2."""
    rng = np.random.default_rng(0)
    X, X_new, y = sample(6, 60, rng), sample(6, 20, rng), rng.normal(size=60)
    h = some_weighted(rng, 6, noise=0.1)
    h = dataclasses.replace(h, weight=1e6, unit=1e-6 * h.unit)
    process = GaussianProcess(X, y, h)
    a, b = np.triu_indices(6, 1)
    A, B = (np.where(q[:, a] < q[:, b], 1.0, -1.0) for q in (positions_of(X), positions_of(X_new)))
    A, B = (np.column_stack([orders, np.ones(len(orders))]) for orders in (A, B))  # and a constant
    variances = np.append(0.5 * h.weight * h.pair_weights, h.weight)
    z = process.standardize(y) - h.mean
    coefficients = np.linalg.solve(A.T @ A / h.noise + np.diag(1 / variances), A.T @ z / h.noise)
    np.testing.assert_allclose(process.predict(X_new)[0], h.mean + B @ coefficients, atol=1e-4)
