"""Medians, and the tables of the page."""

import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np


def table(title: str, header: str, rows: list[str]) -> str:
    """Return a section with a Markdown table, and print it."""
    lines = [
        f"## {title}\n",
        f"| {header} |",
        "|---" * (header.count("|") + 1) + "|",
        *(f"| {row} |" for row in rows),
        "",
    ]
    click.echo("\n".join(lines))
    return "\n".join(lines)


def seconds_of(call: Callable[[], Any]) -> float:
    """Return the seconds of a call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def median(call: Callable[[], Any], repeats: int = 5) -> float:
    """Return the median seconds of a call, without the first one, which may compile."""
    return float(np.median([seconds_of(call) for _ in range(repeats + 1)][1:]))
