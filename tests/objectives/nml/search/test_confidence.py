import collections
import itertools
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given

from objectives.nml.graphs.structure import cpdag, equivalence_key
from objectives.nml.scores.decomposable import BIC, DecomposableScore, QuotientNML
from objectives.nml.search import confidence
from objectives.nml.search.confidence import edge_probabilities
from objectives.nml.search.grow_shrink import GrowShrink
from tests.oracles.graphs import all_dags, dag_of, dags


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


def exact_probabilities(own: DecomposableScore, dags: list[np.ndarray]) -> np.ndarray:
    """Of each edge, over these DAGs: each equivalence class has the same prior, which its members share."""
    keys = [equivalence_key(dag) for dag in dags]
    sizes = collections.Counter(keys)
    return averaged(np.array([own.dag(dag) for dag in dags]) + np.log([sizes[key] for key in keys]), dags)


def one_of_each_class(dags: Iterable[np.ndarray]) -> list[np.ndarray]:
    classes: dict[bytes, np.ndarray] = {}
    for dag in dags:
        classes.setdefault(equivalence_key(dag), dag)
    return list(classes.values())


@pytest.mark.parametrize(("n_rows", "seed"), [(10, 0), (60, 1), (200, 2)])
def test_for_two_variables_it_is_the_exact_probability(n_rows: int, seed: int) -> None:
    own = QuotientNML(*chain_data(n_rows, 2, seed))
    gain = own.dag(dag_of(2)) - own.dag(dag_of(2, (0, 1)))
    found = edge_probabilities(own, [dag_of(2)], np.zeros(1))
    np.testing.assert_allclose(found, [[0, 0.5 / (1 + np.exp(-gain))], [0.5 / (1 + np.exp(-gain)), 0]])
    known = edge_probabilities(own, [dag_of(2)], np.zeros(1), forbidden=dag_of(2, (1, 0)))
    np.testing.assert_allclose(known, [[0, 1 / (1 + np.exp(-gain))], [0, 0]])  # the class has one member then


@pytest.mark.parametrize("score", [QuotientNML, BIC])
def test_over_all_classes_it_is_close_to_the_exact_probability(monkeypatch: pytest.MonkeyPatch, score: type) -> None:
    monkeypatch.setattr(confidence, "MAX_NETWORKS", 10**6)
    monkeypatch.setattr(confidence, "WITHIN", np.inf)
    monkeypatch.setattr(confidence, "N_MEMBERS", 10**6)
    dags = list(all_dags(4))
    classes = one_of_each_class(dags)
    assert len(classes) == 185
    errors = []
    for n_rows, seed in ((40, 0), (40, 1), (100, 2), (100, 3)):
        own = score(*chain_data(n_rows, 4, seed))
        exact, found = (
            exact_probabilities(own, dags),
            edge_probabilities(own, classes, np.array(list(map(own.dag, classes)))),
        )
        errors.append((found + found.T - exact - exact.T)[np.triu_indices(4, 1)])
        assert ((exact + exact.T > 0.02) & (exact + exact.T < 0.98)).sum() >= 2  # not all is settled
    assert np.abs(errors).mean() < 0.012
    assert np.abs(errors).max() < 0.1
    assert abs(np.mean(errors)) < 0.006


@pytest.mark.parametrize("seed", range(4))
def test_over_the_networks_of_all_orderings_it_is_close_and_closer_than_their_weights_alone(seed: int) -> None:
    own = QuotientNML(*chain_data(100, 4, seed))
    exact = exact_probabilities(own, list(all_dags(4)))
    parent_sets = GrowShrink(own)
    best = one_of_each_class(parent_sets.dag(np.array(order)) for order in itertools.permutations(range(4)))
    costs = np.array([own.dag(dag) for dag in best])
    found, plain = edge_probabilities(own, best, costs), averaged(costs, best)
    pairs = np.triu_indices(4, 1)
    errors = [np.abs((each + each.T - exact - exact.T)[pairs]) for each in (found, plain)]
    assert errors[0].max() < 0.1
    assert errors[0].sum() < errors[1].sum() + 0.02


@given(dags(max_nodes=5))
def test_two_directions_of_an_edge_are_equivalent_if_the_networks_are(dag: np.ndarray) -> None:
    found = confidence._equivalent(dag)
    for a, b in itertools.combinations(range(len(dag)), 2):
        one, other = dag.copy(), dag.copy()
        one[[a, b], [b, a]], other[[a, b], [b, a]] = (True, False), (False, True)
        acyclic = all(not np.linalg.matrix_power(each.astype(int), len(dag)).any() for each in (one, other))
        if acyclic:
            assert found[a, b] == found[b, a] == (equivalence_key(one) == equivalence_key(other))


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
