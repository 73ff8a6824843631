import itertools

import numpy as np
import pytest
from causallearn.graph.GeneralGraph import GeneralGraph
from causallearn.graph.GraphNode import GraphNode
from causallearn.utils.DAG2CPDAG import dag2cpdag

from experiments.ours.networks.other_learners import LEARNERS, _bic, _of_causal_learn, hc_bic
from objectives.nml.data.tables import Table
from objectives.nml.graphs.structure import cpdag, structural_hamming_distance
from objectives.nml.scores.decomposable import BIC

pytestmark = pytest.mark.oracles

TRUTH = np.zeros((4, 4), dtype=bool)
TRUTH[[0, 3, 2], [2, 2, 1]] = True  # 0 -> 2 <- 3, 2 -> 1: the only DAG of its class


@pytest.fixture(scope="module")
def table() -> Table:
    """Data of TRUTH; the last state of variable 0 is declared but never observed."""
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=(2_000, 4))
    codes[:, 2] = np.where(rng.random(2_000) < 0.9, codes[:, 0] + codes[:, 3], rng.integers(3, size=2_000))
    codes[:, 1] = np.where(rng.random(2_000) < 0.8, codes[:, 2] > 0, codes[:, 1])
    states = (("a", "b", "never"), ("a", "b"), ("a", "b", "c"), ("a", "b"))
    return Table("small", ("w", "x", "y", "z"), states, codes, TRUTH)


@pytest.mark.parametrize("name", sorted(LEARNERS.keys() - {"hc-bic"}))
def test_every_learner_finds_a_network_that_its_data_identify(table: Table, name: str) -> None:
    assert structural_hamming_distance(LEARNERS[name](table), TRUTH).total == 0


def test_hill_climbing_ends_where_no_change_of_an_edge_lowers_the_score(table: Table) -> None:
    found, bic = hc_bic(table), BIC(table.codes, table.cardinalities)
    for a, b in itertools.combinations(range(4), 2):
        for forth, back in [(False, False), (True, False), (False, True)]:
            other = found.copy()
            other[a, b], other[b, a] = forth, back
            if not np.linalg.matrix_power(other.astype(np.int64), 4).any():  # no cycle
                assert bic.dag(other) >= bic.dag(found) - 1e-3


def test_pgmpy_scores_the_declared_states(table: Table) -> None:
    theirs, ours = _bic(table), BIC(table.codes, table.cardinalities)
    for child in range(4):
        others = [variable for variable in range(4) if variable != child]
        for parents in itertools.chain.from_iterable(itertools.combinations(others, k) for k in range(4)):
            assert theirs.local_score(child, parents) == pytest.approx(-ours.family(child, parents), abs=1e-8)


def test_a_cpdag_of_causal_learn_becomes_a_dag_of_its_class() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        order = rng.permutation(rng.integers(2, 9))
        dag = np.triu(rng.random((len(order), len(order))) < rng.uniform(0.1, 0.8), 1)[np.ix_(order, order)]
        nodes = [GraphNode(f"X{i}") for i in range(len(dag))]
        graph = GeneralGraph(nodes)
        for parent, child in np.argwhere(dag):
            graph.add_directed_edge(nodes[parent], nodes[child])
        assert (cpdag(_of_causal_learn(dag2cpdag(graph))) == cpdag(dag)).all()
