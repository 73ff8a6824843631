import csv
import shutil
import subprocess
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from objectives.nml.data.exports import Edge, dot, edges, possible_edges, read_csv, to_networkx, write_csv
from tests.oracles.graphs import dag_of

NAMES = ("=HYPERLINK(1)", "-b", "'=c", 'say "d"\\', "plain, e")
DAG = dag_of(5, (0, 1), (1, 2), (3, 2))
PROBABILITIES = np.zeros((5, 5))
PROBABILITIES[0, 1], PROBABILITIES[1, 0] = 0.6, 0.2
PROBABILITIES[1, 2] = PROBABILITIES[3, 2] = 1.0
PROBABILITIES[4, 0], PROBABILITIES[0, 4], PROBABILITIES[3, 4], PROBABILITIES[1, 4] = 0.2, 0.3, 0.1, 0.09
EDGES = edges(NAMES, DAG, PROBABILITIES)


def test_an_edge_has_the_probability_of_both_directions_and_the_share_of_its_own() -> None:
    assert EDGES[0] == Edge(NAMES[0], NAMES[1], pytest.approx(0.8), pytest.approx(0.75))
    assert [edge[2:] for edge in EDGES[1:]] == [(1.0, 1.0)] * 2
    possible = possible_edges(NAMES, DAG, PROBABILITIES)
    assert [(each.one, each.other) for each in possible] == [(NAMES[0], NAMES[4]), (NAMES[3], NAMES[4])]
    assert [each.confidence for each in possible] == pytest.approx([0.5, 0.1])


def test_no_name_in_the_csv_is_a_formula_and_reading_gives_the_names_back(tmp_path: Path) -> None:
    write_csv(tmp_path / "e.csv", EDGES)
    assert read_csv(tmp_path / "e.csv") == [(edge.parent, edge.child) for edge in EDGES]
    with (tmp_path / "e.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["parent", "child", "confidence", "direction"]
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "-", "+", "@"))]


def test_a_graph_has_all_the_names_and_how_sure_each_edge_is() -> None:
    graph = to_networkx(NAMES, EDGES)
    assert list(graph) == list(NAMES)
    assert {(a, b) for a, b in graph.edges} == {(edge.parent, edge.child) for edge in EDGES}
    assert graph.edges[NAMES[0], NAMES[1]] == pytest.approx({"confidence": 0.8, "direction": 0.75})
    assert nx.is_directed_acyclic_graph(graph)


def test_dot_marks_what_is_not_sure_and_quotes_every_name() -> None:
    lines = dot(NAMES, EDGES).splitlines()
    open_edge = next(line for line in lines if '"=HYPERLINK(1)" -> "-b"' in line)
    assert "style=dashed" in open_edge and 'label="80%"' in open_edge and "arrowhead=empty" in open_edge
    (improbable,) = dot(NAMES, [EDGES[0]._replace(confidence=0.49)]).splitlines()[-2:-1]
    assert "style=dotted" in improbable and 'label="49%"' in improbable
    sure = next(line for line in lines if '"-b" -> ' in line)
    assert "style" not in sure and "arrowhead" not in sure
    assert '  "say \\"d\\"\\\\"' in lines


@pytest.mark.skipif(shutil.which("dot") is None, reason="needs Graphviz")
def test_graphviz_reads_it_back() -> None:
    done = subprocess.run(["dot", "-Tplain"], input=dot(NAMES, EDGES), capture_output=True, text=True, check=True)
    assert sum(line.startswith("edge ") for line in done.stdout.splitlines()) == len(EDGES)
