"""SciPy's own wrappers of the same routines give the same numbers, to the last bit."""

import threading

import numpy as np
import pytest
import scipy.linalg
from scipy.linalg import LinAlgError

from law_ray.utils import lapack

sizes = pytest.mark.parametrize("n", [1, 2, 7, 64, 300])


def positive_definite(n):
    X = np.random.default_rng(n).normal(size=(n, n + 3))
    return X @ X.T + np.eye(n)


@sizes
@pytest.mark.parametrize("order", ["C", "F"])
def test_the_factor_is_scipys(n, order):
    A = positive_definite(n)
    given = np.array(A + np.triu(np.full((n, n), np.nan), 1), order=order)  # what is above is not read
    factor = lapack.cholesky(given)
    np.testing.assert_array_equal(factor, scipy.linalg.cholesky(A, lower=True))
    assert factor.flags.f_contiguous
    assert np.shares_memory(factor, given) == (order == "F" or n == 1)


@sizes
@pytest.mark.parametrize("order", ["C", "F"])
def test_in_place_factor_solution_and_inverse_are_scipys_and_leave_what_is_above(n, order):
    A, b, above = positive_definite(n), np.random.default_rng(4).normal(size=(n, 3)), np.triu(np.full((n, n), 7.0), 1)
    lower = order == "F"  # SciPy's routines go by columns
    of_scipy, _ = scipy.linalg.lapack.dpotrf(A, lower=lower)
    place = np.array(np.tril(A) + above, order=order)
    lapack.factorise(place)
    np.testing.assert_array_equal(place, np.tril(of_scipy if lower else of_scipy.T) + above)
    np.testing.assert_array_equal(lapack.solve(place, b), scipy.linalg.lapack.dpotrs(of_scipy, b, lower=lower)[0])
    np.testing.assert_allclose(A @ lapack.solve(place, b), b, atol=1e-9)
    lapack.invert(place)
    inverse, _ = scipy.linalg.lapack.dpotri(of_scipy, lower=lower)
    np.testing.assert_array_equal(place, np.tril(inverse if lower else inverse.T) + above)


@sizes
def test_solutions_are_scipys_and_change_nothing(n):
    factor, rng = scipy.linalg.cholesky(positive_definite(n), lower=True), np.random.default_rng(1)
    for b in (rng.normal(size=n), rng.normal(size=(n, 1)), rng.normal(size=(n, 9)), rng.normal(size=(9, n)).T):
        before = b.copy()
        for stored in (factor, np.ascontiguousarray(factor)):
            np.testing.assert_allclose(stored @ lapack.solve_triangular(stored, b), b, atol=1e-10)
        found = scipy.linalg.solve_triangular(np.asfortranarray(factor), b, lower=True)
        np.testing.assert_array_equal(lapack.solve_triangular(np.asfortranarray(factor), b), found)
        np.testing.assert_array_equal(b, before)


def test_a_block_of_a_larger_matrix_is_solved_where_it_is():
    factor, rows = np.asfortranarray(scipy.linalg.cholesky(positive_definite(30), lower=True)), slice(10, 25)
    b = np.random.default_rng(2).normal(size=(15, 4))
    found = lapack.solve_triangular(factor[rows, rows], b)
    np.testing.assert_array_equal(found, lapack.solve_triangular(factor[rows, rows].copy(order="F"), b))


@pytest.mark.parametrize("shape", [(1, 1), (5, 3), (3, 5), (200, 90)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_products_are_scipys(shape, order):
    A = np.array(np.random.default_rng(3).normal(size=shape), order=order)
    product = lapack.gram(A)
    np.testing.assert_array_equal(product, np.tril(scipy.linalg.blas.dsyrk(1.0, A.T, lower=1)))
    np.testing.assert_allclose(product, np.tril(A.T @ A), atol=1e-12)


def test_what_has_no_factor_or_no_solution_is_refused():
    with pytest.raises(LinAlgError, match="not positive definite"):
        lapack.cholesky(np.diag([1.0, -1.0]))
    with pytest.raises(LinAlgError, match="singular"):
        lapack.solve_triangular(np.zeros((2, 2)), np.ones(2))
    with pytest.raises(LinAlgError, match="singular"):
        lapack.invert(np.diag([1.0, 0.0]))


def test_another_thread_runs_while_a_factor_is_computed():
    """SciPy's own routine keeps the lock, so the other thread would not advance while it runs."""
    A, ticks, done = np.asfortranarray(positive_definite(1500)), [], threading.Event()

    def tick():
        while not done.wait(0.001):
            ticks.append(1)

    lapack.cholesky(np.eye(2, order="F"))  # compiles what it needs
    other = threading.Thread(target=tick)
    other.start()
    before = len(ticks)
    lapack.cholesky(A)
    during = len(ticks) - before
    done.set()
    other.join()
    assert during >= 3
