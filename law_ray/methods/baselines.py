"""Batches without a model: random ones, and neighbours of the best point."""

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from law_ray.methods.context import BatchContext
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import draw_free
from law_ray.space.permutations import (
    Neighbours,
    count_neighbours,
    insertion_neighbours,
    reversal_neighbours,
    swap_neighbours,
)
from law_ray.typing import IntArray

ALL_NEIGHBOURS = (swap_neighbours, insertion_neighbours, reversal_neighbours)
N_CENTRES = 8
"""Permutations k moves away, drawn at random, whose neighbours represent all that are k + 1 moves away (heuristic)."""
AT_ONCE = 2_000
"""Neighbours that are made at once (heuristic). With 1,000 items all of one permutation would take 16 GB."""


def random(context: BatchContext, batch_size: int) -> IntArray:
    """Choose a batch of (batch_size, n_items) random permutations."""
    return draw_free(context.constraints, batch_size, context.excluded, context.rng)


def local_search(
    context: BatchContext, batch_size: int, neighbours: tuple[Neighbours, ...] = ALL_NEIGHBOURS
) -> IntArray:
    """Choose a batch by stochastic local search: random neighbours of the incumbent.

    The incumbent is the latest point whose value equals the best so far. So the search accepts equal values
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
    around: IntArray | _Around = incumbent[None]
    order = np.arange(1)
    for _ in range(n_items):
        centres = context.rng.choice(len(order), min(N_CENTRES, len(order)), replace=False)
        around = _Around(around[order[centres]], neighbours)
        order = context.rng.permutation(around.allowed(context.constraints))
        for permutation in around.each(order):
            if permutation not in excluded:
                excluded.add(permutation)
                batch.append(permutation)
            if len(batch) == batch_size:
                return np.array(batch)
    return completed(np.array(batch, dtype=np.int64).reshape(-1, n_items), context, batch_size)


class _Around:
    """The neighbours of permutations, by index: all of the first permutation, then all of the second, and so on.

    They are made when they are asked for, since there are O(n_items^2) of each permutation.
    """

    def __init__(self, centres: IntArray, neighbours: tuple[Neighbours, ...]) -> None:
        self._centres, self._neighbours = centres, neighbours

    @cached_property
    def _ends(self) -> IntArray:
        """Where the moves of each type end among those of a permutation."""
        n_items = self._centres.shape[1]
        return np.cumsum([count_neighbours(each, n_items) for each in self._neighbours])

    def __len__(self) -> int:
        return len(self._centres) * int(self._ends[-1])

    def __getitem__(self, indices: IntArray) -> IntArray:
        """Return the (k, n_items) neighbours with these indices."""
        centres, moves = np.divmod(indices, self._ends[-1])
        found = self._centres[centres]
        identity = np.arange(found.shape[1])[None]
        for neighbours, begin, end in zip(self._neighbours, [0, *self._ends], self._ends, strict=False):
            rows = np.flatnonzero((begin <= moves) & (moves < end))
            found[rows] = np.take_along_axis(found[rows], neighbours(identity, moves[rows] - begin)[0], axis=1)
        return found

    def each(self, indices: IntArray) -> Iterator[IntArray]:
        """Yield the neighbours with these indices, one after another."""
        for begin in range(0, len(indices), AT_ONCE):
            yield from self[indices[begin : begin + AT_ONCE]]

    def allowed(self, constraints: Constraints) -> IntArray:
        """Return the indices of the neighbours that the constraints allow."""
        indices = np.arange(len(self))
        if constraints.empty or not len(indices):
            return indices
        parts = np.split(indices, range(AT_ONCE, len(indices), AT_ONCE))
        return np.concatenate([part[constraints.allows(self[part])] for part in parts])


def completed(batch: IntArray, context: BatchContext, batch_size: int) -> IntArray:
    """Return a batch (batch_size, n_items): the free permutations `batch`, at most batch_size, then random ones."""
    if len(batch) == batch_size:
        return batch
    excluded = context.excluded.copy()
    for permutation in batch:
        excluded.add(permutation)
    return np.concatenate([batch, draw_free(context.constraints, batch_size - len(batch), excluded, context.rng)])
