"""Which constraints are accepted, and what a refusal says."""

import itertools
import re

import pytest
from hypothesis import given, settings

from law_ray import InputError
from law_ray.space.constraints import Constraints
from tests.oracles.orderings import allowed_orderings, some_constraints, tiers


@given(some_constraints(satisfiable=False))
@settings(max_examples=600)
def test_constraints_are_accepted_exactly_if_some_ordering_keeps_them(known):
    if allowed_orderings(*known):
        Constraints(*known)
    else:
        with pytest.raises(InputError) as refused:
            Constraints(*known)
        assert "\n" not in str(refused.value)


@given(some_constraints(satisfiable=False).filter(lambda known: not allowed_orderings(*known)))
@settings(max_examples=300)
def test_a_refusal_names_a_minimal_set_of_conflicting_constraints(known):
    n_items, before, fixed = known
    with pytest.raises(InputError) as refused:
        Constraints(*known)
    message = str(refused.value)
    if "cycle" in message:
        path = [int(item) for item in re.findall(r"item (\d+)", message)]
        assert path[0] == path[-1]
        named, positions = list(itertools.pairwise(path)), {}
    else:
        named = [(int(a), int(b)) for a, b in re.findall(r"item (\d+) before item (\d+)", message)]
        positions = {int(item): int(at) for item, at in re.findall(r"item (\d+) at position (\d+)", message)}
    assert set(named) <= set(before)
    assert positions.items() <= fixed.items()
    assert not allowed_orderings(n_items, named, positions)
    for i in range(len(named)):
        assert allowed_orderings(n_items, named[:i] + named[i + 1 :], positions)
    for item in positions:
        assert allowed_orderings(n_items, named, {i: at for i, at in positions.items() if i != item})


@pytest.mark.parametrize(
    ("n_items", "before", "fixed", "culprit"),
    [
        (3, [(0, 3)], {}, r"before has \(0, 3\): give items from 0 to 2"),
        (3, [(-1, 0)], {}, r"before has \(-1, 0\)"),
        (3, [(0, 1.0)], {}, r"before has \(0, 1\.0\)"),
        (3, [("a", 0)], {}, r"before has \('a', 0\)"),
        (3, [(0, 1, 2)], {}, r"before is \[\(0, 1, 2\)\]: give pairs"),
        (3, [1], {}, r"before is \[1\]: give pairs"),
        (3, 5, {}, "before is 5: give pairs"),
        (3, [(1, 1)], {}, "cycle, item 1 before item 1"),
        (3, [(0, 1), (1, 2), (2, 0)], {}, "cycle, item . before item . before item . before item .:"),
        (3, [], {0: 3}, r"fixed has \(0, 3\): give item and position from 0 to 2"),
        (3, [], {3: 0}, r"fixed has \(3, 0\)"),
        (3, [], 7, "fixed is 7: give pairs"),
        (3, [], {0: 1, 2: 1}, "items 0 and 2 are both fixed at position 1: choose one"),
        (3, [], [(0, 1), (0, 2)], "item 0 is fixed at positions 1 and 2: choose one"),
        (3, [(0, 1)], {1: 0}, "no ordering has item 0 before item 1, item 1 at position 0: remove one of these"),
        (0, [], {}, "n_items is 0: give an integer from 1 to 10000"),
        (2.5, [], {}, r"n_items is 2\.5"),
    ],
)
def test_invalid_constraints_are_refused_with_the_culprit(n_items, before, fixed, culprit):
    with pytest.raises(InputError, match=culprit):
        Constraints(n_items, before, fixed)


def test_too_many_items_before_a_fixed_one_are_named_among_hundreds_of_pairs():
    with pytest.raises(InputError) as refused:
        Constraints(37, tiers(12, 12, 13), {20: 5})
    assert len(re.findall(r"item \d+ before item 20", str(refused.value))) == 6
    assert "item 20 at position 5" in str(refused.value)
