"""The pairwise model: orderings judged by how pairs of items and pairs of positions interact.

With q_i the position of item i,

    f = sum_{i < j} F[i, j] D[q_i, q_j] + constant,

where F and D are symmetric and have zero diagonals. F says how two items interact, D how two positions do. Neither is
known, but they are few numbers, n_items (n_items - 1) together. Quadratic assignments, layouts and tours are of this
form. The posterior over (F, D) has no closed form. `gibbs` draws from it, and an `Ensemble` of draws stands for it.

| symbol | name                | shape, meaning                                                                      |
|--------|---------------------|-------------------------------------------------------------------------------------|
|        | `n_pairs`           | n_items (n_items - 1) / 2, in the order of `np.triu_indices(n_items, 1)`            |
| S      | `n_draws`           | how many (F, D)                                                                     |
| F      | `items`             | (n_draws, n_items, n_items) how items interact                                      |
| D      | `places`            | (n_draws, n_items, n_items) how positions interact                                  |
|        | `values`            | (m, n_draws) what each draw predicts at m orderings                                 |
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from law_ray.typing import FloatArray, Int32Array, IntArray


@dataclass(frozen=True)
class Ensemble:
    """Draws from the posterior of the pairwise model, as a distribution of functions; in standardized units.

    The mean is the average of the draws, and the covariance of f at x and x' is their sample covariance. Conditioning
    on points, whose values are taken to be as predicted, changes the covariance alone.
    """

    items: FloatArray
    """F, (n_draws, n_items, n_items)"""
    places: FloatArray
    """D, (n_draws, n_items, n_items)"""
    constants: FloatArray
    """(n_draws,)"""
    noise: float
    """the variance of the noise"""
    gram: FloatArray
    """(n_draws, n_draws) G, with which the covariance is d G d'; d are the deviations of the draws from their mean"""

    @classmethod
    def of(cls, items: FloatArray, places: FloatArray, constants: FloatArray, noise: float) -> "Ensemble":
        """Return the ensemble of draws, each of the same weight."""
        return cls(items, places, constants, noise, np.eye(len(items)) / len(items))

    @cached_property
    def pairs(self) -> tuple[IntArray, IntArray]:
        """The pairs i < j of items, two arrays (n_pairs,)."""
        return np.triu_indices(self.items.shape[1], 1)

    def values(self, q: IntArray | Int32Array) -> FloatArray:
        """Return what each draw predicts, (m, n_draws), at positions q (m, n_items); O(m n_draws n_items^2)."""
        i, j = self.pairs
        products = [D[q[:, i], q[:, j]] @ F[i, j] for F, D in zip(self.items, self.places, strict=True)]
        return np.column_stack(products) + self.constants

    def moments(self, values: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the mean and the variance with noise, each (m,), of points with these `values` (m, n_draws)."""
        mean = values.mean(axis=1)
        deviations = values - mean[:, None]
        explained = np.einsum("ms,ms->m", deviations @ self.gram, deviations)
        return mean, np.maximum(explained, 0.0) + self.noise

    def given(self, values: FloatArray) -> "Ensemble":
        """Return the ensemble given a further point with these `values` (n_draws,), seen with noise; O(n_draws^2)."""
        deviations = values - values.mean()
        covariance = self.gram @ deviations
        variance = deviations @ covariance + self.noise
        return replace(self, gram=self.gram - np.outer(covariance, covariance) / variance)
