"""Permutations as numbers, for optimisers that know only numbers."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from law_ray.typing import IntArray


def by_keys(keys: ArrayLike) -> IntArray:
    """Return the items in ascending order of their keys (n_items,): random keys (Bean 1994). Ties keep the order."""
    return np.argsort(np.asarray(keys), kind="stable")


def by_lehmer_code(code: Iterable[int]) -> IntArray:
    """Return the permutation of a Lehmer code, a bijection: code[k] < n_items - k picks one of the items left."""
    code = list(code)
    left = list(range(len(code)))
    return np.array([left.pop(pick) for pick in code])


def repaired(permutation: Sequence[int], before: Iterable[tuple[int, int]]) -> tuple[int, ...]:
    """Return the ordering that takes, again and again, the first item whose predecessors are all placed.

    It is the permutation itself if that is allowed.

    Args:
        permutation: The items in order.
        before: Pairs (a, b) without a cycle: item a must come before item b.
    """
    predecessors: dict[int, set[int]] = {item: set() for item in permutation}
    for first, second in before:
        predecessors[second].add(first)
    left, placed = list(permutation), list[int]()
    while left:
        item = next(item for item in left if predecessors[item].issubset(placed))
        left.remove(item)
        placed.append(item)
    return tuple(placed)
