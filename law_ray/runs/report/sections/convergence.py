"""Convergence: all values in the order of the evaluations, and the best so far."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from law_ray.runs.reevaluation import score
from law_ray.runs.report import look
from law_ray.runs.report.blocks import Figure, Section, Text
from law_ray.runs.report.view import View, number
from law_ray.trial import INITIAL, Trial
from law_ray.typing import Int32Array

States = dict[str, tuple[Callable[[Trial], bool], str, str]]


def section(view: View) -> Section:
    """Return the section."""
    lead = "Each point is an evaluation; the line is the best value so far. Point at one to see its ordering."
    if not view.told:
        return Section("convergence", "Convergence", lead, [Text("No evaluation has a value yet.")])
    return Section("convergence", "Convergence", lead, [Figure("fig-convergence", figure(view), per_item=True)])


def figure(view: View) -> go.Figure:
    """Return the values by state, with their standard errors, beside the best so far.

    The trials that were evaluated again also have the mean of their repeats. Where values are noisy, the best so far is
    too good, and a band shows the winner's value after the repeats.
    """
    run = view.run
    drawn = go.Figure()
    states: States = {
        "given at the start": (view.is_given, look.GIVEN, "diamond"),
        "initial design": (lambda trial: trial.round <= INITIAL and not view.is_given(trial), look.INITIAL, "circle"),
        "chosen by the method": (lambda trial: trial.round > INITIAL, look.CHOSEN, "circle"),
    }
    for name, (belongs, color, symbol) in states.items():
        trials = [trial for trial in view.told if belongs(trial)]
        if trials:
            marker: dict[str, Any] = {"color": color, "size": 7 if symbol == "diamond" else 5, "symbol": symbol}
            errors = [trial.standard_error for trial in trials]
            _points(drawn, name, trials, [trial.value for trial in trials], errors, marker)
    repeated = [trial for trial in view.told if trial.id in run.repeats]
    scores = [score(trial, run.repeats[trial.id]) for trial in repeated]
    if repeated:
        values, errors = ([each[k] for each in scores] for k in range(2))
        marker = {"color": look.AGAIN, "size": 9, "symbol": "square-open", "line": {"width": 2}}
        _points(drawn, "evaluated again: mean", repeated, values, errors, marker)
    if view.failed:
        worst = float(np.max(view.sign * view.values) * view.sign)
        marker = {"color": look.FAILED, "size": 8, "symbol": "x-thin", "line": {"width": 2, "color": look.FAILED}}
        drawn.add_scatter(
            x=_numbers(view.failed),
            y=np.full(len(view.failed), worst),
            customdata=_ids(view.failed),
            hovertemplate="trial %{customdata}: failed<extra></extra>",
            mode="markers",
            marker=marker,
            name="failed",
        )
    best = (np.maximum if run.settings.maximize else np.minimum).accumulate(view.values)
    changes = np.flatnonzero(np.diff(best, prepend=np.nan) != 0)
    changes = np.append(changes, len(best) - 1)
    drawn.add_scatter(
        x=_numbers(view.told)[changes],
        y=best[changes],
        mode="lines",
        line={"shape": "hv", "color": look.BEST, "width": 2},
        name="best so far" if run.winner is None else "best so far (too good: values are noisy)",
        hoverinfo="skip",
    )
    _reference_lines(view, drawn)
    return look.styled(drawn, "evaluations", view.unit, 420, hovermode="closest")


def _ids(trials: Sequence[Trial]) -> Int32Array:
    return np.array([trial.id for trial in trials], dtype=np.int32)


def _numbers(trials: Sequence[Trial]) -> Int32Array:
    """Return the numbers of evaluations, from 1."""
    return _ids(trials) + 1


def _points(
    drawn: go.Figure,
    name: str,
    trials: Sequence[Trial],
    values: Sequence[float],
    errors: Sequence[float],
    marker: dict[str, Any],
) -> None:
    bars = {"type": "data", "array": np.array(errors), "thickness": 1, "width": 0} if any(errors) else None
    with_errors = [f" ± {number(error, 3)}" if error else "" for error in errors]
    drawn.add_scatter(
        x=_numbers(trials),
        y=np.array(values),
        customdata=_ids(trials),
        text=[f"{error}, round {trial.round}" for trial, error in zip(trials, with_errors, strict=True)],
        hovertemplate="trial %{customdata}: %{y:.6g}%{text}<extra></extra>",
        error_y=bars,
        mode="markers",
        marker=marker,
        name=name,
    )


def _reference_lines(view: View, drawn: go.Figure) -> None:
    """Draw the best of the orderings given at the start, and the winner after the repeats, as lines."""
    given = [trial.value for trial in view.told if view.is_given(trial)]
    ends = [1, view.told[-1].id + 1]
    if given:
        best = (max if view.run.settings.maximize else min)(given)
        line = {"dash": "dot", "color": look.GIVEN, "width": 1.5}
        name = f"best given at the start: {number(best)}"
        drawn.add_scatter(x=ends, y=[best, best], mode="lines", line=line, name=name, hoverinfo="skip")
    winner = view.run.winner
    if winner is not None:
        line = {"dash": "dash", "color": look.AGAIN, "width": 1.5}
        name = f"the winner: {number(winner.value)} ± {number(winner.standard_error, 2)}"
        drawn.add_scatter(x=ends, y=2 * [winner.value], mode="lines", line=line, name=name, hoverinfo="skip")
        low, high = winner.value - winner.standard_error, winner.value + winner.standard_error
        drawn.add_hrect(y0=low, y1=high, fillcolor=look.AGAIN, opacity=0.18, line_width=0)
