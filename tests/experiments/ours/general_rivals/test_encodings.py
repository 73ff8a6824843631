import itertools
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from experiments.ours.general_rivals.encodings import by_keys, by_lehmer_code, repaired


def test_keys_sort_the_items():
    assert by_keys([0.3, 0.1, 0.2]).tolist() == [1, 2, 0]
    assert by_keys([0.5, 0.5, 0.1]).tolist() == [2, 0, 1]


def test_the_lehmer_code_is_a_bijection():
    codes = list(itertools.product(*(range(5 - k) for k in range(5))))
    permutations = {tuple(by_lehmer_code(code).tolist()) for code in codes}
    assert len(codes) == math.factorial(5)
    assert permutations == set(itertools.permutations(range(5)))


def test_codes_in_lexicographic_order_are_permutations_in_that_order():
    codes = itertools.product(*(range(4 - k) for k in range(4)))
    assert [tuple(by_lehmer_code(code).tolist()) for code in codes] == list(itertools.permutations(range(4)))


@given(st.permutations(range(7)), st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=6))
def test_a_repaired_ordering_is_allowed_and_the_same_if_it_was(permutation, pairs):
    before = [(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]]  # ascending, so without a cycle
    found = repaired(permutation, before)
    assert sorted(found) == list(range(7))
    place = np.argsort(found)
    assert all(place[first] < place[second] for first, second in before)
    given_place = np.argsort(permutation)
    if all(given_place[first] < given_place[second] for first, second in before):
        assert found == tuple(permutation)


def test_repairing_delays_only_what_must_wait():
    assert repaired([3, 0, 2, 1], [(1, 3)]) == (0, 2, 1, 3)
