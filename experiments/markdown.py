"""Tables in Markdown."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def table(header: Sequence[str], rows: Sequence[Sequence[Any]], digits: int = 2) -> str:
    """A table; fractions get so many digits, and NaN leaves its cell empty."""

    def cell(value: Any) -> str:
        if isinstance(value, float):
            return "" if np.isnan(value) else f"{value:.{digits}f}"
        return str(value)

    lines = [header, ["---"] * len(header), *([cell(value) for value in row] for row in rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def plus_minus(mean: float, error: float, digits: int = 2) -> str:
    """A mean with its standard error; of NaN nothing."""
    text = "" if np.isnan(mean) else f"{mean:.{digits}f}"
    return text if np.isnan(error) else f"{text} +- {error:.{digits}f}"
