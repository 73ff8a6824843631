import itertools
import math
from collections.abc import Iterable

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from objectives.nml.regret.elimination import ADD_TERM, SPLIT, SUM_OUT, eliminate, plan, terms
from objectives.nml.scores.contingency import max_log_likelihood, n_log_n
from tests.oracles.graphs import dag_of, dags, random_dag


def table_of(codes: np.ndarray, r: np.ndarray, variables: tuple[int, ...]) -> np.ndarray:
    counts = np.zeros([r[variable] for variable in variables], dtype=np.int64)
    for row in codes:
        counts[tuple(row[list(variables)])] += 1
    return counts


@given(dags(), st.integers(0, 2**32 - 1))
def test_the_terms_add_up_to_the_log_likelihood(dag: np.ndarray, seed: int) -> None:
    rng = np.random.default_rng(seed)
    r = rng.integers(2, 5, size=len(dag))
    codes = rng.integers(0, r, size=(25, len(r)))
    total = sum(coefficient * n_log_n(table_of(codes, r, axes)).sum() for axes, coefficient in terms(dag).items())
    assert total == pytest.approx(max_log_likelihood(codes, r, dag), abs=1e-9)


def test_terms_of_a_complete_dag_telescope() -> None:
    dag = np.triu(np.ones((5, 5), dtype=bool), 1)
    assert terms(dag) == {(): -1, (0, 1, 2, 3, 4): 1}


@given(dags(max_nodes=7), st.integers(0, 2**32 - 1))
def test_the_plan_computes_the_log_likelihood_if_its_splits_are_those_of_a_data_set(dag: np.ndarray, seed: int) -> None:
    """Every step is run on a real data set, where the source of a split must be a margin of its target."""
    rng = np.random.default_rng(seed)
    r = rng.integers(2, 4, size=len(dag))
    codes = rng.integers(0, r, size=(30, len(r)))
    elimination = eliminate(dag, r.tolist())
    steps, workspace = plan(dag, r.tolist(), elimination)
    counts = np.full(workspace, -1)
    counts[0] = len(codes)
    axes: dict[int, tuple[int, ...]] = {0: ()}
    order = iter(reversed(elimination.order))
    total = 0.0
    for kind, source, target, outer, states, inner in steps:
        size = outer if kind != SUM_OUT else outer * states * inner
        table = counts[source : source + size]
        assert (table >= 0).all()  # it was drawn before
        if kind == SPLIT:
            axes[target] = (*axes[source], next(order))
            drawn = table_of(codes, r, axes[target]).reshape(outer, states)
            np.testing.assert_array_equal(drawn.sum(axis=1), table)
            counts[target : target + drawn.size] = drawn.ravel()
        elif kind == SUM_OUT:
            summed = table.reshape(outer, states, inner).sum(axis=1).ravel()
            counts[target : target + summed.size] = summed
            before = np.cumprod([r[axis] for axis in axes[source]]) // [r[axis] for axis in axes[source]]
            gone = int(np.flatnonzero(before == outer)[0])
            axes[target] = axes[source][:gone] + axes[source][gone + 1 :]
            np.testing.assert_array_equal(summed, table_of(codes, r, axes[target]).ravel())
        else:
            assert kind == ADD_TERM
            total += states * n_log_n(table).sum()
    assert next(order, None) is None
    assert total == pytest.approx(max_log_likelihood(codes, r, dag), abs=1e-9)


@given(dags(max_nodes=7))
def test_elimination_triangulates_the_moral_graph(dag: np.ndarray) -> None:
    r = [2] * len(dag)
    order, separators, cells = eliminate(dag, r)
    position = {node: i for i, node in enumerate(order)}
    cliques = [separators[node] | {node} for node in order]
    assert sorted(order) == list(range(len(dag)))
    assert cells == sum(2 ** len(clique) for clique in cliques)
    for child in range(len(dag)):  # every family is in a clique
        assert any(clique.issuperset([child, *np.flatnonzero(dag[:, child])]) for clique in cliques)
    # Every separator is in the clique of its first member, so its table is a margin of that clique's.
    for node in order:
        if separators[node]:
            parent = min(separators[node], key=lambda other: position[other])
            assert separators[node] <= separators[parent] | {parent}
            assert position[parent] > position[node]


def eliminated(dag: np.ndarray, r: list[int], by_fill: bool) -> tuple[list[int], int]:
    """Return a greedy order on the moral graph, and the cells of its cliques.

    The next node has the clique of fewest cells or, by fill, the missing edges of least weight: an edge weighs as much
    as a table of its two nodes has cells.
    """
    graph = nx.moral_graph(nx.from_numpy_array(dag, create_using=nx.DiGraph))

    def cells(nodes: Iterable[int]) -> int:
        return math.prod(r[node] for node in nodes)

    def fill(node: int) -> int:
        pairs = itertools.combinations(graph[node], 2)
        return sum(cells(pair) for pair in pairs if not graph.has_edge(*pair))

    order, total = [], 0
    while graph:
        node = min(graph, key=lambda node: (fill(node) if by_fill else 0, cells([node, *graph[node]]), node))
        total += cells([node, *graph[node]])
        order.append(node)
        graph.add_edges_from(itertools.combinations(graph[node], 2))
        graph.remove_node(node)
    return order, total


@given(dags(max_nodes=9), st.integers(0, 2**32 - 1))
def test_the_order_is_the_better_one_by_cliques_or_by_fill(dag: np.ndarray, seed: int) -> None:
    r = np.random.default_rng(seed).integers(2, 9, size=len(dag)).tolist()
    by_clique, by_fill = eliminated(dag, r, False), eliminated(dag, r, True)
    found = eliminate(dag, r)
    assert (found.order, found.cells) == (by_clique if by_clique[1] <= by_fill[1] else by_fill)


def test_either_order_may_be_the_better_one() -> None:
    rng = np.random.default_rng(0)
    better = set()
    for _ in range(100):
        dag, r = random_dag(8, 0.4, rng), rng.integers(2, 9, size=8).tolist()
        by_clique, by_fill = eliminated(dag, r, False), eliminated(dag, r, True)
        found = eliminate(dag, r)
        assert (found.order, found.cells) == (by_clique if by_clique[1] <= by_fill[1] else by_fill)
        better.add(np.sign(by_clique[1] - by_fill[1]))
    assert better == {-1, 0, 1}


def test_a_chain_needs_no_table_of_more_than_two_variables() -> None:
    chain = dag_of(30, *((i, i + 1) for i in range(29)))
    assert eliminate(chain, [3] * 30).cells == 29 * 9 + 3
