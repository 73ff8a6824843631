import dataclasses

import numpy as np
import pytest

from law_ray.acquisition.additive_moves import REVERSAL, all_moves, apply
from law_ray.acquisition.precedence_moves import BLOCK, moved_sums
from law_ray.kernels.distance import positions_of
from law_ray.models.fit_weighted_precedence import MOST_TOTAL
from law_ray.space.permutations import sample
from tests.oracles.weighted_precedence import gram, some_weighted


def sums(h, climbers, X, weights, moves):
    P_T, kernel = np.ascontiguousarray(positions_of(X).T), h.kernel
    return moved_sums(climbers.astype(np.int32), P_T, kernel.shares, kernel.pair_weights, weights, moves)


@pytest.mark.parametrize("n", [1, BLOCK, 2 * BLOCK + 3])
@pytest.mark.parametrize("n_items", [2, 3, 8])
def test_weighted_sums_after_every_move_are_those_of_the_kernels_formula(n_items, n):
    rng = np.random.default_rng(0)
    h, X, climbers = some_weighted(rng, n_items), sample(n_items, n, rng), sample(n_items, 2, rng)
    weights, moves = rng.normal(size=(2, 3, n)), rng.permutation(all_moves(n_items))[:60]
    found = sums(h, climbers, X, weights, moves)
    for climber, number in np.ndindex(2, len(moves)):
        after = gram(h, apply(climbers[climber], moves[number])[None], X)[0]
        np.testing.assert_allclose(h.weight * found[climber, number], weights[climber] @ after, atol=1e-10)


def test_sums_are_finite_and_right_where_the_weights_are_as_large_as_a_fit_allows():
    rng = np.random.default_rng(0)
    n_items = 60
    h, X = some_weighted(rng, n_items), sample(n_items, 5, rng)
    h = dataclasses.replace(h, unit=h.unit * MOST_TOTAL / h.pair_weights.sum(axis=1).max())
    climbers = np.concatenate([X[:1], X[:1, ::-1]])  # in the same order as the first point, and in the opposite one
    moves = all_moves(n_items)[rng.choice(len(all_moves(n_items)), 20)]
    moves = np.concatenate([moves, [[REVERSAL, 0, n_items - 1]]]).astype(np.int32)
    found = sums(h, climbers, X, np.ones((2, 1, 5)), moves)
    P, covariance = positions_of(X), h.covariance(n_items)
    for climber, number in np.ndindex(2, len(moves)):
        after = positions_of(apply(climbers[climber], moves[number])[None])
        expected = covariance[h.kernel.distances(after, P)].sum()
        assert h.weight * found[climber, number, 0] == pytest.approx(expected, rel=1e-8)
