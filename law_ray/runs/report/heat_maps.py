"""Heat maps of items, legible with few and with many of them: beside each other or one above the other."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from law_ray.runs.report.look import plain, styled

SHARES = [[0.0, "#b2182b"], [0.25, "#ef8a62"], [0.5, "#f7f7f7"], [0.75, "#67a9cf"], [1.0, "#2166ac"]]
"""Of shares from 0 to 1, white where both are as frequent."""
AMOUNTS = "Blues"
MAX_LABELS = 110
"""Labels of an axis of items; with more items, only every few are labelled (heuristic)."""
BAR = {"thickness": 12, "lenmode": "pixels", "len": 240, "y": 1.0, "yanchor": "top"}
"""A bar of colours at the top right."""
BESIDE, LONGEST_BESIDE = 36, 12
"""Items, and characters of their names, up to which the heat maps of a pair stand beside each other (heuristic)."""
CHARACTER = 6.0
"""Pixels of a character in a label (heuristic)."""
MARGINS = 80
"""Pixels above and below a figure's axes, without their labels."""


class HeatMap(NamedTuple):
    """A heat map, and what its rows and columns are called."""

    trace: go.Heatmap
    rows: Sequence[str]
    columns: Sequence[str]


def heat_map(matrix: NDArray[Any], rows: Sequence[str], columns: Sequence[str], hover: str, **options: Any) -> HeatMap:
    """Return a heat map; NaN is left empty.

    Args:
        matrix: (m, k) values; integers of one byte take the least space in the page.
        rows: (m,) what the rows are called.
        columns: (k,) what the columns are called.
        hover: What a cell says, with %{y} for its row, %{x} for its column and %{z} for its value.
        **options: Of `Heatmap`: colorscale, zmin, zmax, colorbar.
    """
    trace = go.Heatmap(
        z=matrix if matrix.dtype.itemsize == 1 else np.asarray(matrix, dtype=np.float32),
        x=plain(columns),
        y=plain(rows),
        hovertemplate=hover + "<extra></extra>",
        hoverongaps=False,
        **options,
    )
    return HeatMap(trace, rows, columns)


def pair(first: HeatMap, second: HeatMap, titles: tuple[str, str], x: str = "") -> go.Figure:
    """Return a figure of two heat maps with titles, both of as many rows; `x` is the title of the horizontal axes."""
    n_items = len(first.rows)
    longest = max(map(len, (*first.rows, *first.columns, *second.rows, *second.columns)))
    beside = n_items <= BESIDE and longest <= LONGEST_BESIDE
    grid = {"rows": 1, "cols": 2} if beside else {"rows": 2, "cols": 1}
    labels = CHARACTER * max(map(len, first.columns))  # of the columns, below each map
    inner = 2 * max(160, min((16 if n_items <= BESIDE else 11) * n_items, 1050)) + 70 + labels  # from top to bottom
    height = max(360, 16 * n_items + 140) if beside else round(inner + MARGINS + labels)
    gap = (70 + labels) / inner
    drawn = make_subplots(**grid, subplot_titles=titles, horizontal_spacing=0.12, vertical_spacing=gap)
    places = [{"row": 1, "col": k} if beside else {"row": k, "col": 1} for k in (1, 2)]
    for each, place in zip((first, second), places, strict=True):
        drawn.add_trace(each.trace, **place)
    styled(drawn, "", "", height)
    drawn.update_xaxes(title_text=x, **({} if beside else places[1]))
    for each, place in zip((first, second), places, strict=True):
        _label_axes(drawn, each, place)
    return drawn


def least_width(n_items: int) -> int:
    """Return how wide a figure of a pair must be to be legible, in pixels."""
    return 640 if n_items <= BESIDE else min(12 * n_items, 1000)


def _label_axes(figure: go.Figure, heat_map: HeatMap, place: dict[str, int]) -> None:
    """Label the axes of a heat map, the rows from top to bottom; of very many, every few are labelled."""
    figure.update_yaxes(**_ticks(heat_map.rows), autorange="reversed", **place)
    turned = len(heat_map.columns) > 12 or max(map(len, heat_map.columns)) > 3
    figure.update_xaxes(**_ticks(heat_map.columns), **({"tickangle": -90} if turned else {}), **place)


def _ticks(labels: Sequence[str]) -> dict[str, Any]:
    step = -(-len(labels) // MAX_LABELS)
    size = 11 if len(labels) <= 30 else 9 if len(labels) <= 70 else 8
    shown = plain(labels)[::step]
    return {"type": "category", "tickmode": "array", "tickvals": shown, "tickfont": {"size": size}, "showgrid": False}
