"""Results as people read them: numbers with their errors, orderings, and facts as aligned lines or an HTML table."""

import html
import math
import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

WIDTH = 100
"""Characters of an ordering (heuristic)."""

Facts = Sequence[tuple[str, str]]
"""Pairs of a name and what it is, in one line each."""


def with_error(value: float, standard_error: float = 0.0) -> str:
    """Return a value to ten digits or, where it has a standard error, to two digits of that: "12.34 ± 0.56"."""
    if not standard_error:
        return f"{value:.10g}"
    decimals = max(0, 1 - math.floor(math.log10(standard_error)))
    if decimals > 12 or abs(value) >= 1e12 or standard_error >= 1e12:
        return f"{value:.10g} ± {standard_error:.2g}"
    return f"{value:.{decimals}f} ± {standard_error:.{decimals}f}"


def ordering(permutation: Iterable[int], names: Sequence[str] | None = None) -> str:
    """Return the items of an ordering, by names if they have any, in at most about WIDTH characters."""
    items = [str(item) if names is None else " ".join(names[item].split()) for item in permutation]
    shown: list[str] = []
    for item in items:
        if shown and sum(map(len, shown)) + 2 * len(shown) + len(item) > WIDTH:
            return f"{', '.join(shown)}, ... ({len(items)} items)"
        shown.append(item if len(item) <= WIDTH else f"{item[: WIDTH - 3]}...")
    return ", ".join(shown)


def shell_word(path: str | Path) -> str:
    r"""Return a path as one line that a shell reads as that path, and no command as an option: $'a\nb', ./-c."""
    text = str(path)
    text = f"./{text}" if text.startswith("-") else text
    if text.isprintable():
        return shlex.quote(text)
    escaped = "".join(_escaped(character) for character in text)
    return f"$'{escaped}'"


def _escaped(character: str) -> str:
    if character in "\\'":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\{byte:03o}" for byte in os.fsencode(character))


def as_text(title: str, facts: Facts) -> str:
    """Return a title, and below it one aligned line for each fact."""
    width = max((len(name) for name, _ in facts), default=0)
    return "\n".join([title, *(f"  {name:<{width}}  {text}" for name, text in facts)])


def as_html(title: str, facts: Facts) -> str:
    """Return a title and facts as an HTML table, in which all that they hold stays text."""
    rows = (f"<tr><th scope='row'>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>" for name, text in facts)
    return f"<table><caption>{html.escape(title)}</caption><tbody>{''.join(rows)}</tbody></table>"
