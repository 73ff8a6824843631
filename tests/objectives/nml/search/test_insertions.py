import numpy as np
import pytest

from law_ray.space.permutations import enumerate_all
from objectives.nml.search.greedy import _before
from objectives.nml.search.insertions import Ordering
from tests.objectives.nml.search.random_tables import CHAINS, insertions, parent_sets, satisfied


@pytest.mark.parametrize("precedes", CHAINS)
def test_every_insertion_is_the_best_one_and_what_it_leaves_is_that_of_a_new_ordering(
    precedes: list[tuple[int, int]],
) -> None:
    sets, rng = parent_sets("bdeu", 6, 2), np.random.default_rng(1)
    before = _before(precedes, 6)
    orders = enumerate_all(6)
    moved = 0
    for start in rng.choice(orders[satisfied(orders, precedes)], 40):
        order = Ordering(sets, start.tolist(), before)
        for variable in rng.permutation(6).tolist():
            cost, others = order.cost, np.array([v for v in order.variables if v != variable])
            places = np.array([np.insert(others, k, variable) for k in range(6)])
            least = min(sets.cost(place) for place in places[satisfied(places, precedes)])
            families = dict(enumerate(order.parents()))
            changed = order.reinsert(variable)
            others_changed = {v for v, parents in enumerate(order.parents()) if parents != families[v]} - {variable}
            assert changed == (others_changed | {variable} if changed else set())
            assert bool(changed) == (order.cost < cost)
            moved += bool(changed)
            assert order.cost == pytest.approx(least, abs=1e-5)
            assert order.cost == sets.cost(np.array(order.variables)) <= cost
            assert order._found == Ordering(sets, order.variables, before)._found
    assert 40 < moved < 200


def test_the_variables_around_some_are_their_parents_and_children() -> None:
    order = Ordering(parent_sets("bic", 8, 4), range(8), [0] * 8)
    parents = order.parents()
    for variables in ({3}, {0, 7}, set(range(8))):
        near = {parent for child in variables for parent in parents[child]}
        near |= {child for child in range(8) if variables & set(parents[child])}
        assert order.around(variables) == variables | near
    assert order.around(set()) == set()
    assert order.around({3}) != set(range(8))


@pytest.mark.parametrize("precedes", CHAINS)
def test_a_sweep_that_changes_nothing_has_found_a_local_optimum(precedes: list[tuple[int, int]]) -> None:
    sets, rng = parent_sets("bdeu", 6, 2), np.random.default_rng(2)
    orders = enumerate_all(6)
    everything, changes = set(range(6)), 0
    for start in orders[satisfied(orders, precedes)][::7]:
        order = Ordering(sets, start.tolist(), _before(precedes, 6))
        while order.sweep(everything, rng):
            changes += 1
        around = insertions(np.array(order.variables))
        allowed = around[satisfied(around, precedes)]
        assert min(sets.cost(neighbour) for neighbour in allowed) > order.cost - 1e-5
    assert changes > 3


def test_a_sweep_returns_the_variables_around_those_that_it_changed() -> None:
    sets = parent_sets("bic", 8, 4)
    for seed in range(20):
        order = Ordering(sets, np.random.default_rng(seed).permutation(8).tolist(), [0] * 8)
        alike = Ordering(sets, order.variables, [0] * 8)
        changed: set[int] = set()
        for variable in np.random.default_rng(seed).permutation([1, 4, 6]).tolist():
            changed |= alike.reinsert(variable)
        assert order.sweep({1, 4, 6}, np.random.default_rng(seed)) == alike.around(changed)


def test_a_sweep_moves_no_other_variables() -> None:
    sets, rng = parent_sets("bic", 8, 4), np.random.default_rng(3)
    moved = 0
    for _ in range(20):
        start = rng.permutation(8).tolist()
        order = Ordering(sets, start, [0] * 8)
        changed = order.sweep({2, 5}, rng)
        assert [each for each in order.variables if each not in (2, 5)] == [e for e in start if e not in (2, 5)]
        assert (order.variables != start) == bool(changed)
        moved += bool(changed)
    assert moved > 5
