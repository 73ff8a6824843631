"""The function of an ordering that a local search maximises."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from law_ray.kernels.distance import positions_of
from law_ray.models.gp import GaussianProcess
from law_ray.typing import FloatArray, Int32Array, IntArray

Value = Callable[[FloatArray, FloatArray, FloatArray], FloatArray]
"""(mean, variance, variance given the batch) -> value, larger is better"""


@dataclass(frozen=True)
class Landscape:
    """The function that a climb maximises: value(mean, variance, variance given the batch) at each permutation."""

    posterior: GaussianProcess
    """gives the mean and the variance"""
    given_batch: GaussianProcess
    """gives the variance given the batch: the diversity gauge conditioned on the batch so far

    This is `posterior` conditioned on further points or, with `prior`, a process conditioned on these points alone.
    """
    value: Value
    """must be monotone in each variance if its other arguments are fixed"""
    prior: bool = False
    """whether the diversity gauge is the prior"""

    def __call__(self, permutations: IntArray) -> FloatArray:
        """Return the values (m,) of permutations (m, n_items); O(n^2) each."""
        return self.at(self.distances(positions_of(permutations)), self.posterior.prior_mean(permutations))

    @cached_property
    def points(self) -> Int32Array:
        """(n, n_items) positions of the points that are conditioned on: first the data, then the batch."""
        points = self.given_batch.positions
        return np.concatenate([self.posterior.positions, points]) if self.prior else points

    def distances(self, q: Int32Array) -> Int32Array:
        """Return the distances of positions q (m, n_items) to `points`: (m, [n_components,] n)."""
        return self.posterior.prior_kernel.distances(q, self.points)

    @property
    def gauged(self) -> slice:
        """Which of `points` the process `given_batch` is conditioned on."""
        return slice(len(self.posterior.X) if self.prior else 0, None)

    def at(self, distances: Int32Array, prior_mean: FloatArray | float) -> FloatArray:
        """Return the values (m,) of permutations at these distances to `points`."""
        return self.value(*self.moments(distances, prior_mean))

    def moments(
        self, distances: Int32Array, prior_mean: FloatArray | float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return mean, variance and variance given the batch, each (m,), of permutations at these distances."""
        V_data, V = self.whiten(distances)
        variance = self.posterior.variance_from(V_data)
        given_batch = variance if self.given_batch is self.posterior else self.given_batch.variance_from(V)
        return self.posterior.mean_from(V_data) + prior_mean, variance, given_batch

    def whiten(self, distances: Int32Array) -> tuple[FloatArray, FloatArray]:
        """Return `GaussianProcess.whiten` of permutations at these distances: by `posterior`, and by `given_batch`."""
        n = len(self.posterior.X)
        V = self.given_batch.whiten_distances(distances[..., self.gauged])
        return self.posterior.whiten_distances(distances[..., :n]) if self.prior else V[:n], V
