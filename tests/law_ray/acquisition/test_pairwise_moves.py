import numpy as np
import pytest

from law_ray.acquisition.pairwise_moves import Swaps
from law_ray.space.permutations import invert, sample
from tests.oracles.pairwise import some_ensemble


def after_each_swap(ensemble, q):
    """Return the positions (n_pairs, n_items) after each swap."""
    moved = np.repeat(q[None], len(ensemble.pairs[0]), axis=0)
    for row, i, j in zip(moved, *ensemble.pairs, strict=True):
        row[[i, j]] = row[[j, i]]
    return moved


@pytest.mark.parametrize("n_items", [2, 7, 24])
def test_values_and_moments_are_those_of_the_orderings_also_after_swaps(n_items):
    rng = np.random.default_rng(2)
    ensemble, q = some_ensemble(rng, n_items), invert(sample(n_items, 1, rng))[0]
    for _ in range(3):  # so that the Gram matrix is not the identity
        ensemble = ensemble.given(ensemble.values(invert(sample(n_items, 1, rng)))[0])
    swaps = Swaps(ensemble, q)
    for _ in range(8):
        np.testing.assert_allclose(swaps.values, ensemble.values(q[None])[0], atol=1e-9)
        mean, variance = ensemble.moments(ensemble.values(after_each_swap(ensemble, q)))
        found_mean, found_variance = swaps.moments()
        np.testing.assert_allclose(found_mean, mean, atol=1e-9)
        np.testing.assert_allclose(found_variance, variance, rtol=1e-9, atol=1e-12)
        i, j = sorted(rng.choice(n_items, 2, replace=False).tolist())
        q[[i, j]] = q[[j, i]]
        swaps.make(i, j)


def test_an_ensemble_is_not_changed():
    rng = np.random.default_rng(4)
    ensemble, q = some_ensemble(rng, 6), invert(sample(6, 1, rng))[0]
    before = ensemble.values(q[None])
    swaps = Swaps(ensemble, q)
    swaps.make(0, 3)
    swaps.moments()
    np.testing.assert_array_equal(ensemble.values(q[None]), before)


def test_rounding_does_not_grow_over_many_swaps():
    rng = np.random.default_rng(3)
    ensemble, q = some_ensemble(rng, 20), invert(sample(20, 1, rng))[0]
    swaps = Swaps(ensemble, q)
    for _ in range(1000):
        i, j = sorted(rng.choice(20, 2, replace=False).tolist())
        q[[i, j]] = q[[j, i]]
        swaps.make(i, j)
    np.testing.assert_allclose(swaps.values, Swaps(ensemble, q).values, atol=1e-10)
    np.testing.assert_allclose(swaps.moments(), Swaps(ensemble, q).moments(), atol=1e-9)
