"""Tables in Markdown."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from law_ray.utils.files import replacing


def table(header: Sequence[str], rows: Sequence[Sequence[Any]], digits: int = 2) -> str:
    """Return a Markdown table.

    Args:
        header: The names of the columns.
        rows: The cells, row by row. The cell of a NaN is empty.
        digits: How many decimals a float gets; other values are written as they are.
    """

    def cell(value: Any) -> str:
        if isinstance(value, float):
            return "" if np.isnan(value) else f"{value:.{digits}f}"
        return str(value)

    lines = [header, ["---"] * len(header), *([cell(value) for value in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def plus_minus(mean: float, error: float, digits: int = 2) -> str:
    """Return a mean with its standard error, the mean alone if the error is NaN, or nothing if the mean is NaN."""
    text = "" if np.isnan(mean) else f"{mean:.{digits}f}"
    return text if np.isnan(error) else f"{text} +- {error:.{digits}f}"


def redraw(page: Path, name: str, text: str) -> None:
    """Replace what stands in a page between the comments `<!-- name -->` and `<!-- end of name -->`.

    Raises:
        ValueError: The page does not have both comments once, in this order.
    """
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    before, *rest = page.read_text(encoding="utf-8").split(begin)
    parts = rest[0].split(end) if len(rest) == 1 else []
    if len(parts) != 2:
        raise ValueError(f"{page} has no part {name!r}: put it between {begin.strip()} and {end.strip()}")
    publish(page, f"{before}{begin}{text}{end}{parts[1]}")


def publish(page: Path, text: str) -> None:
    """Write a page: the whole, or nothing if this is interrupted."""
    with replacing(page) as partial:
        partial.write_text(text, encoding="utf-8")
