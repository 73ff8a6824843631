"""Runs for the tests of the report, made in this process."""

import math

import numpy as np

from law_ray.runs.active import ActiveRun
from law_ray.runs.evaluation import Outcome
from law_ray.runs.report.view import View
from law_ray.runs.run import Run
from law_ray.runs.settings import Settings
from tests.law_ray.runs.working import OBJECTIVE, displacement

EXPLAINED = {
    "edges": [["a", "b"], ["b", "c"], ["d", "c"]],
    "edge_confidence": [
        {"parent": "a", "child": "b", "confidence": 0.7, "direction": 1.0},
        {"parent": "b", "child": "c", "confidence": 1.0, "direction": 0.5},
        {"parent": "d", "child": "c", "confidence": 0.99, "direction": 0.99},
    ],
    "possible_edges": [{"one": "a", "other": "<f>", "confidence": 0.25}],
}
"""What an objective explains of its network."""


HOSTILE = ("<b>bold</b>", "</script><script>alert(1)</script>", '" onload="x', "a & b", "$x_1$", "plain")
"""Names of items that a page must show as text."""
TRACEBACK = 'Traceback (most recent call last):\n  File "line.py", line 7, in <module>\nKeyError: "<i>machine 3</i>"'


def made(folder, limit=math.inf, fails=(), names=None, error=0.0, seed=0, objective=displacement, **settings):
    """A run of `objective`, stopped after `limit` evaluations; the trials with ids in `fails` fail.

    With a standard error, values have noise of that size, and the best are evaluated again.
    """
    settings = Settings(**{"n_items": 6, "evals": 30, "batch_size": 5, "n_init": 10, "method": "law-est", **settings})
    record = {**OBJECTIVE, **({} if names is None else {"item_names": list(names)})}
    run = ActiveRun.start(folder, settings, record)
    rng = np.random.default_rng(seed)
    count = 0

    def outcome(trial):
        return Outcome(objective(trial.permutation) + error * rng.normal(), error, 0.1, worker=f"host-{trial.id % 2}/7")

    while run.stop_reason() is None and count < limit:
        for trial in run.ask(settings.batch_size):
            if count == limit:
                break
            count += 1
            failed = Outcome(reason="KeyError: 'machine 3'", seconds=0.2, worker="host-0/7", traceback=TRACEBACK)
            run.enter(trial.id, failed if trial.id in fails else outcome(trial))
    while count < limit and error and (again := run.ask_again()):
        for trial, _ in again:
            run.enter_again(trial.id, outcome(trial))
    if reason := run.stop_reason():
        run.end(reason)
    run.journal.close()
    return Run.load(folder)


def view(folder, **options):
    return View.of(made(folder, **options))
