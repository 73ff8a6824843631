"""What the model learned: its family and hyperparameters by round, and how items interact."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from law_ray.kernels.additive import AdditiveHyperparameters
from law_ray.kernels.distance import DistanceHyperparameters
from law_ray.kernels.protocol import Hyperparameters
from law_ray.kernels.tour import TourHyperparameters
from law_ray.kernels.weighted_precedence import WeightedPrecedenceHyperparameters
from law_ray.models.pairwise.hyperparameters import PairwiseHyperparameters
from law_ray.runs.report import interactions, look, models
from law_ray.runs.report.blocks import Figure, Section, Text
from law_ray.runs.report.heat_maps import HeatMap, heat_map, least_width, pair
from law_ray.runs.report.view import View
from law_ray.space.permutations import invert
from law_ray.typing import FloatArray

MAX_ROUNDS = 200
"""Rounds whose hyperparameters are shown, evenly spread."""
MAX_ITEMS, MAX_PAIRS = 40, 10
"""Items whose weights are shown, and pairs that are named: those that matter most."""
MEANINGS = {
    "position": "orderings that put items at nearby positions have similar values",
    "additive": "a sum of five similarities of orderings, weighted by the data",
    "tour": "the value depends on which items are neighbours",
    "weighted precedence": "the value depends on which items come before which, and some pairs of items matter more",
    "pairwise": "the value is a sum over pairs of items, by the positions of both",
}


def section(view: View) -> Section:
    """Return the section."""
    lead = "Which kind of problem the model assumes, from round to round, and what it has learned about it."
    model = view.run.optimizer.model
    if model is None:
        why = "No model was fitted: the initial design was not complete, or the method has none."
        return Section("learned", "What the model learned", lead, [Text(why)])
    rules, process = models.family(view, model), models.of_process(model)
    fits = looked_at(view)
    blocks: list[object] = [Text(_who_chose(view, fits, rules))]
    blocks += [Text(line) for line in interactions.describe(view.run, list(view.names))[1:]]
    blocks.append(Figure("fig-rounds", rounds_figure(view, fits)))
    if rules == "pairwise":
        found = interactions.learned(view.run)
        assert found is not None
        drawn = interaction_figure(view, found)
        blocks.append(Figure("fig-interactions", drawn, min_width=least_width(len(view.names))))
    elif isinstance(process, TourHyperparameters):
        blocks.append(Text("Items close to each other on this map are expected to be good neighbours on the tour."))
        blocks.append(Figure("fig-map", map_figure(view, process)))
    elif isinstance(process, WeightedPrecedenceHyperparameters):
        most = f" Shown are the {MAX_ITEMS} that matter most." if len(process.item_weights) > MAX_ITEMS else ""
        text = f"The more an item matters, the more the value depends on its order with the others.{most}"
        blocks += [Text(_pairs_that_matter(view, process)), Text(text)]
        blocks.append(Figure("fig-item-weights", item_weights_figure(view, process)))
    return Section("learned", "What the model learned", lead, blocks)


def looked_at(view: View) -> list[tuple[int, Hyperparameters]]:
    """Return the round and the model of asks, MAX_ROUNDS of them at most."""
    asks = [ask for ask in view.asks if ask["model"] is not None]
    found = [(ask["round"], models.of(view, ask)) for ask in models.spread(asks, MAX_ROUNDS)]
    return [(number, model) for number, model in found if model is not None]


def _who_chose(view: View, fits: Sequence[tuple[int, Hyperparameters]], last: models.Family) -> str:
    """Say which family chose the points, at the end and in how many of the asks."""
    families = Counter(models.family(view, model) for _, model in fits)
    text = f"At the end the {last} model chose the points: {MEANINGS[last]}."
    if len(families) < 2:
        return text
    (first, most), *others = families.most_common()
    counts = " and ".join(f"the {name} model {count}" for name, count in others)
    all_asks = sum(ask["model"] is not None for ask in view.asks)
    among = " that were looked at" if len(fits) < all_asks else ""
    return f"{text} Of {families.total()} choices{among} the {first} model made {most}, {counts}."


def rounds_figure(view: View, fits: Sequence[tuple[int, Hyperparameters]]) -> go.Figure:
    """Return the weights of the model's parts, and its noise and decay, by round."""
    curves: dict[str, dict[int, float]] = defaultdict(dict)
    scales: dict[str, dict[int, float]] = defaultdict(dict)
    for number, model in fits:
        for name, share in _shares(model).items():
            curves[name][number] = share
        for name, amount in _amounts(view, model).items():
            scales[name][number] = amount
    drawn = make_subplots(rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.09)
    rounds = sorted({t for curve in [*curves.values(), *scales.values()] for t in curve})
    for row, parts in enumerate((curves, scales), start=1):
        for k, (name, curve) in enumerate(sorted(parts.items())):
            color = look.SERIES[(k + 5 * (row - 1)) % len(look.SERIES)]
            values = [curve.get(t, 0.0 if row == 1 else None) for t in rounds]
            drawn.add_scatter(x=rounds, y=values, mode="lines", name=name, line={"color": color}, row=row, col=1)
    look.styled(drawn, "", "", 460, hovermode="x unified")
    drawn.update_xaxes(title_text="round", row=2, col=1)
    drawn.update_yaxes(title_text="share of the variance", rangemode="tozero", row=1, col=1)
    drawn.update_yaxes(title_text="(log scale)", type="log", row=2, col=1)
    return drawn


def _shares(model: Any) -> dict[str, float]:
    """Return the share of each part of the selected kernel in its variance."""
    selected = models.of_process(model)
    if isinstance(selected, AdditiveHyperparameters):
        weights = {name: own[0] + sum(own[2:]) for name, own in selected.components.items()}
    else:
        return {models.kernel_name(model): 1.0} if selected else {}
    total = sum(weights.values()) or 1.0
    return {name: weight / total for name, weight in weights.items()}


def _amounts(view: View, model: Any) -> dict[str, float]:
    """Return the noise, the decay of a kernel of one distance, and the pairwise model's advantage."""
    found = {"noise (share of the values' variance)": max(float(model.noise), 1e-9)}
    if isinstance(model, DistanceHyperparameters):
        found["decay"] = model.decay
    if isinstance(model, PairwiseHyperparameters) and model.chains and model.advantage > 0:
        found["advantage of the pairwise model"] = float(np.clip(model.advantage, 1e-3, 1e6))
    return found


def map_figure(view: View, tour: TourHyperparameters) -> go.Figure:
    """Return the items in the plane: the two main axes of their vectors, joined in the order of the best tour."""
    place = plane(np.array(tour.vectors))
    best = view.run.best.permutation
    loop = np.append(best, best[0])
    drawn = go.Figure()
    drawn.add_scatter(
        x=place[loop, 0],
        y=place[loop, 1],
        mode="lines",
        line={"color": look.INITIAL, "width": 1},
        name="best tour",
        hoverinfo="skip",
    )
    drawn.add_scatter(
        x=place[:, 0],
        y=place[:, 1],
        mode="markers+text",
        text=look.plain(view.short_names),
        textposition="top center",
        textfont={"size": 10},
        marker={"color": look.CHOSEN, "size": 8},
        hovertemplate="%{text}<extra></extra>",
        name="items",
    )
    look.styled(drawn, "", "", 480)
    drawn.update_yaxes(scaleanchor="x", showticklabels=False)
    drawn.update_xaxes(showticklabels=False)
    return drawn


def _pairs_that_matter(view: View, weighted: WeightedPrecedenceHyperparameters) -> str:
    """Name the pairs of items whose order matters most, MAX_PAIRS of them at most, each with its share of `reversals`.

    Of a pair, the item that comes first in the best ordering is named first.
    """
    pairs = np.column_stack(np.triu_indices(len(weighted.item_weights), 1))
    lost = weighted.reversals[tuple(pairs.T)]
    shares = lost / lost.sum()
    place = invert(view.run.best.permutation[None])[0]
    largest = np.argsort(-shares, kind="stable")[:MAX_PAIRS]
    named = []
    for number in largest:
        first, second = sorted(pairs[number].tolist(), key=lambda item: place[item])
        named.append(f"{view.short_names[first]} before {view.short_names[second]} ({shares[number]:.1%})")
    lead = (
        "The pairs whose order matters most, as the best ordering has them, with their shares of all pairs' influence"
    )
    return f"{lead}: {', '.join(named)}."


def item_weights_figure(view: View, weighted: WeightedPrecedenceHyperparameters) -> go.Figure:
    """Return how much the items matter, MAX_ITEMS of them at most: the shares of their pairs in `reversals`.

    Each pair counts half for either item, so that the shares of all items sum to 1.
    """
    shares = weighted.reversals.sum(axis=1) / weighted.reversals.sum()
    largest = np.argsort(-shares, kind="stable")[:MAX_ITEMS]
    names = look.plain([view.short_names[item] for item in largest])
    drawn = go.Figure(go.Bar(x=list(range(len(names))), y=shares[largest], marker={"color": look.CHOSEN}))
    drawn.update_traces(text=names, textposition="none", hovertemplate="%{text}: %{y:.1%}<extra></extra>")
    look.styled(drawn, "item", "share", 360)
    drawn.update_xaxes(tickmode="array", tickvals=list(range(len(names))), ticktext=names)
    drawn.update_yaxes(tickformat=".0%", rangemode="tozero")
    return drawn


def plane(vectors: FloatArray) -> FloatArray:
    """Return the coordinates (n_items, 2) of vectors (n_items, n_dimensions) along their two main axes."""
    centred = vectors - vectors.mean(axis=0)
    u, s, _ = np.linalg.svd(centred, full_matrices=False)
    place = np.zeros((len(vectors), 2))
    place[:, : min(2, len(s))] = (u * s)[:, :2]
    return place


def interaction_figure(view: View, found: interactions.Interactions) -> go.Figure:
    """Return how pairs of items and pairs of positions interact, as `interactions` explains."""
    best = view.run.best.permutation
    names, positions = [view.short_names[item] for item in best], [str(k) for k in range(len(best))]
    # F large: the items want to be close. D large: the positions count as far apart, so its colours are turned.
    items = _about_zero(found.items[np.ix_(best, best)], names, "%{y} and %{x}: F = %{z:.3g}", False)
    places = _about_zero(found.places, positions, "positions %{y} and %{x}: D = %{z:.3g}", True)
    titles = ("items: blue want to be close, red far apart", "positions: blue count as close, red as far apart")
    return pair(items, places, titles)


def _about_zero(matrix: FloatArray, labels: Sequence[str], hover: str, turned: bool) -> HeatMap:
    """Return a heat map in colours about 0, its diagonal empty."""
    shown = np.where(np.eye(len(matrix), dtype=bool), np.nan, matrix)
    limit = float(np.nanmax(np.abs(shown))) or 1.0
    colors = {"colorscale": "RdBu", "reversescale": turned, "zmin": -limit, "zmax": limit, "showscale": False}
    return heat_map(shown, labels, labels, hover, **colors)
