"""Items and orderings as a user writes them: items by name or by number."""

from collections.abc import Sequence
from pathlib import Path

from law_ray.errors import InputError


def read_item(text: str, n_items: int, names: Sequence[str] | None) -> int:
    """The item of this name, or else of this number. Raises InputError if there is none."""
    text = text.strip()
    if names is not None and text in names:
        return list(names).index(text)
    if text.isdecimal() and int(text) < n_items:
        return int(text)
    known = f"0 to {n_items - 1}" + ("" if names is None else f", or a name such as {names[0]}")
    raise InputError(f"there is no item {text!r}: items are {known}")


def read_pair(text: str, n_items: int, names: Sequence[str] | None) -> tuple[int, int]:
    """The items (a, b) of "a<b": a comes before b."""
    a, less, b = text.partition("<")
    if not less:
        raise InputError(f"{text!r} is not of the form A<B: write, in quotes, which item comes before which")
    return read_item(a, n_items, names), read_item(b, n_items, names)


def read_fixed(text: str, n_items: int, names: Sequence[str] | None) -> tuple[int, int]:
    """The item and the position of "item=position"; positions count from 0."""
    item, equals, position = text.rpartition("=")
    if not equals or not position.strip().isdecimal():
        raise InputError(f"{text!r} is not of the form ITEM=POSITION, with positions from 0 to {n_items - 1}")
    return read_item(item, n_items, names), int(position)


def read_orderings(path: Path, n_items: int, names: Sequence[str] | None) -> list[list[int]]:
    """The orderings in a text file, one a line, its items with commas (or else blanks) between them.

    Empty lines do not count. Raises InputError naming the line.
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
