import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from law_ray.kernels import max_position_distance, position_correlations, position_distances


def permutations_of_one_size(count):
    return st.integers(1, 9).flatmap(lambda n: st.tuples(*[st.permutations(range(n))] * count))


def everything(n_items):
    return np.array(list(itertools.permutations(range(n_items))))


def distance(permutation, other):
    return int(position_distances(np.array([permutation]), np.array([other]))[0, 0])


def test_distance_is_the_sum_over_items_of_how_far_each_moved():
    rng = np.random.default_rng(0)
    X1, X2 = (np.array([rng.permutation(7) for _ in range(m)]) for m in (5, 8))
    expected = [[sum(abs(a.index(i) - b.index(i)) for i in range(7)) for b in X2.tolist()] for a in X1.tolist()]
    distances = position_distances(X1, X2)
    assert np.issubdtype(distances.dtype, np.integer)
    assert distances.tolist() == expected


@given(permutations_of_one_size(2))
@settings(deadline=None)
def test_distance_is_symmetric_and_zero_only_between_equals(pair):
    first, second = pair
    assert distance(first, second) == distance(second, first)
    assert (distance(first, second) == 0) == (first == second)


@given(permutations_of_one_size(3))
@settings(deadline=None)
def test_distance_obeys_the_triangle_inequality(triple):
    first, second, third = triple
    assert distance(first, third) <= distance(first, second) + distance(second, third)


@given(permutations_of_one_size(3))
@settings(deadline=None)
def test_distance_does_not_depend_on_the_names_of_the_items(triple):
    first, second, names = triple
    assert distance([names[i] for i in first], [names[i] for i in second]) == distance(first, second)


@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 5, 6])
def test_max_distance_is_the_largest_over_all_pairs(n_items):
    candidates = everything(n_items)
    assert position_distances(candidates, candidates).max() == max_position_distance(n_items)


@pytest.mark.parametrize("n_items", [1, 2, 7, 12, 31])
def test_max_distance_is_that_of_an_ordering_to_its_reverse(n_items):
    ordering = np.random.default_rng(n_items).permutation(n_items)
    assert distance(ordering, ordering[::-1]) == max_position_distance(n_items)


@pytest.mark.parametrize(("n_items", "decay"), [(1, 1.0), (4, 0.3), (7, 2.5)])
def test_correlations_decay_exponentially_with_distance_over_n_items(n_items, decay):
    expected = [np.exp(-decay * d / n_items) for d in range(max_position_distance(n_items) + 1)]
    np.testing.assert_allclose(position_correlations(n_items, decay), expected, rtol=1e-14)


@pytest.mark.parametrize("decay", [0.1, 0.5, 2.0, 10.0])
@pytest.mark.parametrize("n_items", [2, 3, 4, 5])
def test_gram_matrix_over_all_permutations_is_positive_definite_within_the_papers_bounds(n_items, decay):
    candidates = everything(n_items)
    gram = position_correlations(n_items, decay)[position_distances(candidates, candidates)]
    eigenvalues = np.linalg.eigvalsh(gram)
    rho = np.exp(-decay / n_items)
    spread = ((1 + rho) / (1 - rho)) ** n_items
    rounding = 1e-14 * len(candidates)
    assert eigenvalues.min() > max(0.0, 1 / spread - rounding)
    assert eigenvalues.max() <= spread + rounding
