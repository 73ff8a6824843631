"""Additive kernels with random weights, and their covariances computed from two lists."""

import math

from law_ray.kernels.additive import COMPONENTS, AdditiveHyperparameters, AdditiveKernel
from law_ray.kernels.distance import positions_of
from tests.oracles.distances import PLAIN_DISTANCES

POLYNOMIAL = ("hamming", "adjacency", "successor")
ORDER = {"position": 1, "precedence": 1}  # the unit is n_items, else 1


def some_components(rng, names=tuple(COMPONENTS)):
    return {name: rng.uniform(0.1, 1.5, 4 if name in POLYNOMIAL else 2).tolist() for name in names}


def plain(components, a, b):
    """Return the covariance of two orderings, given as lists of up to eight items."""
    total = 0.0
    for name, (weight, decay, *others) in components.items():
        d, n = PLAIN_DISTANCES[name](a, b), len(a)
        total += weight * math.exp(-decay * d / n ** ORDER.get(name, 0))
        most = {"position": (n * n - n % 2) // 2, "precedence": n * (n - 1) // 2}.get(name, n)
        total += sum(w * (1 - d / most) ** degree for degree, w in enumerate(others, start=1))
    return total


def gram(components, X1, X2):
    kernel = AdditiveKernel(tuple(components))
    table = AdditiveHyperparameters(components, 0.1, 0.0).covariance(X1.shape[1])
    return table[kernel.distances(positions_of(X1), positions_of(X2))]
