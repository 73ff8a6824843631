"""Fits of the pairwise model that several tests share."""

import numpy as np

from law_ray.models.pairwise import fit_pairwise
from law_ray.space.permutations import sample
from tests.oracles.pairwise import symmetric, value


def problem(n, n_items=8, seed=0):
    """Return permutations, and their values by random interactions."""
    rng = np.random.default_rng(seed)
    F, D, X = symmetric(rng, n_items), symmetric(rng, n_items), sample(n_items, n, rng)
    return X, np.array([value(F, D, 100.0, x) for x in X])


def fitted(X, y, steps, seed=0, first=None):
    h = first
    for n in steps:
        h = fit_pairwise.fit(X[:n], y[:n], np.random.default_rng([seed, n]), h)
    return h
