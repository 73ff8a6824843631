"""The Gaussian process with the position kernel by textbook formulas, and values to fit it to."""

import numpy as np
from scipy.stats import multivariate_normal


def shuffles(n_items, count, seed):
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(n_items) for _ in range(count)])


def assignment_values(X, seed=0):
    n_items = X.shape[1]
    return np.random.default_rng(seed).normal(100.0, 7.0, size=(n_items, n_items))[np.arange(n_items), X].sum(axis=1)


def position_covariance(X1, X2, h):
    """Return signal_variance exp(-decay / n_items * sum over items of the difference in position), with loops."""
    n_items = X1.shape[1]
    distances = [[sum(abs(a.index(i) - b.index(i)) for i in range(n_items)) for b in X2.tolist()] for a in X1.tolist()]
    return h.signal_variance * np.exp(-h.decay / n_items * np.array(distances))


def direct_posterior(X, residuals, noise, Z, h):
    """Return the textbook posterior mean and covariance at Z, given residuals at X and noise variances."""
    A = position_covariance(X, X, h) + np.diag(np.broadcast_to(noise, len(X)))
    K = position_covariance(Z, X, h)
    return h.mean + K @ np.linalg.inv(A) @ residuals, position_covariance(Z, Z, h) - K @ np.linalg.inv(A) @ K.T


def two_modes():
    """Return points and values whose evidence has two modes, of which random starts often miss the better one."""
    rng = np.random.default_rng(64)
    n_items, count = int(rng.integers(4, 9)), int(rng.integers(3, 30))
    X = rng.permuted(np.tile(np.arange(n_items), (count, 1)), axis=1)
    return X, rng.normal(size=(n_items, n_items))[np.arange(n_items), X].sum(axis=1)


def between(kernel, X1, X2):
    """Return the kernel's distances between two sets of permutations."""
    return kernel.distances(np.argsort(X1, axis=1).astype(np.int32), np.argsort(X2, axis=1).astype(np.int32))


def standardized(y):
    return (y - y.mean()) / y.std()


def log_density(h, X, y, standard_errors=0.0):
    """Return the log density of the standardized values, by scipy."""
    covariance = position_covariance(X, X, h) + np.diag(
        np.broadcast_to(h.noise + (standard_errors / y.std()) ** 2, len(X))
    )
    return multivariate_normal(np.full(len(X), h.mean), covariance).logpdf(standardized(y))
