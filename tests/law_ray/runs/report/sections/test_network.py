"""The network of a run: its edges, how sure they are, and what it lacks."""

import numpy as np
from matplotlib.image import imread

from law_ray.runs.objective import BlackBox
from law_ray.runs.report import prints
from law_ray.runs.report.graph_layout import confidence_of, line_style
from law_ray.runs.report.sections import pictures
from law_ray.runs.report.view import View
from tests.law_ray.runs.report.runs import EXPLAINED, made

NAMES = tuple("abcdef")


class Network:
    """An objective that is told all evaluated orderings, as `objectives.nml` is."""

    item_names = NAMES

    def __init__(self):
        self.asked = []

    def __call__(self, permutation):
        return 0.0

    def explain(self, permutation, rng, evaluated=None):
        self.asked.append(evaluated)
        return EXPLAINED

    def write(self, permutation, folder, evaluated=None):
        self.asked.append(evaluated)
        return []


def test_the_network_is_drawn_and_tabled_with_its_confidence(tmp_path):
    network = Network()
    run = made(tmp_path, names=NAMES)
    section = pictures.section(View.of(run, BlackBox(network)))
    picture, edges, _, possible = (block for block in section.blocks if block.kind != "facts")
    assert [picture.svg.count(f"edge {style}") for style in ("solid", "dashed", "dotted")] == [2, 1, 0]
    assert picture.svg.count("url(#hollow)") == 1
    assert picture.svg.count("url(#head)") == 2
    assert edges.rows == [["a", "b", "0.70", "1.00"], ["b", "c", "1.00", "0.50"], ["d", "c", "0.99", "0.99"]]
    assert possible.rows == [["a", "<f>", "0.25"]]
    assert not any(block.kind == "facts" for block in section.blocks)
    orderings, values = network.asked[0]
    told = [trial for trial in run.optimizer.trials if trial.state == "told"]
    np.testing.assert_array_equal(orderings, [trial.permutation for trial in told])
    np.testing.assert_array_equal(values, [trial.value for trial in told])


def test_a_network_without_confidence_is_drawn_as_before():
    svg = pictures.network_svg(NAMES, [("a", "b")])
    assert "edge solid" in svg
    assert "url(#hollow)" not in svg
    assert confidence_of({"edges": [["a", "b"]]}) == {}
    assert pictures.edge_tables({"edges": [["a", "b"]]}, {})[0].rows == [["a", "b"]]


def test_values_told_again_are_means_in_what_the_objective_gets(tmp_path):
    run = made(tmp_path, error=3.0, reevaluations=10)
    repeated = [i for i, repeats in run.repeats.items() if repeats]
    assert repeated
    values = run.evaluated[1]
    for i in repeated:
        assert np.isclose(values[i], np.mean([repeat.value for repeat in run.repeats[i]]))


def test_only_objectives_that_take_them_get_the_evaluated_orderings(tmp_path):
    run = made(tmp_path, names=NAMES)
    network = Network()
    BlackBox(network).write(run.best, tmp_path, run.evaluated)
    BlackBox(network).explain(run.best, 0)
    assert network.asked[0] is not None and network.asked[1] is None

    class Old(Network):
        def explain(self, permutation, rng):
            return {"first": int(permutation[0])}

        def write(self, permutation, folder):
            return [folder / "old.txt"]

    assert BlackBox(Old()).explain(run.best, 0, run.evaluated)["first"] == run.best.permutation[0]
    assert BlackBox(Old()).write(run.best, tmp_path, run.evaluated) == (tmp_path / "old.txt",)


def test_the_style_of_an_edge_says_whether_it_is_sure_probable_or_neither():
    assert [line_style(confidence) for confidence in (1.0, 0.95, 0.94, 0.5, 0.49, 0.0)] == [
        *("solid", "solid", "dashed", "dashed", "dotted", "dotted")
    ]
    svg = pictures.network_svg(NAMES, [("a", "b")], {("a", "b"): (0.49, 1.0)})
    assert "edge dotted" in svg


def test_the_printed_figure_dashes_an_edge_that_is_not_sure_and_dots_one_that_is_improbable(tmp_path):
    """Less of the edge is drawn, and a hollow head leaves white in its triangle."""
    dark = []
    for sure in ({}, {("a", "b"): (0.5, 1.0)}, {("a", "b"): (1.0, 0.5)}, {("a", "b"): (0.4, 1.0)}):
        image = imread(prints.draw_dag(tmp_path, ["a", "b"], [["a", "b"]], sure))[:, :, :3]
        dark.append(int(((np.ptp(image, axis=2) < 0.02) & (np.abs(image.mean(axis=2) - 0.4) < 0.05)).sum()))
    assert dark[1] < dark[0] and dark[2] < dark[0] and dark[3] < dark[1]
