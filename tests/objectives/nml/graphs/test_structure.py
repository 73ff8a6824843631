import itertools
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pgmpy.base import DAG

from law_ray.errors import InputError
from objectives.nml.graphs.structure import (
    cpdag,
    dag_from_order,
    equivalence_key,
    structural_hamming_distance,
    topological_order,
)
from tests.oracles.graphs import all_dags, dag_of, dags, random_dag


@given(dags(), st.randoms(use_true_random=False))
def test_dag_from_order_points_every_edge_forwards(dag: np.ndarray, random: Random) -> None:
    graph = dag | dag.T
    permutation = np.array(random.sample(range(len(dag)), len(dag)))
    directed = dag_from_order(graph, permutation)
    np.testing.assert_array_equal(directed | directed.T, graph)
    assert not np.tril(directed[np.ix_(permutation, permutation)]).any()


@given(dags())
def test_topological_order_puts_parents_first(dag: np.ndarray) -> None:
    order = np.array(topological_order(dag))
    np.testing.assert_array_equal(dag_from_order(dag | dag.T, order), dag)


def test_topological_order_refuses_a_cycle() -> None:
    with pytest.raises(InputError, match="cycle"):
        topological_order(dag_of(4, (0, 1), (1, 2), (2, 1), (2, 3)))


@pytest.mark.parametrize("permutation", [[0, 0, 1], [2, 1, -1], [0, 1], [1, 2, 3]])
def test_dag_from_order_refuses_what_is_no_permutation(permutation: list[int]) -> None:
    with pytest.raises(InputError, match="permutation"):
        dag_from_order(~np.eye(3, dtype=bool), np.array(permutation))


def class_of(dag: np.ndarray) -> tuple[bytes, tuple]:
    """Skeleton and v-structures, which define the class (Verma & Pearl 1990)."""
    adjacent = dag | dag.T
    v_structures = sorted(
        (a, child, b)
        for child in range(len(dag))
        for a, b in itertools.combinations(np.flatnonzero(dag[:, child]).tolist(), 2)
        if not adjacent[a, b]
    )
    return adjacent.tobytes(), tuple(v_structures)


@pytest.mark.parametrize("p", [2, 3, 4])
def test_cpdag_is_the_union_of_the_equivalence_class(p: int) -> None:
    classes: dict[tuple, list[np.ndarray]] = {}
    for dag in all_dags(p):
        classes.setdefault(class_of(dag), []).append(dag)
    assert len(classes) == {2: 2, 3: 11, 4: 185}[p]  # OEIS A007984
    for members in classes.values():
        union = np.any(members, axis=0)
        for dag in members:
            np.testing.assert_array_equal(cpdag(dag), union)


@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_keys_are_equal_exactly_within_a_class(p: int) -> None:
    pairs = {(class_of(dag), equivalence_key(dag)) for dag in all_dags(p)}
    assert len(pairs) == len({one for one, _ in pairs}) == len({key for _, key in pairs})


def test_cpdag_agrees_with_pgmpy_on_larger_graphs() -> None:
    rng = np.random.default_rng(0)
    for density in (0.15, 0.3, 0.5, 0.7):
        for _ in range(5):
            dag = random_dag(9, density, rng)
            model = DAG()
            model.add_nodes_from(range(9))
            model.add_edges_from(np.argwhere(dag).tolist())
            theirs = model.to_pdag()
            expected = dag_of(9, *theirs.directed_edges, *theirs.undirected_edges)
            for a, b in theirs.undirected_edges:
                expected[b, a] = True
            np.testing.assert_array_equal(cpdag(dag), expected)


def test_distance_counts_missing_and_reversed_edges() -> None:
    collider, chain = dag_of(3, (0, 1), (2, 1)), dag_of(3, (0, 1), (1, 2))
    assert structural_hamming_distance(collider, chain) == (2, 0, 2)  # both edges lose their direction
    assert structural_hamming_distance(chain, dag_of(3, (2, 1), (1, 0))) == (0, 0, 0)  # equivalent
    assert structural_hamming_distance(chain, dag_of(3, (0, 1), (0, 2))) == (2, 2, 0)


@given(dags(max_nodes=5), st.randoms(use_true_random=False))
def test_distance_is_symmetric_and_zero_within_a_class_only(dag: np.ndarray, random: Random) -> None:
    other = dag_from_order(dag | dag.T, np.array(random.sample(range(len(dag)), len(dag))))
    forth, back = structural_hamming_distance(dag, other), structural_hamming_distance(other, dag)
    assert forth == back
    assert forth.total == forth.skeleton + forth.orientation
    assert (forth.total == 0) == (equivalence_key(dag) == equivalence_key(other))
