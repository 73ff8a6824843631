"""Batch contexts for the methods, with a given posterior or none."""

import numpy as np

from law_ray.methods.context import BatchContext
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions


def context_of(
    posterior, best=None, excluded=None, constraints=None, seed=0, round=1, without_value=None, continue_round=False
):
    """Return the context after the data of `posterior`, whose least standardized value is `best`."""
    X, standardize = posterior.X, posterior.standardize
    best = float(np.min(posterior.predict(X)[0])) if best is None else best
    y = np.full(len(X), (best * standardize.scale + standardize.location) * standardize.unit)
    excluded = Exclusions(permutations=X) if excluded is None else excluded
    constraints = Constraints(X.shape[1]) if constraints is None else constraints
    without_value = X[:0] if without_value is None else without_value
    rng = np.random.default_rng(seed)
    return BatchContext(
        X, y, np.zeros(len(X)), round, excluded, constraints, rng, without_value, posterior, continue_round
    )


def context_after(X, y, excluded=None, constraints=None, seed=0):
    """Return the context after the data, for a method without a model."""
    X = np.asarray(X)
    excluded = Exclusions(permutations=X) if excluded is None else excluded
    constraints = Constraints(X.shape[1]) if constraints is None else constraints
    y, rng = np.asarray(y, dtype=float), np.random.default_rng(seed)
    return BatchContext(X, y, np.zeros(len(X)), 1, excluded, constraints, rng, X[:0])
