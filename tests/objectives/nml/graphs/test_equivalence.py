import itertools

import numpy as np
import pytest
from hypothesis import given, settings

from objectives.nml.graphs.equivalence import canonical_member, walk
from objectives.nml.graphs.structure import cpdag, topological_order
from tests.oracles.graphs import all_dags, dag_of, dags


@settings(max_examples=60)
@given(dags())
def test_the_canonical_member_is_a_dag_of_the_class(dag: np.ndarray) -> None:
    member = canonical_member(dag)
    topological_order(member)
    np.testing.assert_array_equal(cpdag(member), cpdag(dag))


@pytest.mark.parametrize("p", [3, 4])
def test_a_class_has_one_canonical_member_and_the_walk_reaches_all(p: int) -> None:
    classes: dict[bytes, set[bytes]] = {}
    for dag in all_dags(p):
        classes.setdefault(cpdag(dag).tobytes(), set()).add(dag.tobytes())
    for alike in classes.values():
        found = [np.frombuffer(member, dtype=bool).reshape(p, p) for member in alike]
        canonical = {canonical_member(dag).tobytes() for dag in found}
        assert len(canonical) == 1
        assert canonical <= alike
        steps = itertools.islice(walk(found[0], np.random.default_rng(0)), 30 * len(alike))
        assert {dag.tobytes() for dag in steps} == alike


def test_the_walk_ends_where_no_edge_can_be_reversed() -> None:
    collider = dag_of(3, (0, 2), (1, 2))
    (only,) = walk(collider, np.random.default_rng(0))
    np.testing.assert_array_equal(only, collider)


@pytest.mark.parametrize("seed", range(3))
def test_with_impossible_edges_the_class_shrinks_to_the_members_without_them(seed: int) -> None:
    rng = np.random.default_rng(seed)
    classes: dict[bytes, list[np.ndarray]] = {}
    for dag in all_dags(4):
        classes.setdefault(cpdag(dag).tobytes(), []).append(dag)
    directed_by_knowledge = 0
    for whole in classes.values():
        impossible = rng.random((4, 4)) < 0.3
        possible = [dag for dag in whole if not (dag & impossible).any()]
        if not possible:
            continue
        graph = cpdag(possible[0], impossible)
        np.testing.assert_array_equal(graph, np.any(possible, axis=0))  # both directions where members differ
        directed_by_knowledge += not np.array_equal(graph, cpdag(possible[0]))
        canonical = {canonical_member(dag, impossible).tobytes() for dag in possible}
        assert len(canonical) == 1
        assert canonical <= {dag.tobytes() for dag in possible}
    assert directed_by_knowledge > 20
