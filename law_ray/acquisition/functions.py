"""Acquisition functions and their weights; larger is better.

Means and variances are those of the model's posterior, of any shape, in units of the model's standardized values. The
least value so far, `best`, is in the same units.
"""

import math
from functools import cache

import numpy as np
from scipy.special import expit, log_ndtr

from law_ray.typing import FloatArray
from law_ray.utils.compiled import compiled

N_NODES = 200  # of the Gauss-Legendre quadratures; heuristic
DELTA = 0.1  # GP-UCB's bounds hold with probability 1 - DELTA; the value in the experiments of Srinivas et al. (2010)


def est(mean: FloatArray, variance: FloatArray, optimum_estimate: float) -> FloatArray:
    """Return EST's acquisition (m-hat - mu(x)) / sigma(x) (paper, Section 3.2; Wang, Zhou and Jegelka, 2016)."""
    return (optimum_estimate - mean) / np.sqrt(variance)


def optimum_estimate(mean: FloatArray, variance: FloatArray, best: float, multiplicity: float = 1.0) -> float:
    """Return EST's estimate of the minimum of f, from the posterior at sampled points taken as independent.

    m-hat = m0 - integral from -inf to m0 of [1 - prod_x (1 - Phi((w - mu(x)) / sigma(x)))] dw with m0 = `best` is the
    expected minimum of m0 and of f at the sampled points. More points lower it. The integral is computed by
    Gauss-Legendre quadrature, from where the integrand is below m 1e-15. Cost O(m N_NODES).

    Args:
        mean: (m,) posterior means mu(x).
        variance: (m,) posterior variances sigma(x)^2.
        best: the least value so far.
        multiplicity: how many similar points each sampled point represents.
    """
    sigma = np.sqrt(variance)
    lowest = float(np.min(mean - 8.0 * sigma))
    if lowest >= best:
        return best
    nodes, weights = gauss_legendre()
    half = 0.5 * (best - lowest)
    w = lowest + half * (nodes + 1.0)
    # Leaving out the points that are 8 sigma or more above even `best` changes log prod by less than m 1e-15.
    relevant = mean - 8.0 * sigma < best
    mean, sigma = mean[relevant], sigma[relevant]
    log_all_above = multiplicity * np.array([log_ndtr((mean - level) / sigma).sum() for level in w])
    return best - half * float(weights @ -np.expm1(log_all_above))


def log_ei(mean: FloatArray, variance: FloatArray, best: float) -> FloatArray:
    """Return the logarithm of the expected improvement EI(x) = E[max(best - f(x), 0)].

    EI(x) = sigma(x) (z Phi(z) + phi(z)) with z = (best - mu(x)) / sigma(x), where `best` is the least value so far
    (Jones, Schonlau and Welch, 1998). EI itself underflows to 0 below z = -39, a plateau that no climb can leave. Its
    logarithm keeps falling there, approximately as -z^2 / 2 (Ament et al., "Unexpected improvements to expected
    improvement", 2023).
    """
    sigma = np.sqrt(variance)
    z = (best - mean) / sigma
    return np.log(sigma) + _log_improvement(z.ravel()).reshape(z.shape)


@compiled()
def _log_improvement(z: FloatArray) -> FloatArray:
    """Return log(z Phi(z) + phi(z)), the log expected improvement of a standard normal, (m,).

    The relative error of the improvement is below 1e-9. Below z = -3, where the sum cancels, it is computed as
    phi(z) / (f g), by Laplace's continued fraction of Mills' ratio: Phi(z) / phi(z) = 1 / f with f = t + 1 / g,
    g = t + 2 / (t + 3 / (t + ...)) and t = -z.
    """
    logs = np.empty(len(z))
    log_normalizer = 0.5 * math.log(2.0 * math.pi)
    for i in range(len(z)):
        log_density = -0.5 * z[i] * z[i] - log_normalizer
        if z[i] > -3.0:
            logs[i] = math.log(0.5 * z[i] * math.erfc(-z[i] / math.sqrt(2.0)) + math.exp(log_density))
        else:
            g = -z[i]
            for k in range(30, 1, -1):
                g = k / g - z[i]
            logs[i] = log_density - math.log((1.0 / g - z[i]) * g)
    return logs


def log_pi(mean: FloatArray, variance: FloatArray, best: float) -> FloatArray:
    """Return the log probability of improvement, accurate in its tail.

    PI(x) = P(f(x) < best) = Phi((best - mu(x)) / sigma(x)) (Kushner, 1964).
    """
    return log_ndtr((best - mean) / np.sqrt(variance))


def ucb(mean: FloatArray, variance: FloatArray, beta: float) -> FloatArray:
    """Return GP-UCB for a minimum: the negative lower confidence bound (Srinivas et al., 2010).

    That is -(mu(x) - sqrt(beta) sigma(x)).
    """
    return math.sqrt(beta) * np.sqrt(variance) - mean


def ucb_beta(n_items: int, round: int, batch_size: int, delta: float = DELTA) -> float:
    """Return GP-UCB's beta_t = 2 log(n_items! pi^2 ((t - 1) B + 1)^2 / (6 delta)) (paper, Theorem 3.6).

    With probability 1 - delta, the bounds mu(x) -+ sqrt(beta_t) sigma(x) hold at all x in all rounds. Each point of the
    earlier batches counts as a round of its own.

    Args:
        n_items: the number of items; the space has n_items! permutations.
        round: t = 1, 2, ...
        batch_size: B.
        delta: the probability that a bound fails.
    """
    log_size = math.lgamma(n_items + 1)
    return 2.0 * (log_size + 2.0 * math.log(math.pi * ((round - 1) * batch_size + 1)) - math.log(6.0 * delta))


@cache
def gauss_legendre() -> tuple[FloatArray, FloatArray]:
    """Return the nodes and weights, each (N_NODES,), of Gauss-Legendre quadrature over [-1, 1]."""
    return np.polynomial.legendre.leggauss(N_NODES)


def sigmoid_weight(acquisition: FloatArray) -> FloatArray:
    """Return LAW-EST's weight w(a) = 0.01 + 0.99 / (1 + exp(-0.2 a)) (paper, Section 4).

    It is positive, increasing and bounded, as Definition 3.1 of the paper requires.
    """
    return 0.01 + 0.99 * expit(0.2 * acquisition)


def ei_weight(log_improvement: FloatArray) -> FloatArray:
    """Return LAW-EI's weight w(a) = 0.01 + a of a = EI, given log EI (paper, Section 4).

    It is not bounded above. So it is not a weight function in the sense of Definition 3.1, and the regret bound does
    not apply to it.
    """
    return 0.01 + np.exp(log_improvement)
