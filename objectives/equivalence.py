"""Members of a Markov equivalence class: DAGs with one skeleton and the same v-structures.

Maximum likelihoods, and so the NML regret, are equal for all members of a class.
"""

from collections.abc import Iterator

import numpy as np

from objectives.contingency import BoolArray
from objectives.structure import cpdag


def canonical_member(dag: BoolArray) -> BoolArray:
    """The same DAG for every member of a class: the extension of its CPDAG that removes the lowest sink first.

    Dor & Tarsi 1992: a node without directed edges out, whose undirected neighbours are adjacent to all its other
    neighbours, takes its undirected edges in and leaves; one always exists. Cost: O(p^3) for each of p nodes.
    """
    graph = cpdag(dag)
    directed = graph & ~graph.T
    member = directed.copy()
    left = np.ones(len(dag), dtype=bool)
    while left.any():
        sink = next(node for node in np.flatnonzero(left).tolist() if _is_sink(node, graph, directed, left))
        member[graph[:, sink] & left, sink] = True
        left[sink] = False
    return member


def _is_sink(node: int, graph: BoolArray, directed: BoolArray, left: BoolArray) -> bool:
    if (directed[node] & left).any():
        return False
    adjacent = graph | graph.T
    near = np.flatnonzero(adjacent[node] & left)
    undirected = np.flatnonzero(graph[node] & graph[:, node] & left)
    joined = adjacent[np.ix_(undirected, near)] | (undirected[:, None] == near[None, :])
    return bool(joined.all())


def walk(dag: BoolArray, rng: np.random.Generator) -> Iterator[BoolArray]:
    """The DAG, then members of its class, each a uniformly chosen covered edge of the last one turned round.

    An edge a -> b is covered when the parents of b are a and the parents of a; turning covered edges leads to every
    member (Chickering 1995). Endless, or the DAG alone when it has no covered edge. Cost: O(edges x p) a member.
    """
    dag = dag.copy()
    while True:
        yield dag.copy()
        tails, heads = np.nonzero(dag)
        same = dag[:, tails] == dag[:, heads]
        same[tails, np.arange(len(tails))] = True
        covered = np.flatnonzero(same.all(axis=0))
        if len(covered) == 0:
            return
        edge = covered[rng.integers(len(covered))]
        dag[tails[edge], heads[edge]] = False
        dag[heads[edge], tails[edge]] = True
