"""How the Plotly figures look: colours that read on a light and on a dark page, and a layout without frames."""

import html
from collections import Counter
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

CHOSEN, INITIAL, GIVEN, BEST, AGAIN, FAILED = "#4c8dd6", "#9aa0a6", "#8b6fc0", "#d1495b", "#e8973a", "#d1495b"
"""Of the evaluations by state, and of the best so far."""
SERIES = ("#4c8dd6", "#e8973a", "#3d9970", "#d1495b", "#8b6fc0", "#9c755f", "#5fb3b3", "#b0a13a")
"""Of further series, in this order."""
GRID, TEXT = "rgba(128,128,128,0.25)", "#6b7280"


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
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": GRID, "activecolor": TEXT},
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
