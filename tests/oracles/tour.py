"""The tour kernel by its formula."""

import numpy as np

from law_ray.kernels.tour import TourHyperparameters
from tests.oracles import additive


def some_tour(rng, n_items=9, noise=0.05):
    vectors = rng.normal(size=(n_items, 3))
    return TourHyperparameters([0.4, 0.7], vectors.tolist(), noise, 0.1)


def matrix(order):
    """Return M_x: how often two items are neighbours on the cycle of x."""
    M = np.zeros((len(order), len(order)))
    for a, b in zip(order, [*order[1:], order[0]], strict=True):
        M[a, b] += 1
        M[b, a] += 1
    return M


def similarities(h, X1, X2):
    """Return the similarities C (m, n)."""
    u = np.array(h.vectors)
    T = np.exp(-0.5 * np.sum((u[:, None] - u[None]) ** 2, axis=2))
    first, second = (np.array([matrix(x) for x in X.tolist()]) for X in (X1, X2))

    def raw(M, N):
        return np.sum(M * (T @ N @ T), axis=(-2, -1))

    own = np.outer(raw(first, first), raw(second, second))
    return raw(first[:, None], second[None]) / np.sqrt(own)


def gram(h, X1, X2):
    C = similarities(h, X1, X2)
    return h.weights[0] * C + h.weights[1] * C**2


def covariances(h, X1, X2):
    """Return the covariances of the tour kernel or the additive kernel, whichever has these hyperparameters."""
    if isinstance(h, TourHyperparameters):
        return gram(h, X1, X2)
    return additive.gram(h.components, X1, X2)
