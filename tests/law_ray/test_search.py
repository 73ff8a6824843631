import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from law_ray.errors import UsedUpError
from law_ray.search import Taken, draw_free, hill_climb, maximise


def first_item(permutation):
    return int(permutation[0])


def up_to_reversal(permutation):
    return min(tuple(permutation.tolist()), tuple(permutation[::-1].tolist()))


keys = pytest.mark.parametrize("key", [None, up_to_reversal, first_item])


def everything(n_items):
    return np.array(list(itertools.permutations(range(n_items))))


def rugged(n_items, seed):
    """A score with an independent value at each permutation, so with many local maxima and no ties."""
    values = np.random.default_rng(seed).normal(size=math.factorial(n_items))
    table = dict(zip(itertools.permutations(range(n_items)), values, strict=True))
    return lambda permutations: np.array([table[tuple(p)] for p in permutations.tolist()])


def assignment(n_items, seed):
    """A smooth score, of which any number of items can be scored."""
    gains = np.random.default_rng(seed).normal(size=(n_items, n_items))
    return lambda permutations: gains[np.arange(n_items), permutations].sum(axis=1) + 0.1 * permutations[:, 0] ** 2


def neighbours(permutation):
    for i, j in itertools.combinations(range(len(permutation)), 2):
        swapped = permutation.copy()
        swapped[[i, j]] = swapped[[j, i]]
        yield swapped


def climb(score, permutation, taken):
    """Steepest ascent over free neighbours, one step at a time; a taken start is worth nothing."""
    value = -np.inf if permutation in taken else score(permutation[None])[0]
    while True:
        free = [p for p in neighbours(permutation) if p not in taken]
        best = max(free, key=lambda p: score(p[None])[0], default=None)
        if best is None or score(best[None])[0] <= value:
            return permutation
        permutation, value = best, score(best[None])[0]


@given(st.lists(st.permutations(range(4)), max_size=10), st.permutations(range(4)))
@settings(deadline=None)
def test_taken_without_a_key_holds_exactly_the_permutations_added(members, candidate):
    taken = Taken(permutations=map(np.array, members[:4]))
    for member in members[4:]:
        taken.add(np.array(member))
    assert (np.array(candidate) in taken) == (candidate in members)
    assert len(taken) == len({tuple(member) for member in members})


@given(st.lists(st.permutations(range(4)), max_size=10), st.permutations(range(4)))
@settings(deadline=None)
def test_taken_with_a_key_holds_what_shares_the_key_of_a_member(members, candidate):
    taken = Taken(up_to_reversal, map(np.array, members))
    assert (np.array(candidate) in taken) == (candidate in members or candidate[::-1] in members)
    assert len(taken) == len({up_to_reversal(np.array(member)) for member in members})


@keys
def test_adding_to_a_copy_of_taken_leaves_the_original(key):
    taken = Taken(key, [np.array([0, 1, 2, 3])])
    copy = taken.copy()
    copy.add(np.array([1, 0, 3, 2]))
    assert np.array([1, 0, 3, 2]) in copy
    assert np.array([0, 1, 2, 3]) in copy
    assert np.array([1, 0, 3, 2]) not in taken


@keys
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_climbs_end_where_steepest_ascent_over_free_neighbours_ends(key, seed):
    candidates, score, rng = everything(5), rugged(5, seed), np.random.default_rng(seed)
    taken = Taken(key, rng.permutation(candidates)[: 2 if key is first_item else 40])
    starts = rng.permutation(candidates)[:30]
    ends, scores = hill_climb(score, starts, taken)
    expected = {tuple(climb(score, start, taken).tolist()) for start in starts}
    assert len(ends) == len(expected)
    assert {tuple(end) for end in ends.tolist()} == expected
    np.testing.assert_array_equal(scores, np.where([end in taken for end in ends], -np.inf, score(ends)))


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_climbs_end_at_free_local_maxima(seed):
    candidates, score, rng = everything(6), rugged(6, seed), np.random.default_rng(seed)
    taken = Taken(permutations=rng.permutation(candidates)[:300])
    ends, scores = hill_climb(score, rng.permutation(candidates)[:40], taken)
    for end, value in zip(ends, scores, strict=True):
        assert end not in taken
        assert all(score(p[None])[0] <= value for p in neighbours(end) if p not in taken)


def test_a_climb_leaves_a_taken_start_even_downhill():
    start = np.arange(5)
    ends, _ = hill_climb(
        lambda permutations: -np.abs(permutations - start).sum(axis=1) * 1.0, start[None], Taken(None, [start])
    )
    assert len(ends) == 1
    assert ends.tolist() in [[p.tolist()] for p in neighbours(start)]


def test_a_climb_walled_in_by_taken_permutations_ends_with_score_minus_infinity():
    start = np.arange(4)
    taken = Taken(permutations=[start, *neighbours(start)])
    ends, scores = hill_climb(rugged(4, 0), start[None], taken)
    assert ends.tolist() == [start.tolist()]
    assert scores.tolist() == [-np.inf]


def test_a_climb_ends_on_a_plateau():
    start = np.array([2, 0, 1, 3])
    ends, scores = hill_climb(lambda permutations: np.full(len(permutations), 7.0), start[None], Taken())
    assert (ends.tolist(), scores.tolist()) == ([start.tolist()], [7.0])


def test_climbing_leaves_the_starts_as_they_were():
    starts = everything(5)[:20]
    before = starts.copy()
    hill_climb(rugged(5, 0), starts, Taken())
    assert np.array_equal(starts, before)


@keys
@pytest.mark.parametrize("n_items", [2, 3, 4, 5, 6])
def test_maximum_of_a_small_space_is_that_of_enumeration_over_free_permutations(n_items, key):
    rng = np.random.default_rng(n_items)
    candidates = everything(n_items)
    for seed in range(5):
        score = rugged(n_items, seed)
        best_first = candidates[np.argsort(-score(candidates))]
        taken = Taken(key, best_first[: rng.integers(len({Taken(key).key(p) for p in candidates}))])
        free = [p for p in best_first if p not in taken]
        assert maximise(score, candidates[:1], taken, rng).tolist() == free[0].tolist()


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_maximum_of_a_large_space_is_a_free_local_maximum_as_good_as_everything_free_that_was_scored(seed):
    rng, score = np.random.default_rng(seed), assignment(9, seed)
    known = np.array([rng.permutation(9) for _ in range(50)])
    known[0] = climb(score, known[0], Taken())  # the climbs must make do without a good local maximum
    taken, seen = Taken(permutations=known), []

    def spy(permutations):
        seen.append(permutations.copy())
        return score(permutations)

    best = maximise(spy, known, taken, rng)
    value = score(best[None])[0]
    assert best not in taken
    assert all(score(p[None])[0] <= value for p in neighbours(best) if p not in taken)
    scored = np.unique(np.concatenate(seen), axis=0)
    assert max(score(p[None])[0] for p in scored if p not in taken) <= value


def test_search_climbs_from_the_best_known_point():
    rng = np.random.default_rng(0)
    known = np.array([rng.permutation(10) for _ in range(60)])
    hidden = known[37].copy()
    hidden[[2, 7]] = hidden[[7, 2]]

    def needle(permutations):
        return 1.0 * np.all(permutations == known[37], axis=1) + 2.0 * np.all(permutations == hidden, axis=1)

    assert maximise(needle, known, Taken(permutations=known), rng).tolist() == hidden.tolist()


def test_search_climbs_from_elsewhere_than_the_known_points():
    start, goal = np.arange(9), np.array([8, 7, 6, 5, 4, 3, 2, 1, 0])

    def moat(permutations):
        around_start = (permutations != start).sum(axis=1) <= 4
        return np.where(around_start, -1000.0, -np.abs(permutations - goal).sum(axis=1))

    found = maximise(moat, start[None], Taken(permutations=[start]), np.random.default_rng(0))
    assert found.tolist() == goal.tolist()


def test_search_draws_a_free_permutation_where_every_climb_is_walled_in():
    def begins_in_order(permutation):
        return permutation[:3].tolist() == [0, 1, 2]

    def far_from_order(permutations):
        return np.abs(permutations[:, :3] - [0, 1, 2]).sum(axis=1) * 1.0

    reverse = np.arange(9)[::-1]
    found = maximise(far_from_order, reverse[None], Taken(begins_in_order, [reverse]), np.random.default_rng(0))
    assert begins_in_order(found)


@pytest.mark.parametrize("n_items", [3, 9])
def test_search_leaves_taken_as_it_was(n_items):
    known = np.arange(n_items)[None]
    taken = Taken(permutations=known)
    maximise(assignment(n_items, 0), known, taken, np.random.default_rng(0))
    assert len(taken) == 1


def test_maximum_of_a_space_that_is_used_up_is_refused():
    with pytest.raises(UsedUpError, match="used up"):
        maximise(rugged(3, 0), everything(3), Taken(permutations=everything(3)), np.random.default_rng(0))


def test_maximum_of_a_large_space_whose_keys_are_used_up_is_refused():
    known = np.array([np.roll(np.arange(9), shift) for shift in range(9)])
    with pytest.raises(UsedUpError, match="used up"):
        maximise(assignment(9, 0), known, Taken(first_item, known), np.random.default_rng(0))


@keys
@pytest.mark.parametrize("n_items", [4, 9])
def test_drawn_permutations_are_new_and_distinct(n_items, key):
    rng = np.random.default_rng(0)
    taken = Taken(key, [np.arange(n_items)])
    drawn = draw_free(n_items, 3, taken, rng)
    assert drawn.shape == (3, n_items)
    assert np.array_equal(np.sort(drawn, axis=1), np.tile(np.arange(n_items), (3, 1)))
    assert not any(p in taken for p in drawn)
    assert len({taken.key(p) for p in drawn}) == 3
    assert len(taken) == 1


def test_draws_from_a_small_space_give_all_that_is_left_and_then_are_refused():
    taken = Taken(permutations=everything(4)[5:])
    drawn = draw_free(4, 5, taken, np.random.default_rng(0))
    assert sorted(drawn.tolist()) == everything(4)[:5].tolist()
    with pytest.raises(UsedUpError, match=r"6 new permutations asked for, 5 left"):
        draw_free(4, 6, taken, np.random.default_rng(0))


@pytest.mark.parametrize("n_items", [4, 9])
def test_draws_give_every_key_once_and_then_are_refused(n_items):
    rng = np.random.default_rng(0)
    assert sorted(draw_free(n_items, n_items, Taken(first_item), rng)[:, 0].tolist()) == list(range(n_items))
    with pytest.raises(UsedUpError, match=f"{n_items} left"):
        draw_free(n_items, n_items + 1, Taken(first_item), rng)


def test_draws_are_uniform_over_what_is_free():
    rng = np.random.default_rng(0)
    taken = Taken(permutations=everything(4)[:12])
    drawn = np.concatenate([draw_free(4, 2, taken, rng) for _ in range(1200)])
    distinct, counts = np.unique(drawn, axis=0, return_counts=True)
    assert distinct.tolist() == everything(4)[12:].tolist()
    assert chisquare(counts).pvalue > 1e-3
