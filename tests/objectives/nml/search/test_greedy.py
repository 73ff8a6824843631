from typing import Any

import numpy as np
import pytest

from law_ray.errors import InputError
from law_ray.space.permutations import enumerate_all
from objectives.nml.graphs.structure import cpdag
from objectives.nml.scores.decomposable import SCORES
from objectives.nml.search import greedy
from objectives.nml.search.greedy import greedy_orderings
from objectives.nml.search.insertions import Ordering
from tests.objectives.nml.search.random_tables import CHAINS, insertions, parent_sets, satisfied


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("precedes", CHAINS)
def test_the_best_ordering_of_all_is_found(name: str, precedes: list[tuple[int, int]]) -> None:
    """From every start, on data where a plain descent often ends elsewhere and the chains cost something."""
    sets = parent_sets(name, 6, 2)
    orders = enumerate_all(6)
    costs = np.array([sets.cost(order) for order in orders])
    best = costs[satisfied(orders, precedes)].min()
    assert (best > costs.min() + 1) == bool(precedes)
    for seed in range(5):
        orderings, found = greedy_orderings(sets, 3, np.random.default_rng(seed), precedes, n_starts=1)
        assert found[0] == pytest.approx(best, abs=1e-6)
        assert satisfied(orderings, precedes).all()


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("precedes", [[], [(0, 3), (3, 1), (0, 2), (5, 4), (7, 0)]])
def test_every_ordering_is_a_local_optimum_under_insertions(name: str, precedes: list[tuple[int, int]]) -> None:
    sets = parent_sets(name, 8, 3)
    orderings, costs = greedy_orderings(sets, 50, np.random.default_rng(1), precedes, n_starts=2)
    assert satisfied(orderings, precedes).all()
    for ordering, cost in zip(orderings, costs, strict=True):
        assert cost == sets.cost(ordering)
        around = insertions(ordering)
        around = around[satisfied(around, precedes)]
        assert min(sets.cost(neighbour) for neighbour in around) > cost - 1e-5


def test_the_orderings_are_the_best_ones_of_distinct_classes() -> None:
    sets = parent_sets("bdeu", 6, 2)
    orderings, costs = greedy_orderings(sets, 50, np.random.default_rng(3))
    assert 2 < len(orderings) < 50
    assert (np.diff(costs) >= 0).all()
    assert len({cpdag(sets.dag(ordering)).tobytes() for ordering in orderings}) == len(orderings)
    fewer, _ = greedy_orderings(sets, 2, np.random.default_rng(3))
    np.testing.assert_array_equal(fewer, orderings[:2])


def test_a_search_over_many_variables_ends_after_so_many_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    def considered(limit: int) -> int:
        sets = parent_sets("bic", 8, 4)
        pairs = []
        monkeypatch.setattr(greedy, "_MAX_PAIRS", limit)
        monkeypatch.setattr(Ordering, "reinsert", lambda *arguments: pairs.append(8) or reinsert(*arguments))
        greedy_orderings(sets, 1, np.random.default_rng(0), n_starts=1)
        return sum(pairs)

    reinsert = Ordering.reinsert
    free, bound = considered(10**9), considered(10 * 8**2)
    assert 10 * 8**2 <= bound < 15 * 8**2 < free  # after the limit, the best ordering still becomes a local optimum


def test_what_searches_that_were_cut_off_return_are_local_optima_best_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """After one sweep, which leaves none of them at a local optimum, and some in another order than at the end."""
    sets = parent_sets("bic", 15, 4)
    monkeypatch.setattr(greedy, "_MAX_PAIRS", 1)
    orderings, costs = greedy_orderings(sets, 50, np.random.default_rng(0), n_starts=20)
    assert len(orderings) > 3
    assert (np.diff(costs) >= 0).all()
    for ordering, cost in zip(orderings, costs, strict=True):
        assert min(sets.cost(neighbour) for neighbour in insertions(ordering)) > cost - 1e-5


def test_half_of_the_kicks_reverse_a_path_and_the_variables_around_what_changed_are_reinserted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sweep, kicks, expected = Ordering.sweep, list[str](), list[tuple[Ordering, set[int]]]()

    def note(name: str) -> None:
        kick = getattr(greedy, name)

        def noting(*arguments: Any) -> Any:
            kicks.append(name)
            return kick(*arguments)

        monkeypatch.setattr(greedy, name, noting)

    def kicked(self: greedy._Search, best: Ordering) -> tuple[Ordering, set[int]]:
        candidate, moved = draw(self, best)
        unlike = {v for v, parents in enumerate(candidate.parents()) if parents != best.parents()[v]}
        expected.append((candidate, candidate.around(unlike | moved)))
        return candidate, moved

    def noting_sweep(order: Ordering, variables: set[int], rng: np.random.Generator) -> set[int]:
        if expected and expected[-1][0] is order:
            assert variables == expected.pop()[1]
        return sweep(order, variables, rng)

    draw = greedy._Search._kicked
    note("reversed_path")
    note("moved_at_random")
    monkeypatch.setattr(greedy._Search, "_kicked", kicked)
    monkeypatch.setattr(Ordering, "sweep", noting_sweep)
    greedy_orderings(parent_sets("bic", 12, 4), 1, np.random.default_rng(0))
    assert len(kicks) > 300
    assert not expected
    assert 0.4 < kicks.count("reversed_path") / len(kicks) < 0.6


def test_a_search_ends_after_so_many_kicks_in_a_row_without_improvement(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each improvement begins the count again. An ordering of equal cost is accepted, which does not."""
    kicked, bests = greedy._Search._kicked, list[tuple[float, Any]]()

    def noting(self: greedy._Search, best: Ordering) -> tuple[Ordering, set[int]]:
        bests.append((best.cost, best.parents()))
        return kicked(self, best)

    monkeypatch.setattr(greedy._Search, "_kicked", noting)
    _, found = greedy_orderings(parent_sets("bic", 20, 4), 1, np.random.default_rng(1), n_starts=1)
    costs = np.array([cost for cost, _ in bests])
    improved = np.flatnonzero(np.diff(costs) < -1e-6) + 1
    assert len(improved) == 3
    assert (np.diff(costs) < 1e-6).all()
    assert costs[-1] == pytest.approx(found[0], abs=1e-5)
    assert len(costs) - improved[-1] == greedy._PATIENCE * 20 < len(costs) - improved[0]
    last = [parents for _, parents in bests[improved[-1] :]]
    assert any(parents != last[0] for parents in last)


def test_searches_end_after_so_many_new_parent_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    def met(limit: int, n_starts: int) -> tuple[int, float]:
        sets = parent_sets("bic", 8, 4)
        monkeypatch.setattr(greedy, "_MAX_SETS", limit)
        _, costs = greedy_orderings(sets, 1, np.random.default_rng(0), n_starts=n_starts)
        return sets.n_sets, costs[0]

    free, bound = met(10**9, 1), met(1, 1)
    assert 8 <= bound[0] < free[0]  # the first ordering is evaluated, and one sweep made
    assert free[1] < bound[1]
    assert met(1, 5) == bound  # no other search begins
    assert met(free[0], 5) == met(free[0] + 1, 1) == free
    assert met(10**9, 5)[0] > free[0]


def test_the_result_depends_on_the_generator() -> None:
    def search(seed: int) -> np.ndarray:
        return greedy_orderings(parent_sets("bic", 15, 4), 1, np.random.default_rng(seed), n_starts=1)[0]

    np.testing.assert_array_equal(search(5), search(5))
    assert any((search(5) != search(seed)).any() for seed in (6, 7, 8))


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [
        ({"count": 0}, "count=0"),
        ({"n_starts": 0}, "n_starts=0"),
        ({"precedes": [(0, 1), (1, 2), (2, 0)]}, r"cycle among variables \[0, 1, 2\]"),
        ({"precedes": [(3, 3)]}, r"cycle among variables \[3\]"),
        ({"precedes": [(0, 4)]}, r"\(0, 4\) names a variable outside 0\.\.3"),
        ({"precedes": [(-1, 2)]}, r"\(-1, 2\)"),
    ],
)
def test_bad_input_is_refused_by_name(arguments: dict[str, Any], culprit: str) -> None:
    with pytest.raises(InputError, match=culprit):
        greedy_orderings(parent_sets("bic", 4, 0), **{"count": 1, "rng": np.random.default_rng(0), **arguments})
