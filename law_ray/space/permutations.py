"""What a permutation is, and which permutations are its neighbours.

A permutation of `n_items` items is an int64 array with `permutation[k]` = the item at position k. Its inverse is
`positions`, with `positions[item]` = the position of the item. Both hold each of 0..n_items-1 exactly once.
"""

import itertools
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from law_ray.errors import InputError
from law_ray.typing import IntArray

Which = IntArray | slice
ALL = slice(None)
Neighbours = Callable[..., IntArray]
"""(permutations (m, n_items), which) -> their neighbours (m, k, n_items), as `swap_neighbours`"""


def validate(permutation: ArrayLike, n_items: int) -> IntArray:
    """Return `permutation` as a new (n_items,) int64 array.

    Raises:
        InputError: if it is not a permutation of 0..n_items-1; the message says why.
    """
    try:
        array = np.array(permutation)
    except ValueError as error:
        raise InputError(f"not a permutation: {permutation!r} is not a flat list of items") from error
    if array.shape != (n_items,):
        raise InputError(f"not a permutation of {n_items} items: its shape is {array.shape}, give ({n_items},)")
    if not np.issubdtype(array.dtype, np.integer):
        raise InputError(f"not a permutation: its items are {array.dtype}, give the integers 0..{n_items - 1}")
    if not np.array_equal(np.sort(array), np.arange(n_items)):
        raise InputError(f"not a permutation: {array.tolist()} does not hold each of 0..{n_items - 1} once")
    return array.astype(np.int64)


def invert(permutations: IntArray) -> IntArray:
    """Return the positions of the items: `invert(p)[..., p[..., k]] = k`, for any (..., n_items) permutations p."""
    return np.argsort(permutations, axis=-1)


def sample(n_items: int, size: int, rng: np.random.Generator) -> IntArray:
    """Draw (size, n_items) independent, uniformly distributed permutations."""
    return rng.permuted(np.tile(np.arange(n_items), (size, 1)), axis=1)


def enumerate_all(n_items: int) -> IntArray:
    """Return all (n_items!, n_items) permutations in lexicographic order; meant for small n_items."""
    return np.array(list(itertools.permutations(range(n_items))), dtype=np.int64)


def swap_neighbours(permutations: IntArray, which: Which = ALL) -> IntArray:
    """Return the neighbours of each permutation under swaps of two positions (paper, Section 4).

    Args:
        permutations: (m, n_items).
        which: The indices of those that are wanted.

    Returns:
        (m, n_items (n_items - 1) / 2, n_items), each neighbour once; or those that are wanted.
    """
    n_items = permutations.shape[1]
    first, second = (end[which] for end in np.triu_indices(n_items, 1))
    swapped = np.tile(np.arange(n_items), (len(first), 1))
    rows = np.arange(len(first))
    swapped[rows, first] = second
    swapped[rows, second] = first
    return permutations[:, swapped]


def insertion_neighbours(permutations: IntArray, which: Which = ALL) -> IntArray:
    """Return the neighbours of each permutation under removing one item and inserting it at another position.

    Args:
        permutations: (m, n_items).
        which: The indices of those that are wanted.

    Returns:
        (m, (n_items - 1)^2, n_items), each neighbour once; or those that are wanted.
    """
    k = np.arange(permutations.shape[1])
    # Moving an item back by one position equals moving the item before it forward by one: only the latter is listed.
    start, end = np.nonzero((k[:, None] != k) & (k[:, None] != k + 1))
    start, end = start[which, None], end[which, None]
    source = k + ((start <= k) & (k < end)) - ((end < k) & (k <= start))
    return permutations[:, np.where(k == end, start, source)]


def reversal_neighbours(permutations: IntArray, which: Which = ALL) -> IntArray:
    """Return the neighbours of each permutation under reversing the items from one position to another, inclusive.

    Args:
        permutations: (m, n_items).
        which: The indices of those that are wanted.

    Returns:
        (m, n_items (n_items - 1) / 2, n_items), each neighbour once; or those that are wanted.
    """
    k = np.arange(permutations.shape[1])
    first, last = (end[which, None] for end in np.triu_indices(len(k), 1))
    return permutations[:, np.where((first <= k) & (k <= last), first + last - k, k)]


def count_neighbours(neighbours: Neighbours, n_items: int) -> int:
    """Return how many neighbours one of the functions above finds of a permutation, without finding them."""
    return (n_items - 1) ** 2 if neighbours is insertion_neighbours else n_items * (n_items - 1) // 2
