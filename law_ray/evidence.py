"""The evidence of a Gaussian process, and the hyperparameters for which it, or their posterior density, is largest."""

from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import LinAlgError, lapack
from scipy.optimize import minimize

from law_ray.kernels import FloatArray
from law_ray.normalisation import Normalisation
from law_ray.permutations import IntArray

N_FIT = 500  # of more points than these, a random part is fitted

Density = Callable[[FloatArray], tuple[float, FloatArray, float]]  # of parameters: the log, its gradient, the best mean


def log_evidence(A: FloatArray, y: FloatArray) -> tuple[float, FloatArray, float]:
    """log N(y; mean, A) of the lower triangle of A (n, n), alpha alpha^T - A^-1 likewise, and the best mean.

    The notation is that of `gp.log_marginal_likelihood`. Raises LinAlgError when A is numerically singular.
    """
    n = len(y)
    # The lower triangle of A by rows is the upper one by columns, which LAPACK takes as it is.
    factor, failed = lapack.dpotrf(A.T, lower=0, overwrite_a=1, clean=0)
    if failed:
        raise LinAlgError("the covariance of the data is not positive definite")
    solve_y, solve_1 = lapack.dpotrs(factor, np.column_stack([y, np.ones(n)]), lower=0)[0].T
    mean = float(solve_y.sum() / solve_1.sum())
    alpha = solve_y - mean * solve_1
    log_det = 2.0 * np.log(np.diag(factor)).sum()
    value = -0.5 * ((y - mean) @ alpha + log_det + n * np.log(2.0 * np.pi))
    inverse, _ = lapack.dpotri(factor, lower=0, overwrite_c=1)
    return float(value), np.outer(alpha, alpha) - inverse.T, mean


def normalised_part(
    X: IntArray, y: FloatArray, standard_errors: FloatArray | None, rng: np.random.Generator
) -> tuple[IntArray, FloatArray, FloatArray]:
    """At most N_FIT of the points, drawn at random in their order, with normalised values and noise variances."""
    normalise = Normalisation.of(y)
    z = normalise(y)
    known_noise = np.broadcast_to(normalise.known_noise(standard_errors), y.shape)
    if len(y) <= N_FIT:
        return X, z, known_noise
    part = np.sort(rng.choice(len(y), N_FIT, replace=False))
    return X[part], z[part], known_noise[part]


def maximised(density: Density, n: int, bounds: FloatArray, starts: Sequence[tuple[FloatArray, int]]) -> FloatArray:
    """The parameters of largest density that L-BFGS finds from the (start, steps) given; the density is of n values."""

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        try:
            value, gradient, _ = density(parameters)
        except LinAlgError:
            return 1e10, np.zeros(len(parameters))
        return -value / n, -gradient / n

    fits = [
        minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps})
        for start, steps in starts
    ]
    found: FloatArray = min(fits, key=lambda fit: fit.fun).x
    return found
