"""The weighted precedence kernel by its formula."""

import itertools
import math

import numpy as np

from law_ray.kernels.weighted_precedence import WeightedPrecedenceHyperparameters


def some_weighted(rng, n_items=9, noise=0.05):
    """Return hyperparameters; the weights of an item to all others have a sum of about 2."""
    shares = np.exp(0.5 * rng.normal(size=n_items))
    items = np.exp(0.5 * rng.normal(size=n_items))
    factors = np.exp(rng.normal(size=n_items * (n_items - 1) // 2)).astype(np.float32)
    of_items = [tuple(each.tolist()) for each in (shares / shares.sum(), items, factors)]
    return WeightedPrecedenceHyperparameters(1.7, 1.0 / n_items, *of_items, noise, 0.1)


def correlation(h, x1, x2):
    """Return k(x1, x2) / v."""
    n_items = len(h.item_weights)
    pairs = itertools.combinations(range(n_items), 2)
    factors = dict(zip(pairs, h.pair_factors, strict=True))

    def part(a):
        reversed_ = [b for b in range(n_items) if (x1.index(a) < x1.index(b)) != (x2.index(a) < x2.index(b))]
        s, e = h.item_weights, factors
        return math.exp(-sum(h.unit * s[a] * s[b] * e[min(a, b), max(a, b)] for b in reversed_))

    return sum(share * part(a) for a, share in enumerate(h.item_shares))


def gram(h, X1, X2):
    """Return the covariances (m, n)."""
    return np.array([[h.weight * correlation(h, x1, x2) for x2 in X2.tolist()] for x1 in X1.tolist()])
