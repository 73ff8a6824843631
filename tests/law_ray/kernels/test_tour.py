import copy
import json
import pickle

import numpy as np
import pytest

from law_ray.kernels.additive import AdditiveKernel
from law_ray.kernels.distance import positions_of
from law_ray.kernels.tour import TourHyperparameters, TourKernel
from law_ray.models.gp import GaussianProcess
from law_ray.space.permutations import sample
from tests.oracles.tour import gram, similarities, some_tour


def case(n_items=7, m=4, n=9, seed=0):
    rng = np.random.default_rng(seed)
    return some_tour(rng, n_items), sample(n_items, m, rng), sample(n_items, n, rng)


@pytest.mark.parametrize("n_items", [2, 3, 4, 7])
def test_similarities_are_those_of_the_formula_whichever_are_fewer(n_items):
    h, few, many = case(n_items)
    expected = similarities(h, few, many)
    kernel = h.kernel
    np.testing.assert_allclose(kernel.distances(positions_of(few), positions_of(many)), expected, atol=1e-12)
    np.testing.assert_allclose(kernel.distances(positions_of(many), positions_of(few)), expected.T, atol=1e-12)


def test_images_are_kept_for_the_last_points_and_for_points_that_begin_with_them():
    h, _, many = case()
    points = positions_of(many)
    kernel, fresh = h.kernel, TourKernel(np.array(h.vectors)).images(points)
    for part in (points[:3], points[:5], points, points, points[::-1].copy(), points[:7]):
        images, expected = kernel.images(part), TourKernel(np.array(h.vectors)).images(part)
        assert (images.points == part).all()
        np.testing.assert_allclose(images.matrices[:, : len(part)], expected.matrices[:, : len(part)], atol=1e-14)
        np.testing.assert_allclose(images.own[: len(part)], kernel.own(part), rtol=1e-13)
    assert kernel.images(points) is kernel.images(points)
    assert kernel.images(np.concatenate([points, points[:2]])).matrices is not fresh.matrices


def test_images_of_the_most_points_are_not_recomputed_after_those_of_others():
    h, few, many = case()
    kernel, points = h.kernel, positions_of(many)
    most = kernel.images(points)
    kernel.images(positions_of(few))
    most.matrices[0, 0] += 1.0  # which shows whether it is still in use
    assert kernel.images(points[:5]).matrices[0, 0] == most.matrices[0, 0]
    other = kernel.images(np.concatenate([points[:5], positions_of(few)])).matrices
    assert other is not most.matrices
    assert other[0, 0] == most.matrices[0, 0]


def test_one_kernel_belongs_to_some_hyperparameters_and_is_not_stored_with_them():
    h, _, many = case(n_items=20)
    record, pickled = h.to_record(), pickle.dumps(h)
    assert h.kernel is h.kernel
    h.kernel.images(positions_of(many))
    assert h.to_record() == record
    assert pickle.dumps(h) == pickled
    for again in (pickle.loads(pickled), TourHyperparameters.from_record(record), copy.copy(h)):
        assert again == h
        assert again.kernel is not h.kernel


def test_points_that_are_added_to_others_do_not_change_the_images_of_those():
    h, few, many = case()
    kernel, points = h.kernel, positions_of(many)
    for part in (points[:3], points[:4], points[:6]):  # the last two share memory
        images = kernel.images(part)
    other = kernel.images(np.concatenate([points[:4], points[7:]]))
    assert other.matrices is not images.matrices
    again = TourKernel(np.array(h.vectors)).images(points[:6]).matrices
    np.testing.assert_allclose(images.matrices[:, :6], again, atol=1e-14)
    kernel.images(points)
    expected = similarities(h, few, many)
    np.testing.assert_allclose(kernel.distances(positions_of(few), points), expected, atol=1e-12)


def test_the_gram_matrix_is_positive_definite_with_one_variance():
    rng = np.random.default_rng(1)
    for _ in range(5):
        h, X = some_tour(rng, 8), np.unique(sample(8, 60, rng), axis=0)
        K = h.covariance(8)[h.kernel.distances(positions_of(X), positions_of(X))]
        np.testing.assert_allclose(K, K.T, atol=1e-12)
        np.testing.assert_allclose(np.diag(K), h.signal_variance, rtol=1e-12)
        assert np.linalg.eigvalsh(K).min() > -1e-10


def test_a_tour_is_the_same_from_any_item_and_in_either_direction():
    h, _, X = case()
    C = h.kernel.distances(positions_of(X), positions_of(X))
    for same in (np.roll(X, 3, axis=1), X[:, ::-1].copy()):
        np.testing.assert_allclose(h.kernel.distances(positions_of(same), positions_of(X)), C, atol=1e-12)


def test_where_no_two_items_are_alike_the_similarity_is_the_share_of_common_neighbours():
    _, few, many = case(n_items=8)
    h = TourHyperparameters([1.0, 0.0], (20.0 * np.eye(8)).tolist(), 0.1, 0.0)
    q, P = positions_of(few), positions_of(many)
    apart = AdditiveKernel(("adjacency",)).distances(q, P)[:, 0]
    np.testing.assert_allclose(h.kernel.distances(q, P), 1.0 - apart / 8, atol=1e-12)


def test_items_that_are_alike_can_be_exchanged():
    rng = np.random.default_rng(2)
    h, X = some_tour(rng, 8), sample(8, 6, rng)
    h.vectors[5] = h.vectors[2]
    renamed = np.arange(8)
    renamed[[2, 5]] = 5, 2
    C = h.kernel.distances(positions_of(X), positions_of(renamed[X]))
    np.testing.assert_allclose(np.diag(C), 1.0, atol=1e-12)


def test_a_process_of_the_tour_kernel_predicts_as_direct_algebra_does():
    h, few, X = case(n=12)
    y = np.random.default_rng(3).normal(size=12)
    process = GaussianProcess(X, y, h)
    z = (y - y.mean()) / y.std()
    A = np.linalg.inv(gram(h, X, X) + h.noise * np.eye(12))
    k = gram(h, few, X)
    mean, variance = process.predict(few)
    np.testing.assert_allclose(mean, h.mean + k @ A @ (z - h.mean), atol=1e-9)
    np.testing.assert_allclose(variance, h.signal_variance - np.einsum("ij,jk,ik->i", k, A, k), atol=1e-9)
    more = process.condition(few[:2])
    longer = np.concatenate([X, few[:2]])
    A = np.linalg.inv(gram(h, longer, longer) + h.noise * np.eye(14))
    k = gram(h, few, longer)
    expected = h.signal_variance - np.einsum("ij,jk,ik->i", k, A, k)
    np.testing.assert_allclose(more.predict(few)[1], expected, atol=1e-9)


def test_hyperparameters_survive_json():
    h, _, _ = case()
    assert TourHyperparameters.from_record(json.loads(json.dumps(h.to_record()))) == h
