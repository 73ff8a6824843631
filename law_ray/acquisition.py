"""Acquisition functions and their weights. Larger is better; means, variances and values are those of the model."""

import math
from functools import cache

import numpy as np
from scipy.special import expit, log_ndtr

from law_ray.compiled import compiled
from law_ray.kernels import FloatArray

N_NODES = 200  # of the quadratures
DELTA = 0.1  # GP-UCB's bounds hold with probability 1 - DELTA: the experiments of Srinivas et al. (2010)


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


def log_ei(mean: FloatArray, variance: FloatArray, best: float) -> FloatArray:
    """The logarithm of EI(x) = E[max(best - f(x), 0)] = sigma(x) (z Phi(z) + phi(z)), z = (best - mu(x)) / sigma(x).

    `best` is the least value so far (Jones, Schonlau and Welch, 1998). EI itself is 0 from z = -39 on, a plateau that
    no climb leaves; its logarithm falls on, about as -z^2 / 2 (Ament et al., "Unexpected improvements to expected
    improvement", 2023).
    """
    sigma = np.sqrt(variance)
    z = (best - mean) / sigma
    return np.log(sigma) + _log_improvement(z.ravel()).reshape(z.shape)


@compiled()
def _log_improvement(z: FloatArray) -> FloatArray:
    """log(z Phi(z) + phi(z)), the improvement of a standard normal (m,); its relative error is below 1e-9.

    Below -3, where that sum cancels, it is phi(z) / (f g) by Laplace's continued fraction of Mills' ratio,
    Phi(z) / phi(z) = 1 / f with f = t + 1 / g, g = t + 2 / (t + 3 / (t + ...)) and t = -z.
    """
    logs = np.empty(len(z))
    normalisation = 0.5 * math.log(2.0 * math.pi)
    for i in range(len(z)):
        log_density = -0.5 * z[i] * z[i] - normalisation
        if z[i] > -3.0:
            logs[i] = math.log(0.5 * z[i] * math.erfc(-z[i] / math.sqrt(2.0)) + math.exp(log_density))
        else:
            g = -z[i]
            for k in range(30, 1, -1):
                g = k / g - z[i]
            logs[i] = log_density - math.log((1.0 / g - z[i]) * g)
    return logs


def log_pi(mean: FloatArray, variance: FloatArray, best: float) -> FloatArray:
    """The logarithm of PI(x) = P(f(x) < best) = Phi((best - mu(x)) / sigma(x)) (Kushner, 1964), sound in its tail."""
    return log_ndtr((best - mean) / np.sqrt(variance))


def ucb(mean: FloatArray, variance: FloatArray, beta: float) -> FloatArray:
    """GP-UCB for a minimum: the negative lower bound -(mu(x) - sqrt(beta) sigma(x)) (Srinivas et al., 2010)."""
    return math.sqrt(beta) * np.sqrt(variance) - mean


def ucb_beta(n_items: int, round: int, batch_size: int, delta: float = DELTA) -> float:
    """GP-UCB's beta_t = 2 log(|X| pi^2 ((t - 1) B + 1)^2 / (6 delta)), |X| = n_items! (paper, Theorem 1).

    The bounds mu(x) -+ sqrt(beta_t) sigma(x) then hold at all x of all rounds `round` = t = 1, 2, ... with probability
    1 - delta, as if each point of the earlier batches, of B = `batch_size` points, had been a round of its own.
    """
    log_size = math.lgamma(n_items + 1)
    return 2.0 * (log_size + 2.0 * math.log(math.pi * ((round - 1) * batch_size + 1)) - math.log(6.0 * delta))


@cache
def gauss_legendre() -> tuple[FloatArray, FloatArray]:
    """Nodes and weights, each (N_NODES,), of the quadrature over [-1, 1]."""
    return np.polynomial.legendre.leggauss(N_NODES)


def sigmoid_weight(acquisition: FloatArray) -> FloatArray:
    """w(a) = 0.01 + 0.99 / (1 + exp(-0.2 a)), LAW-EST's weight: positive, increasing, bounded (paper, Section 4)."""
    return 0.01 + 0.99 * expit(0.2 * acquisition)


def ei_weight(log_improvement: FloatArray) -> FloatArray:
    """w(a) = 0.01 + a of a = EI, from log EI: LAW-EI's weight (paper, Section 4).

    It is not bounded above, so it is no weight function as Definition 1 has it, and the regret bound does not hold.
    """
    return 0.01 + np.exp(log_improvement)
