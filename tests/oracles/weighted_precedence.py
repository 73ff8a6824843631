"""The weighted precedence kernel by its formula."""

import itertools
import math

import numpy as np

from law_ray.kernels.weighted_precedence import WeightedPrecedenceHyperparameters


def some_weighted(rng, n_items=9, noise=0.05, of_pairs=True):
    """Return hyperparameters; without `of_pairs` the items alone matter."""
    n_pairs = n_items * (n_items - 1) // 2
    items = tuple(np.exp(0.7 * rng.normal(size=n_items)).tolist())
    factors = tuple(np.exp(rng.normal(size=n_pairs)).astype(np.float32).tolist()) if of_pairs else ()
    return WeightedPrecedenceHyperparameters(1.7, 2.0 / n_pairs, items, factors, noise, 0.1)


def distances(h, X1, X2):
    """Return the distances D (m, n)."""
    pairs = list(itertools.combinations(range(len(h.item_weights)), 2))
    factors = h.pair_factors or len(pairs) * [1.0]
    weights = {
        (a, b): h.unit * h.item_weights[a] * h.item_weights[b] * factor
        for (a, b), factor in zip(pairs, factors, strict=True)
    }

    def between(x1, x2):
        return sum(w for (a, b), w in weights.items() if (x1.index(a) < x1.index(b)) != (x2.index(a) < x2.index(b)))

    return np.array([[between(x1, x2) for x2 in X2.tolist()] for x1 in X1.tolist()])


def gram(h, X1, X2):
    """Return the covariances (m, n)."""
    return np.array([[h.weight * math.exp(-d) for d in row] for row in distances(h, X1, X2)])
