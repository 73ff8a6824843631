"""What is settled: what the best orderings share that all evaluated ones do not."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from law_ray.runs.report import look
from law_ray.runs.report.blocks import Figure, Section, Text
from law_ray.runs.report.view import View
from law_ray.space.permutations import invert
from law_ray.typing import FloatArray, IntArray

BESIDE = 36
"""Up to so many items, both heat maps of a pair stand beside each other (heuristic)."""


def section(view: View) -> Section:
    """Return the section."""
    lead = (
        "Left (or above) the best evaluations, right (or below) all of them: what is the same in all of the best, and "
        "not in the others, is settled."
    )
    if len(view.told) < 2:
        return Section("settled", "What is settled", lead, [Text("Fewer than two evaluations have a value.")])
    size = _height(view)
    width = 640 if len(view.names) <= BESIDE else 12 * len(view.names)
    relation = neighbour_figure(view) if view.closed else precedence_figure(view)
    return Section(
        "settled",
        "What is settled",
        lead,
        [
            Figure("fig-relations", relation, size, min_width=min(width, 1000)),
            Figure("fig-positions", position_figure(view), size, min_width=min(width, 1000)),
        ],
    )


def precedence_figure(view: View) -> go.Figure:
    """Return in how many of the best, and of all evaluations each item comes before each other one.

    The items stand in the order of their mean position in the best evaluations.
    """
    order = _order(view)
    maps = [precedences(view.aligned[rows])[np.ix_(order, order)] for rows in (view.elite, slice(None))]
    names = [view.short_names[item] for item in order]
    hover = "%{y} before %{x}: %{z}%"
    return _pair(view, maps, names, names, hover, "item", look.SHARES, "row comes first", 0.5)


def neighbour_figure(view: View) -> go.Figure:
    """Return in how many of the best, and of all evaluations two items are neighbours on the tour.

    The items stand in the order of the best tour.
    """
    order = view.aligned[view.ranking[0]]
    maps = [adjacencies(view.aligned[rows])[np.ix_(order, order)] for rows in (view.elite, slice(None))]
    names = [view.short_names[item] for item in order]
    hover = "%{y} beside %{x}: %{z}%"
    return _pair(view, maps, names, names, hover, "item", look.AMOUNTS, "neighbours")


def position_figure(view: View) -> go.Figure:
    """Return how often each item has each position in the best, and in all evaluations."""
    order = _order(view)
    maps = [placements(view.aligned[rows])[order] for rows in (view.elite, slice(None))]
    names = [view.short_names[item] for item in order]
    positions = [str(k) for k in range(len(order))]
    hover = "%{y} at position %{x}: %{z}%"
    return _pair(view, maps, names, positions, hover, "position", look.AMOUNTS, "share of evaluations")


def precedences(permutations: IntArray) -> FloatArray:
    """Return the share (n_items, n_items) of permutations in which item i comes before item j; NaN for i = j."""
    positions = invert(permutations)
    shares = np.stack([(positions[:, [i]] < positions).mean(axis=0) for i in range(positions.shape[1])])
    np.fill_diagonal(shares, np.nan)
    return shares


def adjacencies(permutations: IntArray) -> FloatArray:
    """Return the share (n_items, n_items) of permutations in which two items are neighbours on the closed tour."""
    n_items = permutations.shape[1]
    counts = np.zeros((n_items, n_items))
    np.add.at(counts, (permutations, np.roll(permutations, -1, axis=1)), 1.0)
    shares: FloatArray = np.minimum(counts + counts.T, len(permutations)) / len(permutations)
    np.fill_diagonal(shares, np.nan)
    return shares


def placements(permutations: IntArray) -> FloatArray:
    """Return the share (n_items, n_items) of permutations in which item i has position k."""
    n_items = permutations.shape[1]
    counts = np.zeros((n_items, n_items))
    np.add.at(counts, (permutations, np.arange(n_items)), 1.0)
    return counts / len(permutations)


def _order(view: View) -> IntArray:
    """Return the items by their mean position in the best evaluations."""
    return np.argsort(invert(view.aligned[view.elite]).mean(axis=0), kind="stable")


def _height(view: View) -> int:
    """Return the height of the figure of a pair of heat maps, in pixels."""
    n_items = len(view.names)
    return max(360, 16 * n_items + 140) if n_items <= BESIDE else 2 * min(11 * n_items + 120, 1150)


def _pair(
    view: View,
    maps: list[FloatArray],
    rows: list[str],
    columns: list[str],
    hover: str,
    what: str,
    colors: object,
    legend: str,
    diagonal: float = 0.0,
) -> go.Figure:
    """Return two heat maps of shares; NaN has the colour of `diagonal`."""
    beside = len(rows) <= BESIDE
    titles = (f"the best {len(view.elite)} evaluations", f"all {len(view.told)} evaluations")
    grid = {"rows": 1, "cols": 2} if beside else {"rows": 2, "cols": 1}
    gap = (70 + 5.5 * max(map(len, columns))) / _height(view)  # for the labels between both
    drawn = make_subplots(**grid, subplot_titles=titles, horizontal_spacing=0.12, vertical_spacing=gap)
    for k, matrix in enumerate(maps):
        where = {"row": 1, "col": k + 1} if beside else {"row": k + 1, "col": 1}
        bar = {"title": {"text": legend, "side": "right"}, "ticksuffix": "%", **look.BAR}
        percent = np.rint(100 * np.nan_to_num(matrix, nan=diagonal)).astype(np.int8)
        drawn.add_trace(
            look.heat_map(
                percent, rows, columns, hover, colorscale=colors, zmin=0, zmax=100, showscale=not k, colorbar=bar
            ),
            **where,
        )
    look.styled(drawn, "", "", _height(view))
    drawn.update_xaxes(title_text=what, **({} if beside else {"row": 2, "col": 1}))
    for k in range(2):
        where = {"row": 1, "col": k + 1} if beside else {"row": k + 1, "col": 1}
        look.label_axes(drawn, rows, columns, **where)
    return drawn
