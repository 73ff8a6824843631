import dataclasses

import numpy as np
import pytest

from law_ray.kernels.additive import AdditiveHyperparameters
from law_ray.methods.incumbent import incumbent, on_plateau
from law_ray.models.gp import GaussianProcess
from law_ray.space.permutations import sample
from tests.oracles.contexts import context_of

N_ITEMS = 8
ENOUGH = 8 * N_ITEMS
"""Evaluations near a point after which its surroundings count as searched: eight per item."""
N_EQUAL = 10
"""With more values as good as the best it lies on a plateau."""


def around(centre, count, rng):
    """Return `count` permutations one swap from the centre, not all different."""
    moved = np.tile(centre, (count, 1))
    for row in moved:
        i, j = rng.choice(N_ITEMS, 2, replace=False)
        row[[i, j]] = row[[j, i]]
    return moved


def context_with(points, values, scale=1.0):
    h = AdditiveHyperparameters({"hamming": [0.0, 1.0, scale, 0.0]}, 0.1, 0.0)  # near: at most three items elsewhere
    X, y = np.array(points), np.array(values, dtype=float)
    return dataclasses.replace(context_of(GaussianProcess(X, y, h)), y=y)


FIRST, SECOND = np.arange(N_ITEMS), np.roll(np.arange(N_ITEMS), 3)  # nothing in common


def searched(count, then=(), values=()):
    """Return a context with the best point, another far from it, `count` worse points near the best, and others."""
    rng = np.random.default_rng(0)
    points = [FIRST, SECOND, *around(FIRST, count, rng), *then]
    return context_with(points, [0.0, 1.0, *rng.uniform(2, 3, count), *values])


def test_the_incumbent_is_the_best_point_until_its_surroundings_were_searched_enough():
    assert incumbent(searched(0)) == 0
    assert incumbent(searched(ENOUGH - 1)) == 0
    assert incumbent(searched(ENOUGH)) == 1


def test_no_kernel_between_all_points_is_computed(monkeypatch):
    """It would take gigabytes for 20,000."""
    context, kernel, sizes = searched(3 * ENOUGH), GaussianProcess.kernel, []
    monkeypatch.setattr(
        GaussianProcess, "kernel", lambda self, X1, X2: sizes.append((len(X1), len(X2))) or kernel(self, X1, X2)
    )
    assert incumbent(context) == 1
    assert sorted(sizes) == [(1, 1), (1, len(context.X)), (1, len(context.X)), (100, len(context.X))]


@pytest.mark.parametrize(("moved", "found"), [(3, 1), (4, 0)])
def test_near_is_what_is_at_least_halfway_from_random_permutations_to_the_point_itself(moved, found):
    """The covariance is 1 at the point itself, 1/8 on average, and falls by 1/8 for every item elsewhere."""
    rng = np.random.default_rng(0)
    points = np.tile(FIRST, (ENOUGH, 1))
    for row in points:
        where = rng.choice(N_ITEMS, moved, replace=False)
        row[where] = np.roll(row[where], 1)
    values = [0.0, 1.0, *rng.uniform(2, 3, ENOUGH)]
    assert incumbent(context_with([FIRST, SECOND, *points], values)) == found
    assert incumbent(context_with([FIRST, SECOND, *points], values, scale=4.0)) == found


def test_where_all_permutations_are_alike_they_are_near_and_the_earliest_of_equals_is_the_centre():
    X = sample(N_ITEMS, 10 + ENOUGH + 1, np.random.default_rng(0))
    y = np.where(np.arange(len(X)) < 10, 1.0, 0.0)
    alike = AdditiveHyperparameters({"hamming": [1.0, 0.0, 0.0, 0.0]}, 0.1, 0.0)
    for count, found in ((len(X) - 1, len(X) - 2), (len(X), 10)):  # the latest of equals, until there were enough
        context = context_of(GaussianProcess(X[:count], y[:count], alike))
        assert incumbent(dataclasses.replace(context, y=y[:count])) == found


def test_points_far_from_the_best_do_not_count_as_searches_around_it():
    context = searched(ENOUGH - 1, np.roll(around(FIRST, 30, np.random.default_rng(1)), 2, axis=1), np.full(30, 5.0))
    assert incumbent(context) == 0


def test_after_a_gain_the_search_around_the_best_point_starts_again():
    better = around(FIRST, 1, np.random.default_rng(2))
    assert incumbent(searched(ENOUGH, better, [-1.0])) == 2 + ENOUGH


def test_the_latest_of_equals_is_the_incumbent():
    equals = np.concatenate([around(FIRST, 1, np.random.default_rng(3)), SECOND[None][:, ::-1]])
    assert incumbent(searched(3, equals, [0.0, 0.0])) == 6


def test_points_near_a_centre_that_was_searched_enough_are_passed_over():
    rng = np.random.default_rng(4)
    points = [FIRST, *around(FIRST, ENOUGH, rng), SECOND]
    context = context_with(points, [0.0, *rng.uniform(0.1, 0.2, ENOUGH), 9.0])
    assert incumbent(context) == len(points) - 1


def test_points_near_a_centre_stay_passed_over_when_another_was_searched_enough_too():
    rng, third = np.random.default_rng(4), np.roll(FIRST, 5)  # nothing in common with the others
    points = [FIRST, SECOND, *around(FIRST, ENOUGH, rng), *around(SECOND, ENOUGH, rng), third]
    context = context_with(points, [0.0, 0.5, *rng.uniform(1.0, 2.0, 2 * ENOUGH), 9.0])
    assert incumbent(context) == len(points) - 1


def test_a_point_that_was_passed_over_is_no_incumbent_though_it_has_the_value_of_one():
    near_the_first = around(FIRST, 1, np.random.default_rng(3))
    assert incumbent(searched(ENOUGH, near_the_first, [1.0])) == 1
    assert incumbent(searched(ENOUGH, SECOND[None][:, ::-1], [1.0])) == 2 + ENOUGH  # which is near neither


def test_where_everything_was_searched_enough_it_is_the_best_point():
    rng = np.random.default_rng(5)
    points = [FIRST, *around(FIRST, ENOUGH, rng)]
    assert incumbent(context_with(points, [0.0, *rng.uniform(1, 2, ENOUGH)])) == 0


def test_random_data_have_an_incumbent():
    rng = np.random.default_rng(6)
    for n in (1, 5, 60):
        X = sample(N_ITEMS, n, rng)
        y = rng.normal(size=n)
        assert incumbent(context_with(X, y)) == int(np.argmin(y))


def test_a_plateau_is_more_than_so_many_values_as_good_as_the_best():
    worse = list(range(1, 30))
    for equal in (1, N_EQUAL, N_EQUAL + 1, N_EQUAL + 5):
        X = sample(N_ITEMS, equal + len(worse), np.random.default_rng(7))
        assert on_plateau(context_with(X, [0.0] * equal + worse)) == (equal > N_EQUAL)
        assert not on_plateau(context_with(X, [-1.0] + [0.0] * (equal - 1) + worse))  # the best is by itself


def test_values_that_are_all_equal_are_a_plateau():
    X = sample(N_ITEMS, N_EQUAL + 1, np.random.default_rng(7))
    assert on_plateau(context_with(X, np.full(len(X), 3.0)))


@pytest.mark.parametrize("unit", [1e-300, 1.0, 1e160, 1e307])
def test_a_plateau_does_not_depend_on_the_unit(unit):
    X = sample(N_ITEMS, 20, np.random.default_rng(9))
    assert not on_plateau(context_with(X, unit * (np.arange(20.0) / 2)))
    assert on_plateau(context_with(X, unit * (np.maximum(np.arange(20.0), 12.0) / 2)))


def test_values_within_a_hundredth_of_the_deviation_are_as_good():
    """Of N_EQUAL + 1 values near 0 and as many near 100, the standard deviation is 50."""
    X = sample(N_ITEMS, 2 * (N_EQUAL + 1), np.random.default_rng(8))
    for difference, found in ((0.49, True), (0.52, False)):
        values = [0.0, *(N_EQUAL * [difference]), *((N_EQUAL + 1) * [100.0])]
        assert on_plateau(context_with(X, values)) == found
