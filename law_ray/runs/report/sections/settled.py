"""What is settled: what the best orderings share that all evaluated ones do not."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from law_ray.runs.report.blocks import Figure, Section, Text
from law_ray.runs.report.heat_maps import AMOUNTS, BAR, SHARES, heat_map, least_width, pair
from law_ray.runs.report.view import View
from law_ray.space.permutations import invert
from law_ray.typing import FloatArray, IntArray


def section(view: View) -> Section:
    """Return the section."""
    lead = (
        "Left (or above) the best evaluations, right (or below) all of them: what is the same in all of the best, and "
        "not in the others, is settled."
    )
    if len(view.told) < 2:
        return Section("settled", "What is settled", lead, [Text("Fewer than two evaluations have a value.")])
    relation = neighbour_figure(view) if view.closed else precedence_figure(view)
    figures = {"fig-relations": relation, "fig-positions": position_figure(view)}
    width = least_width(len(view.names))
    blocks = [Figure(name, figure, min_width=width) for name, figure in figures.items()]
    return Section("settled", "What is settled", lead, blocks)


def precedence_figure(view: View) -> go.Figure:
    """Return in how many of the best, and of all evaluations each item comes before each other one.

    The items stand in the order of their mean position in the best evaluations.
    """
    order = _order(view)
    maps = [precedences(view.aligned[rows])[np.ix_(order, order)] for rows in (view.elite, slice(None))]
    names = [view.short_names[item] for item in order]
    hover = "%{y} before %{x}: %{z}%"
    return _pair(view, maps, names, names, hover, "item", SHARES, "row comes first", 0.5)


def neighbour_figure(view: View) -> go.Figure:
    """Return in how many of the best, and of all evaluations two items are neighbours on the tour.

    The items stand in the order of the best tour.
    """
    order = view.aligned[view.ranking[0]]
    maps = [adjacencies(view.aligned[rows])[np.ix_(order, order)] for rows in (view.elite, slice(None))]
    names = [view.short_names[item] for item in order]
    hover = "%{y} beside %{x}: %{z}%"
    return _pair(view, maps, names, names, hover, "item", AMOUNTS, "neighbours")


def position_figure(view: View) -> go.Figure:
    """Return how often each item has each position in the best, and in all evaluations."""
    order = _order(view)
    maps = [placements(view.aligned[rows])[order] for rows in (view.elite, slice(None))]
    names = [view.short_names[item] for item in order]
    positions = [str(k) for k in range(len(order))]
    hover = "%{y} at position %{x}: %{z}%"
    return _pair(view, maps, names, positions, hover, "position", AMOUNTS, "share of evaluations")


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


def _pair(
    view: View,
    maps: Sequence[FloatArray],
    rows: Sequence[str],
    columns: Sequence[str],
    hover: str,
    x: str,
    colors: object,
    legend: str,
    diagonal: float = 0.0,
) -> go.Figure:
    """Return two heat maps of shares; NaN has the colour of `diagonal`."""
    bar = {"title": {"text": legend, "side": "right"}, "ticksuffix": "%", **BAR}
    options = {"colorscale": colors, "zmin": 0, "zmax": 100, "colorbar": bar}
    percent = [np.rint(100 * np.nan_to_num(matrix, nan=diagonal)).astype(np.int8) for matrix in maps]
    first, second = (
        heat_map(matrix, rows, columns, hover, showscale=not k, **options) for k, matrix in enumerate(percent)
    )
    return pair(first, second, (f"the best {len(view.elite)} evaluations", f"all {len(view.told)} evaluations"), x)
