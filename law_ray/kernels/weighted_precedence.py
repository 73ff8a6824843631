"""The weighted precedence kernel: it learns which items, and which pairs of items, matter by their order.

Where a value depends on which items come before which, it is often a sum over the items, where the part of an item
depends on the set of items before it: a variable of a network can have the variables before it as parents, and in a
linear ordering an item pays for those before it. Of such a set a few items matter, and they may act together. With
d_ab(x, x') = 1 where a and b have opposite orders in x and x', and 0 elsewhere, the covariance is

    v sum_a h_a exp(-D_a(x, x')),    D_a(x, x') = sum_b w_ab d_ab(x, x'),    w_ab = u s_a s_b e_ab.

The share h_a > 0 says how much of the variance the part of item a has; the shares sum to 1. One number u is common to
all pairs, s_a > 0 says how much item a matters, and e_ab > 0 how much the pair does beyond its items. So pairs need not
be learned one by one where a few items matter. Where all D_a are small, the model is nearly a Bayesian linear
regression on the orders of the pairs. The covariance is a sum of products of one kernel for each pair, so it is
positive semi-definite. One parameter for each input is known as automatic relevance determination (MacKay, "Bayesian
methods for backpropagation networks", 1994), a sum of kernels of parts of the input as an additive Gaussian process
(Duvenaud, Nickisch and Rasmussen, "Additive Gaussian processes", 2011).
"""

import base64
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from law_ray.typing import FloatArray, Int32Array


@dataclass(frozen=True)
class WeightedPrecedenceHyperparameters:
    """The hyperparameters of the weighted precedence kernel and the likelihood, in units of the standardized values."""

    weight: float
    """v"""
    unit: float
    """u"""
    item_shares: tuple[float, ...]
    """(n_items,) h, of sum 1"""
    item_weights: tuple[float, ...]
    """(n_items,) s"""
    pair_factors: tuple[float, ...]
    """(n_pairs,) e of the pairs a < b, row by row, in single precision as in a journal"""
    noise: float
    mean: float

    @property
    def signal_variance(self) -> float:
        """k(x, x)."""
        return self.weight

    @property
    def kernel(self) -> "WeightedPrecedenceKernel":
        """The kernel of these shares and weights."""
        return WeightedPrecedenceKernel(np.array(self.item_shares), self.pair_weights)

    @cached_property
    def pair_weights(self) -> FloatArray:
        """(n_items, n_items) w_ab, symmetric, 0 on the diagonal."""
        s = np.array(self.item_weights)
        a, b = np.triu_indices(len(s), 1)
        return symmetric(self.unit * s[a] * s[b] * np.array(self.pair_factors), len(s))

    @property
    def reversals(self) -> FloatArray:
        """(n_items, n_items) how much less correlated two values are where only the order of one pair differs.

        That is 1 - k(x, x') / v = (h_a + h_b) (1 - exp(-w_ab)): symmetric, 0 on the diagonal.
        """
        h = np.array(self.item_shares)
        return -np.expm1(-self.pair_weights) * (h[:, None] + h)

    def covariance(self, n_items: int) -> "Exponential":
        """Return the covariance as a function of the distance."""
        return Exponential(self.weight)

    def to_record(self) -> dict[str, Any]:
        """Return them as a journal stores them: 4 kB for 30 items, 31 kB for 100."""
        factors = np.array(self.pair_factors, dtype="<f4")
        return {
            "weight": self.weight,
            "unit": self.unit,
            "item_shares": list(self.item_shares),
            "item_weights": list(self.item_weights),
            "pair_factors": base64.b64encode(factors.tobytes()).decode(),
            "noise": self.noise,
            "mean": self.mean,
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Return what `to_record` stored."""
        factors = np.frombuffer(base64.b64decode(record["pair_factors"]), dtype="<f4").tolist()
        of_items = {name: tuple(record[name]) for name in ("item_shares", "item_weights")}
        return cls(**{**record, **of_items, "pair_factors": tuple(factors)})


@dataclass(frozen=True)
class Exponential:
    """v exp(-D) at distances D of any shape."""

    weight: float

    def __getitem__(self, distances: FloatArray) -> FloatArray:
        return self.weight * np.exp(-distances)


class WeightedPrecedenceKernel:
    """The distance D = -log sum_a h_a exp(-D_a), of which v exp(-D) is the covariance."""

    def __init__(self, shares: FloatArray, pair_weights: FloatArray) -> None:
        self.shares = shares
        """(n_items,) h"""
        self.pair_weights = pair_weights
        """(n_items, n_items) w_ab, symmetric, 0 on the diagonal"""

    def distances(self, q: Int32Array, P: Int32Array) -> FloatArray:
        """Return the distances D (m, n) of positions q (m, n_items) to P (n, n_items); O(m n n_items^2)."""
        correlations = np.zeros((len(q), len(P)))
        for item, (share, weights) in enumerate(zip(self.shares, self.pair_weights, strict=True)):
            correlations += item_part(item, share, weights, q, P)
        return np.maximum(-np.log(correlations), 0.0)


def symmetric(pairs: FloatArray, n_items: int) -> FloatArray:
    """Return numbers of the pairs a < b (n_pairs,), row by row, as a matrix (n_items, n_items), 0 on the diagonal."""
    a, b = np.triu_indices(n_items, 1)
    matrix = np.zeros((n_items, n_items))
    matrix[a, b] = matrix[b, a] = pairs
    return matrix


def item_part(item: int, share: float, weights: FloatArray, q: Int32Array, P: Int32Array) -> FloatArray:
    """Return the part h_a exp(-D_a) of one item a, (m, n), for positions q (m, n_items) and P (n, n_items).

    Args:
        item: a.
        share: h_a.
        weights: (n_items,) w_ab.
        q: The positions in some orderings.
        P: The positions in others.
    """
    found: FloatArray = (np.sign(q - q[:, [item]]) * (0.5 * weights)) @ np.sign(P - P[:, [item]]).T.astype(float)
    found -= 0.5 * float(weights.sum()) - np.log(share)
    return np.exp(found, out=found)
