import numpy as np

from law_ray.kernels import loops
from law_ray.kernels.distance import positions_of
from law_ray.kernels.tour import joins, neighbours
from law_ray.space.permutations import sample
from tests.oracles.tour import matrix


def some_tours(n_items=7, n=5, seed=0):
    """Return a symmetric T, the neighbours and the joins of some tours, and their matrices M."""
    rng = np.random.default_rng(seed)
    X, T = sample(n_items, n, rng), rng.normal(size=(n_items, n_items))
    q = positions_of(X)
    before, after = (items.astype(np.int32) for items in neighbours(q))
    return T + T.T, before, after, joins(q), np.array([matrix(x) for x in X.tolist()])


def test_sums_of_images_are_inner_products_of_whole_matrices():
    T, before, after, joins, M = some_tours()
    expected = np.tril(np.einsum("iab,ac,tcd,db->it", M, T, M, T))
    np.testing.assert_allclose(loops.image_sums(T, before, after, joins, 0), expected, atol=1e-12)
    np.testing.assert_allclose(loops.image_sums(T, before[2:4], after[2:4], joins, 2), expected[2:4], atol=1e-12)


def test_weighted_products_are_sums_of_whole_matrices():
    T, before, after, joins, M = some_tours()
    weights = np.random.default_rng(1).normal(size=(5, 5))
    expected = np.einsum("it,iab,bc,tcd->ad", np.tril(weights)[1:3], M[1:3], T, M)
    products = loops.weighted_products(T, before[1:3], after[1:3], joins, 1, weights[1:3])
    np.testing.assert_allclose(products, expected, atol=1e-12)
