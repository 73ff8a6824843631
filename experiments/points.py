"""Points on which models are compared: for fitting and for testing, as in the history of an optimiser.

Half of them are uniform; the other half are drawn from what local searches visit.
"""

from typing import Any

import numpy as np

from law_ray.space.permutations import sample
from law_ray.typing import FloatArray, IntArray

N_FIT, N_TEST = 250, 150  # points; heuristic
N_SEARCHES, N_TRIALS = 5, 200  # local searches, and evaluations of each; heuristic


def points(objective: Any, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Return distinct permutations (N_FIT + N_TEST, n_items), in random order, and their values."""
    n_points = N_FIT + N_TEST
    values: dict[tuple[int, ...], float] = {}
    while len(values) < n_points // 2:
        permutation = tuple(sample(objective.n_items, 1, rng)[0].tolist())
        values[permutation] = float(objective(np.array(permutation)))
    while len(values) < n_points:
        visited = list(local_search(objective, N_TRIALS, rng).items())
        part = rng.choice(len(visited), min(len(visited), n_points // 2 // N_SEARCHES), replace=False)
        values.update(visited[i] for i in part)
    order = rng.permutation(len(values))[:n_points]
    return np.array(list(values))[order], np.array(list(values.values()))[order]


def local_search(objective: Any, n_trials: int, rng: np.random.Generator) -> dict[tuple[int, ...], float]:
    """Return the permutations that a local search evaluates, and their values.

    It starts at a uniform permutation, exchanges two random items at a time, and keeps what is not worse.
    """
    incumbent = sample(objective.n_items, 1, rng)[0]
    best = float(objective(incumbent))
    values = {tuple(incumbent.tolist()): best}
    for _ in range(n_trials - 1):
        first, second = rng.choice(len(incumbent), 2, replace=False)
        tried = incumbent.copy()
        tried[[first, second]] = tried[[second, first]]
        values[tuple(tried.tolist())] = value = float(objective(tried))
        if value <= best:
            incumbent, best = tried, value
    return values
