"""The figure: best value against evaluations in batches of 5, one panel for each problem."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.ours.general_rivals.methods import METHODS
from experiments.ours.general_rivals.report import SHOWN_BATCH_SIZE, longest
from experiments.runs import values_after

COLUMNS, PANEL = 3, (3.7, 3.2)
"""Panels in a row, and their width and height in inches."""
FIRST = 20
"""Where curves begin: before, most methods draw at random."""


def draw(rows: pd.DataFrame, path: Path) -> None:
    """Draw the mean of the runs; the one of law-auto is black and wide, and has its standard error."""
    from matplotlib.figure import Figure

    rows = longest(rows)
    rows = rows[(rows["batch_size"] == SHOWN_BATCH_SIZE) & rows["method"].isin(list(METHODS))]
    panels = list(rows.groupby("problem", sort=False))
    if not panels:
        return
    n_rows = -(-len(panels) // COLUMNS)
    width, height = PANEL
    columns = min(COLUMNS, len(panels))
    figure = Figure(figsize=(width * columns + 2.4, height * n_rows + 0.4), layout="constrained")
    all_axes = figure.subplots(n_rows, columns, squeeze=False).ravel()
    for axes, (problem, runs) in zip(all_axes, panels, strict=False):
        axes.set_title(problem, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlabel("evaluations")
        for number, method in enumerate(METHODS):
            _curve(axes, runs[runs["method"] == method], method, number)
    for axes in all_axes[len(panels) :]:
        axes.set_visible(False)
    labelled = {line.get_label(): line for axes in all_axes for line in axes.get_lines()}
    figure.legend(
        handles=[labelled[name] for name in METHODS if name in labelled], loc="outside right upper", frameon=False
    )
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
