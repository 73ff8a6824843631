"""The evidence of a Gaussian process, and the parameters that maximise it or their posterior density."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError
from scipy.optimize import OptimizeResult, minimize

from law_ray.models.standardize import Standardization
from law_ray.typing import FloatArray, IntArray
from law_ray.utils import lapack, parallel

N_FIT = 500
"""Points that a fit of a kernel uses at most, but for the kernels of one distance (`fit_distance`).

Heuristic: the cost is O(n^3) per evaluation.
"""

NOISE, NOISE_DEVIATION = 0.01, 2.0
"""The median of the log-normal prior of a fitted noise variance, and the deviation of its logarithm (heuristic)."""

THREADED = 100
"""With more points, the fit from each start gets a thread (heuristic)."""

Density = Callable[[FloatArray], tuple[float, FloatArray, float]]
"""parameters -> the log density, its gradient, and the constant mean that maximises it"""


class Evidence(NamedTuple):
    """log N(y; mean, A) at the mean that maximises it, and what its gradient needs.

    The derivative with respect to A is 1/2 (alpha alpha^T - A^-1). The mean, being optimal, adds nothing to it.
    """

    value: float
    """nats"""
    alpha: FloatArray
    """(n,) A^-1 (y - mean)"""
    inverse: FloatArray
    """(n, n) A^-1 in the lower triangle; what is above it has no meaning"""
    mean: float


def log_evidence(A: FloatArray, y: FloatArray) -> Evidence:
    """Compute the log evidence of values y (n,) whose covariance, noise included, is A (n, n).

    log p = -1/2 r^T A^-1 r - 1/2 log det A - n/2 log 2 pi, with r = y - mean and mean = 1^T A^-1 y / 1^T A^-1 1. Only
    the lower triangle of A is read, and A is overwritten. Cost O(n^3): one Cholesky factor and one inverse.

    Raises:
        LinAlgError: A is numerically singular.
    """
    n = len(y)
    lapack.factorise(A)
    solve_y, solve_1 = lapack.solve(A, np.column_stack([y, np.ones(n)])).T
    mean = float(solve_y.sum() / solve_1.sum())
    alpha = solve_y - mean * solve_1
    log_det = 2.0 * np.log(np.diag(A)).sum()
    value = -0.5 * ((y - mean) @ alpha + log_det + n * np.log(2.0 * np.pi))
    lapack.invert(A)
    return Evidence(float(value), alpha, A, mean)


def standardized_part(
    X: IntArray, y: FloatArray, standard_errors: FloatArray | None, rng: np.random.Generator
) -> tuple[IntArray, FloatArray, FloatArray]:
    """Draw at most N_FIT of the points, in their order.

    Returns:
        Their permutations, their standardized values and the variances of their known noise.
    """
    standardize = Standardization.of(y)
    z = standardize(y)
    known_noise = np.broadcast_to(standardize.known_noise(standard_errors), y.shape)
    if len(y) <= N_FIT:
        return X, z, known_noise
    part = np.sort(rng.choice(len(y), N_FIT, replace=False))
    return X[part], z[part], known_noise[part]


def maximised(density: Density, n: int, bounds: FloatArray, starts: Sequence[tuple[FloatArray, int]]) -> FloatArray:
    """Return the parameters of largest density that L-BFGS finds.

    Args:
        density: The log density of n values.
        n: The number of values, by which the density is divided.
        bounds: (size, 2) the least and the largest value of each parameter.
        starts: Pairs of parameters (size,) and the largest number of steps from there.
    """

    def loss(parameters: FloatArray) -> tuple[float, FloatArray]:
        try:
            value, gradient, _ = density(parameters)
        except LinAlgError:
            return 1e10, np.zeros(len(parameters))
        return -value / n, -gradient / n

    def fit(start_and_steps: tuple[FloatArray, int]) -> OptimizeResult:
        start, steps = start_and_steps
        return minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": steps})

    found: FloatArray = min(parallel.each(fit, starts, n > THREADED), key=lambda fitted: fitted.fun).x
    return found
