"""The weighted precedence kernel: it learns which items, and which pairs of items, matter by their order.

Where a value depends on which of two items comes first, most pairs often matter little: a network has few edges, and a
schedule few bottlenecks. With d_ab(x, x') = 1 where a and b have opposite orders in x and x', and 0 elsewhere, the
covariance is

    v exp(-D(x, x')),    D(x, x') = sum_{a<b} w_ab d_ab(x, x'),    w_ab = u s_a s_b e_ab.

One number u is common to all pairs, s_a > 0 says how much item a matters, and e_ab > 0 how much the pair does beyond
its items. So pairs need not be learned one by one where a few items matter. With equal weights this is the precedence
component of the additive kernel. Where all D are small, it is nearly a Bayesian linear regression on the orders of the
pairs; where they are large, pairs may act together. It is a product of one kernel for each pair, so it is positive
semi-definite. One parameter for each input is known as automatic relevance determination (MacKay, "Bayesian methods for
backpropagation networks", 1994).
"""

import base64
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from law_ray.kernels.distance import orders
from law_ray.typing import FloatArray, Int32Array


@dataclass(frozen=True)
class WeightedPrecedenceHyperparameters:
    """The hyperparameters of the weighted precedence kernel and the likelihood, in units of the standardized values."""

    weight: float
    """v"""
    unit: float
    """u"""
    item_weights: tuple[float, ...]
    """(n_items,) s"""
    pair_factors: tuple[float, ...]
    """(n_pairs,) e of the pairs a < b, row by row, in single precision as in a journal; empty where all are 1"""
    noise: float
    mean: float

    @property
    def signal_variance(self) -> float:
        """k(x, x)."""
        return self.weight

    @property
    def kernel(self) -> "WeightedPrecedenceKernel":
        """The kernel of these weights of pairs."""
        return WeightedPrecedenceKernel(len(self.item_weights), self.pair_weights)

    @cached_property
    def pair_weights(self) -> FloatArray:
        """(n_pairs,) w_ab of the pairs a < b, row by row."""
        s = np.array(self.item_weights)
        a, b = np.triu_indices(len(s), 1)
        of_items: FloatArray = self.unit * s[a] * s[b]
        return of_items * np.array(self.pair_factors) if self.pair_factors else of_items

    def covariance(self, n_items: int) -> "Exponential":
        """Return the covariance as a function of the distance."""
        return Exponential(self.weight)

    def to_record(self) -> dict[str, Any]:
        """Return them as a journal stores them: 3 kB for 30 items, 28 kB for 100."""
        factors = np.array(self.pair_factors, dtype="<f4")
        return {
            "weight": self.weight,
            "unit": self.unit,
            "item_weights": list(self.item_weights),
            "pair_factors": base64.b64encode(factors.tobytes()).decode(),
            "noise": self.noise,
            "mean": self.mean,
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Return what `to_record` stored."""
        factors = np.frombuffer(base64.b64decode(record["pair_factors"]), dtype="<f4").tolist()
        decoded = {"item_weights": tuple(record["item_weights"]), "pair_factors": tuple(factors)}
        return cls(**{**record, **decoded})


@dataclass(frozen=True)
class Exponential:
    """v exp(-D) at distances D of any shape."""

    weight: float

    def __getitem__(self, distances: FloatArray) -> FloatArray:
        return self.weight * np.exp(-distances)


class WeightedPrecedenceKernel:
    """The distance D for some weights of pairs (n_pairs,)."""

    def __init__(self, n_items: int, pair_weights: FloatArray) -> None:
        a, b = np.triu_indices(n_items, 1)
        self.matrix = np.zeros((n_items, n_items))
        """(n_items, n_items) the weights w_ab, symmetric, 0 on the diagonal"""
        self.matrix[a, b] = self.matrix[b, a] = pair_weights
        self._half = 0.5 * float(pair_weights.sum())
        self._scale = np.sqrt(0.5 * pair_weights)
        self._last = np.empty((0, n_items), np.int32), np.empty((0, len(a)))

    def distances(self, q: Int32Array, P: Int32Array) -> FloatArray:
        """Return the distances D (m, n) of positions q (m, n_items) to P (n, n_items); O(m n n_items^2).

        What is needed of the last P is kept.
        """
        if self._last[0] is not P:
            self._last = P, orders(P) * self._scale
        agreements = (orders(q) * self._scale) @ self._last[1].T
        return np.maximum(self._half - agreements, 0.0)
