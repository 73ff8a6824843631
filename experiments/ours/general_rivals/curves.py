"""The figure: best value against evaluations in batches of 5, one panel for each problem."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.figures import legend, panels
from experiments.ours.general_rivals.compared import SHOWN_BATCH_SIZE, longest
from experiments.ours.general_rivals.methods import METHODS
from experiments.runs import values_after

COLUMNS, PANEL = 3, (3.7, 3.2)
"""Panels in a row, and their width and height in inches."""
FIRST = 20
"""Where curves begin: before, most methods draw at random."""


def draw(rows: pd.DataFrame, path: Path) -> None:
    """Draw the mean of the runs; the one of law-auto is black and wide, and has its standard error."""
    rows = longest(rows)
    rows = rows[(rows["batch_size"] == SHOWN_BATCH_SIZE) & rows["method"].isin(list(METHODS))]
    by_problem = list(rows.groupby("problem", sort=False))
    if not by_problem:
        return
    figure, all_axes = panels([str(problem) for problem, _ in by_problem], COLUMNS, PANEL, beside=2.4)
    for axes, (_, runs) in zip(all_axes, by_problem, strict=True):
        axes.set_xlabel("evaluations")
        for number, method in enumerate(METHODS):
            _curve(axes, runs[runs["method"] == method], method, number)
    legend(figure, list(METHODS))
    figure.supylabel("best value, mean of the runs", fontsize=10)
    figure.savefig(path, dpi=110)


def _curve(axes: Any, runs: pd.DataFrame, method: str, number: int) -> None:
    if runs.empty:
        return
    evaluations = np.arange(FIRST, runs["evaluations"].min() + 1)
    values = values_after(runs, evaluations.tolist())
    mean, error = values.mean(axis=0), pd.DataFrame(values).sem().fillna(0.0).to_numpy()
    own = method == "law-auto"
    color = "k" if own else f"C{number % 10}"
    style = "-" if own else ("-", "--")[number // 10]
    axes.plot(evaluations, mean, color=color, ls=style, lw=2.2 if own else 1.1, label=method, zorder=3 if own else 2)
    if own:
        axes.fill_between(evaluations, mean - error, mean + error, color="k", alpha=0.15, lw=0)
