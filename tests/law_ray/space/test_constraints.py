import itertools
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from law_ray import InputError
from law_ray.space import constraints as constraints_module
from law_ray.space.constraints import Constraints
from law_ray.space.permutations import invert, sample
from tests.oracles.orderings import allowed_orderings, everything, some_constraints, tiers


def exchanged(permutation, a, b):
    return tuple({a: b, b: a}.get(item, item) for item in permutation)


def test_the_most_items_are_accepted_and_one_more_is_refused(monkeypatch):
    monkeypatch.setattr(constraints_module, "MAX_ITEMS", 5)  # quick
    assert Constraints(5).n_items == 5
    with pytest.raises(InputError, match="n_items is 6: give an integer from 1 to 5"):
        Constraints(6)


# Equality.


@given(some_constraints(), st.randoms())
def test_pairs_that_follow_from_others_make_no_difference(known, random):
    n_items, before, fixed = known
    constraints = Constraints(n_items, before, fixed)
    implied = [
        (a, b)
        for a, b in itertools.permutations(range(n_items), 2)
        if all(p.index(a) < p.index(b) for p in allowed_orderings(n_items, before, {}))
    ]
    random.shuffle(implied)
    assert Constraints(n_items, implied, list(fixed.items())) == constraints
    for i in range(len(constraints.before)):
        fewer = constraints.before[:i] + constraints.before[i + 1 :]
        assert allowed_orderings(n_items, fewer, {}) != allowed_orderings(n_items, before, {})


@given(some_constraints())
def test_constraints_rebuilt_from_their_attributes_or_pickled_are_equal(known):
    constraints = Constraints(*known)
    constraints.sample(1, np.random.default_rng(0))
    copy = pickle.loads(pickle.dumps(constraints))
    assert Constraints(constraints.n_items, constraints.before, constraints.fixed) == constraints == copy
    assert hash(copy) == hash(constraints)


def test_constraints_cannot_be_changed():
    with pytest.raises(AttributeError):
        Constraints(3).n_items = 4


@pytest.mark.parametrize(("known", "empty"), [((3,), True), ((3, [(0, 1)]), False), ((3, [], {0: 0}), False)])
def test_constraints_are_empty_without_pairs_and_positions(known, empty):
    assert Constraints(*known).empty == empty


# What they allow.


@given(some_constraints())
def test_allowed_permutations_are_those_of_brute_force(known):
    constraints, candidates = Constraints(*known), everything(known[0])
    allowed = allowed_orderings(*known)
    expected = [tuple(p) in allowed for p in candidates.tolist()]
    assert constraints.allows(candidates).tolist() == expected
    assert constraints.allows_positions(invert(candidates)).tolist() == expected
    assert [not constraints.broken_by(p) for p in candidates] == expected


@given(some_constraints())
def test_the_constraint_named_as_broken_is_violated(known):
    n_items, before, fixed = known
    constraints = Constraints(*known)
    implied = set(itertools.permutations(range(n_items), 2))
    for p in allowed_orderings(n_items, before, {}):
        implied &= set(itertools.combinations(p, 2))
    for p in everything(n_items).tolist():
        broken = constraints.broken_by(np.array(p))
        if found := re.fullmatch(r"item (\d+) must come before item (\d+)", broken):
            a, b = map(int, found.groups())
            assert (a, b) in implied
            assert p.index(a) > p.index(b)
        elif broken:
            item, position = map(int, re.fullmatch(r"item (\d+) must be at position (\d+)", broken).groups())
            assert fixed[item] == position
            assert p[position] != item


@given(some_constraints(least=2))
def test_allowed_swaps_are_those_that_lead_to_allowed_permutations(known):
    constraints, allowed = Constraints(*known), allowed_orderings(*known)
    a, b = np.triu_indices(known[0], 1)
    mask = constraints.swaps(invert(np.array(allowed)), a, b)
    among = set(allowed)
    expected = [[exchanged(p, *pair) in among for pair in zip(a.tolist(), b.tolist(), strict=True)] for p in allowed]
    assert mask.dtype == bool
    assert mask.tolist() == expected
    assert np.array_equal(constraints.swaps(invert(np.array(allowed)), b, a), mask)


@given(some_constraints(least=2))
def test_allowed_swaps_connect_all_allowed_permutations(known):
    allowed = set(allowed_orderings(*known))
    reached, ahead = set(), [min(allowed)]
    while ahead:
        p = ahead.pop()
        if p not in reached:
            reached.add(p)
            ahead += [q for a, b in itertools.combinations(p, 2) if (q := exchanged(p, a, b)) in allowed]
    assert reached == allowed


@given(some_constraints(), st.integers(0, 800))
def test_enumeration_gives_all_allowed_orderings_or_none_above_the_limit(known, limit):
    allowed = allowed_orderings(*known)
    found = Constraints(*known).enumerate(limit)
    assert (None if found is None else list(map(tuple, found.tolist()))) == (allowed if len(allowed) <= limit else None)


def test_few_orderings_of_many_items_are_enumerated():
    chain = [(i, i + 1) for i in range(36)]
    constraints = Constraints(37, [pair for pair in chain if pair not in ((5, 6), (20, 21))])
    assert constraints.enumerate(1000) is None  # two cuts leave three chains
    fixed = Constraints(37, [*chain[:35], (34, 36)])
    assert fixed.enumerate(2).tolist() == [[*range(35), 35, 36], [*range(35), 36, 35]]
    assert fixed.enumerate(1) is None


def test_how_many_orderings_are_too_many_is_looked_for_once(monkeypatch):
    looked = []
    enumerate_up_to = constraints_module.linear_extensions.enumerate_up_to
    monkeypatch.setattr(
        constraints_module.linear_extensions,
        "enumerate_up_to",
        lambda limit, order: looked.append(limit) or enumerate_up_to(limit, order),
    )
    constraints = Constraints(5, [(0, 1)])  # 60 orderings
    assert [constraints.enumerate(limit) is None for limit in (10, 5, 10, 20, 15, 60, 10)] == [True] * 5 + [False, True]
    assert looked == [10, 20, 60]
    assert constraints == Constraints(5, [(0, 1)])


# Draws.


def test_without_constraints_the_draws_are_those_of_uniform_permutations():
    drawn = Constraints(6).sample(50, np.random.default_rng(3))
    assert np.array_equal(drawn, sample(6, 50, np.random.default_rng(3)))
    assert Constraints(4).enumerate(24).tolist() == everything(4).tolist()
    assert Constraints(4).enumerate(23) is None


@pytest.mark.parametrize(
    "known",
    [
        (37, tiers(12, 12, 13)),
        (37, [*tiers(12, 12, 13), (0, 3), (1, 3), (20, 13)], {5: 2, 30: 36, 14: 17}),
        (20, [], {3: 7, 19: 0}),
    ],
)
def test_draws_of_many_items_are_allowed_and_distinct(known):
    constraints = Constraints(*known)
    drawn = constraints.sample(500, np.random.default_rng(0))
    assert (drawn.shape, drawn.dtype) == ((500, known[0]), np.int64)
    assert np.array_equal(np.sort(drawn, axis=1), np.tile(np.arange(known[0]), (500, 1)))
    assert constraints.allows(drawn).all()
    assert len(np.unique(drawn, axis=0)) == 500


def test_draws_depend_on_the_generator_alone():
    constraints = Constraints(9, [(0, 1), (2, 1)], {5: 3})
    first, second, other = (constraints.sample(20, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
