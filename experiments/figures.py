"""Figures of several panels."""

from collections.abc import Sequence
from typing import Any


def panels(titles: Sequence[str], columns: int, size: tuple[float, float], beside: float) -> tuple[Any, list[Any]]:
    """Return a figure and the axes of a panel for each title.

    Args:
        titles: What stands above the panels, at least one.
        columns: The most panels in a row.
        size: The width and the height of a panel in inches.
        beside: Inches beside the panels, for a legend.
    """
    from matplotlib.figure import Figure

    width, height = size
    columns = min(columns, len(titles))
    n_rows = -(-len(titles) // columns)
    figure = Figure(figsize=(width * columns + beside, height * n_rows + 0.4), layout="constrained")
    all_axes = figure.subplots(n_rows, columns, squeeze=False).ravel().tolist()
    for axes, title in zip(all_axes, titles, strict=False):
        axes.set_title(title, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in all_axes[len(titles) :]:
        axes.set_visible(False)
    return figure, all_axes[: len(titles)]


def legend(figure: Any, names: Sequence[str]) -> None:
    """Add a legend of the lines that have these labels, in this order, at the right of all panels."""
    labelled = {line.get_label(): line for axes in figure.axes for line in axes.get_lines()}
    handles = [labelled[name] for name in names if name in labelled]
    figure.legend(handles=handles, loc="outside right upper", frameon=False)
