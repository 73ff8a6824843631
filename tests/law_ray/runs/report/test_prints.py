import dataclasses

import numpy as np
import pytest
from matplotlib.image import imread

from law_ray.errors import InputError
from law_ray.runs.active import ActiveRun
from law_ray.runs.evaluation import Outcome
from law_ray.runs.objective import BlackBox
from law_ray.runs.report import prints
from law_ray.runs.run import Run
from law_ray.runs.settings import Settings
from tests.law_ray.runs.working import OBJECTIVE

SETTINGS = Settings(n_items=6, evals=20, batch_size=4, n_init=8, method="law-est")


def finished(folder, settings):
    """A run that ended, its third evaluation failed."""
    run = ActiveRun.start(folder, settings, OBJECTIVE)
    while run.stop_reason() is None:
        for trial in run.ask(settings.batch_size):
            value = float(trial.permutation @ range(settings.n_items))
            run.enter(trial.id, Outcome(reason="boom") if trial.id == 2 else Outcome(value))
    run.journal.close()
    return Run.load(folder)


@pytest.mark.parametrize("method", ["law-est", "law-auto", "random"])
def test_the_figures_of_a_run(tmp_path, method):
    run = finished(tmp_path, dataclasses.replace(SETTINGS, method=method))
    drawn = {tmp_path / "convergence.png": prints.draw_convergence(run)}
    gain = prints.draw_information_gain(run)
    if method == "random":
        assert gain is None
    else:
        drawn[tmp_path / "information_gain.png"] = gain
    for expected, path in drawn.items():
        assert path == expected
        assert imread(path).std() > 0.01


class Named:
    item_names = ("a", "b", "c", "d", "e", "f")

    def __call__(self, permutation):
        return 0.0


class Explained(Named):
    def explain(self, permutation, rng):
        return {"first": int(permutation[0])}


@pytest.mark.parametrize(("objective", "more"), [(Named(), False), (Explained(), True), (sum, False)])
def test_the_answer_names_the_items(tmp_path, objective, more):
    run = finished(tmp_path, dataclasses.replace(SETTINGS, method="random"))
    found = BlackBox(objective).explain(run.best, run.settings.seed)
    assert found.get("ordering") == (None if objective is sum else ["abcdef"[item] for item in run.best.permutation])
    assert found.get("first") == (run.best.permutation[0] if more else None)


def test_a_run_without_a_value_has_nothing_to_draw(tmp_path):
    run = ActiveRun.start(tmp_path, SETTINGS, OBJECTIVE)
    run.enter(run.ask(1)[0].id, Outcome(reason="boom"))
    with pytest.raises(InputError, match="has no evaluation to draw yet: let the run go on"):
        prints.draw_convergence(Run.load(tmp_path))


def test_a_network_is_drawn_with_all_its_nodes(tmp_path):
    edges = [["a", "b"], ["a", "d"], ["b", "c"], ["c", "d"]]
    assert prints.draw_dag(tmp_path, ["a", "b", "c", "d", "alone"], edges) == tmp_path / "dag.png"
    assert imread(tmp_path / "dag.png").std() > 0.01


def test_an_edge_ends_in_an_arrowhead_that_its_childs_box_does_not_hide(tmp_path):
    image = imread(prints.draw_dag(tmp_path, ["a", "b"], [["a", "b"]]))[:, :, :3]
    grey = (np.ptp(image, axis=2) < 0.02) & (np.abs(image.mean(axis=2) - 0.45) < 0.05)  # the colour of edges
    widths = grey.sum(axis=1)
    line = widths[widths > 0]
    assert line.max() >= 3 * np.median(line)
    assert widths.argmax() > np.flatnonzero(widths).mean()  # at the child, which is below
