"""The table of the README and of docs/compared.md: law-auto beside the best of the other libraries, on each problem."""

from typing import Any

import numpy as np
import pandas as pd

from experiments import markdown
from experiments.ours.general_rivals.compared import SHOWN_BATCH_SIZE, checked, longest
from experiments.ours.general_rivals.methods import METHODS
from experiments.ours.general_rivals.problems import PROBLEMS, published
from experiments.runs import values_after
from experiments.statistics import standard_error

EVALUATIONS = 400
"""Of the runs that the table is about."""
LIBRARIES = [name for name in METHODS if name not in ("law-auto", "law-auto informed", "random", "local search")]


def overview(rows: pd.DataFrame) -> str:
    """Return a line for each problem that law-auto played: its mean, those of others, and what is known besides.

    A line has the mean best values of law-auto, of the library with the best mean, of the local search and of random
    orderings; and the best of the heuristics of the domain, or of the published means at the same budget.
    """
    rows = longest(rows)
    lines: list[list[str]] = []
    for name, about in PROBLEMS.items():
        of_problem = rows[rows["problem"] == name]
        runs = checked(of_problem[of_problem["batch_size"] == SHOWN_BATCH_SIZE], EVALUATIONS)
        values = {str(method): each.to_numpy(dtype=float) for method, each in runs.groupby("method")["value"]}
        if "law-auto" not in values:
            continue
        digits = _digits(values["law-auto"].mean())
        cells = {
            method: markdown.plus_minus(each.mean(), standard_error(each), digits) for method, each in values.items()
        }
        library = min(set(values) & set(LIBRARIES), key=lambda method: float(values[method].mean()), default="")
        others = [
            f"{cells[library]} ({library})" if library else "",
            cells.get("local search", ""),
            cells.get("random", ""),
        ]
        besides = _besides(name, of_problem, digits)
        lines.append([f"{name}: {about.text}", cells["law-auto"], *others, besides])
    header = ["problem", "law-auto", "best library", "local search", "random", "heuristic or published"]
    return markdown.table(header, lines)


def _digits(value: float) -> int:
    """Return the decimals that leave four significant digits, at most two."""
    return int(np.clip(3 - np.floor(np.log10(max(abs(value), 1.0))), 0, 2))


def _besides(name: str, rows: pd.DataFrame, digits: int) -> str:
    """Return the best heuristic of the domain, or the best published mean, with its name."""
    found: list[tuple[float, str]] = []
    for method in PROBLEMS[name].heuristics:
        own = rows[rows["method"] == method]
        found += [(float(values_after(own, [1])[0, 0]), method)] if len(own) else []
    figures: Any = published()
    figures = figures[(figures["problem"] == name) & (figures["evaluations"] == EVALUATIONS)]
    found += [(float(mean), str(method)) for mean, method in zip(figures["mean"], figures["method"], strict=True)]
    if not found:
        return ""
    value, method = min(found)
    return f"{value:.{digits}f} ({method})"
