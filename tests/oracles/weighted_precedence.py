"""The weighted precedence kernel by its formula."""

import itertools

import numpy as np

from law_ray.kernels.weighted_precedence import WeightedPrecedenceHyperparameters


def some_weighted(rng, n_items=9, noise=0.05):
    return WeightedPrecedenceHyperparameters(1.7, np.exp(rng.normal(size=n_items)).tolist(), noise, 0.1)


def similarities(h, X1, X2):
    """Return the similarities C (m, n)."""
    pairs = list(itertools.combinations(range(len(h.item_weights)), 2))
    shares = np.array([h.item_weights[a] * h.item_weights[b] for a, b in pairs])
    first, second = ([[1 if x.index(a) < x.index(b) else -1 for a, b in pairs] for x in X.tolist()] for X in (X1, X2))
    return np.einsum("mp,np,p->mn", np.reshape(first, (-1, len(pairs))), second, shares / shares.sum())


def gram(h, X1, X2):
    return h.weight * similarities(h, X1, X2)
