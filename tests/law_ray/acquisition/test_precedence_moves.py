import dataclasses

import numpy as np
import pytest

from law_ray.acquisition.additive_moves import REVERSAL, all_moves, apply
from law_ray.acquisition.precedence_moves import BLOCK, moved_sums, reversed_sums
from law_ray.kernels.distance import positions_of
from law_ray.models.fit_weighted_precedence import MOST_TOTAL
from law_ray.space.permutations import sample
from tests.oracles.weighted_precedence import gram, some_weighted


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


@pytest.mark.parametrize("n", [1, BLOCK, 2 * BLOCK + 3])
@pytest.mark.parametrize("n_items", [2, 3, 8])
def test_weighted_sums_after_every_move_are_those_of_the_kernels_formula(n_items, n):
    rng = np.random.default_rng(0)
    h, X, climbers = some_weighted(rng, n_items), sample(n_items, n, rng), sample(n_items, 2, rng)
    weights, moves = rng.normal(size=(2, 3, n)), rng.permutation(all_moves(n_items))[:40]
    weighted = weights * gram(h, climbers, X)[:, None]
    P_T = np.ascontiguousarray(positions_of(X).T)
    found = moved_sums(climbers.astype(np.int32), P_T, h.kernel.matrix, weighted, moves)
    for climber, number in np.ndindex(2, len(moves)):
        after = gram(h, apply(climbers[climber], moves[number])[None], X)[0]
        np.testing.assert_allclose(found[climber, number], weights[climber] @ after, atol=1e-10)


def test_sums_are_finite_and_right_where_the_weights_of_all_pairs_are_as_large_as_a_fit_allows():
    rng = np.random.default_rng(0)
    n_items = 60
    h, X = some_weighted(rng, n_items), sample(n_items, 5, rng)
    h = dataclasses.replace(h, unit=h.unit * MOST_TOTAL / h.pair_weights.sum())
    climbers = np.concatenate([X[:1], X[:1, ::-1]])  # the covariances with the first point are v and v exp(-MOST_TOTAL)
    moves = all_moves(n_items)[rng.choice(len(all_moves(n_items)), 20)]
    moves = np.concatenate([moves, [[REVERSAL, 0, n_items - 1]]]).astype(np.int32)
    P, kernel, covariance = positions_of(X), h.kernel, h.covariance(n_items)
    weighted = covariance[kernel.distances(positions_of(climbers), P)][:, None]
    found = moved_sums(climbers.astype(np.int32), np.ascontiguousarray(P.T), kernel.matrix, weighted, moves)
    for climber, number in np.ndindex(2, len(moves)):
        after = positions_of(apply(climbers[climber], moves[number])[None])
        expected = covariance[kernel.distances(after, P)].sum()
        assert found[climber, number, 0] == pytest.approx(expected, rel=1e-8)
