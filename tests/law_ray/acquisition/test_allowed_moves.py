import numpy as np
import pytest

from law_ray.acquisition.additive_moves import all_moves, apply
from law_ray.acquisition.allowed_moves import allowed, reversed_sums
from law_ray.space.constraints import Constraints


@pytest.mark.parametrize("n_items", [2, 3, 4, 9])
def test_sums_are_those_over_the_pairs_whose_order_a_move_reverses(n_items):
    moves = np.random.default_rng(0).permutation(all_moves(n_items))
    pairs = np.random.default_rng(1).integers(-9, 10, (3, n_items, n_items))
    found = reversed_sums(pairs, moves)
    assert found.shape == (3, len(moves))
    for number, move in enumerate(moves):
        place = np.argsort(apply(np.arange(n_items), move))
        reversed_ = [(k, m) for k in range(n_items) for m in range(k + 1, n_items) if place[k] > place[m]]
        np.testing.assert_array_equal(found[:, number], sum(pairs[:, k, m] for k, m in reversed_))


@pytest.mark.parametrize(
    ("before", "fixed"),
    [([(0, 1), (1, 2), (5, 2)], {}), ([], {3: 3}), ([], {3: 0, 4: 6, 1: 5}), ([(0, 1), (6, 7)], {2: 4, 8: 8})],
)
def test_allowed_are_the_moves_whose_result_is(before, fixed):
    constraints = Constraints(9, before, fixed)
    orderings, moves = constraints.sample(20, np.random.default_rng(0)), all_moves(9)
    found = allowed(constraints, orderings.astype(np.int32), moves)
    assert 0 < found.sum() < found.size
    for x, row in zip(orderings, found, strict=True):
        after = np.array([apply(x, move) for move in moves])
        np.testing.assert_array_equal(row, constraints.allows(after))
