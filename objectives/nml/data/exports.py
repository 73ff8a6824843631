"""A network and how sure its edges are, for other programs: CSV, Graphviz's DOT and networkx.

`probabilities` are those of all directed edges (`objectives.nml.search.confidence`), (p, p), [parent, child].
"""

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from law_ray.typing import BoolArray, FloatArray
from law_ray.utils.spreadsheets import as_cell, from_cell

if TYPE_CHECKING:
    import networkx as nx

SURE, PROBABLE = 0.95, 0.5
"""Probabilities from which an edge or its direction is drawn as settled, and an edge as more probable than not."""
POSSIBLE = 0.1
"""A probability from which an edge that the network lacks is reported (convention)."""


class Edge(NamedTuple):
    """An edge of a network."""

    parent: str
    child: str
    confidence: float
    """the probability that the two are adjacent"""
    direction: float
    """the probability that the edge points from parent to child, if they are adjacent; 0.5 if data cannot tell"""


class PossibleEdge(NamedTuple):
    """Two variables that the network does not join."""

    one: str
    other: str
    confidence: float
    """the probability that they are adjacent"""


def edges(names: Sequence[str], dag: BoolArray, probabilities: FloatArray) -> list[Edge]:
    """Return the edges of a network by parent and child."""

    def found() -> Iterator[Edge]:
        for a, b in np.argwhere(dag).tolist():
            forth, back = float(probabilities[a, b]), float(probabilities[b, a])
            adjacent = min(forth + back, 1.0)
            yield Edge(names[a], names[b], adjacent, forth / adjacent if adjacent > 0 else 0.5)

    return list(found())


def possible_edges(names: Sequence[str], dag: BoolArray, probabilities: FloatArray) -> list[PossibleEdge]:
    """Return the pairs that the network does not join, though their edge is at least POSSIBLE; most probable first."""
    adjacent = np.triu(np.where(dag | dag.T, 0.0, probabilities + probabilities.T))
    pairs = sorted(np.argwhere(adjacent >= POSSIBLE).tolist(), key=lambda pair: -adjacent[tuple(pair)])
    return [PossibleEdge(names[a], names[b], float(adjacent[a, b])) for a, b in pairs]


def write_csv(path: Path, found: Sequence[Edge]) -> None:
    """Write the edges with the columns parent, child, confidence and direction; names as `as_cell` writes them."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(Edge._fields)
        for edge in found:
            writer.writerow(
                [as_cell(edge.parent), as_cell(edge.child), f"{edge.confidence:.4g}", f"{edge.direction:.4g}"]
            )


def read_csv(path: str | Path) -> list[tuple[str, str]]:
    """Return the (parent, child) names of a file that `write_csv` wrote; further columns do not matter."""
    with Path(path).open(newline="", encoding="utf-8") as file:
        return [(from_cell(row["parent"]), from_cell(row["child"])) for row in csv.DictReader(file)]


def to_networkx(names: Sequence[str], found: Sequence[Edge]) -> "nx.DiGraph[str]":
    """Return a graph of all the names, whose edges have the attributes confidence and direction."""
    import networkx as nx

    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(names)
    for edge in found:
        graph.add_edge(edge.parent, edge.child, confidence=edge.confidence, direction=edge.direction)
    return graph


def dot(names: Sequence[str], found: Sequence[Edge]) -> str:
    """Return the network in Graphviz's language.

    An edge that is not `SURE` is dashed, or dotted if it is not `PROBABLE`, and has its confidence beside it; where the
    direction is not sure, the head of the arrow is hollow.
    """
    lines = ["digraph {", "  node [shape=box]"]
    lines += [f"  {_quoted(name)}" for name in names]
    for edge in found:
        looks = [f"confidence={edge.confidence:.4g}", f"direction={edge.direction:.4g}"]
        if edge.confidence < SURE:
            style = "dashed" if edge.confidence >= PROBABLE else "dotted"
            looks += [f"style={style}", f'label="{edge.confidence:.0%}"']
        if edge.direction < SURE:
            looks.append("arrowhead=empty")
        lines.append(f"  {_quoted(edge.parent)} -> {_quoted(edge.child)} [{', '.join(looks)}]")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(name: str) -> str:
    """The name as a string of DOT, in which a backslash would begin an escape."""
    escaped = re.sub(r'(["\\])', r"\\\1", name)
    return f'"{escaped}"'
