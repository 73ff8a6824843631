import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

from law_ray.errors import InputError, UsedUpError
from law_ray.space import exclusions
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import EXHAUSTIVE, Exclusions, draw_free
from tests.oracles.orderings import allowed_orderings, everything, first_item, some_constraints, up_to_reversal

keys = pytest.mark.parametrize("key", [None, up_to_reversal, first_item])


@given(st.lists(st.permutations(range(4)), max_size=10), st.permutations(range(4)))
def test_exclusions_without_a_key_hold_exactly_the_added_permutations(members, candidate):
    excluded = Exclusions(permutations=map(np.array, members[:4]))
    for member in members[4:]:
        excluded.add(np.array(member))
    assert (np.array(candidate) in excluded) == (candidate in members)
    assert len(excluded) == len({tuple(member) for member in members})


@given(st.lists(st.permutations(range(4)), max_size=10), st.permutations(range(4)))
def test_exclusions_with_a_key_hold_all_permutations_with_the_key_of_a_member(members, candidate):
    excluded = Exclusions(up_to_reversal, map(np.array, members))
    assert (np.array(candidate) in excluded) == (candidate in members or candidate[::-1] in members)
    assert len(excluded) == len({up_to_reversal(np.array(member)) for member in members})


@keys
def test_adding_to_a_copy_of_exclusions_leaves_the_original_unchanged(key):
    excluded = Exclusions(key, [np.array([0, 1, 2, 3])])
    copy = excluded.copy()
    copy.add(np.array([1, 0, 3, 2]))
    assert np.array([1, 0, 3, 2]) in copy
    assert np.array([0, 1, 2, 3]) in copy
    assert np.array([1, 0, 3, 2]) not in excluded


@keys
@pytest.mark.parametrize("n_items", [4, 9])
def test_drawn_permutations_are_distinct_and_not_excluded(n_items, key):
    rng = np.random.default_rng(0)
    excluded = Exclusions(key, [np.arange(n_items)])
    drawn = draw_free(Constraints(n_items), 3, excluded, rng)
    assert drawn.shape == (3, n_items)
    assert np.array_equal(np.sort(drawn, axis=1), np.tile(np.arange(n_items), (3, 1)))
    assert not any(p in excluded for p in drawn)
    assert len({excluded.key(p) for p in drawn}) == 3
    assert len(excluded) == 1


def test_a_key_is_called_by_one_thread_at_a_time():
    calling, most = [], []

    def key(permutation):
        calling.append(1)
        time.sleep(0.01)
        most.append(len(calling))
        calling.pop()
        return permutation.tobytes()

    excluded = Exclusions(key)
    with ThreadPoolExecutor(4) as pool:
        assert not any(pool.map(lambda _: np.arange(3) in excluded, range(8)))
    assert most == 8 * [1]


def test_a_key_that_cannot_be_looked_up_is_refused():
    with pytest.raises(InputError, match=r"^the objective's key returned a list: return something hashable"):
        Exclusions(lambda permutation: permutation.tolist(), [np.arange(3)])


def test_draws_from_a_small_space_give_all_free_permutations_and_then_are_refused():
    excluded = Exclusions(permutations=everything(4)[5:])
    drawn = draw_free(Constraints(4), 5, excluded, np.random.default_rng(0))
    assert sorted(drawn.tolist()) == everything(4)[:5].tolist()
    with pytest.raises(UsedUpError, match=r"6 new permutations asked for, 5 found: ask for fewer"):
        draw_free(Constraints(4), 6, excluded, np.random.default_rng(0))


@pytest.mark.parametrize("n_items", [4, 9])
def test_draws_give_every_key_once_and_then_are_refused(n_items):
    rng = np.random.default_rng(0)
    assert sorted(draw_free(Constraints(n_items), n_items, Exclusions(first_item), rng)[:, 0].tolist()) == list(
        range(n_items)
    )
    with pytest.raises(UsedUpError, match=f"{n_items} found"):
        draw_free(Constraints(n_items), n_items + 1, Exclusions(first_item), rng)


def test_draws_are_uniform_over_the_free_permutations():
    rng = np.random.default_rng(0)
    excluded = Exclusions(permutations=everything(4)[:12])
    drawn = np.concatenate([draw_free(Constraints(4), 2, excluded, rng) for _ in range(1200)])
    distinct, counts = np.unique(drawn, axis=0, return_counts=True)
    assert distinct.tolist() == everything(4)[12:].tolist()
    assert chisquare(counts).pvalue > 1e-3


@given(some_constraints())
@settings(max_examples=60)
def test_draws_within_constraints_give_all_free_permutations_and_then_are_refused(known):
    constraints, allowed, rng = Constraints(*known), allowed_orderings(*known), np.random.default_rng(0)
    excluded = Exclusions(permutations=np.array(allowed[1::2]))
    left = allowed[::2]
    assert sorted(map(tuple, draw_free(constraints, len(left), excluded, rng).tolist())) == left
    with pytest.raises(UsedUpError, match=f"{len(left)} found"):
        draw_free(constraints, len(left) + 1, excluded, rng)


def test_draws_from_a_large_constrained_space_are_allowed_and_not_excluded():
    constraints, rng = Constraints(12, [(0, 1), (2, 1)], {5: 4}), np.random.default_rng(0)
    assert constraints.enumerate(EXHAUSTIVE) is None
    excluded = Exclusions(first_item, constraints.sample(1, rng))
    drawn = draw_free(constraints, 9, excluded, rng)  # the first item is neither 1 nor 5, nor the excluded one
    assert constraints.allows(drawn).all()
    assert len({first_item(p) for p in drawn}) == 9
    assert not any(p in excluded for p in drawn)
    with pytest.raises(UsedUpError, match="10 new permutations asked for, 9 found: ask for fewer"):
        draw_free(constraints, 10, excluded, rng)


@keys
def test_what_is_discarded_is_free_again(key):
    excluded = Exclusions(key, [np.array([0, 1, 2, 3]), np.array([1, 0, 3, 2])])
    excluded.discard(np.array([0, 1, 2, 3]))
    assert np.array([0, 1, 2, 3]) not in excluded
    assert np.array([1, 0, 3, 2]) in excluded


def test_a_small_space_is_listed_rather_than_sampled(monkeypatch):
    monkeypatch.setattr(Constraints, "sample", None)
    excluded = Exclusions(permutations=everything(7)[1:])
    assert draw_free(Constraints(7), 1, excluded, np.random.default_rng(0)).tolist() == [list(range(7))]


def test_a_large_space_counts_as_used_up_after_so_many_draws_in_a_row_that_are_excluded(monkeypatch):
    taken, *free = everything(8)[:3]

    def draw(*positions_of_free):
        """Draw two from a stream of excluded orderings, with free ones at these positions."""
        stream = [taken] * 10
        for position, permutation in zip(positions_of_free, free, strict=True):
            stream[position] = permutation
        monkeypatch.setattr(Constraints, "sample", lambda self, size, rng: np.array(stream))
        return draw_free(Constraints(8), 2, Exclusions(permutations=[taken]), np.random.default_rng(0))

    monkeypatch.setattr(exclusions, "MAX_FRUITLESS_DRAWS", 3)
    assert draw(2, 5).tolist() == np.array(free).tolist()
    for late in ((3, 4), (2, 6)):
        with pytest.raises(UsedUpError, match="2 new permutations asked for"):
            draw(*late)
