import dataclasses

import pytest
from matplotlib.image import imread

from law_ray import journal, report
from law_ray.evaluation import Outcome
from law_ray.run import Run, best_of, replayed
from law_ray.settings import Settings

SETTINGS = Settings(n_items=6, evals=20, batch_size=4, n_init=8, method="law-est")


def finished(folder, settings):
    """A run that ended, its third evaluation failed."""
    run = Run.start(folder, settings, {"name": "f", "fingerprint": None, "source": None, "folder": "."})
    while run.stop_reason() is None:
        for trial in run.ask(settings.batch_size):
            value = float(trial.permutation @ range(settings.n_items))
            run.enter(trial.id, Outcome(reason="boom") if trial.id == 2 else Outcome(value))
    run.journal.close()


@pytest.mark.parametrize("method", ["law-est", "law-auto", "random"])
def test_the_figures_of_a_run(tmp_path, method):
    finished(tmp_path, dataclasses.replace(SETTINGS, method=method))
    drawn = {tmp_path / "convergence.png": report.draw_convergence(tmp_path)}
    gain = report.draw_information_gain(tmp_path)
    if method == "random":
        assert gain is None
    else:
        drawn[tmp_path / "information_gain.png"] = gain
    for expected, path in drawn.items():
        assert path == expected
        assert imread(path).std() > 0.01


class Named:
    item_names = ("a", "b", "c", "d", "e", "f")


class Explained(Named):
    def explain(self, permutation, rng):
        return {"first": int(permutation[0])}


@pytest.mark.parametrize(("objective", "more"), [(Named(), False), (Explained(), True), (sum, False)])
def test_the_answer_names_the_items(tmp_path, objective, more):
    finished(tmp_path, SETTINGS)
    records = journal.read(tmp_path)
    best, _ = best_of(replayed(records, None), records)
    found = report.explain(objective, best, records)
    assert found.get("ordering") == (None if objective is sum else ["abcdef"[item] for item in best.permutation])
    assert found.get("first") == (best.permutation[0] if more else None)
