import itertools

import networkx as nx
import numpy as np
import pytest

from objectives.nml.search.kicks import moved_at_random, reversed_path


def random_dag(p: int, share: float, rng: np.random.Generator) -> tuple[list[tuple[int, ...]], nx.DiGraph]:
    names = rng.permutation(p).tolist()
    graph = nx.DiGraph()
    graph.add_nodes_from(range(p))
    graph.add_edges_from((names[a], names[b]) for b in range(p) for a in range(b) if rng.random() < share)
    return [tuple(sorted(graph.predecessors(child))) for child in range(p)], graph


@pytest.mark.parametrize("share", [0.1, 0.3, 0.8])
def test_the_path_is_reversed_and_every_edge_that_can_be_is_kept(share: float) -> None:
    """An edge is kept unless it leads from the path to it, whatever lies between."""
    rng = np.random.default_rng(0)
    lengths = set()
    for _ in range(200):
        parents, graph = random_dag(9, share, rng)
        order, path = reversed_path(parents, rng)
        assert sorted(order) == list(range(9))
        if not path:
            assert graph.number_of_edges() == 0
            continue
        lengths.add(len(path))
        assert all(graph.has_edge(a, b) for a, b in itertools.pairwise(path))
        place = {variable: k for k, variable in enumerate(order)}
        assert [variable for variable in order if variable in path] == path[::-1]
        below = set(path).union(*(nx.descendants(graph, each) for each in path))
        above = set(path).union(*(nx.ancestors(graph, each) for each in path))
        for a, b in graph.edges:
            if not {a, b} <= below & above:
                assert place[a] < place[b]
    assert {2, 3} <= lengths


def test_every_edge_and_every_order_can_be_drawn() -> None:
    parents = [(), (0,), (0,), (1, 2)]
    rng = np.random.default_rng(1)
    drawn = [reversed_path(parents, rng) for _ in range(500)]
    assert {tuple(path) for _, path in drawn} == {(0, 1), (0, 2), (1, 3), (2, 3), (0, 1, 3), (0, 2, 3)}
    assert {tuple(order) for order, path in drawn if path == [1, 3]} == {(0, 2, 3, 1)}
    assert {tuple(order) for order, path in drawn if path == [0, 1]} == {(1, 0, 2, 3)}


def test_no_edge_leaves_a_random_ordering() -> None:
    rng = np.random.default_rng(2)
    drawn = [reversed_path([(), (), ()], rng) for _ in range(200)]
    assert {tuple(order) for order, _ in drawn} == set(itertools.permutations(range(3)))
    assert all(path == [] for _, path in drawn)


def test_the_result_depends_on_the_generator_alone() -> None:
    parents, _ = random_dag(12, 0.3, np.random.default_rng(2))
    drawn = [reversed_path(parents, np.random.default_rng(seed)) for seed in (5, 5, 6, 7)]
    assert drawn[0] == drawn[1]
    assert len({tuple(order) for order, _ in drawn}) == 3


def test_only_the_variables_named_were_moved() -> None:
    rng = np.random.default_rng(3)
    start = rng.permutation(12).tolist()
    results = set()
    for _ in range(50):
        order, moved = moved_at_random(start, rng)
        assert sorted(order) == list(range(12))
        assert [each for each in order if each not in moved] == [each for each in start if each not in moved]
        assert 1 <= len(set(moved)) <= len(moved) == 5
        results.add(tuple(order))
    assert len(results) > 45
    assert moved_at_random([0], rng)[0] == [0]
