"""Mixtures with random weights, and their covariances from two lists."""

import math

from kinds import KINDS_PLAIN

from law_ray.kernels import positions_of
from law_ray.mixture import KINDS, Mixture, MixtureHyperparameters

POLYNOMIAL = ("hamming", "adjacency", "successor")
ORDER = {"position": 1, "precedence": 1}  # the unit is n_items, else 1


def some_components(rng, names=tuple(KINDS)):
    return {name: rng.uniform(0.1, 1.5, 4 if name in POLYNOMIAL else 2).tolist() for name in names}


def plain(components, a, b):
    """The covariance of two lists, of up to eight items."""
    total = 0.0
    for name, (weight, decay, *others) in components.items():
        d, n = KINDS_PLAIN[name](a, b), len(a)
        total += weight * math.exp(-decay * d / n ** ORDER.get(name, 0))
        most = {"position": (n * n - n % 2) // 2, "precedence": n * (n - 1) // 2}.get(name, n)
        total += sum(w * (1 - d / most) ** degree for degree, w in enumerate(others, start=1))
    return total


def gram(components, X1, X2):
    kernel = Mixture(tuple(components))
    table = kernel.table(X1.shape[1], MixtureHyperparameters(components, 0.1, 0.0))
    return table[kernel.distances(positions_of(X1), positions_of(X2))]
