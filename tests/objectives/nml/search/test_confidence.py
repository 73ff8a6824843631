import itertools

import numpy as np
import pytest

from objectives.nml.graphs.structure import cpdag, equivalence_key
from objectives.nml.scores.decomposable import BIC, QuotientNML
from objectives.nml.search import confidence
from objectives.nml.search.confidence import edge_probabilities
from objectives.nml.search.grow_shrink import GrowShrink
from tests.oracles.graphs import all_dags, dag_of


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


@pytest.mark.parametrize("score", [QuotientNML, BIC])
@pytest.mark.parametrize("seed", [0, 1])
def test_over_all_networks_it_is_the_exact_probability(monkeypatch: pytest.MonkeyPatch, score: type, seed: int) -> None:
    """That is the law of total expectation."""
    monkeypatch.setattr(confidence, "MAX_NETWORKS", 10**6)
    monkeypatch.setattr(confidence, "WITHIN", np.inf)
    monkeypatch.setattr(confidence, "N_MEMBERS", 10**6)
    own = score(*chain_data(40, 4, seed))
    dags = list(all_dags(4))
    costs = np.array([own.dag(dag) for dag in dags])
    exact = averaged(costs, dags)
    found = edge_probabilities(own, dags, costs)
    np.testing.assert_allclose(found + found.T, exact + exact.T, atol=1e-9)
    assert ((exact + exact.T > 0.02) & (exact + exact.T < 0.98)).sum() >= 2  # not all is settled


@pytest.mark.parametrize("seed", range(4))
def test_over_the_networks_of_all_orderings_it_is_close_and_closer_than_their_weights_alone(seed: int) -> None:
    own = QuotientNML(*chain_data(100, 4, seed))
    dags = list(all_dags(4))
    exact = averaged(np.array([own.dag(dag) for dag in dags]), dags)
    parent_sets = GrowShrink(own)
    classes = {}
    for order in itertools.permutations(range(4)):
        dag = parent_sets.dag(np.array(order))
        classes.setdefault(equivalence_key(dag), dag)
    best = list(classes.values())
    costs = np.array([own.dag(dag) for dag in best])
    found, plain = edge_probabilities(own, best, costs), averaged(costs, best)
    pairs = np.triu_indices(4, 1)
    errors = [np.abs((each + each.T - exact - exact.T)[pairs]) for each in (found, plain)]
    assert errors[0].max() < 0.15
    assert errors[0].sum() < errors[1].sum() + 0.02


def test_an_edge_whose_direction_data_cannot_tell_has_half_in_each() -> None:
    own = QuotientNML(*chain_data(400, 3, 0))
    chain = dag_of(3, (0, 1), (1, 2))
    found = edge_probabilities(own, [chain], np.zeros(1))
    assert np.array_equal(cpdag(chain), cpdag(chain).T)
    np.testing.assert_allclose(found, np.where(chain | chain.T, found.T, found))
    tiers = edge_probabilities(own, [chain], np.zeros(1), forbidden=dag_of(3, (1, 0)))
    assert tiers[1, 0] == 0 < tiers[0, 1]


def test_what_is_known_is_certain_and_a_cycle_is_impossible() -> None:
    own = QuotientNML(*chain_data(60, 4, 2))
    path = dag_of(4, (0, 1), (1, 2))
    found = edge_probabilities(own, [path], np.zeros(1), dag_of(4, (3, 2), (2, 3)), dag_of(4, (0, 1)))
    assert (found[0, 1], found[1, 0]) == (1, 0)
    assert found[2, 3] == found[3, 2] == 0
    assert found[2, 0] == 0 < found[0, 2]  # 2 -> 0 would close a cycle
    assert found.diagonal().max() == 0 <= found.min()
    assert (found + found.T).max() <= 1 + 1e-12
    bounded = edge_probabilities(own, [dag_of(4, (0, 2), (1, 2))], np.zeros(1), max_parents=2)
    assert bounded[3, 2] == 0 < bounded[2, 3]


@pytest.mark.parametrize("known", ["required", "forbidden"])
def test_what_follows_from_known_edges_is_as_sure_as_over_all_networks_that_have_them(known: str) -> None:
    """In the chain 0 - 1 - 2 with 0 -> 1, the reverse of 1 -> 2 would be a collider, which the data exclude."""
    codes = np.zeros((300, 3), dtype=np.int64)
    rng = np.random.default_rng(0)
    codes[:, 0] = rng.integers(2, size=300)
    for child in (1, 2):
        codes[:, child] = codes[:, child - 1] ^ (rng.random(300) < 0.15)
    own = BIC(codes, np.array([2, 2, 2]))
    knowledge = {known: dag_of(3, (0, 1) if known == "required" else (1, 0))}
    found = edge_probabilities(own, [dag_of(3, (0, 1), (1, 2))], np.zeros(1), **knowledge)
    possible = [dag for dag in all_dags(3) if (dag[0, 1] if known == "required" else not dag[1, 0])]
    exact = averaged(np.array([own.dag(dag) for dag in possible]), possible)
    np.testing.assert_allclose(found, exact, atol=0.03)
    assert min(exact[1, 2], found[1, 2]) > 0.95


@pytest.mark.parametrize("seed", range(3))
def test_all_members_of_a_class_give_the_same_probabilities(seed: int) -> None:
    own = QuotientNML(*chain_data(100, 4, seed))
    forbidden = dag_of(4, (3, 0))
    classes: dict[bytes, list[np.ndarray]] = {}
    for dag in all_dags(4):
        if not dag[3, 0]:
            classes.setdefault(equivalence_key(dag), []).append(dag)
    for alike in list(classes.values())[::7]:
        first, *others = [edge_probabilities(own, [dag], np.zeros(1), forbidden) for dag in alike]
        for other in others:
            np.testing.assert_array_equal(other, first)


def test_networks_far_from_the_best_do_not_count() -> None:
    own = QuotientNML(*chain_data(100, 4, 1))
    first, far = dag_of(4, (0, 1)), dag_of(4, (2, 3), (1, 3))
    alone = edge_probabilities(own, [first], np.zeros(1))
    with_far = edge_probabilities(own, [far, first], np.array([confidence.WITHIN + 0.1, 0.0]))
    np.testing.assert_array_equal(alone, with_far)
    even = edge_probabilities(own, [far, first], np.zeros(2))
    np.testing.assert_allclose(even, (alone + edge_probabilities(own, [far], np.zeros(1))) / 2)
