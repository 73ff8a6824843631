import itertools

import numpy as np
import pytest

from law_ray.acquisition.tabu_search import minimise
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import invert, sample
from tests.oracles.orderings import everything
from tests.oracles.pairwise import some_ensemble, symmetric, value

FREE = Constraints(6)
CONSTRAINED = Constraints(6, before=[(0, 1), (1, 2)], fixed=[(3, 4)])


def draw(seed, n_items=6):
    ensemble = some_ensemble(np.random.default_rng(seed), n_items)
    return ensemble, ensemble.items[0], ensemble.places[0]


def values(ensemble, permutations):
    return ensemble.values(invert(permutations))[:, 0]


def swaps(permutation):
    for a, b in itertools.combinations(range(len(permutation)), 2):
        moved = permutation.copy()
        moved[[a, b]] = moved[[b, a]]
        yield moved


@pytest.mark.parametrize("constraints", [FREE, CONSTRAINED], ids=["free", "constrained"])
@pytest.mark.parametrize("n_excluded", [0, 5])
@pytest.mark.parametrize("seed", range(5))
def test_the_free_and_allowed_permutation_of_least_value_is_found(constraints, n_excluded, seed):
    ensemble, items, places = draw(seed)
    allowed = constraints.enumerate(720)
    ranked = allowed[np.argsort(values(ensemble, allowed))]
    excluded = Exclusions(permutations=ranked[:n_excluded])
    rng = np.random.default_rng(seed)
    found = minimise(items, places, constraints.sample(20, rng), excluded, constraints, rng, n_steps=100)
    assert found not in excluded
    assert constraints.allows(found[None]).all()
    assert values(ensemble, found[None]) == values(ensemble, ranked[[n_excluded]])  # others may be equal


def test_each_step_makes_the_best_swap_that_is_not_tabu():
    """Ten steps from one start, where only swaps back are tabu, against enumeration by direct evaluation."""
    ensemble, items, places = draw(0)
    start = sample(6, 1, np.random.default_rng(1))[0]
    excluded, q, visited = Exclusions(), invert(start), []
    a, b = np.tril_indices(6, -1)
    for n_steps in range(1, 11):
        found = minimise(items, places, [start], excluded, FREE, np.random.default_rng(2), n_steps)
        excluded.add(found)  # of two runs the longer one has visited one more, and only that is free
        visited.append(invert(found))
    for k, after in enumerate(visited):
        swapped = np.repeat(q[None], len(a), axis=0)
        rows = np.arange(len(a))
        swapped[rows, a], swapped[rows, b] = q[b], q[a]
        of_swaps = values(ensemble, invert(swapped))
        rank = np.flatnonzero((swapped[np.argsort(of_swaps)] == after).all(axis=1))
        assert len(rank) == 1  # one swap away
        assert rank[0] <= k  # only the swaps back are passed over
        q = after


def plain_search(F, D, start, n_steps, tenure):
    """List the permutations that a robust tabu search visits if items stay away for `tenure` steps."""
    permutation, visited, left = start, [], {}
    least = value(F, D, 0.0, start)
    for step in range(n_steps):
        free = []
        for after in swaps(permutation):
            apart = np.flatnonzero(after != permutation)
            tabu = all(step - left.get((after[k], k), -np.inf) <= tenure for k in apart)
            if not tabu or value(F, D, 0.0, after) < least:
                free.append(after)
        if free:
            after = min(free, key=lambda p: value(F, D, 0.0, p))
            left.update({(permutation[k], k): step for k in np.flatnonzero(after != permutation)})
            permutation, least = after, min(least, value(F, D, 0.0, after))
            visited.append(permutation)
    return visited


@pytest.mark.parametrize("n_items", [3, 4])
@pytest.mark.parametrize("seed", range(5))
def test_of_up_to_four_items_each_stays_away_for_as_many_steps(n_items, seed):
    """Between 0.9 and 1.1 steps per item is then one number. All that is visited is found, the least value first."""
    rng = np.random.default_rng(seed)
    F, D = (symmetric(rng, n_items, levels=1_000_000) for _ in range(2))  # without ties or rounding errors
    start = sample(n_items, 1, rng)[0]
    for n_steps in (1, 2, 4, 6, 8, 12, 16):
        excluded, found = Exclusions(), []
        while (p := minimise(F, D, [start], excluded, Constraints(n_items), rng, n_steps)) is not None:
            excluded.add(p)
            found.append(tuple(p.tolist()))
        visited = {tuple(p.tolist()) for p in plain_search(F, D, start, n_steps, n_items)}
        assert found == sorted(visited, key=lambda p: value(F, D, 0.0, p))


def test_of_equal_values_the_one_visited_first_is_found():
    """A longer search visits others of the same value after it."""
    n_equal = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        F, D = (symmetric(rng, 6, levels=2) for _ in range(2))
        start = sample(6, 1, rng)[0]

        def search(n_steps, excluded, F=F, D=D, start=start, seed=seed):
            found = minimise(F, D, [start], excluded, FREE, np.random.default_rng(seed), n_steps)
            return found, value(F, D, 0.0, found)

        found, least = search(300, Exclusions())
        first = next(p for p, reached in (search(n, Exclusions()) for n in range(1, 301)) if reached == least)
        assert np.array_equal(found, first)
        n_equal += search(300, Exclusions(permutations=[found]))[1] == least
    assert n_equal >= 5


def test_it_leaves_local_minima():
    """From a local minimum that is not the least value, one search finds a lower one."""
    escaped = 0
    everywhere = everything(7)
    for seed in range(20):
        ensemble, items, places = draw(seed, 7)
        height = dict(zip(map(bytes, everywhere), values(ensemble, everywhere), strict=True))
        for permutation in everywhere[::37]:
            here = height[bytes(permutation)]
            if min(height.values()) < here < min(height[bytes(p)] for p in swaps(permutation)):
                rng = np.random.default_rng(seed)
                found = minimise(items, places, [permutation], Exclusions(), Constraints(7), rng, n_steps=300)
                assert height[bytes(found)] < here
                escaped += 1
    assert escaped >= 5


def test_where_all_are_excluded_nothing_is_found():
    _, items, places = draw(0)
    excluded = Exclusions(permutations=everything(6))
    rng = np.random.default_rng(0)
    assert minimise(items, places, sample(6, 2, rng), excluded, FREE, rng) is None


def test_where_no_swap_is_allowed_nothing_is_found():
    _, items, places = draw(0)
    constraints = Constraints(6, before=[(k, k + 1) for k in range(5)])
    rng = np.random.default_rng(0)
    assert minimise(items, places, [np.arange(6)], Exclusions(), constraints, rng) is None


def test_the_same_generator_gives_the_same_permutation():
    _, items, places = draw(0, 15)
    starts = sample(15, 2, np.random.default_rng(0))
    found = [minimise(items, places, starts, Exclusions(), Constraints(15), np.random.default_rng(5)) for _ in range(2)]
    assert np.array_equal(*found)
