"""Constraints and orderings as a user gives them: items by number or by name."""

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

from law_ray.errors import InputError
from law_ray.space.constraints import Constraints
from law_ray.utils.parsing import read_item

Item = int | str
"""An item's number, or its name where the objective names its items."""


def named_constraints(
    n_items: int,
    before: Iterable[tuple[Item, Item]] = (),
    fixed: Mapping[Any, int] | Iterable[tuple[Item, int]] = (),
    names: Sequence[str] | None = None,
    own_before: Iterable[tuple[Item, Item]] = (),
    own_fixed: Mapping[Any, int] | Iterable[tuple[Item, int]] = (),
) -> Constraints:
    """Return the constraints of items given by number or by name, together with those that a problem has of its own.

    Args:
        n_items: The number of items.
        before: Pairs (a, b): item a must come before item b.
        fixed: {item: position}, or pairs of them.
        names: The (n_items,) names of the items, if they have any.
        own_before: Further pairs, those of the problem.
        own_fixed: Further positions, those of the problem.

    Raises:
        InputError: There is no such item, what was given is no list, or `Constraints` refuses. The message names items
            by their names.
    """
    if isinstance(before, str) or not isinstance(before, Iterable):
        raise InputError(f"before is {before!r}: give a list of pairs (first, second)")
    pairs = [_numbers(pair, n_items, names) for pair in (*own_before, *before)]
    positions = [pair for each in (own_fixed, fixed) for pair in _positions(each, n_items, names)]
    try:
        return Constraints(n_items, pairs, positions)
    except InputError as error:
        raise InputError(by_name(str(error), names)) from None


def by_name(message: str, names: Sequence[str] | None) -> str:
    """Return a message in which "item 0" and "items 0 and 1" are replaced by names, if the items have any."""
    if names is None:
        return message
    message = re.sub(r"\bitems (\d+) and (\d+)", r"item \1 and item \2", message)
    return re.sub(r"\bitem (\d+)", lambda item: names[int(item[1])], message)


def named_orderings(rows: Iterable[Any], n_items: int, names: Sequence[str] | None) -> list[Any]:
    """Return orderings whose items are given by number or by name as orderings of numbers; not yet validated."""
    rows = list(rows)
    for row in rows:
        if not isinstance(row, Iterable) or isinstance(row, Set):  # a set of names has another order in each process
            raise InputError(f"start has {row!r}, which is no ordering: give a list of orderings")
    return [
        [_number(item, n_items, names) for item in row] if any(isinstance(item, str) for item in row) else row
        for row in rows
    ]


def _positions(fixed: Any, n_items: int, names: Sequence[str] | None) -> list[tuple[Any, int]]:
    """Return pairs of an item's number and its position from {item: position}, or from pairs of them."""
    try:
        pairs = [(item, position) for item, position in (fixed.items() if isinstance(fixed, Mapping) else fixed)]
    except (TypeError, ValueError):
        raise InputError(f"fixed is {fixed!r}: give a dictionary of items and positions") from None
    return [(_number(item, n_items, names), position) for item, position in pairs]


def _numbers(pair: Any, n_items: int, names: Sequence[str] | None) -> Any:
    """Return a pair of items as numbers; whatever else it is, `Constraints` refuses."""
    if isinstance(pair, str) or not isinstance(pair, Iterable):
        return pair
    return tuple(_number(item, n_items, names) for item in pair)


def _number(item: Any, n_items: int, names: Sequence[str] | None) -> Any:
    return read_item(item, n_items, names) if isinstance(item, str) else item
