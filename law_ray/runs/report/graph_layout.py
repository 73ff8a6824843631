"""Where the nodes and edges of a directed acyclic graph are drawn: parents above children, edges around other nodes.

Graphviz does it where its program `dot` is installed; else a plain version of the same method (Sugiyama, Tagawa and
Toda, IEEE Trans. Systems, Man and Cybernetics 11, 1981): layers by depth, a waypoint in each layer that an edge passes,
and layers ordered by the mean place of the neighbours. Nodes without edges stand in rows below.
"""

import itertools
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import networkx as nx
import numpy as np

from law_ray.runs.report.view import shortened
from law_ray.typing import FloatArray

LABEL = 30
"""Characters of a node's label."""
CHARACTER, MARGIN, NODE_HEIGHT = 0.085, 0.3, 0.36
"""Inches: the width of a character at 10 points, what a box is wider than its label, and its height."""
GAP, LAYER = 0.25, 0.85
"""Inches between boxes of a layer, and between the middles of layers."""
SWEEPS = 24
"""Over the layers, each ordered by its neighbours (heuristic)."""
SECONDS = 30
"""That Graphviz is given."""
SURE, PROBABLE = 0.95, 0.5
"""An edge of a smaller confidence than the first is dashed, and dotted if it is improbable; the head of one whose
direction has a smaller confidence is hollow."""

Confidence = Mapping[tuple[str, str], tuple[float, float]]
"""By (parent, child): the confidence of an edge and of its direction."""


def line_style(confidence: float) -> str:
    """Return how an edge of this confidence is drawn: solid, dashed or dotted."""
    return "solid" if confidence >= SURE else "dashed" if confidence >= PROBABLE else "dotted"


def confidence_of(explained: Mapping[str, Any]) -> Confidence:
    """Return the confidence that an objective states in `edge_confidence`; empty if it states none."""
    return {
        (str(edge["parent"]), str(edge["child"])): (edge["confidence"], edge["direction"])
        for edge in explained.get("edge_confidence", ())
    }


class Box(NamedTuple):
    """A node: its middle and size in inches, y downwards, and its label."""

    x: float
    y: float
    width: float
    height: float
    label: str


class Layout(NamedTuple):
    """A drawing, in inches, y downwards."""

    width: float
    height: float
    boxes: dict[str, Box]
    edges: dict[tuple[str, str], FloatArray]
    """(3 m + 1, 2) control points of m cubic Bezier curves, from the parent's box to the child's"""


def layout(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> Layout:
    """Return the layout of a graph. Raises ValueError if it has a cycle."""
    graph = nx.DiGraph()
    graph.add_nodes_from(name for name in names if any(name in edge for edge in edges))
    graph.add_edges_from(edges)
    if not nx.is_directed_acyclic_graph(graph):
        raise ValueError("the graph has a cycle")
    drawn = Layout(0.0, 0.0, {}, {})
    if graph:
        drawn = (_by_graphviz(graph) if shutil.which("dot") else None) or _by_layers(graph)
    return _with_isolated(drawn, [name for name in names if name not in graph])


def _width(name: str) -> float:
    return CHARACTER * len(shortened(name, LABEL)) + MARGIN


def _by_graphviz(graph: "nx.DiGraph[str]") -> Layout | None:
    """Return Graphviz's layout; None if it fails."""
    ids = {name: f"n{k}" for k, name in enumerate(graph)}
    lines = [f'{ids[name]} [width={_width(name):.3f}, label=""]' for name in graph]
    lines += [f"{ids[parent]} -> {ids[child]}" for parent, child in graph.edges]
    looks = f"node [shape=box, height={NODE_HEIGHT}, fixedsize=true]; edge [arrowhead=none]"
    source = f"digraph {{ {looks}; {'; '.join(lines)} }}"
    try:
        done = subprocess.run(
            ["dot", "-Tplain"], input=source, capture_output=True, text=True, timeout=SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return None
    names = {number: name for name, number in ids.items()}
    width = height = 0.0
    boxes: dict[str, Box] = {}
    curves: dict[tuple[str, str], FloatArray] = {}
    for line in done.stdout.splitlines():
        what, *rest = line.split()
        if what == "graph":
            width, height = float(rest[1]), float(rest[2])
        elif what == "node":
            x, y, w, h = map(float, rest[1:5])
            boxes[names[rest[0]]] = Box(x, height - y, w, h, shortened(names[rest[0]], LABEL))
        elif what == "edge":
            points = np.array(list(map(float, rest[3 : 3 + 2 * int(rest[2])]))).reshape(-1, 2)
            curves[names[rest[0]], names[rest[1]]] = np.column_stack([points[:, 0], height - points[:, 1]])
    return Layout(width, height, boxes, curves)


def _by_layers(graph: "nx.DiGraph[str]") -> Layout:
    """Return a layout by layers, with waypoints for edges that pass several."""
    depth = {name: k for k, layer in enumerate(nx.topological_generations(graph)) for name in layer}
    layers: list[list[object]] = [[] for _ in range(max(depth.values()) + 1)]
    for name in graph:
        layers[depth[name]].append(name)
    routes: dict[tuple[str, str], list[object]] = {}
    near: dict[object, list[object]] = {node: [] for node in graph}
    for edge in graph.edges:
        parent, child = edge
        waypoints: list[object] = [(edge, k) for k in range(depth[parent] + 1, depth[child])]
        for waypoint, k in zip(waypoints, range(depth[parent] + 1, depth[child]), strict=True):
            layers[k].append(waypoint)
            near[waypoint] = []
        routes[edge] = [parent, *waypoints, child]
        for a, b in zip(routes[edge], routes[edge][1:], strict=False):
            near[a].append(b)
            near[b].append(a)
    x = _ordered(layers, near)
    shift = min(x[node] - _half(node) for layer in layers for node in layer)
    width = max(x[node] + _half(node) for layer in layers for node in layer) - shift
    y = {node: k * LAYER + NODE_HEIGHT / 2 for k, layer in enumerate(layers) for node in layer}
    boxes = {name: Box(x[name] - shift, y[name], _width(name), NODE_HEIGHT, shortened(name, LABEL)) for name in graph}
    curves = {edge: _curve([(x[node] - shift, y[node]) for node in route]) for edge, route in routes.items()}
    return Layout(width, (len(layers) - 1) * LAYER + NODE_HEIGHT, boxes, curves)


def _half(node: object) -> float:
    """Return half the width of a node, or of a waypoint."""
    return _width(node) / 2 if isinstance(node, str) else 0.05


def _ordered(layers: list[list[object]], near: Mapping[object, list[object]]) -> dict[object, float]:
    """Order each layer by the mean place of the neighbours, again and again; return the places of the nodes."""
    x: dict[object, float] = {}
    for layer in layers:
        _place(layer, {node: float(k) for k, node in enumerate(layer)}, x)
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 else reversed(layers):
            wanted = {node: float(np.mean([x[other] for other in near[node]])) for node in layer}
            layer.sort(key=wanted.__getitem__)
            _place(layer, wanted, x)
    return x


def _place(layer: list[object], wanted: Mapping[object, float], x: dict[object, float]) -> None:
    """Place the nodes of a layer near where they want to be, from left to right, without overlap; then centre them."""
    edge = -np.inf
    for node in layer:
        x[node] = max(wanted[node], edge + _half(node))
        edge = x[node] + _half(node) + GAP
    shift = float(np.mean([wanted[node] - x[node] for node in layer]))
    for node in layer:
        x[node] += shift


def _curve(places: list[tuple[float, float]]) -> FloatArray:
    """Return Bezier curves through places, upright at each of them, from below the first box to above the last."""
    path = np.array(places)
    path[0, 1] += NODE_HEIGHT / 2
    path[-1, 1] -= NODE_HEIGHT / 2
    points = [path[0]]
    for a, b in itertools.pairwise(path):
        reach = np.array([0.0, (b[1] - a[1]) / 2])
        points += [a + reach, b - reach, b]
    return np.array(points)


def _with_isolated(drawn: Layout, isolated: Sequence[str]) -> Layout:
    """Add nodes without edges in rows below the others."""
    boxes = dict(drawn.boxes)
    widest = max(drawn.width, 7.0, *(_width(name) for name in isolated)) if isolated else drawn.width
    x, y, right = 0.0, drawn.height + (0.6 if boxes else 0.0), drawn.width
    for name in isolated:
        width = _width(name)
        if x > 0 and x + width > widest:
            x, y = 0.0, y + NODE_HEIGHT + GAP
        boxes[name] = Box(x + width / 2, y + NODE_HEIGHT / 2, width, NODE_HEIGHT, shortened(name, LABEL))
        right = max(right, x + width)
        x += width + GAP
    height = y + NODE_HEIGHT if isolated else drawn.height
    return Layout(right, height, boxes, drawn.edges)
