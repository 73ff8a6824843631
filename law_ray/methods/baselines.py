"""Batches without a model: at random, and around the best point."""

from collections.abc import Callable

import numpy as np

from law_ray.methods.state import State
from law_ray.permutations import IntArray, insertion_neighbours, reversal_neighbours, swap_neighbours
from law_ray.taken import draw_free

Neighbours = Callable[[IntArray], IntArray]  # (m, n_items) -> (m, n_neighbours, n_items)

ALL_NEIGHBOURS = (swap_neighbours, insertion_neighbours, reversal_neighbours)
N_CENTRES = 8  # permutations k moves away whose neighbours stand for all that are k + 1 moves away


def random(state: State, batch_size: int) -> IntArray:
    """(batch_size, n_items) random permutations."""
    return draw_free(state.constraints, batch_size, state.taken, state.rng)


def local_search(state: State, batch_size: int, neighbours: tuple[Neighbours, ...] = ALL_NEIGHBOURS) -> IntArray:
    """Stochastic local search: the (batch_size, n_items) batch is drawn at random from the incumbent's neighbours.

    The incumbent is the last evaluated point that was not worse than all before it, so that the search accepts equal
    values and crosses plateaus. A move exchanges two items, takes one to another position, or reverses a segment; every
    move that leads to a free and allowed permutation is as likely. When there are fewer such than `batch_size`, those
    two moves away follow: the neighbours of N_CENTRES permutations that are drawn from the allowed ones one move away,
    free or not; then three moves away, up to n_items, and at last random permutations. With a batch of one that is
    first improvement in random order, with sideways steps (Hoos and Stützle, Stochastic Local Search, 2004), except
    that no point is evaluated twice. Cost O(n_items^3).
    """
    incumbent = state.X[np.flatnonzero(state.y == state.y.min())[-1]]
    n_items = len(incumbent)
    taken = state.taken.copy()
    batch: list[IntArray] = []
    around = incumbent[None]
    for _ in range(n_items):
        centres = state.rng.choice(around, min(N_CENTRES, len(around)), replace=False)
        around = np.concatenate([kind(centres) for kind in neighbours], axis=1).reshape(-1, n_items)
        around = state.rng.permutation(around[state.constraints.allows(around)])
        for permutation in around:
            if permutation not in taken:
                taken.add(permutation)
                batch.append(permutation)
            if len(batch) == batch_size:
                return np.array(batch)
    return completed(np.array(batch, dtype=np.int64).reshape(-1, n_items), state, batch_size)


def completed(batch: IntArray, state: State, batch_size: int) -> IntArray:
    """(batch_size, n_items): the free permutations `batch`, (m, n_items) with m <= batch_size, and then random ones."""
    if len(batch) == batch_size:
        return batch
    taken = state.taken.copy()
    for permutation in batch:
        taken.add(permutation)
    return np.concatenate([batch, draw_free(state.constraints, batch_size - len(batch), taken, state.rng)])
