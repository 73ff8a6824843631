import json

import numpy as np
import pytest

from law_ray.kernels.distance import DISTANCES, positions_of
from law_ray.kernels.weighted_precedence import WeightedPrecedenceHyperparameters
from law_ray.space.permutations import sample
from tests.oracles.weighted_precedence import gram, similarities, some_weighted


@pytest.mark.parametrize("n_items", [2, 3, 7])
def test_similarities_are_those_of_the_formula(n_items):
    rng = np.random.default_rng(0)
    h, X1, X2 = some_weighted(rng, n_items), sample(n_items, 4, rng), sample(n_items, 9, rng)
    kernel = h.kernel
    for points in (X2, X2[:3], X2):  # their vectors are kept
        found = kernel.distances(positions_of(X1), positions_of(points))
        np.testing.assert_allclose(found, similarities(h, X1, points), atol=1e-12)
    np.testing.assert_allclose(h.covariance(n_items)[found], gram(h, X1, X2), atol=1e-12)


def test_the_vectors_of_the_last_points_are_kept():
    kernel, points = (
        some_weighted(np.random.default_rng(0)).kernel,
        positions_of(sample(9, 5, np.random.default_rng(1))),
    )
    assert kernel.features(points) is kernel.features(points)
    kernel.distances(points[:2], points)
    assert kernel.features(points[:2]) is not kernel.features(points)


def test_with_equal_weights_the_similarity_is_linear_in_the_precedence_distance():
    X = sample(6, 20, np.random.default_rng(0))
    q = positions_of(X)
    equal = WeightedPrecedenceHyperparameters(1.0, 6 * [0.3], 0.1, 0.0)
    shares = DISTANCES["precedence"].between(q, q) / 15
    np.testing.assert_allclose(equal.kernel.distances(q, q), 1 - 2 * shares, atol=1e-12)


def test_items_without_weight_may_have_any_order():
    weights = [1.0, 1e-9, 1.0, 1e-9, 1.0]
    kernel = WeightedPrecedenceHyperparameters(1.0, weights, 0.1, 0.0).kernel
    q = positions_of(np.array([[0, 1, 2, 3, 4], [3, 0, 2, 4, 1], [4, 1, 2, 3, 0]]))
    np.testing.assert_allclose(kernel.distances(q[:1], q), [[1, 1, -1]], atol=1e-8)


def test_the_gram_matrix_is_positive_semi_definite_with_one_variance():
    rng = np.random.default_rng(1)
    h, X = some_weighted(rng, 8), sample(8, 60, rng)
    K = h.covariance(8)[h.kernel.distances(positions_of(X), positions_of(X))]
    np.testing.assert_allclose(np.diag(K), h.signal_variance, rtol=1e-12)
    assert np.linalg.eigvalsh(K).min() > -1e-10


def test_hyperparameters_survive_json():
    h = some_weighted(np.random.default_rng(0))
    assert WeightedPrecedenceHyperparameters.from_record(json.loads(json.dumps(h.to_record()))) == h
