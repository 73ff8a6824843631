"""Batches without a model: random ones, and neighbours of the best point."""

from collections.abc import Callable

import numpy as np

from law_ray.methods.context import BatchContext
from law_ray.space.exclusions import draw_free
from law_ray.space.permutations import insertion_neighbours, reversal_neighbours, swap_neighbours
from law_ray.typing import IntArray

Neighbours = Callable[[IntArray], IntArray]
"""permutations (m, n_items) -> their neighbours (m, n_neighbours, n_items)"""

ALL_NEIGHBOURS = (swap_neighbours, insertion_neighbours, reversal_neighbours)
N_CENTRES = 8
"""Permutations k moves away, drawn at random, whose neighbours represent all that are k + 1 moves away (heuristic)."""


def random(context: BatchContext, batch_size: int) -> IntArray:
    """Choose a batch of (batch_size, n_items) random permutations."""
    return draw_free(context.constraints, batch_size, context.excluded, context.rng)


def local_search(
    context: BatchContext, batch_size: int, neighbours: tuple[Neighbours, ...] = ALL_NEIGHBOURS
) -> IntArray:
    """Choose a batch by stochastic local search: random neighbours of the incumbent.

    The incumbent is the last evaluated point that was not worse than all before it. So the search accepts equal values
    and crosses plateaus. A move swaps two items, inserts one at another position, or reverses a segment. Each move that
    leads to a free and allowed permutation is equally likely.

    Where there are fewer of these than `batch_size`, permutations two moves away follow: the neighbours of N_CENTRES
    permutations, drawn from the allowed ones one move away, free or not. Those three moves away are next, and so on up
    to n_items moves. Random permutations come last.

    With a batch of one, this is first improvement in random order with sideways steps (Hoos and Stützle, "Stochastic
    Local Search", 2004), except that no point is evaluated twice. Cost O(n_items^3).

    Args:
        context: What the batch is chosen from.
        batch_size: The number of points.
        neighbours: The types of moves.

    Returns:
        (batch_size, n_items) permutations.
    """
    incumbent = context.X[np.flatnonzero(context.y == context.y.min())[-1]]
    n_items = len(incumbent)
    excluded = context.excluded.copy()
    batch: list[IntArray] = []
    around = incumbent[None]
    for _ in range(n_items):
        centres = context.rng.choice(around, min(N_CENTRES, len(around)), replace=False)
        around = np.concatenate([neighbours_of(centres) for neighbours_of in neighbours], axis=1).reshape(-1, n_items)
        around = context.rng.permutation(around[context.constraints.allows(around)])
        for permutation in around:
            if permutation not in excluded:
                excluded.add(permutation)
                batch.append(permutation)
            if len(batch) == batch_size:
                return np.array(batch)
    return completed(np.array(batch, dtype=np.int64).reshape(-1, n_items), context, batch_size)


def completed(batch: IntArray, context: BatchContext, batch_size: int) -> IntArray:
    """Return a batch (batch_size, n_items): the free permutations `batch`, at most so many, then random ones."""
    if len(batch) == batch_size:
        return batch
    excluded = context.excluded.copy()
    for permutation in batch:
        excluded.add(permutation)
    return np.concatenate([batch, draw_free(context.constraints, batch_size - len(batch), excluded, context.rng)])
