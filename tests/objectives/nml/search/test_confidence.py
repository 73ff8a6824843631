import itertools
import math

import numpy as np
import pytest

from objectives.nml.graphs.structure import cpdag, equivalence_key
from objectives.nml.scores.decomposable import BIC, DecomposableScore, QuotientNML
from objectives.nml.search import confidence
from objectives.nml.search.confidence import edge_probabilities
from objectives.nml.search.grow_shrink import GrowShrink
from tests.oracles.graphs import all_dags, dag_of

ALL_OF_FOUR = list(all_dags(4))


def chain_data(n_rows: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns that copy an earlier one now and then, so that some edges are sure and others are not."""
    rng = np.random.default_rng(seed)
    codes = np.zeros((n_rows, p), dtype=np.int64)
    for j in range(p):
        own = rng.integers(2 + j % 2, size=n_rows)
        codes[:, j] = np.where(rng.random(n_rows) < rng.uniform(0.2, 0.5), codes[:, rng.integers(max(j, 1))], own)
    return codes, np.array([2 + (j > 0) for j in range(p)])


def averaged(costs: np.ndarray, dags: list[np.ndarray]) -> np.ndarray:
    weights = np.exp(costs.min() - costs)
    return sum(weight * dag for weight, dag in zip(weights / weights.sum(), dags, strict=True))


def exact_probabilities(
    own: DecomposableScore, dags: list[np.ndarray], impossible: np.ndarray | None = None
) -> np.ndarray:
    """Of each edge, over these DAGs; half in each direction where members of a class disagree."""
    p = own.n_variables
    n_sets = [math.prod(math.comb(p - 1, k) for k in dag.sum(axis=0)) for dag in dags]
    graphs = [cpdag(dag, impossible) for dag in dags]
    halves = [np.where(graph & graph.T, 0.5, graph) for graph in graphs]
    return averaged(np.array([own.dag(dag) for dag in dags]) + np.log(n_sets), halves)


@pytest.mark.parametrize(("n_rows", "seed"), [(10, 0), (20, 1), (60, 1), (200, 2)])
def test_for_two_variables_it_is_the_exact_probability(n_rows: int, seed: int) -> None:
    own = QuotientNML(*chain_data(n_rows, 2, seed))
    gain = own.dag(dag_of(2)) - own.dag(dag_of(2, (0, 1)))
    edge = 1 / (1 + np.exp(-gain) / 2)  # the two directions have the same cost
    found = edge_probabilities(own, [dag_of(2)], np.zeros(1))
    np.testing.assert_allclose(found, [[0, edge / 2], [edge / 2, 0]])
    known = edge_probabilities(own, [dag_of(2)], np.zeros(1), forbidden=dag_of(2, (1, 0)))
    np.testing.assert_allclose(known, [[0, 1 / (1 + np.exp(-gain))], [0, 0]])


@pytest.mark.parametrize("score", [QuotientNML, BIC])
@pytest.mark.parametrize(("n_rows", "seed"), [(15, 4), (40, 0), (100, 2)])
def test_a_long_chain_comes_to_the_exact_probabilities(
    monkeypatch: pytest.MonkeyPatch, score: type, n_rows: int, seed: int
) -> None:
    monkeypatch.setattr(confidence, "MOST_SWEEPS", 4000)
    own = score(*chain_data(n_rows, 4, seed))
    exact = exact_probabilities(own, ALL_OF_FOUR)
    assert ((exact + exact.T > 0.05) & (exact + exact.T < 0.95)).any()  # not all is settled
    for start in (dag_of(4), dag_of(4, (0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))):
        found = edge_probabilities(own, [start], np.zeros(1))
        np.testing.assert_allclose(found + found.T, exact + exact.T, atol=0.03)
        np.testing.assert_allclose(found, exact, atol=0.04)


@pytest.mark.parametrize("seed", range(4))
def test_a_short_chain_from_the_best_network_is_close_and_closer_than_the_weights_of_all_orderings(seed: int) -> None:
    own = QuotientNML(*chain_data(40, 4, seed))
    exact = exact_probabilities(own, ALL_OF_FOUR)
    parent_sets = GrowShrink(own)
    best = [parent_sets.dag(np.array(order)) for order in itertools.permutations(range(4))]
    best = list({equivalence_key(dag): dag for dag in best}.values())
    costs = np.array([own.dag(dag) for dag in best])
    found, plain = edge_probabilities(own, best, costs), averaged(costs, best)
    pairs = np.triu_indices(4, 1)
    errors = [np.abs((each + each.T - exact - exact.T)[pairs]) for each in (found, plain)]
    assert errors[0].max() < 0.1
    assert errors[0].sum() < errors[1].sum()


@pytest.mark.parametrize("seed", [0, 1])
def test_the_chain_changes_between_parents_that_explain_a_variable_equally_well(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both together cost too much, and neither does too: pair by pair, the chain would stay where it began."""
    rng, n, r = np.random.default_rng(seed), 300, 6
    codes = np.zeros((n, 3), dtype=np.int64)
    codes[:, 0] = rng.integers(r, size=n)
    for child, share in ((1, 0.02), (2, 0.5)):
        codes[:, child] = np.where(rng.random(n) < share, rng.integers(r, size=n), codes[:, 0])
    own = QuotientNML(codes, np.full(3, r))
    exact = exact_probabilities(own, list(all_dags(3)))
    assert min(exact[0, 2], exact[1, 2]) > 0.1
    starts = [dag_of(3, (0, 1), (0, 2)), dag_of(3, (0, 1), (1, 2))]
    for start in starts:
        np.testing.assert_allclose(edge_probabilities(own, [start], np.zeros(1)), exact, atol=0.05)
    monkeypatch.setattr(confidence, "_draw_parents", lambda *_: None)
    stuck = [np.abs(edge_probabilities(own, [start], np.zeros(1)) - exact).max() for start in starts]
    assert min(stuck) > 0.1


def test_of_one_variable_there_is_no_edge() -> None:
    own = QuotientNML(np.array([[0], [1], [1]]), np.array([2]))
    np.testing.assert_array_equal(edge_probabilities(own, [dag_of(1)], np.zeros(1)), [[0.0]])


def test_an_edge_whose_direction_data_cannot_tell_has_half_in_each() -> None:
    own = QuotientNML(*chain_data(3000, 3, 0))
    chain = dag_of(3, (0, 1), (1, 2))
    found = edge_probabilities(own, [chain], np.zeros(1))
    assert np.array_equal(cpdag(chain), cpdag(chain).T)
    np.testing.assert_allclose(found, np.where(chain | chain.T, found.T, found), atol=1e-6)
    tiers = edge_probabilities(own, [chain], np.zeros(1), forbidden=dag_of(3, (1, 0)))
    assert tiers[1, 0] == 0 < tiers[0, 1]


def test_what_is_known_is_certain_and_a_cycle_is_impossible() -> None:
    own = QuotientNML(*chain_data(60, 4, 2))
    path = dag_of(4, (0, 1), (1, 2))
    found = edge_probabilities(own, [path], np.zeros(1), dag_of(4, (3, 2), (2, 3)), path)
    assert (found[0, 1], found[1, 0]) == (found[1, 2], found[2, 1]) == (1, 0)
    assert found[2, 3] == found[3, 2] == 0
    assert found[2, 0] == 0 < found[0, 2]  # 2 -> 0 would close a cycle
    assert found.diagonal().max() == 0 <= found.min()
    assert (found + found.T).max() <= 1 + 1e-12
    collider = dag_of(4, (0, 2), (1, 2))
    bounded = edge_probabilities(own, [collider], np.zeros(1), required=collider, max_parents=2)
    assert bounded[3, 2] == 0 < bounded[2, 3]


@pytest.mark.parametrize("known", ["required", "forbidden"])
def test_what_follows_from_known_edges_is_as_sure_as_over_all_networks_that_have_them(
    monkeypatch: pytest.MonkeyPatch, known: str
) -> None:
    """In the chain 0 - 1 - 2 with 0 -> 1, the reverse of 1 -> 2 would be a collider, which the data exclude."""
    monkeypatch.setattr(confidence, "MOST_SWEEPS", 4000)
    codes = np.zeros((300, 3), dtype=np.int64)
    rng = np.random.default_rng(0)
    codes[:, 0] = rng.integers(2, size=300)
    for child in (1, 2):
        codes[:, child] = codes[:, child - 1] ^ (rng.random(300) < 0.15)
    own = BIC(codes, np.array([2, 2, 2]))
    knowledge = {known: dag_of(3, (0, 1) if known == "required" else (1, 0))}
    found = edge_probabilities(own, [dag_of(3, (0, 1), (1, 2))], np.zeros(1), **knowledge)
    possible = [dag for dag in all_dags(3) if (dag[0, 1] if known == "required" else not dag[1, 0])]
    exact = exact_probabilities(own, possible, dag_of(3, (1, 0)))
    np.testing.assert_allclose(found, exact, atol=0.02)
    assert min(exact[1, 2], found[1, 2]) > 0.9


@pytest.mark.parametrize("seed", [5, 22, 52])
def test_a_direction_that_is_open_between_classes_is_as_probable_as_they_are(seed: int) -> None:
    """Of three variables joined in a line, the one in the middle may be a collider."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(2, size=(250, 3))
    codes[:, 1] = np.where(rng.random(250) < 0.3, codes[:, 0] | codes[:, 2], rng.integers(2, size=250))
    own = QuotientNML(codes, np.array([2, 2, 2]))
    exact = exact_probabilities(own, list(all_dags(3)))
    found = edge_probabilities(own, [dag_of(3, (0, 1), (1, 2))], np.zeros(1))
    np.testing.assert_allclose(found, exact, atol=0.06)


def test_knowledge_and_a_limit_of_parents_give_the_exact_probabilities_of_what_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(confidence, "MOST_SWEEPS", 4000)
    own = QuotientNML(*chain_data(40, 4, 0))
    forbidden, required = dag_of(4, (0, 1), (3, 2)), dag_of(4, (2, 3))
    left = [
        dag
        for dag in ALL_OF_FOUR
        if not (dag & forbidden).any() and not (required & ~dag).any() and dag.sum(axis=0).max() <= 2
    ]
    exact = exact_probabilities(own, left, forbidden | required.T)
    found = edge_probabilities(own, [required], np.zeros(1), forbidden, required, max_parents=2)
    np.testing.assert_allclose(found, exact, atol=0.03)


@pytest.mark.parametrize("seed", range(3))
def test_all_members_of_a_class_give_the_same_probabilities(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(confidence, "MOST_SWEEPS", 20)
    own = QuotientNML(*chain_data(100, 4, seed))
    forbidden = dag_of(4, (3, 0))
    classes: dict[bytes, list[np.ndarray]] = {}
    for dag in ALL_OF_FOUR:
        if not dag[3, 0]:
            classes.setdefault(equivalence_key(dag), []).append(dag)
    for alike in list(classes.values())[::7]:
        first, *others = [edge_probabilities(own, [dag], np.zeros(1), forbidden) for dag in alike]
        for other in others:
            np.testing.assert_array_equal(other, first)


def test_chains_are_as_long_as_the_probabilities_of_the_networks_that_they_start_at() -> None:
    own = QuotientNML(*chain_data(100, 4, 1))
    first, other = dag_of(4, (0, 1)), dag_of(4, (2, 3), (0, 3))
    alone = edge_probabilities(own, [first], np.zeros(1))
    with_far = edge_probabilities(own, [other, first], np.array([7.0, 0.0]))
    np.testing.assert_array_equal(alone, with_far)
    assert confidence._shares([first, other], np.zeros(2), 100) == [50, 50]  # 3 sets of one parent, 3 of two
    assert confidence._shares([dag_of(4), first], np.zeros(2), 100) == [75, 25]  # one set of none
    assert confidence._shares([first] * 300, np.zeros(300), 100).count(1) == 100


def test_small_networks_get_many_sweeps_and_large_ones_few() -> None:
    assert [confidence._n_sweeps(p) for p in (2, 35, 76, 223)] == [250, 250, 52, 20]
