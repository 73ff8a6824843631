"""Orderings judged by pairs, written as the sums that define them."""

from itertools import combinations

import numpy as np

from law_ray.models.pairwise.ensemble import Ensemble


def symmetric(rng, n_items, levels=9):
    """Return a random symmetric matrix of integers below `levels`, with a zero diagonal."""
    upper = np.triu(rng.integers(levels, size=(n_items, n_items)), 1).astype(float)
    return upper + upper.T


def value(F, D, constant, permutation):
    """Return sum over pairs of items of F[i, j] D[position of i, position of j], plus the constant."""
    position = {item: k for k, item in enumerate(np.asarray(permutation).tolist())}
    n_items = len(position)
    pairs = [(i, j) for i in range(n_items) for j in range(i + 1, n_items)]
    return sum(F[i, j] * D[position[i], position[j]] for i, j in pairs) + constant


def some_ensemble(rng, n_items, n_draws=5, noise=0.01):
    """Return an ensemble of unrelated draws."""
    draws = [[symmetric(rng, n_items) for _ in range(n_draws)] for _ in range(2)]
    return Ensemble.of(np.array(draws[0]), np.array(draws[1]), rng.normal(size=n_draws), noise)


def low_rank_of(prior):
    """Return the entries above the diagonal of the matrix of low rank, by loops over its definition."""
    U = prior.columns
    return [
        sum(U[i, r] + U[j, r] if s == 0 else s * U[i, r] * U[j, r] for r, s in enumerate(prior.signs))
        for i, j in combinations(range(len(U)), 2)
    ]
