"""What a permutation is.

A permutation of `n_items` items is an int64 array with `permutation[k]` = the item at position k. Its inverse is
`positions`, with `positions[item]` = the position of the item; both hold each of 0..n_items-1 once.
"""

import itertools

import numpy as np
from numpy.typing import ArrayLike, NDArray

from law_ray.errors import InputError

IntArray = NDArray[np.int64]


def validate(permutation: ArrayLike, n_items: int) -> IntArray:
    """Return `permutation` as a fresh (n_items,) int64 array, or raise InputError saying why it is none."""
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
    """Positions of the items: `invert(p)[..., p[..., k]] = k`, for any (..., n_items) array of permutations."""
    return np.argsort(permutations, axis=-1)


def sample(n_items: int, size: int, rng: np.random.Generator) -> IntArray:
    """Draw (size, n_items) permutations, independent and uniform."""
    return rng.permuted(np.tile(np.arange(n_items), (size, 1)), axis=1)


def enumerate_all(n_items: int) -> IntArray:
    """All (n_items!, n_items) permutations in lexicographic order; for small n_items."""
    return np.array(list(itertools.permutations(range(n_items))), dtype=np.int64)


def swap_neighbours(permutations: IntArray) -> IntArray:
    """The neighbours of each permutation under exchanging two positions (paper, Section 4).

    Shape (m, n_items) -> (m, n_items (n_items - 1) / 2, n_items).
    """
    n_items = permutations.shape[1]
    first, second = np.triu_indices(n_items, 1)
    swapped = np.tile(np.arange(n_items), (len(first), 1))
    rows = np.arange(len(first))
    swapped[rows, first] = second
    swapped[rows, second] = first
    return permutations[:, swapped]


def insertion_neighbours(permutations: IntArray) -> IntArray:
    """The neighbours of each permutation under taking one item out and putting it back at another position.

    Shape (m, n_items) -> (m, (n_items - 1)^2, n_items).
    """
    k = np.arange(permutations.shape[1])
    start, end = np.nonzero((k[:, None] != k) & (k[:, None] != k + 1))  # one position back is the item there forward
    start, end = start[:, None], end[:, None]
    source = k + ((start <= k) & (k < end)) - ((end < k) & (k <= start))
    return permutations[:, np.where(k == end, start, source)]


def reversal_neighbours(permutations: IntArray) -> IntArray:
    """The neighbours of each permutation under reversing the items between two positions, these included.

    Shape (m, n_items) -> (m, n_items (n_items - 1) / 2, n_items).
    """
    k = np.arange(permutations.shape[1])
    first, last = (end[:, None] for end in np.triu_indices(len(k), 1))
    return permutations[:, np.where((first <= k) & (k <= last), first + last - k, k)]
