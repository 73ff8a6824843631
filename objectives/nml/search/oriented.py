"""The decomposable score of many orderings at once, where an ordering only directs the edges of a skeleton."""

import numpy as np

from law_ray.errors import InputError
from law_ray.space.permutations import invert
from law_ray.typing import BoolArray, FloatArray, IntArray
from objectives.nml.scores.decomposable import DecomposableScore

_MOST_NEAR = 62
"""Bits of a non-negative integer."""


class OrientedScore:
    """The score, in nats, of the DAGs of (m, n_items) permutations; edges point from the earlier to the later item.

    The cost of a node depends on which of its d neighbours come before it, so it is looked up among 2^d values; a value
    is computed when it is first needed. Cost: O(m edges), and the new families.

    Args:
        score: the decomposable score.
        edges: (p, p) bool, [parent, child], the edges that are allowed.

    Raises:
        InputError: if a variable has more than 62 possible parents.
    """

    def __init__(self, score: DecomposableScore, edges: BoolArray) -> None:
        self._score = score
        self._near = [np.flatnonzero(column) for column in edges.T]
        most = max(map(len, self._near))
        if most > _MOST_NEAR:
            raise InputError(f"a variable has {most} possible parents, more than {_MOST_NEAR}: use edges=score")
        self._costs = [dict[int, float]() for _ in self._near]

    def __call__(self, permutations: IntArray) -> FloatArray:
        """Return the scores (m,) of (m, n_items) permutations."""
        q = invert(permutations)
        total = np.zeros(len(q))
        for child, near in enumerate(self._near):
            before = (q[:, near] < q[:, [child]]) @ (1 << np.arange(len(near)))
            patterns, which = np.unique(before, return_inverse=True)
            total += np.array([self._cost(child, int(pattern)) for pattern in patterns])[which]
        return total

    def _cost(self, child: int, pattern: int) -> float:
        """The cost of a node whose parents are the neighbours at the bits that are set."""
        if pattern not in self._costs[child]:
            parents = tuple(int(item) for bit, item in enumerate(self._near[child]) if pattern >> bit & 1)
            self._costs[child][pattern] = self._score.family(child, parents)
        return self._costs[child][pattern]
