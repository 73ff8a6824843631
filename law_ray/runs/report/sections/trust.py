"""Can the model be trusted: what was predicted before each batch, beside the values that came."""

from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from scipy.special import ndtri

from law_ray.runs.report import look, models
from law_ray.runs.report.blocks import Figure, Section, Text
from law_ray.runs.report.view import View, number
from law_ray.typing import FloatArray, IntArray

MAX_WORK = 4e9
"""Of the predictions of all rounds that are computed, about, in floating-point operations: some seconds."""
WINDOW = 30
"""Values of which a rank correlation and a coverage are computed (heuristic)."""
LEVELS = (0.5, 0.9)
"""Of the intervals whose coverage is shown."""


class Foresight(NamedTuple):
    """Values beside what was predicted of them before they were known, in the order of the evaluations."""

    trials: IntArray
    """(m,) ids"""
    rounds: IntArray
    """(m,)"""
    observed: FloatArray
    """(m,)"""
    mean: FloatArray
    """(m,) predicted by the Gaussian process"""
    deviation: FloatArray
    """(m,) of the observed values from that prediction, with the noise and their standard errors"""
    best: FloatArray
    """(m,) predicted by the model that chose points"""


def section(view: View) -> Section:
    """Return the section."""
    lead = (
        "Before each batch the model predicts its values. Points near the line, a high rank correlation, and shares of "
        "values within the intervals near 50 % and 90 % mean that the model can be trusted."
    )
    title = "Can the model be trusted?"
    if not models.predictable(view):
        why = "The predictions of a run with a prior mean need its objective, which was given in Python."
        return Section("trust", title, lead, [Text(why)])
    found = foresight(view)
    if len(found.trials) < 2:
        return Section("trust", title, lead, [Text("No values came after a prediction yet.")])
    blocks: list[object] = [
        Text(_summary(found)),
        Figure("fig-predictions", prediction_figure(view, found), per_item=True),
    ]
    if len(found.trials) > WINDOW:
        blocks.append(Figure("fig-trust", trust_figure(found)))
    return Section("trust", title, lead, blocks)


def foresight(view: View) -> Foresight:
    """Return predictions and values, of all rounds or of some evenly spread ones: as many as MAX_WORK allows.

    The predictions are recomputed from the hyperparameters in the journal, given the values known at the time.
    """
    counts, order = models.known_at(view), models.told_order(view)
    row = {trial.id: k for k, trial in enumerate(view.told)}
    rounds = [(k, ask) for k, ask in enumerate(view.asks) if ask["model"] is not None and counts[k] > 1]
    work = sum(min(counts[k], models.MAX_VALUES) ** 2 * (counts[k] / 3 + 40.0 * len(view.names)) for k, _ in rounds)
    parts: list[tuple[FloatArray, ...]] = []
    for k, ask in models.spread(rounds, max(4, int(len(rounds) * MAX_WORK / max(work, 1.0)))):
        rows = np.array([row[trial["id"]] for trial in ask["trials"] if trial["id"] in row], dtype=np.int64)
        model = models.of(view, ask)
        if len(rows) and model is not None:
            predicted = models.Belief(view, model, order[: counts[k]]).predict(view.permutations[rows])
            ids = np.array([view.told[r].id for r in rows])
            numbers = np.full(len(rows), ask["round"])
            deviation = np.hypot(predicted.deviation, view.standard_errors[rows])
            parts.append((ids, numbers, view.values[rows], predicted.mean, deviation, predicted.best))
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] if parts else [np.zeros(0)] * 6
    return Foresight(columns[0].astype(int), columns[1].astype(int), *columns[2:])


def prediction_figure(view: View, found: Foresight) -> go.Figure:
    """Return the observed values against the predicted ones, coloured by round."""
    drawn = go.Figure()
    low, high = min(found.best.min(), found.observed.min()), max(found.best.max(), found.observed.max())
    drawn.add_scatter(
        x=[low, high],
        y=[low, high],
        mode="lines",
        line={"color": look.TEXT, "dash": "dot", "width": 1},
        name="as predicted",
        hoverinfo="skip",
    )
    pairs = zip(found.trials, found.best, found.observed, strict=True)
    drawn.add_scatter(
        x=found.best,
        y=found.observed,
        customdata=found.trials,
        text=[f"trial {i}: predicted {number(p, 5)}, observed {number(o, 5)}" for i, p, o in pairs],
        hovertemplate="%{text}<extra></extra>",
        mode="markers",
        marker={
            "color": found.rounds,
            "colorscale": "Viridis",
            "size": 6,
            "opacity": 0.8,
            "colorbar": {"title": {"text": "round", "side": "right"}, "thickness": 12},
        },
        name="evaluations",
    )
    return look.styled(drawn, "predicted before", f"observed: {view.unit}", 440, hovermode="closest")


def trust_figure(found: Foresight) -> go.Figure:
    """Return rank correlation and coverage in windows of WINDOW values."""
    ends = models.spread(range(WINDOW, len(found.trials) + 1), 120)
    windows = [slice(end - WINDOW, end) for end in ends]
    drawn = go.Figure()
    x = [int(found.trials[end - 1]) + 1 for end in ends]
    curves = {
        "rank correlation": [rank_correlation(found.best[w], found.observed[w]) for w in windows],
        **{f"within {level:.0%} interval": [coverage(found, w, level) for w in windows] for level in LEVELS},
    }
    for (name, values), color in zip(curves.items(), look.SERIES, strict=False):
        drawn.add_scatter(x=x, y=values, mode="lines", line={"color": color}, name=name)
    for level, color in zip(LEVELS, look.SERIES[1:], strict=False):
        drawn.add_hline(y=level, line={"color": color, "dash": "dot", "width": 1})
    return look.styled(drawn, f"evaluations (each point: the {WINDOW} before)", "", 320, hovermode="x unified")


def rank_correlation(a: FloatArray, b: FloatArray) -> float:
    """Return Spearman's rank correlation; 0 where one of both is constant."""
    from scipy.stats import rankdata

    ranks = [rankdata(values) - (len(values) + 1) / 2 for values in (a, b)]
    norm = float(np.linalg.norm(ranks[0]) * np.linalg.norm(ranks[1]))
    return float(ranks[0] @ ranks[1]) / norm if norm > 0 else 0.0


def coverage(found: Foresight, window: slice, level: float) -> float:
    """Return the share of observed values within the central interval of the Gaussian process at a level."""
    half = float(ndtri(0.5 + level / 2))
    errors = np.abs(found.observed[window] - found.mean[window])
    return float(np.mean(errors <= half * found.deviation[window]))


def _summary(found: Foresight) -> str:
    last = slice(-min(len(found.trials), 2 * WINDOW), None)
    shares = " and ".join(f"{coverage(found, last, level):.0%} within its {level:.0%} interval" for level in LEVELS)
    correlation = rank_correlation(found.best[last], found.observed[last])
    return (
        f"For the last {len(found.trials[last])} predictions, the rank correlation with the observed values is "
        f"{correlation:.2f}. Of these values, the Gaussian process had {shares}. Batches hold points that the model "
        "expects to be good or knows little about, so the correlation is lower than over random orderings."
    )
