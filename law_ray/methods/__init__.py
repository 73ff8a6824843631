"""The ways to choose a batch, by name."""

from collections.abc import Callable

import numpy as np

from law_ray.constraints import Constraints
from law_ray.gp import GaussianProcess
from law_ray.methods.law import law_est
from law_ray.permutations import IntArray
from law_ray.taken import Taken

# (posterior, best, batch_size, taken, constraints, rng) -> (batch_size, n_items)
Choose = Callable[[GaussianProcess, float, int, Taken, Constraints, np.random.Generator], IntArray]

# None: every batch is drawn at random, without a model.
METHODS: dict[str, Choose | None] = {"law-est": law_est, "random": None}
