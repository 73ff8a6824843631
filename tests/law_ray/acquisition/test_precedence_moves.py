import numpy as np
import pytest

from law_ray.acquisition.additive_moves import all_moves, apply
from law_ray.acquisition.precedence_moves import reversed_sums


@pytest.mark.parametrize("n_items", [2, 3, 4, 9])
def test_sums_are_those_over_the_pairs_whose_order_a_move_reverses(n_items):
    moves = all_moves(n_items)
    moves = np.random.default_rng(0).permutation(moves)
    pairs = np.random.default_rng(1).normal(size=(2, 3, n_items, n_items))
    found = reversed_sums(pairs, moves)
    assert found.shape == (2, 3, len(moves))
    for number, move in enumerate(moves):
        place = np.argsort(apply(np.arange(n_items), move))
        reversed_ = [(k, m) for k in range(n_items) for m in range(k + 1, n_items) if place[k] > place[m]]
        expected = sum(pairs[..., k, m] for k, m in reversed_)
        np.testing.assert_allclose(found[..., number], expected, atol=1e-12)
