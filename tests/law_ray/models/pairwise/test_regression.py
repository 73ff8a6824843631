import numpy as np
import pytest

from law_ray.models.pairwise.regression import Regression
from law_ray.space.permutations import invert, sample
from tests.oracles.pairwise import symmetric, value


@pytest.mark.parametrize("of_items", [False, True])
@pytest.mark.parametrize("n", [8, 40])
def test_the_residuals_are_those_of_the_double_sum_with_the_best_constant(n, of_items):
    rng = np.random.default_rng(0)
    F, D, X, z = symmetric(rng, 6), symmetric(rng, 6), sample(6, n, rng), rng.normal(size=n)
    noise = rng.uniform(0.1, 2.0, n)
    i, j = np.triu_indices(6, 1)
    known, wanted, rows = (F, D, X) if of_items else (D, F, invert(X))
    regression = Regression.of(known[i, j], rows, z, noise)
    weights = wanted[i, j] * np.sqrt(15)  # features are scaled such that many pairs do not count more
    sums = np.array([value(F, D, 0.0, x) for x in X])
    constant = np.average(z - sums, weights=1.0 / noise)
    assert regression.constant(weights) == pytest.approx(constant)
    np.testing.assert_allclose(regression.deviations(weights), z - sums - constant, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(regression.z - regression.A @ weights, (z - sums - constant) / np.sqrt(noise), atol=1e-8)


@pytest.mark.parametrize("n", [10, 15, 60])
def test_compressed_rows_have_the_same_likelihood_but_for_a_constant(n):
    rng = np.random.default_rng(0)
    regression = Regression.of(rng.normal(size=15), sample(6, n, rng), rng.normal(size=n), np.full(n, 0.3))
    A, z = regression.compressed()
    assert len(A) == len(z) <= 15
    differences = []
    for _ in range(5):
        weights = rng.normal(size=15)
        whole, short = (
            np.sum((values - rows @ weights) ** 2) for rows, values in ((regression.A, regression.z), (A, z))
        )
        differences.append(whole - short)
    np.testing.assert_allclose(differences, differences[0], rtol=1e-5, atol=1e-6)
