"""What a batch is chosen from."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from law_ray.constraints import Constraints
from law_ray.gp import AnyHyperparameters, GaussianProcess
from law_ray.kernels import FloatArray
from law_ray.permutations import IntArray
from law_ray.taken import Taken


@dataclass(frozen=True)
class State:
    """The state of an optimisation when a batch is to be chosen. Values are minimised: those to maximise are negated.

    A method is a function (state, batch_size) -> (batch_size, n_items): free permutations that the constraints allow,
    no two of one key. It leaves `taken` as it is, and all its chance is in `rng`.
    """

    X: IntArray
    """(n, n_items) evaluated permutations, in the order they were proposed; n >= 1"""
    y: FloatArray
    """(n,) their raw values"""
    standard_errors: FloatArray
    """(n,) of the values, 0 where unknown"""
    round: int
    """t, from 1"""
    taken: Taken
    constraints: Constraints
    rng: np.random.Generator
    fit: Callable[[], GaussianProcess]
    """behind `posterior`"""
    busy: IntArray
    """(m, n_items) pending and failed permutations, at whose predicted mean `posterior` is given them as well"""
    joining: bool = False
    """whether the batch continues a round whose first points are pending or evaluated already"""

    @cached_property
    def posterior(self) -> GaussianProcess:
        """K_t: given y and, at their predicted mean, pending and failed points. Fitted when first asked for, O(n^3)."""
        return self.fit()

    @property
    def fitted(self) -> AnyHyperparameters | None:
        """The hyperparameters of `posterior`, if the method has asked for it."""
        return self.posterior.hyperparameters if "posterior" in vars(self) else None

    @property
    def best(self) -> float:
        """The least normalised value."""
        return float(self.posterior.normalise(self.y).min())
