import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from law_ray import InputError
from law_ray.space.permutations import (
    count_neighbours,
    enumerate_all,
    insertion_neighbours,
    invert,
    reversal_neighbours,
    sample,
    swap_neighbours,
    validate,
)

some_permutation = st.integers(1, 9).flatmap(lambda n_items: st.permutations(range(n_items)))


@pytest.mark.parametrize(
    "container", [list, tuple, np.array, lambda p: np.array(p, np.uint8), lambda p: np.array(p, ">i4")]
)
@given(permutation=some_permutation)
def test_validate_keeps_the_items_and_gives_int64(container, permutation):
    validated = validate(container(permutation), len(permutation))
    assert validated.dtype == np.int64
    assert validated.tolist() == list(permutation)


def test_validate_returns_a_fresh_array():
    given_array = np.arange(4)
    given_array.flags.writeable = False
    validated = validate(given_array, 4)
    assert not np.shares_memory(validated, given_array)
    assert validated.flags.writeable


@pytest.mark.parametrize(
    ("refused", "culprit"),
    [
        ([0, 1, 1], r"\[0, 1, 1\] does not hold each of 0\.\.2 once"),
        ([0, 0, 3], r"\[0, 0, 3\]"),
        ([1, 1, 1], r"\[1, 1, 1\]"),
        ([1, 2, 3], r"\[1, 2, 3\]"),
        ([-1, 0, 1], r"\[-1, 0, 1\]"),
        ([0, 1], r"shape is \(2,\)"),
        ([0, 1, 2, 3], r"shape is \(4,\)"),
        ([[0, 1, 2]], r"shape is \(1, 3\)"),
        ([], r"shape is \(0,\)"),
        (7, r"shape is \(\)"),
        (None, r"shape is \(\)"),
        ("012", r"shape is \(\)"),
        ([[0, 1], [2]], r"\[\[0, 1\], \[2\]\] is not a flat list"),
        ([0.0, 1.0, 2.0], r"float64, give the integers 0\.\.2$"),
        ([0, 1, math.nan], "float64"),
        (["0", "1", "2"], "<U1"),
        ([0, 1, None], "object"),
        ([0, 1, 2**70], "object"),
        (np.array([True, False, True]), "bool"),
    ],
)
def test_validate_names_what_makes_it_no_permutation(refused, culprit):
    with pytest.raises(InputError, match=culprit):
        validate(refused, 3)


@given(permutation=some_permutation)
def test_inverse_gives_the_position_of_each_item(permutation):
    positions = invert(np.array(permutation))
    assert [permutation[position] for position in positions] == list(range(len(permutation)))


@given(permutation=some_permutation)
def test_inverting_twice_changes_nothing(permutation):
    assert invert(invert(np.array(permutation))).tolist() == list(permutation)


def test_inverting_an_array_inverts_each_row():
    permutations = sample(5, 6, np.random.default_rng(0)).reshape(2, 3, 5)
    inverted = invert(permutations)
    assert all(np.array_equal(inverted[i], invert(permutations[i])) for i in np.ndindex(2, 3))


def test_sample_is_uniform_over_all_permutations():
    drawn = sample(4, 24_000, np.random.default_rng(0))
    distinct, counts = np.unique(drawn, axis=0, return_counts=True)
    assert distinct.tolist() == [list(p) for p in itertools.permutations(range(4))]
    assert chisquare(counts).pvalue > 1e-3


def test_sampled_permutations_are_independent_of_their_predecessors():
    drawn = sample(3, 36_000, np.random.default_rng(1)).reshape(-1, 6)
    distinct, counts = np.unique(drawn, axis=0, return_counts=True)
    assert len(distinct) == 36
    assert chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 5])
def test_swap_neighbours_are_all_permutations_that_differ_in_two_positions_once_each(n_items):
    everything = list(itertools.permutations(range(n_items)))
    neighbours = swap_neighbours(np.array(everything))
    assert neighbours.shape == (len(everything), math.comb(n_items, 2), n_items)
    for permutation, around in zip(everything, neighbours.tolist(), strict=True):
        expected = [list(p) for p in everything if sum(a != b for a, b in zip(p, permutation, strict=True)) == 2]
        assert sorted(around) == expected  # lists, not sets: a repeated neighbour would show


@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 5, 6])
def test_insertion_neighbours_are_all_results_of_moving_one_item_once_each(n_items):
    permutations = sample(n_items, 3, np.random.default_rng(n_items))
    neighbours = insertion_neighbours(permutations)
    assert neighbours.shape == (3, (n_items - 1) ** 2, n_items)
    for permutation, around in zip(permutations.tolist(), neighbours.tolist(), strict=True):
        expected = set()
        for item, position in itertools.product(range(n_items), repeat=2):
            rest = [other for other in permutation if other != item]
            expected.add((*rest[:position], item, *rest[position:]))
        assert sorted(map(tuple, around)) == sorted(expected - {tuple(permutation)})


@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 5, 6])
def test_reversal_neighbours_are_all_results_of_reversing_a_segment_once_each(n_items):
    permutations = sample(n_items, 3, np.random.default_rng(n_items))
    neighbours = reversal_neighbours(permutations)
    assert neighbours.shape == (3, math.comb(n_items, 2), n_items)
    for permutation, around in zip(permutations.tolist(), neighbours.tolist(), strict=True):
        expected = [
            permutation[:first] + permutation[first:stop][::-1] + permutation[stop:]
            for first, stop in itertools.combinations(range(n_items + 1), 2)
            if stop - first > 1
        ]
        assert sorted(around) == sorted(expected)


@pytest.mark.parametrize("neighbours", [swap_neighbours, insertion_neighbours, reversal_neighbours])
@pytest.mark.parametrize("n_items", [1, 2, 3, 6])
def test_neighbours_are_counted_as_they_are_found(neighbours, n_items):
    assert count_neighbours(neighbours, n_items) == len(neighbours(np.arange(n_items)[None])[0])


@pytest.mark.parametrize("n_items", [1, 2, 5])
def test_enumeration_has_every_permutation_once_in_lexicographic_order(n_items):
    everything = enumerate_all(n_items)
    assert everything.dtype == np.int64
    rows = [tuple(row) for row in everything.tolist()]
    assert len(rows) == math.factorial(n_items)
    assert rows == sorted(set(rows))
    assert all(sorted(row) == list(range(n_items)) for row in rows)
