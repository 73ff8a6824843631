import itertools
import shutil

import numpy as np
import pytest
from matplotlib.image import imread

from law_ray.runs.report import graph_layout
from law_ray.runs.report.graph_layout import layout
from law_ray.runs.report.prints import MAX_PIXELS, draw_dag

NAMES = [f"variable {k}" for k in range(12)]
EDGES = [
    (NAMES[a], NAMES[b]) for a, b in [(0, 1), (0, 2), (1, 3), (2, 3), (0, 3), (3, 4), (0, 4), (5, 4), (1, 6), (0, 6)]
]


@pytest.fixture(params=["graphviz", "layers"])
def drawn(request, monkeypatch):
    if request.param == "graphviz" and shutil.which("dot") is None:
        pytest.skip("needs Graphviz")
    if request.param == "layers":
        monkeypatch.setattr(graph_layout.shutil, "which", lambda program: None)
    return layout(NAMES, EDGES)


def points_of(curve):
    """Points on the Bezier curves."""
    t = np.linspace(0, 1, 40)[:, None]
    for k in range(0, len(curve) - 1, 3):
        p, q, r, s = curve[k : k + 4]
        yield from (1 - t) ** 3 * p + 3 * (1 - t) ** 2 * t * q + 3 * (1 - t) * t**2 * r + t**3 * s


def inside(point, box, margin=0.0):
    return abs(point[0] - box.x) < box.width / 2 - margin and abs(point[1] - box.y) < box.height / 2 - margin


def test_all_nodes_and_edges_are_there_and_within_the_drawing(drawn):
    assert set(drawn.boxes) == set(NAMES)
    assert set(drawn.edges) == set(EDGES)
    for box in drawn.boxes.values():
        assert box.width / 2 - 1e-3 <= box.x <= drawn.width - box.width / 2 + 1e-3
        assert box.height / 2 - 1e-3 <= box.y <= drawn.height - box.height / 2 + 1e-3


def test_boxes_do_not_overlap(drawn):
    for one, other in itertools.combinations(drawn.boxes.values(), 2):
        apart_x = abs(one.x - other.x) >= (one.width + other.width) / 2 - 1e-3
        apart_y = abs(one.y - other.y) >= (one.height + other.height) / 2 - 1e-3
        assert apart_x or apart_y


def test_parents_stand_above_and_edges_join_the_boxes(drawn):
    for (parent, child), curve in drawn.edges.items():
        above, below = drawn.boxes[parent], drawn.boxes[child]
        assert above.y < below.y
        for end, box in ((curve[0], above), (curve[-1], below)):
            assert abs(end[0] - box.x) <= box.width / 2 + 0.1
            assert abs(abs(end[1] - box.y) - box.height / 2) < 0.02


def test_edges_run_behind_no_other_node(drawn):
    for edge, curve in drawn.edges.items():
        for name, box in drawn.boxes.items():
            if name not in edge:
                assert not any(inside(point, box, 0.02) for point in points_of(curve)), (edge, name)


def test_a_cycle_is_refused():
    with pytest.raises(ValueError, match="cycle"):
        layout(["a", "b"], [("a", "b"), ("b", "a")])


def test_the_picture_of_many_columns_stays_small_and_has_arrow_heads(tmp_path):
    names = [f"column {k}" for k in range(200)]
    path = draw_dag(tmp_path, names, [(names[k], names[k + 1]) for k in range(0, 60, 2)])
    height, width = imread(path).shape[:2]
    assert max(height, width) <= MAX_PIXELS
    plain = draw_dag(tmp_path, ["a", "b"], [])
    without = (imread(plain)[..., :3].mean(axis=2) < 0.6).sum()
    joined = imread(draw_dag(tmp_path, ["a", "b"], [("a", "b")]))[..., :3].mean(axis=2) < 0.6
    rows = joined.sum(axis=1)
    assert joined.sum() > without
    widths = rows[rows > 0]
    assert widths.max() > 6  # a head is wider than its line


@pytest.mark.parametrize("names", [[], ["alone"], ["a", "b"]])
def test_graphs_without_edges(names):
    found = layout(names, [])
    assert set(found.boxes) == set(names)
