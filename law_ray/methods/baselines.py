"""Batches without a model."""

from law_ray.methods.state import State
from law_ray.permutations import IntArray
from law_ray.taken import draw_free


def random(state: State, batch_size: int) -> IntArray:
    """(batch_size, n_items) random permutations."""
    return draw_free(state.constraints, batch_size, state.taken, state.rng)
