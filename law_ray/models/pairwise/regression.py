"""The pairwise model given one of its two matrices: a linear regression for the other one."""

from typing import NamedTuple, Self

import numpy as np

from law_ray.kernels.weighted_precedence import symmetric
from law_ray.typing import FloatArray, IntArray
from law_ray.utils import algebra
from law_ray.utils.algebra import Matrix
from law_ray.utils.compiled import compiled


class Regression(NamedTuple):
    """z = A w + constant + noise, whitened: A (n, n_pairs) and z (n,) centred and divided by the noise's deviation."""

    A: FloatArray
    z: FloatArray
    deviation: FloatArray
    """(n,) of the noise"""
    mean_features: FloatArray
    """(n_pairs,) what was subtracted from the rows of A"""
    mean_value: float
    """what was subtracted from the values"""

    @classmethod
    def of(cls, entries: FloatArray, rows: IntArray, z: FloatArray, noise: FloatArray) -> Self:
        """Return the regression of z on one matrix, given the other.

        Args:
            entries: (n_pairs,) the other matrix, above the diagonal.
            rows: (n, n_items) positions if the other matrix is D, permutations if it is F.
            z: (n,) standardized values.
            noise: (n,) variances of the noise.
        """
        n_items = rows.shape[1]
        features = _features(symmetric(entries * len(entries) ** -0.5, n_items), rows)
        weights = 1.0 / noise
        weights /= weights.sum()
        mean_features, mean_value = weights @ features, float(weights @ z)
        deviation = np.sqrt(noise)
        features -= mean_features
        features /= deviation[:, None]
        return cls(features, (z - mean_value) / deviation, deviation, mean_features, mean_value)

    def compressed(self) -> tuple[Matrix, FloatArray]:
        """Return A and z with at most n_pairs rows that have the same likelihood but for a constant.

        A is on the current device (`law_ray.utils.algebra`).
        """
        n, n_pairs = self.A.shape
        A = algebra.put(self.A)
        if n <= n_pairs:
            return A, self.z
        gram = algebra.gram(A)
        against_rounding = 1e-10 * algebra.trace(gram) / n_pairs + 1e-300
        factor = algebra.cholesky(algebra.add_to_diagonal(gram, against_rounding))
        z = algebra.solve_few(factor, algebra.product(A.T, self.z))
        return factor.T, z

    def constant(self, weights: FloatArray) -> float:
        """Return the constant given w."""
        return self.mean_value - float(self.mean_features @ weights)

    def deviations(self, weights: FloatArray) -> FloatArray:
        """Return the residuals (n,) of w, in standardized units."""
        residuals: FloatArray = (self.z - self.A @ weights) * self.deviation
        return residuals


@compiled()
def _features(matrix: FloatArray, rows: IntArray) -> FloatArray:
    """Return matrix[rows[t, i], rows[t, j]] for all pairs i < j, (n, n_pairs)."""
    n, n_items = rows.shape
    features = np.empty((n, n_items * (n_items - 1) // 2))
    for t in range(n):
        pair = 0
        for i in range(n_items):
            for j in range(i + 1, n_items):
                features[t, pair] = matrix[rows[t, i], rows[t, j]]
                pair += 1
    return features
