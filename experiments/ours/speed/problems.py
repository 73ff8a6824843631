"""Values as they are in a run."""

from collections.abc import Callable

import numpy as np

from law_ray.space.permutations import invert, sample
from law_ray.typing import FloatArray, IntArray
from law_ray.utils.seeding import generator

Objective = Callable[[IntArray], FloatArray]
"""(m, n_items) permutations -> values (m,)"""


def lengths_of_tours(n_items: int, seed: int = 0) -> Objective:
    """Return the lengths of tours through random cities as a function."""
    cities = generator(seed, "cities", n_items).random((n_items, 2))
    distances = np.linalg.norm(cities[:, None] - cities[None], axis=2)
    return lambda X: distances[X, np.roll(X, -1, axis=1)].sum(axis=1)


def costs_of_assignments(n_items: int, seed: int = 0) -> Objective:
    """Return the costs of assigning random flows to random places as a function."""
    rng = generator(seed, "assignment", n_items)
    places, flows = rng.random((n_items, 2)), rng.integers(0, 10, (n_items, n_items))
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    return lambda X: np.array([(flows * distances[np.ix_(q, q)]).sum() for q in invert(X)])


def as_in_a_run(f: Objective, n_items: int, n: int, seed: int = 0) -> tuple[IntArray, FloatArray]:
    """Return up to n distinct permutations with their values: a random half, and ends of local searches by swaps."""
    rng = generator(seed, "permutations", n_items)
    X = sample(n_items, n, rng)
    y = f(X)
    for k in range(n // 2):
        for _ in range(min(4 * k, 1500)):
            i, j = rng.choice(n_items, 2, replace=False)
            swapped = X[k].copy()
            swapped[[i, j]] = swapped[[j, i]]
            if (value := f(swapped[None])[0]) < y[k]:
                X[k], y[k] = swapped, value
    _, distinct = np.unique(X, axis=0, return_index=True)
    distinct = rng.permutation(distinct)
    return X[distinct], y[distinct]
