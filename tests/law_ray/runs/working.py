"""What the driver does with a run, in this process: ask, evaluate, enter the outcomes, until the run stops."""

import math

import numpy as np

from law_ray.runs.active import ActiveRun
from law_ray.runs.evaluation import Outcome, evaluate
from law_ray.utils.seeding import generator

OBJECTIVE = {"name": "f", "fingerprint": None, "source": None, "folder": "."}
"""What a journal says of an objective that was given in Python."""


def displacement(permutation):
    return float(np.abs(permutation - np.arange(len(permutation))).sum())


def noisy_displacement(permutation, rng):
    return displacement(permutation) + rng.normal()


def started(folder, settings):
    return ActiveRun.start(folder, settings, OBJECTIVE)


def work(run, objective=noisy_displacement, limit=math.inf, order=1):
    """Evaluate at most `limit` trials, each batch forwards (order=1) or backwards (-1); return why the run stops."""
    made = 0
    while (reason := run.stop_reason()) is None:
        for trial in (run.pending or run.ask(run.settings.batch_size))[::order]:
            if made == limit:
                return None
            run.enter(trial.id, evaluate(objective, trial.permutation, _generator(run, trial)))
            made += 1
    return reason


def work_async(run, rng, in_flight=4, limit=math.inf):
    """Do the same in asynchronous mode, where evaluations end in an order of chance."""
    under_way = list(run.pending)
    made = 0
    while (reason := run.stop_reason()) is None:
        under_way += run.refill(in_flight, {})
        if made == limit:
            return None
        trial = under_way.pop(int(rng.integers(min(in_flight, len(under_way)))))
        run.enter(trial.id, Outcome(noisy_displacement(trial.permutation, _generator(run, trial))))
        made += 1
    return reason


def _generator(run, trial):
    return generator(run.settings.seed, "evaluate", trial.id)


def comparable(run):
    """The history without what depends on the machine: the seconds and the workers."""
    return run.history[["id", "round", "permutation", "value", "state", "standard_error"]]
