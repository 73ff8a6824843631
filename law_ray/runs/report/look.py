"""How the Plotly figures look: colours that read on a light and on a dark page, and a layout without frames."""

import html
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

CHOSEN, INITIAL, GIVEN, BEST, AGAIN, FAILED = "#4c8dd6", "#9aa0a6", "#8b6fc0", "#d1495b", "#e8973a", "#d1495b"
"""Of the evaluations by state, and of the best so far."""
SERIES = ("#4c8dd6", "#e8973a", "#3d9970", "#d1495b", "#8b6fc0", "#9c755f", "#5fb3b3", "#b0a13a")
"""Of further series, in this order."""
SHARES = [[0.0, "#b2182b"], [0.25, "#ef8a62"], [0.5, "#f7f7f7"], [0.75, "#67a9cf"], [1.0, "#2166ac"]]
"""Of shares from 0 to 1, white where both are as frequent."""
AMOUNTS = "Blues"
GRID, TEXT = "rgba(128,128,128,0.25)", "#6b7280"
MAX_LABELS = 110
"""Labels of an axis of items; with more items, only every few are labelled (heuristic)."""

BAR = {"thickness": 12, "lenmode": "pixels", "len": 240, "y": 1.0, "yanchor": "top"}
"""A bar of colours at the top right."""


def styled(figure: go.Figure, x: str, y: str, height: int = 380, **layout: Any) -> go.Figure:
    """Give a figure the common layout and the titles of its axes, and return it."""
    figure.update_layout(
        height=height,
        margin={"l": 64, "r": 16, "t": 28, "b": 52},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": "system-ui, sans-serif", "size": 13, "color": TEXT},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        hoverlabel={"bgcolor": "#1f2937", "font": {"color": "#ffffff"}, "align": "left"},
        colorway=SERIES,
    )
    # 74500 instead of 74.5k
    axes = {"gridcolor": GRID, "zeroline": False, "automargin": True, "exponentformat": "power", "minexponent": 6}
    figure.update_xaxes(title_text=x, **axes)
    figure.update_yaxes(title_text=y, **axes)
    figure.update_layout(**layout)
    return figure


def plain(names: Sequence[str]) -> list[str]:
    """Return names that Plotly, which reads some HTML and TeX, shows as they are, and tells apart if they are equal."""
    seen: Counter[str] = Counter()
    distinct = []
    for name in names:
        shown = html.escape(name).replace("$", "&#36;")  # text within dollars is TeX
        distinct.append(shown + seen[name] * "\u200b")  # spaces of no width
        seen[name] += 1
    return distinct


def heat_map(
    matrix: NDArray[Any], rows: Sequence[str], columns: Sequence[str], hover: str, **options: Any
) -> go.Heatmap:
    """Return a heat map; NaN is left empty.

    Args:
        matrix: (m, k) values; integers of one byte take the least space in the page.
        rows: (m,) what the rows are called.
        columns: (k,) what the columns are called.
        hover: What a cell says, with %{y} for its row, %{x} for its column and %{z} for its value.
        **options: Of `Heatmap`: colorscale, zmin, zmax, colorbar.
    """
    return go.Heatmap(
        z=matrix if matrix.dtype.itemsize == 1 else np.asarray(matrix, dtype=np.float32),
        x=plain(columns),
        y=plain(rows),
        hovertemplate=hover + "<extra></extra>",
        hoverongaps=False,
        **options,
    )


def label_axes(figure: go.Figure, rows: Sequence[str], columns: Sequence[str], **where: Any) -> None:
    """Label the axes of a heat map, the rows from top to bottom; of very many, every few are labelled.

    Args:
        figure: The figure.
        rows: (m,) as for `heat_map`.
        columns: (k,) as for `heat_map`.
        **where: The `row` and `col` of the subplot.
    """
    figure.update_yaxes(**_ticks(rows), autorange="reversed", **where)
    turned = len(columns) > 12 or max(map(len, columns)) > 3
    figure.update_xaxes(**_ticks(columns), **({"tickangle": -90} if turned else {}), **where)


def _ticks(labels: Sequence[str]) -> dict[str, Any]:
    step = -(-len(labels) // MAX_LABELS)
    size = 11 if len(labels) <= 30 else 9 if len(labels) <= 70 else 8
    shown = plain(labels)[::step]
    return {"type": "category", "tickmode": "array", "tickvals": shown, "tickfont": {"size": size}, "showgrid": False}
