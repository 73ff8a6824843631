"""Can any ordering keep some constraints together? What follows from them, and which contradict each other."""

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from numbers import Integral

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import BoolArray, IntArray

Pair = tuple[int, int]
"""Two items, the first of which comes before the second; or an item and its position."""


def checked_pairs(name: str, pairs: Iterable[Pair], what: str, n_items: int) -> list[Pair]:
    """Return the distinct pairs in their given order, after checking that they hold integers in 0..n_items-1."""
    found: dict[Pair, None] = {}
    try:
        for first, second in pairs:
            for number in (first, second):
                if not isinstance(number, Integral) or not 0 <= number < n_items:
                    raise InputError(f"{name} has {(first, second)!r}: give {what} from 0 to {n_items - 1}")
            found[int(first), int(second)] = None
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{name} is {pairs!r}: give pairs of {what}") from error
    return list(found)


def check_fixed(fixed: list[Pair]) -> None:
    """Raise InputError if an item has two positions, or a position two items."""
    position_of: dict[int, int] = {}
    item_at: dict[int, int] = {}
    for item, position in fixed:
        if position_of.setdefault(item, position) != position:
            raise InputError(f"item {item} is fixed at positions {position_of[item]} and {position}: choose one")
        if item_at.setdefault(position, item) != item:
            raise InputError(f"items {item_at[position]} and {item} are both fixed at position {position}: choose one")


def check_cycle(n_items: int, before: Iterable[Pair]) -> None:
    """Raise InputError, which names the items, if the pairs have a cycle."""
    try:
        _topological(n_items, before)
    except CycleError as error:
        path = " before ".join(f"item {item}" for item in error.args[1])
        raise InputError(f"before has a cycle, {path}: remove one of these pairs") from None


def _topological(n_items: int, before: Iterable[Pair]) -> list[int]:
    sorter = TopologicalSorter[int]({item: () for item in range(n_items)})
    for a, b in before:
        sorter.add(b, a)
    return list(sorter.static_order())


def _neighbours(n_items: int, pairs: Iterable[Pair]) -> list[list[int]]:
    """Return, for each item, the second elements of the pairs that it is the first element of."""
    ends: list[list[int]] = [[] for _ in range(n_items)]
    for a, b in pairs:
        ends[a].append(b)
    return ends


def transitive_closure(n_items: int, before: Iterable[Pair]) -> BoolArray:
    """Return the transitive closure of acyclic pairs, (n_items, n_items); O(len(before) n_items)."""
    closure = np.zeros((n_items, n_items), dtype=bool)
    followers = _neighbours(n_items, before)
    for a in reversed(_topological(n_items, before)):
        closure[a, followers[a]] = True
        closure[a] |= closure[followers[a]].any(axis=0)
    return closure


def transitive_reduction(n_items: int, before: Iterable[Pair]) -> tuple[Pair, ...]:
    """Return the transitive reduction, which lacks the pairs with an item between; O(len(before) n_items)."""
    closure, reduced = transitive_closure(n_items, before), list[Pair]()
    for a, followers in enumerate(_neighbours(n_items, before)):
        follows_another = np.logical_or.reduce(closure[followers], axis=0)
        reduced += [(a, b) for b in sorted(followers) if not follows_another[b]]
    return tuple(reduced)


def windows(n_items: int, before: Iterable[Pair], fixed: Iterable[Pair]) -> tuple[IntArray, IntArray]:
    """Return the first and last position of each item that chains of precedences and fixed items allow, (n_items,)."""
    before, positions = list(before), dict(fixed)
    followers, predecessors = _neighbours(n_items, before), _neighbours(n_items, ((b, a) for a, b in before))
    first, last = np.zeros(n_items, dtype=np.int64), np.zeros(n_items, dtype=np.int64)
    order = _topological(n_items, before)
    for item in order:
        first[item] = max([positions.get(item, 0), *(first[a] + 1 for a in predecessors[item])])
    for item in reversed(order):
        last[item] = min([positions.get(item, n_items - 1), *(last[b] - 1 for b in followers[item])])
    return first, last


def is_satisfiable(n_items: int, before: list[Pair], fixed: list[Pair]) -> bool:
    """Return whether some ordering satisfies acyclic precedences together with fixed positions.

    Without fixed positions one always does. With them this is scheduling of unit jobs with release times and deadlines.
    If these are consistent with the precedences, so is the schedule that always takes the earliest deadline first. That
    schedule meets all deadlines if and only if no interval s..t of positions must hold more than t - s + 1 jobs. Cost
    O(n_items^2).
    """
    if not fixed:
        return True
    first, last = windows(n_items, before, fixed)
    if np.any(first > last):
        return False
    within = np.zeros((n_items, n_items), dtype=np.int64)
    np.add.at(within, (first, last), 1)
    within = np.cumsum(np.cumsum(within[::-1], axis=0)[::-1], axis=1)  # [s, t]: first >= s and last <= t
    s, t = np.indices(within.shape)
    return bool(np.all(within <= np.maximum(t - s + 1, 0)))


def conflict(n_items: int, before: list[Pair], fixed: list[Pair]) -> str:
    """Name constraints that no ordering satisfies together, though some ordering does if any one is removed."""
    kept: list[tuple[bool, Pair]] = [(False, pair) for pair in before] + [(True, pair) for pair in fixed]
    size = len(kept)
    while size > 1:
        size = (size + 1) // 2
        start = 0
        while start < len(kept):
            fewer = kept[:start] + kept[start + size :]
            if is_satisfiable(n_items, [p for f, p in fewer if not f], [p for f, p in fewer if f]):
                start += size
            else:
                kept = fewer
    words = [f"item {x} at position {y}" if is_fixed else f"item {x} before item {y}" for is_fixed, (x, y) in kept]
    return f"no ordering has {', '.join(words)}: remove one of these"
