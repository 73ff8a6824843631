"""Acquisition functions and their weights. Larger is better; means, variances and values are those of the model."""

from functools import cache

import numpy as np
from scipy.special import expit, log_ndtr

from law_ray.kernels import FloatArray

N_NODES = 200  # of the quadratures


def est(mean: FloatArray, variance: FloatArray, optimum_estimate: float) -> FloatArray:
    """EST: (m-hat - mu(x)) / sigma(x) (paper, Section 3.2; Wang, Zhou and Jegelka, 2016)."""
    return (optimum_estimate - mean) / np.sqrt(variance)


def optimum_estimate(mean: FloatArray, variance: FloatArray, best: float, multiplicity: float = 1.0) -> float:
    """EST's estimate of the minimum of f, from the posterior (m,) at sampled points taken as independent.

    m-hat = m0 - integral from -inf to m0 of [1 - prod_x (1 - Phi((w - mu(x)) / sigma(x)))] dw, with m0 = `best`, the
    least value so far: the expected minimum of m0 and the sampled f(x). It falls with the number of points; each
    sampled one can stand for `multiplicity` points like it. Gauss-Legendre quadrature from where the integrand is below
    m 1e-15; cost O(m N_NODES).
    """
    sigma = np.sqrt(variance)
    lowest = float(np.min(mean - 8.0 * sigma))
    if lowest >= best:
        return best
    nodes, weights = gauss_legendre()
    half = 0.5 * (best - lowest)
    w = lowest + half * (nodes + 1.0)
    # Points that stay 8 sigma above even `best` have no say: leaving them out changes log prod by less than m 1e-15.
    relevant = mean - 8.0 * sigma < best
    mean, sigma = mean[relevant], sigma[relevant]
    log_all_above = multiplicity * np.array([log_ndtr((mean - level) / sigma).sum() for level in w])
    return best - half * float(weights @ -np.expm1(log_all_above))


@cache
def gauss_legendre() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights, each (N_NODES,), of the quadrature over [-1, 1]."""
    return np.polynomial.legendre.leggauss(N_NODES)


def sigmoid_weight(acquisition: FloatArray) -> FloatArray:
    """w(a) = 0.01 + 0.99 / (1 + exp(-0.2 a)), LAW-EST's weight: positive, increasing, bounded (paper, Section 4)."""
    return 0.01 + 0.99 * expit(0.2 * acquisition)
