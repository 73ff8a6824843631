"""The decomposable score of many orderings at once, where an ordering only directs the edges of a skeleton."""

import numpy as np

from law_ray.kernels import FloatArray
from law_ray.permutations import invert
from objectives.contingency import BoolArray, IntArray
from objectives.scores import DecomposableScore


class OrientedScore:
    """The score, in nats, of the DAGs of (m, n_items) permutations: edges (p, p), each from the earlier to the later.

    `edges`[parent, child] says which may be. A node's cost hangs on which of its d neighbours come before it, so it is
    looked up among 2^d; those met for the first time are computed. Cost: O(m edges), and the new families.
    """

    def __init__(self, score: DecomposableScore, edges: BoolArray) -> None:
        self._score = score
        self._near = [np.flatnonzero(column) for column in edges.T]
        self._costs = [dict[int, float]() for _ in self._near]

    def __call__(self, permutations: IntArray) -> FloatArray:
        q = invert(permutations)
        total = np.zeros(len(q))
        for child, near in enumerate(self._near):
            before = (q[:, near] < q[:, [child]]) @ (1 << np.arange(len(near)))
            patterns, which = np.unique(before, return_inverse=True)
            total += np.array([self._cost(child, int(pattern)) for pattern in patterns])[which]
        return total

    def _cost(self, child: int, pattern: int) -> float:
        """That of a node whose parents are the neighbours at the bits that are set."""
        if pattern not in self._costs[child]:
            parents = tuple(int(item) for bit, item in enumerate(self._near[child]) if pattern >> bit & 1)
            self._costs[child][pattern] = self._score.family(child, parents)
        return self._costs[child][pattern]
