import itertools
from typing import Any

import numpy as np
import pytest

from law_ray.errors import InputError
from objectives.nml.graphs.structure import dag_from_order
from objectives.nml.scores.decomposable import BIC, SCORES, BDeu, DecomposableScore
from objectives.nml.search.grow_shrink import GrowShrink
from tests.oracles.graphs import dag_of


def network_codes(n_rows: int, p: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of a dense random network of noisy nodes with 2 or 3 states, their cardinalities and the true DAG."""
    rng = np.random.default_rng(seed)
    r = rng.integers(2, 4, size=p)
    dag = np.triu(rng.random((p, p)) < 0.5, 1)
    codes = np.zeros((n_rows, p), dtype=np.int64)
    for child in range(p):
        parents = np.flatnonzero(dag[:, child])
        given = codes[:, parents] @ rng.integers(1, 4, size=len(parents))
        codes[:, child] = np.where(rng.random(n_rows) < 0.6, given % r[child], rng.integers(0, r[child], n_rows))
    return codes, r, dag


def plain_parents(
    score: DecomposableScore,
    child: int,
    predecessors: list[int],
    forbidden: np.ndarray,
    required: np.ndarray,
    max_parents: int,
) -> tuple[int, ...]:
    """Grow-shrink and exchanges from their definition; every cost is looked up again."""

    def cost(parents: set[int]) -> float:
        return score.family(child, tuple(sorted(parents)))

    allowed = [v for v in predecessors if not forbidden[v, child]]
    kept = {v for v in predecessors if required[v, child]}
    parents = set(kept)
    while True:
        while len(parents) < max_parents:
            options = [(cost(parents | {v}), v) for v in allowed if v not in parents]
            if not options or min(options)[0] >= cost(parents) - 1e-6:
                break
            parents.add(min(options)[1])
        while parents - kept:
            lowest, parent = min((cost(parents - {v}), v) for v in parents - kept)
            if lowest > cost(parents):
                break
            parents.remove(parent)
        exchanges = [
            (cost(parents - {old} | {new}), new, old) for old in parents - kept for new in allowed if new not in parents
        ]
        if not exchanges or min(exchanges)[0] >= cost(parents) - 1e-6:
            return tuple(sorted(parents))
        _, new, old = min(exchanges)
        parents = parents - {old} | {new}


@pytest.mark.parametrize("max_parents", [None, 2])
@pytest.mark.parametrize("n_required", [0, 8])
def test_a_search_says_which_variables_may_come_or_go_without_changing_it(
    n_required: int, max_parents: int | None
) -> None:
    p = 9
    codes, r, _ = network_codes(150, p, 3)
    rng = np.random.default_rng(4)
    required = np.zeros((p, p), dtype=bool)
    required[rng.integers(p, size=n_required), rng.integers(p, size=n_required)] = True
    required &= ~np.eye(p, dtype=bool)
    required[:, required.sum(axis=0) > 2] = False
    parent_sets, plain = (GrowShrink(BDeu(codes, r), required=required, max_parents=max_parents) for _ in range(2))
    changes = 0
    for _ in range(100):
        child, *others = rng.permutation(p).tolist()
        predecessors = sum(1 << v for v in others[: p // 2])
        search = parent_sets.search(child, predecessors)
        assert search.family == plain.parents(child, predecessors)
        assert not search.taken & ~(predecessors & search.deciding)
        for k, other in enumerate(others):
            after = plain.search(child, predecessors ^ 1 << other)
            if not (search.taken if k < p // 2 else search.deciding) & 1 << other:
                assert after == search
            changes += after.family != search.family
    assert 100 < changes < 700


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("max_parents", [None, 2])
def test_parents_are_those_of_a_plain_recomputation(name: str, max_parents: int | None) -> None:
    p = 7
    codes, r, _ = network_codes(250, p, 1)
    score = SCORES[name](codes, r)
    rng = np.random.default_rng(2)
    forbidden = rng.random((p, p)) < 0.1
    required = (rng.random((p, p)) < 0.1) & ~forbidden & ~np.eye(p, dtype=bool)
    required[:, required.sum(axis=0) > 2] = False
    parent_sets = GrowShrink(score, forbidden, required, max_parents)
    limit = p if max_parents is None else max_parents
    for _ in range(100):  # the same sets again and again, as in a search
        permutation = rng.permutation(p)
        dag = dag_of(p)
        for k, child in enumerate(permutation.tolist()):
            predecessors = permutation[:k].tolist()
            parents = plain_parents(score, child, predecessors, forbidden, required, limit)
            found = parent_sets.parents(child, sum(1 << v for v in predecessors))
            assert found == (parents, score.family(child, parents))
            dag[list(parents), child] = True
        np.testing.assert_array_equal(parent_sets.dag(permutation), dag)
        assert parent_sets.cost(permutation) == pytest.approx(score.dag(dag), abs=1e-9)
        np.testing.assert_array_equal(dag, dag_from_order(dag | dag.T, permutation))  # no edge against it


def test_results_do_not_depend_on_earlier_queries() -> None:
    codes, r, _ = network_codes(250, 6, 3)
    score = BIC(codes, r)
    used = GrowShrink(score)
    for permutation in itertools.islice(itertools.permutations(range(6)), 0, 720, 7):
        order = np.array(permutation)
        np.testing.assert_array_equal(used.dag(order), GrowShrink(score).dag(order))


class Costs(DecomposableScore):
    """Given costs of the families of variable 4; any other costs 9."""

    def __init__(self, costs: dict[tuple[int, ...], float]) -> None:
        self.n_variables, self.costs = 5, costs

    def family(self, child: int, parents: tuple[int, ...]) -> float:
        return self.costs.get(parents, 9.0)

    def extensions(self, child: int, parents: tuple[int, ...], candidates: Any) -> np.ndarray:
        return np.array([self.family(child, tuple(sorted((*parents, each)))) for each in candidates])

    def _weights(self, r: int, q: int) -> Any:
        raise AssertionError


def test_growth_prefers_the_lowest_variable_and_refuses_an_equal_cost() -> None:
    parent_sets = GrowShrink(Costs({(): 3.0, (0,): 2.0, (1,): 2.0, (2,): 2.5, (3,): 3.0, (0, 1): 2.0}))
    assert parent_sets.parents(4, 0b1111) == ((0,), 2.0)
    assert parent_sets.parents(4, 0b1110) == ((1,), 2.0)
    assert parent_sets.parents(4, 0b1000) == ((), 3.0)


def test_shrinking_takes_an_equal_cost_and_removes_the_lowest_variable_first() -> None:
    growth = {(): 5.0, (0,): 4.0, (0, 1): 3.0, (0, 1, 2): 2.0, (0, 1, 2, 3): 0.5}
    parent_sets = GrowShrink(Costs({**growth, (0, 2, 3): 0.5, (1, 2, 3): 0.5}))
    assert parent_sets.parents(4, 0b1111) == ((1, 2, 3), 0.5)
    assert parent_sets.parents(4, 0b111) == ((0, 1, 2), 2.0)
    twice = GrowShrink(Costs({**growth, (1, 2, 3): 0.25, (2, 3): 0.2, (0, 2, 3): 0.3}))
    assert twice.parents(4, 0b1111) == ((2, 3), 0.2)


def test_a_parent_is_exchanged_for_a_predecessor_and_growth_goes_on() -> None:
    growth = {(): 5.0, (0,): 3.0, (0, 1): 2.0}
    parent_sets = GrowShrink(Costs({**growth, (1, 2): 1.0, (1, 2, 3): 0.5}))
    assert parent_sets.parents(4, 0b0011) == ((0, 1), 2.0)
    assert parent_sets.parents(4, 0b0111) == ((1, 2), 1.0)
    assert parent_sets.parents(4, 0b1111) == ((1, 2, 3), 0.5)
    tied = GrowShrink(Costs({**growth, (1, 2): 1.0, (1, 3): 1.0}))
    assert tied.parents(4, 0b1111) == ((1, 2), 1.0)
    assert tied.parents(4, 0b1011) == ((1, 3), 1.0)
    rounded = GrowShrink(Costs({**growth, (1, 2): 2.0 - 1e-7}))
    assert rounded.parents(4, 0b111) == ((0, 1), 2.0)
    required = GrowShrink(Costs({**growth, (1, 2): 1.0}), required=dag_of(5, (0, 4)))
    assert required.parents(4, 0b111) == ((0, 1), 2.0)


def test_required_parents_are_kept_against_the_score_and_forbidden_ones_left_out() -> None:
    codes, r, _ = network_codes(2000, 5, 4)
    codes[:, 1] = codes[:, 0] % r[1]  # 1 depends on 0, and on nothing else
    codes[:, 4] = np.random.default_rng(0).integers(0, r[4], 2000)  # 4 is noise
    edges = dag_of(5, (0, 1)), dag_of(5, (4, 1))
    order = np.array([4, 0, 1, 2, 3])
    assert np.flatnonzero(GrowShrink(BIC(codes, r)).dag(order)[:, 1]).tolist() == [0]
    assert np.flatnonzero(GrowShrink(BIC(codes, r), required=edges[1]).dag(order)[:, 1]).tolist() == [0, 4]
    assert not GrowShrink(BIC(codes, r), forbidden=edges[0]).dag(order)[0, 1]
    late = np.array([0, 1, 4, 2, 3])
    assert not GrowShrink(BIC(codes, r), required=edges[1]).dag(late)[4, 1]  # only when it precedes


@pytest.mark.parametrize("name", SCORES)
def test_a_true_order_and_many_rows_give_the_true_dag(name: str) -> None:
    rng = np.random.default_rng(5)
    true = dag_of(6, (0, 2), (1, 2), (2, 3), (2, 4), (3, 5), (4, 5))
    codes = np.zeros((10_000, 6), dtype=np.int64)
    for child in range(6):
        signal = codes[:, true[:, child]].sum(axis=1)  # never a pure parity, which greedy growth cannot see
        codes[:, child] = np.where(rng.random(10_000) < 0.75, signal > 0, rng.random(10_000) < 0.5)
    np.testing.assert_array_equal(GrowShrink(SCORES[name](codes, np.full(6, 2))).dag(np.arange(6)), true)


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        ({"forbidden": np.zeros((2, 2), dtype=bool)}, r"forbidden is bool of shape \(2, 2\)"),
        ({"required": np.zeros((3, 3))}, "required is float64"),
        ({"required": dag_of(3, (0, 1)), "forbidden": dag_of(3, (0, 1))}, "0 -> 1 is both required and forbidden"),
        ({"required": dag_of(3, (2, 2))}, "variable 2 is required as its own parent"),
        (
            {"required": dag_of(3, (0, 1), (2, 1)), "max_parents": 1},
            "max_parents=1 is below the 2 .* variable 1",
        ),
        ({"max_parents": -1}, "max_parents=-1"),
    ],
)
def test_bad_input_is_refused_by_name(options: dict[str, Any], culprit: str) -> None:
    with pytest.raises(InputError, match=culprit):
        GrowShrink(BDeu(np.zeros((4, 3), dtype=np.int64), [2, 2, 2]), **options)
