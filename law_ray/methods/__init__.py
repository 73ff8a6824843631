"""The ways to choose a batch, by name."""

from collections.abc import Callable

from law_ray.methods.baselines import random
from law_ray.methods.law import law_est
from law_ray.methods.state import State
from law_ray.permutations import IntArray

Choose = Callable[[State, int], IntArray]  # (state, batch_size) -> (batch_size, n_items)

METHODS: dict[str, Choose] = {"law-est": law_est, "random": random}
