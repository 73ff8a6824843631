"""Every built-in problem has what a run asks of an objective, in the form that it asks for."""

import json

import numpy as np
import pytest

from law_ray.runs.active import ActiveRun
from law_ray.runs.evaluation import evaluate
from law_ray.runs.objective import BlackBox
from law_ray.runs.report import page
from law_ray.runs.run import Run
from law_ray.runs.settings import Settings

NOISY = ("line", "slots")


@pytest.mark.parametrize("name", ["tsp:plane8", "fsp:ta001", "asteroid:3", "line:6", "slots:8"])
def test_a_run_of_it_can_be_made_resumed_and_shown(name, tmp_path):
    objective = BlackBox.load(name)
    n_items = objective.n_items()
    constraints = objective.constraints(n_items)
    settings = Settings(n_items=n_items, evals=6, n_init=6, method="random", before=constraints.before)
    starts = objective.good_orderings(constraints, 0, 2)
    run = ActiveRun.start(tmp_path, settings, objective.to_record(""), objective.key, starts, objective.prior_mean)
    for trial in run.ask(6):
        run.enter(trial.id, evaluate(objective.objective, trial.permutation, np.random.default_rng(trial.id)))
    run.journal.close()
    read = Run.load(tmp_path, objective.prior_mean)
    assert [trial.state for trial in read.ended] == ["told"] * 6
    assert read.optimizer.noisy == (name.partition(":")[0] in NOISY)
    json.dumps([objective.explain(read.best, 0), objective.drawing(read.best)], allow_nan=False)
    again = BlackBox.from_record(read.objective)
    again.check_same(read.objective, tmp_path)
    assert page.write(read, objective).stat().st_size > 100_000
