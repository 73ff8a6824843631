"""States for methods to choose from, with a given posterior or none."""

import numpy as np

from law_ray.constraints import Constraints
from law_ray.methods.state import State
from law_ray.taken import Taken


def state_of(posterior, best=None, taken=None, constraints=None, seed=0, round=1, busy=None, joining=False):
    """The state after the data of `posterior`, whose least normalised value is `best`."""
    X, normalise = posterior.X, posterior.normalise
    best = float(np.min(posterior.predict(X)[0])) if best is None else best
    y = np.full(len(X), (best * normalise.scale + normalise.location) * normalise.unit)
    taken = Taken(permutations=X) if taken is None else taken
    constraints = Constraints(X.shape[1]) if constraints is None else constraints
    busy = X[:0] if busy is None else busy
    rng = np.random.default_rng(seed)
    return State(X, y, np.zeros(len(X)), round, taken, constraints, rng, lambda: posterior, busy, joining)


def state_after(X, y, taken=None, constraints=None, seed=0):
    """The state after the data, for a method without a model."""
    X = np.asarray(X)
    taken = Taken(permutations=X) if taken is None else taken
    constraints = Constraints(X.shape[1]) if constraints is None else constraints
    y, rng = np.asarray(y, dtype=float), np.random.default_rng(seed)
    return State(X, y, np.zeros(len(X)), 1, taken, constraints, rng, _no_model, X[:0])


def _no_model():
    raise AssertionError("a method without a model has fitted one")
