import numba
import numpy as np
import pytest

from law_ray.acquisition import swap_moves
from law_ray.kernels.loops import position_distances
from law_ray.space.permutations import invert, sample
from tests.oracles.plain_law import neighbours


class Case:
    """Climbers and points, and all swaps of items."""

    def __init__(self, n_items=9, m=4, n=37, seed=0):
        rng = np.random.default_rng(seed)
        self.climbers, points = sample(n_items, m, rng), sample(n_items, n, rng)
        self.q, self.P = (invert(p).astype(np.int32) for p in (self.climbers, points))
        self.P_T = np.ascontiguousarray(self.P.T)
        self.a, self.b = (items.astype(np.int32) for items in np.triu_indices(n_items, 1))
        self.distances = position_distances(self.q, self.P)
        self.weights = rng.normal(size=(m, 3, n))
        self.kernel = rng.normal(size=n_items**2 // 2 + 1)  # any function of the distance will do

    def swapped(self, i, s):
        q = self.q[i].copy()
        q[[self.a[s], self.b[s]]] = q[[self.b[s], self.a[s]]]
        return q

    def sums(self):
        return swap_moves.swap_sums(self.q, self.P_T, self.distances, self.weights, self.kernel, self.a, self.b)


def test_distances_are_sums_of_displacements():
    case = Case()
    np.testing.assert_array_equal(case.distances, np.abs(case.q[:, None] - case.P[None]).sum(axis=2))


@pytest.mark.parametrize("n_items", [2, 3, 8, 9])
def test_sums_over_swaps_are_those_of_the_swapped_permutations(n_items):
    case = Case(n_items)
    sums = case.sums()
    for i in range(len(case.q)):
        for s in range(len(case.a)):
            distances = np.abs(case.swapped(i, s) - case.P).sum(axis=1)
            np.testing.assert_allclose(sums[i, s], case.weights[i] @ case.kernel[distances], rtol=0, atol=1e-12)


def test_distances_after_swaps_are_those_of_the_swapped_permutations():
    case = Case()
    climber, swap = np.array([3, 0, 3, 2]), np.array([0, 35, 17, 17])
    found = swap_moves.swap_distances(case.q, case.P_T, case.distances, climber, case.a[swap], case.b[swap])
    expected = [np.abs(case.swapped(i, s) - case.P).sum(axis=1) for i, s in zip(climber, swap, strict=True)]
    np.testing.assert_array_equal(found, expected)


def test_swaps_of_items_are_the_swaps_of_positions():
    case = Case(6, 1)
    by_items = {tuple(invert(case.swapped(0, s).astype(int))) for s in range(len(case.a))}
    assert by_items == {tuple(p) for p in neighbours(case.climbers[0])}


def test_results_do_not_depend_on_the_number_of_threads():
    case = Case(20, 7, 200)
    threads = numba.get_num_threads()
    try:
        results = []
        for count in (1, 2):
            numba.set_num_threads(min(count, threads))
            results.append(case.sums())
    finally:
        numba.set_num_threads(threads)
    assert np.array_equal(*results)
