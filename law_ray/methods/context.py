"""What a batch is chosen from."""

from dataclasses import dataclass

import numpy as np

from law_ray.models.gp import GaussianProcess
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions
from law_ray.typing import FloatArray, IntArray


@dataclass(frozen=True)
class BatchContext:
    """The state of an optimisation when a batch is to be chosen. Values to maximise are negated here.

    A method is a function (context, batch_size) -> (batch_size, n_items). It returns permutations that are free and
    allowed by the constraints, no two of one key. Free means not in `excluded`: neither evaluated, failed or pending,
    nor equivalent to such a permutation. A method does not change `excluded`, and draws all its random numbers from
    `rng`.
    """

    X: IntArray
    """(n, n_items) evaluated permutations; n >= 1

    Ordered by the first ask at which the value was known, and then by trial id. So new values always come last, even
    if evaluations finish out of order.
    """
    y: FloatArray
    """(n,) their raw values, minimised"""
    standard_errors: FloatArray
    """(n,) of the values, 0 where unknown"""
    round: int
    """t, from 1"""
    excluded: Exclusions
    constraints: Constraints
    rng: np.random.Generator
    without_value: IntArray
    """(m, n_items) pending and failed permutations"""
    process: GaussianProcess | None = None
    """K_t, given y and, at their predicted mean, `without_value`; None for a method without a model"""
    continue_round: bool = False
    """whether the batch continues a round whose first points are pending or evaluated already"""
    noisy: bool = False
    """whether the values are noisy"""

    @property
    def posterior(self) -> GaussianProcess:
        """K_t, for the methods with a model."""
        assert self.process is not None, "a method without a model has no posterior"
        return self.process

    @property
    def best(self) -> float:
        """The least standardized value."""
        return float(self.posterior.standardize(self.y).min())
