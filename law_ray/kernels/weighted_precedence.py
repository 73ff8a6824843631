"""The weighted precedence kernel: it learns which items matter in a sum over the pairs of items by their order.

Many costs are such sums: of a linear ordering, of weighted completion times. With o_x(a, b) = 1 where a comes before b
in x, and -1 otherwise, and with a weight s_a > 0 for each item,

    C(x, x') = sum_{a<b} s_a s_b o_x(a, b) o_x'(a, b) / sum_{a<b} s_a s_b,

and the covariance is w C. That is a Bayesian linear regression on the orders of the pairs, whose coefficients have the
variances s_a s_b (one variance for each input is known as automatic relevance determination; MacKay, "Bayesian methods
for backpropagation networks", 1994). With equal weights it is nearly the precedence component of the additive kernel.
But where a few of 75 items matter most, the 75 weights say which of the 2,775 pairs do.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from law_ray.kernels.distance import orders
from law_ray.typing import FloatArray, Int32Array


@dataclass(frozen=True)
class WeightedPrecedenceHyperparameters:
    """The hyperparameters of the weighted precedence kernel and the likelihood, in units of the standardized values."""

    weight: float
    """w"""
    item_weights: list[float]
    """(n_items,) s"""
    noise: float
    mean: float

    @property
    def signal_variance(self) -> float:
        """k(x, x)."""
        return self.weight

    @property
    def kernel(self) -> "WeightedPrecedenceKernel":
        """The kernel of these items' weights."""
        return WeightedPrecedenceKernel(np.array(self.item_weights))

    def covariance(self, n_items: int) -> "Proportional":
        """Return the covariance as a function of the similarity."""
        return Proportional(self.weight)

    def to_record(self) -> dict[str, Any]:
        """Return them as a journal stores them."""
        return {"weight": self.weight, "item_weights": self.item_weights, "noise": self.noise, "mean": self.mean}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Return what `to_record` stored."""
        return cls(**record)


@dataclass(frozen=True)
class Proportional:
    """w C at similarities C of any shape."""

    weight: float

    def __getitem__(self, similarities: FloatArray) -> FloatArray:
        return self.weight * similarities


class WeightedPrecedenceKernel:
    """The similarity C for some weights (n_items,), in the place of other kernels' distances."""

    def __init__(self, item_weights: FloatArray) -> None:
        a, b = np.triu_indices(len(item_weights), 1)
        of_pairs = pair_shares(item_weights)
        self.shares = np.zeros((len(item_weights), len(item_weights)))
        self.shares[a, b] = self.shares[b, a] = of_pairs
        self.scale = np.sqrt(of_pairs)
        self._last = np.empty((0, len(item_weights)), np.int32), np.empty((0, len(a)))

    def distances(self, q: Int32Array, P: Int32Array) -> FloatArray:
        """Return the similarities C (m, n) of positions q (m, n_items) to P (n, n_items); O(m n n_items^2)."""
        similarities: FloatArray = (orders(q) * self.scale) @ self.features(P).T
        return similarities

    def features(self, P: Int32Array) -> FloatArray:
        """Return the vectors (n, n_pairs) of points, whose inner products are the similarities.

        Those of the last points are kept.
        """
        if self._last[0] is not P:
            self._last = P, orders(P) * self.scale
        return self._last[1]


def pair_shares(item_weights: FloatArray) -> FloatArray:
    """Return s_a s_b of all pairs a < b, (n_pairs,), as shares of their sum."""
    a, b = np.triu_indices(len(item_weights), 1)
    products: FloatArray = item_weights[a] * item_weights[b]
    return products / products.sum()
