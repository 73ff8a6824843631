"""Members of a Markov equivalence class: DAGs with the same skeleton and the same v-structures.

The maximum likelihood, and therefore the NML regret, is the same for all members of a class.
"""

from collections.abc import Iterator

import numpy as np

from law_ray.typing import BoolArray, IntArray
from objectives.nml.graphs.structure import cpdag


def canonical_member(dag: BoolArray, impossible: BoolArray | None = None) -> BoolArray:
    """Return one DAG for all members of a class: the extension of its CPDAG that removes the lowest sink first.

    The algorithm is Dor & Tarsi's (1992). A sink has no outgoing directed edge, and its undirected neighbours are
    adjacent to all its other neighbours; one always exists. Its undirected edges are directed towards it, then it is
    removed. Cost: O(p^3) for each of p nodes.

    Args:
        dag: (p, p) bool, dag[parent, child].
        impossible: (p, p) bool, [parent, child], edges that the DAG does not have; then those members count that have
            none of them.
    """
    graph = cpdag(dag, impossible)
    directed, adjacent = graph & ~graph.T, graph | graph.T
    member = directed.copy()
    left = np.ones(len(dag), dtype=bool)
    while left.any():
        sink = next(node for node in np.flatnonzero(left).tolist() if _is_sink(node, directed, adjacent, left))
        member[graph[:, sink] & left, sink] = True
        left[sink] = False
    return member


def _is_sink(node: int, directed: BoolArray, adjacent: BoolArray, left: BoolArray) -> bool:
    if (directed[node] & left).any():
        return False
    near = np.flatnonzero(adjacent[node] & left)
    undirected = np.flatnonzero(adjacent[node] & ~directed[:, node] & left)
    joined = adjacent[np.ix_(undirected, near)] | (undirected[:, None] == near[None, :])
    return bool(joined.all())


def walk(dag: BoolArray, rng: np.random.Generator) -> Iterator[BoolArray]:
    """Yield the DAG, then members of its class, each time reversing a covered edge drawn uniformly.

    An edge a -> b is covered if the parents of b are a and the parents of a; reversing covered edges reaches every
    member (Chickering 1995). The walk is endless, but it yields the DAG alone if there is no covered edge. Cost:
    O(edges x p) a member.

    Args:
        dag: (p, p) bool, dag[parent, child].
        rng: Draws the edges.
    """
    while True:
        yield dag.copy()
        covered = _covered(dag)
        if len(covered) == 0:
            return
        dag = _reversed(dag, *covered[rng.integers(len(covered))])


def _covered(dag: BoolArray) -> IntArray:
    """The covered edges (k, 2): tails and heads."""
    tails, heads = np.nonzero(dag)
    same = dag[:, tails] == dag[:, heads]
    same[tails, np.arange(len(tails))] = True
    return np.column_stack([tails, heads])[same.all(axis=0)]


def _reversed(dag: BoolArray, tail: int, head: int) -> BoolArray:
    dag = dag.copy()
    dag[tail, head], dag[head, tail] = False, True
    return dag
