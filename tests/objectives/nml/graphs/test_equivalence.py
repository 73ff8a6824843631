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
    for members in classes.values():
        found = [np.frombuffer(member, dtype=bool).reshape(p, p) for member in members]
        canonical = {canonical_member(dag).tobytes() for dag in found}
        assert len(canonical) == 1
        assert canonical <= members
        steps = itertools.islice(walk(found[0], np.random.default_rng(0)), 30 * len(members))
        assert {dag.tobytes() for dag in steps} == members


def test_the_walk_ends_where_no_edge_can_be_reversed() -> None:
    collider = dag_of(3, (0, 2), (1, 2))
    (only,) = walk(collider, np.random.default_rng(0))
    np.testing.assert_array_equal(only, collider)
