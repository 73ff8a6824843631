"""What the best ordering looks like: the network, the tour, the schedule, the flight or the floor."""

import html
from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from law_ray.runs.report import look
from law_ray.runs.report.blocks import Facts, Figure, Picture, Section, Table, Text
from law_ray.runs.report.graph_layout import SURE, Confidence, confidence_of, layout, line_style
from law_ray.runs.report.view import View, number, shortened

PIXELS = 96
"""Of an inch."""
SHOWN_FACTS = 12
"""Parts of the answer that are shown."""
SHOWN_ELSEWHERE = ("edges", "ordering", "edge_confidence", "possible_edges")
NML_IN_WORDS = (
    "The total, in nats, is the negative log-likelihood of the data under the network with its best tables, plus the "
    "regret, which is what NML charges for how much else the network could have fitted. The less, the better."
)


def section(view: View) -> Section | None:
    """Return the section; None if the objective is not at hand, or has nothing to show."""
    if view.objective is None or not view.told:
        return None
    explained = view.objective.explain(view.run.best, view.run.settings.seed, view.run.evaluated)
    drawing = view.drawing
    blocks: list[Any] = []
    title, lead = "The best ordering in detail", "What the objective says of it."
    if "edges" in explained:
        title, lead = "The network", "Parents stand above their children; the edges are those of the best ordering."
        sure = confidence_of(explained)
        if sure:
            lead += (
                f" Dashed: the edge is less than {SURE:.0%} sure. Dotted: it is less probable than not. Hollow "
                "arrowhead: its direction is not sure."
            )
        edges = [tuple(edge) for edge in explained["edges"]]
        blocks.append(Picture("network", network_svg(view.names, edges, sure)))
    elif drawing.get("kind") == "tour":
        title, lead = "The tour", "The cities in the plane by their distances, and the best tour among them."
        blocks.append(Figure("fig-tour", tour_figure(view, drawing)))
    elif drawing.get("kind") == "schedule":
        title, lead = "The schedule", "Each bar is a job on a machine; the last one ends at the makespan."
        blocks.append(Figure("fig-schedule", schedule_figure(view, drawing)))
    elif drawing.get("kind") == "orbits":
        title = "The flight"
        lead = "The bodies' orbits, seen from the ecliptic's north, and the best order's transfers between them, in AU."
        blocks.append(Figure("fig-orbits", orbits_figure(view, drawing)))
    elif drawing.get("kind") == "floor":
        title, lead = "The floor", "What lies where in the best ordering, from above."
        blocks.append(Figure("fig-floor", floor_figure(view, drawing)))
    facts = [(key.replace("_", " "), _said(value)) for key, value in explained.items() if key not in SHOWN_ELSEWHERE]
    if facts:
        blocks.append(Facts(facts[:SHOWN_FACTS]))
    if "regret" in explained:
        blocks.append(Text(NML_IN_WORDS))
    if "edges" in explained:
        blocks += edge_tables(explained, sure)
    return Section("picture", title, lead, blocks) if blocks else None


def edge_tables(explained: Mapping[str, Any], sure: Confidence) -> list[Any]:
    """Return the edges of a network as a table, and the pairs that it could join but does not."""
    columns = ["parent", "child", *(["confidence", "confidence of the direction"] if sure else [])]
    rows: list[list[Any]] = []
    for parent, child in explained["edges"]:
        numbers = [f"{number:.2f}" for number in sure.get((str(parent), str(child)), ())]
        rows.append([shortened(parent), shortened(child), *numbers])
    blocks: list[Any] = [Table("tab-edges", columns, rows) if rows else Text("The network has no edges.")]
    if possible := explained.get("possible_edges"):
        pairs = [[shortened(each["one"]), shortened(each["other"]), f"{each['confidence']:.2f}"] for each in possible]
        blocks.append(Text("Edges that it lacks, and that are not ruled out:"))
        blocks.append(Table("tab-possible-edges", ["one", "other", "confidence"], pairs))
    return blocks


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key.replace('_', ' ')} {_said(each)}" for key, each in value.items())
    if isinstance(value, list):
        return ", ".join(map(_said, value))
    return number(value, 8) if isinstance(value, float) else str(value)


def network_svg(names: tuple[str, ...], edges: list[tuple[Any, ...]], sure: Confidence | None = None) -> str:
    """Return a drawing of a directed acyclic graph as SVG, whose colours are those of the page."""
    sure = sure or {}
    drawn = layout(list(names), [(str(parent), str(child)) for parent, child in edges])
    width, height = (PIXELS * (side + 0.2) for side in (drawn.width, drawn.height))
    parts = [
        f'<svg viewBox="{-0.1 * PIXELS:.0f} {-0.1 * PIXELS:.0f} {width:.0f} {height:.0f}" width="{width:.0f}" '
        f'height="{height:.0f}" role="img" aria-label="network">',
        f"<defs>{_arrow_head('head')}{_arrow_head('hollow')}</defs>",
    ]
    for ends, points in drawn.edges.items():
        edge, direction = sure.get(ends, (1.0, 1.0))
        head = "head" if direction >= SURE else "hollow"
        first, *others = (points * PIXELS).tolist()
        curve = " ".join(f"{x:.1f},{y:.1f}" for x, y in others)
        start = f"M{first[0]:.1f},{first[1]:.1f}"
        parts.append(f'<path class="edge {line_style(edge)}" marker-end="url(#{head})" d="{start} C{curve}"/>')
    for name, box in drawn.boxes.items():
        x, y, w, h = (PIXELS * side for side in (box.x, box.y, box.width, box.height))
        parts.append(
            f'<g class="node"><title>{html.escape(name)}</title>'
            f'<rect x="{x - w / 2:.1f}" y="{y - h / 2:.1f}" width="{w:.1f}" height="{h:.1f}" rx="5"/>'
            f'<text x="{x:.1f}" y="{y:.1f}">{html.escape(box.label)}</text></g>'
        )
    return "".join([*parts, "</svg>"])


def _arrow_head(name: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">'
        f'<path class="arrow-{name}" d="M0,1 L10,5 L0,9 z"/></marker>'
    )


def tour_figure(view: View, drawing: dict[str, Any]) -> go.Figure:
    """Return the best tour through the places (n_items, 2), beside the best of the initial design."""
    places = np.asarray(drawing["places"])
    drawn = go.Figure()
    initial = [k for k in view.ranking if view.told[k].round <= 0]
    tours = [("best of the initial design", look.INITIAL, "dot", view.told[initial[0]])] if initial else []
    tours.append(("best tour", look.BEST, "solid", view.run.best))
    for name, color, dash, trial in tours:
        loop = np.append(trial.permutation, trial.permutation[0])
        drawn.add_scatter(
            x=places[loop, 0],
            y=places[loop, 1],
            mode="lines",
            line={"color": color, "dash": dash, "width": 2 if dash == "solid" else 1},
            name=f"{name}: {number(trial.value)}",
            hoverinfo="skip",
        )
    drawn.add_scatter(
        x=places[:, 0],
        y=places[:, 1],
        mode="markers+text" if len(places) <= 60 else "markers",
        text=look.plain(view.short_names),
        textposition="top center",
        textfont={"size": 10},
        marker={"color": look.CHOSEN, "size": 8},
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
    )
    look.styled(drawn, "", "", 560)
    drawn.update_yaxes(scaleanchor="x", showticklabels=False)
    drawn.update_xaxes(showticklabels=False)
    return drawn


def schedule_figure(view: View, drawing: dict[str, Any]) -> go.Figure:
    """Return a Gantt chart of bars with `job`, `machine`, `begin` and `end`."""
    bars = drawing["bars"]
    names = view.short_names
    drawn = go.Figure()
    for k, job in enumerate(view.run.best.permutation.tolist()):
        own = [bar for bar in bars if bar["job"] == job and bar["end"] > bar["begin"]]
        drawn.add_bar(
            x=[bar["end"] - bar["begin"] for bar in own],
            base=[bar["begin"] for bar in own],
            y=[f"machine {bar['machine']}" for bar in own],
            orientation="h",
            marker={"color": look.SERIES[k % len(look.SERIES)], "line": {"width": 0}},
            text=look.plain([names[job]] * len(own))[:1] * len(own),
            textposition="inside",
            insidetextanchor="middle",
            hovertemplate=[
                f"{look.plain([names[job]])[0]}: {number(bar['begin'])} to {number(bar['end'])}" for bar in own
            ],
            name=names[job],
            showlegend=False,
        )
    height = int(np.clip(34 * (1 + max(bar["machine"] for bar in bars)) + 110, 260, 800))
    look.styled(drawn, "time", "", height, barmode="overlay", bargap=0.15)
    drawn.update_yaxes(autorange="reversed", type="category")
    return drawn


def orbits_figure(view: View, drawing: dict[str, Any]) -> go.Figure:
    """Return the `orbits` of the bodies, first that of the start, and the `transfers` in the order of flight."""
    drawn = go.Figure()
    start, *others = drawing["orbits"]
    points = [point for orbit in others for point in (*orbit, [None, None])]  # None: a gap
    for name, orbit, color in (("orbits", points, look.INITIAL), ("start", start, look.CHOSEN)):
        x, y = zip(*orbit, strict=True)
        drawn.add_scatter(x=x, y=y, mode="lines", line={"color": color, "width": 1}, name=name, hoverinfo="skip")
    transfers = [point for transfer in drawing["transfers"] for point in (*transfer, [None, None])]
    x, y = zip(*transfers, strict=True)
    drawn.add_scatter(x=x, y=y, mode="lines", line={"color": look.BEST, "width": 2}, name="transfers", hoverinfo="skip")
    x, y = zip(*(transfer[-1] for transfer in drawing["transfers"]), strict=True)
    names = [view.short_names[item] for item in view.run.best.permutation]
    drawn.add_scatter(
        x=x,
        y=y,
        mode="markers+text",
        text=[str(visit + 1) for visit in range(len(names))],
        textposition="top center",
        marker={"color": look.BEST, "size": 7},
        hovertext=look.plain([f"visit {visit + 1}: {name}" for visit, name in enumerate(names)]),
        hovertemplate="%{hovertext}<extra></extra>",
        name="visits, in their order",
    )
    drawn.add_scatter(
        x=[0.0], y=[0.0], mode="markers", marker={"color": look.AGAIN, "size": 12}, name="Sun", hoverinfo="skip"
    )
    look.styled(drawn, "AU", "AU", 640)
    drawn.update_yaxes(scaleanchor="x")
    return drawn


def floor_figure(view: View, drawing: dict[str, Any]) -> go.Figure:
    """Return the `places` (n_items, 2) of the positions, each with its item, coloured by the items' `weights`."""
    x, y = zip(*drawing["places"], strict=True)
    items = view.run.best.permutation.tolist()
    weights = [drawing["weights"][item] for item in items]
    names = look.plain([view.short_names[item] for item in items])
    drawn = go.Figure()
    drawn.add_scatter(
        x=x,
        y=y,
        mode="markers+text",
        text=names,
        marker={
            "symbol": "square",
            "size": 34,
            "color": weights,
            "colorscale": [[0.0, "#eef4fb"], [1.0, "#f2a25c"]],  # dark names are legible on both
            "showscale": True,
            "colorbar": {"title": {"text": drawing["what"], "side": "right"}},
        },
        textfont={"size": 10, "color": "#1f2937"},
        hovertext=[f"{name}: {number(weight, 3)}" for name, weight in zip(names, weights, strict=True)],
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )
    look.styled(drawn, "", "", 480)
    drawn.update_yaxes(scaleanchor="x")
    return drawn
