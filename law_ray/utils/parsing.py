"""Parse items, constraints and orderings as a user writes them; items are given by name or by number."""

from collections.abc import Sequence
from pathlib import Path

from law_ray.errors import InputError

MAX_DIGITS = 100
"""Of the number of an item or a position: Python refuses to read one of thousands."""


def read_item(text: str, n_items: int, names: Sequence[str] | None) -> int:
    """Return the number of an item given by its name or, if no item has this name, by its number.

    Args:
        text: a name or a number; surrounding blanks do not count.
        n_items: the number of items.
        names: the names of the items, if they have any.

    Raises:
        InputError: if there is no such item.
    """
    text = text.strip()
    if names is not None and text in names:
        return list(names).index(text)
    if text.isdecimal() and len(text) <= MAX_DIGITS and int(text) < n_items:
        return int(text)
    known = f"0 to {n_items - 1}" + ("" if names is None else f", or a name such as {names[0]}")
    raise InputError(f"there is no item {text!r}: items are {known}")


def read_pair(text: str, n_items: int, names: Sequence[str] | None) -> tuple[int, int]:
    """Parse "a<b" and return the items (a, b): a comes before b.

    Raises:
        InputError: if the text has another form or an unknown item.
    """
    a, less, b = text.partition("<")
    if not less:
        raise InputError(f"{text!r} is not of the form A<B: write, in quotes, which item comes before which")
    return read_item(a, n_items, names), read_item(b, n_items, names)


def read_fixed(text: str, n_items: int, names: Sequence[str] | None) -> tuple[int, int]:
    """Parse "item=position" and return both; positions count from 0.

    Raises:
        InputError: if the text has another form or an unknown item.
    """
    item, equals, position = text.rpartition("=")
    if not equals or not position.strip().isdecimal() or len(position) > MAX_DIGITS:
        raise InputError(f"{text!r} is not of the form ITEM=POSITION, with positions from 0 to {n_items - 1}")
    return read_item(item, n_items, names), int(position)


def read_orderings(path: Path, n_items: int, names: Sequence[str] | None) -> list[list[int]]:
    """Read orderings from a text file, one per line, with the items separated by commas or, without any, by blanks.

    Empty lines are skipped.

    Raises:
        InputError: if the file cannot be read, or a line is not an ordering; the message names the file or the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8"
        raise InputError(f"the orderings in {path} cannot be read ({reason}): give a text file") from None
    orderings = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            items = [read_item(text, n_items, names) for text in (line.split(",") if "," in line else line.split())]
        except InputError as error:
            raise InputError(f"{path}, line {number}: {error}") from None
        if sorted(items) != list(range(n_items)):
            raise InputError(
                f"{path}, line {number}: {len(items)} items, {len(set(items))} different, of {n_items}: "
                "name each item once"
            )
        orderings.append(items)
    return orderings
