"""Parent sets on the rows of random networks, and pairs of variables whose order is given."""

import numpy as np

from law_ray.space.permutations import invert
from objectives.nml.scores.decomposable import SCORES
from objectives.nml.search.grow_shrink import GrowShrink


def parent_sets(name: str, p: int, seed: int, n_rows: int = 2000) -> GrowShrink:
    """On rows of a dense random network of noisy nodes with 2 or 3 states, its columns shuffled."""
    rng = np.random.default_rng(seed)
    r = rng.integers(2, 4, size=p)
    codes = np.zeros((n_rows, p), dtype=np.int64)
    for child in range(p):
        weights = rng.integers(1, 4, size=child) * (rng.random(child) < 0.5)
        noise = rng.integers(0, r[child], n_rows)
        codes[:, child] = np.where(rng.random(n_rows) < 0.6, codes[:, :child] @ weights % r[child], noise)
    order = rng.permutation(p)
    return GrowShrink(SCORES[name](codes[:, order], r[order]))


def insertions(permutation: np.ndarray) -> np.ndarray:
    """All permutations that move one variable elsewhere."""
    p = len(permutation)
    return np.array([np.insert(np.delete(permutation, a), b, permutation[a]) for a in range(p) for b in range(p)])


def satisfied(permutations: np.ndarray, precedes: list[tuple[int, int]]) -> np.ndarray:
    positions = invert(permutations)
    return np.array([all(row[a] < row[b] for a, b in precedes) for row in positions])


CHAINS = [[], [(0, 3), (3, 1), (0, 2), (5, 4)], [(1, 4), (1, 0), (5, 2)]]
