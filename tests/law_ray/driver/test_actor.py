"""The driver's own code, in this process: how a run is opened, what becomes of outcomes, and what clients are told.

A run begins with the objective's own orderings, the user's, and constraints from both.
"""

import shutil
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import law_ray
from law_ray.driver import actor
from law_ray.driver.actor import Driver, Spec
from law_ray.driver.api import _spec
from law_ray.errors import InputError, RunError
from law_ray.runs import journal
from law_ray.runs.evaluation import Outcome
from law_ray.runs.objective import BlackBox
from law_ray.runs.run import Run
from law_ray.runs.settings import Settings
from tests.law_ray.runs.working import comparable, started, work

OPTIONS = {"evals": 12, "n_init": 6, "batch_size": 3}


class Displacement:
    """Items that come before others, and good orderings to begin with, some of which the user may forbid."""

    n_items, name = 7, "displacement"
    constraints = {"before": [(0, 1)], "fixed": {6: 6}}  # noqa: RUF012

    def __call__(self, permutation):
        return float(np.abs(permutation - np.arange(7)).sum())

    def starts(self, count, rng):
        return np.array([[0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 5, 4, 6], [0, 1, 3, 2, 4, 5, 6], [2, 0, 1, 3, 4, 5, 6]])[
            :count
        ]


def opened(spec, objective):
    return Driver(spec)._open(BlackBox(objective))


def run(folder, objective=None, start="auto", **options):
    """A whole run, whose evaluations are made in this process."""
    objective = objective or Displacement()
    found = opened(
        _spec(BlackBox(objective), None, start, folder, **OPTIONS | {"method": "random"} | options), objective
    )
    work(found, objective)
    found.journal.close()
    return found


def initial(history):
    return [list(p) for p, round in zip(history["permutation"], history["round"], strict=True) if round == 0]


def test_the_initial_design_begins_with_the_objectives_orderings_as_many_as_it_has_room_for(tmp_path):
    suggested = Displacement().starts(6, None).tolist()
    design = initial(run(tmp_path / "all").history)
    assert len(design) == 6
    assert design[:4] == suggested
    assert initial(run(tmp_path / "small", n_init=3).history) == suggested[:3]


def test_the_users_orderings_come_first_and_without_any_it_is_random(tmp_path):
    mine = [[0, 1, 5, 4, 3, 2, 6], [0, 1, 2, 3, 4, 5, 6]]
    design = initial(run(tmp_path / "mine", start=mine).history)
    assert design[:5] == [*mine, *Displacement().starts(6, None).tolist()[1:]]
    assert design[0] not in initial(run(tmp_path / "none", start="none").history)


def test_constraints_of_the_objective_and_of_the_user_hold_together(tmp_path):
    history = run(tmp_path, before=[(3, 2)], fixed={5: 0}, method="law-est").history
    positions = np.argsort(np.array(history["permutation"].tolist()), axis=1)
    assert (positions[:, 0] < positions[:, 1]).all()
    assert (positions[:, 3] < positions[:, 2]).all()
    assert (positions[:, [5, 6]] == [0, 6]).all()
    with pytest.raises(InputError, match="cycle"):
        run(tmp_path / "cycle", before=[(1, 0)])
    with pytest.raises(InputError, match="not allowed: item 0 must come before item 1"):
        run(tmp_path / "start", start=[[1, 0, 2, 3, 4, 5, 6]])


def test_a_run_that_died_before_its_first_ask_begins_with_the_same_design(tmp_path):
    whole = run(tmp_path / "whole", start=[[0, 1, 2, 5, 4, 3, 6]], before=[(4, 3)], fixed={2: 2})
    (tmp_path / "cut").mkdir()
    first = (tmp_path / "whole" / journal.NAME).read_bytes().splitlines(keepends=True)[0]
    (tmp_path / "cut" / journal.NAME).write_bytes(first)
    spec = _spec(BlackBox(Displacement()), None, "auto", tmp_path / "other", **OPTIONS)
    resumed = opened(spec._replace(folder=tmp_path / "cut", settings=whole.settings, objective=None), Displacement())
    work(resumed, Displacement())
    assert comparable(resumed).equals(comparable(whole))


def test_a_driver_that_restarts_resumes_its_run_and_no_other(tmp_path):
    spec = _spec(BlackBox(Displacement()), None, "auto", tmp_path, **OPTIONS)
    begun = opened(spec, Displacement())
    begun.ask(3)
    begun.journal.close()
    again = opened(spec, Displacement())
    assert len(again.pending) == 6
    again.journal.close()
    with pytest.raises(InputError, match="already holds a run"):
        opened(spec._replace(objective=BlackBox(Displacement()).to_record(launch="another")), Displacement())


@pytest.mark.parametrize(
    ("start", "culprit"),
    [
        ("some", '"auto" or "none"'),
        ([[0, 1]], "not a permutation"),
        ([list(range(7))] * 9, r"start has 9 orderings, more than the initial design \(n_init\) of 6: enlarge it"),
    ],
)
def test_what_cannot_be_a_start_is_refused(tmp_path, start, culprit):
    with pytest.raises(InputError, match=culprit):
        law_ray.minimize(Displacement(), out=tmp_path / "run", start=start, progress=False, **OPTIONS)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_starts_that_raise_are_named(tmp_path):
    class Broken(Displacement):
        def starts(self, count, rng):
            raise ValueError("no luck")

    with pytest.raises(InputError, match=r"starts failed \(ValueError: no luck\)"):
        law_ray.minimize(Broken(), out=tmp_path, progress=False, **OPTIONS)


class Predicted(Displacement):
    """With a proxy of its own."""

    constraints = {}  # noqa: RUF012
    starts = None

    def prior_mean(self, permutations):
        return np.abs(permutations - np.arange(7)).sum(axis=1) / 7


def plain(permutation):
    return float(np.abs(permutation - np.arange(7)).sum())


plain.n_items = 7


@pytest.mark.usefixtures("cluster")
def test_the_objectives_prior_mean_guides_the_first_batch_and_a_resumed_run_goes_on_with_it(tmp_path):
    options = {"method": "law-est", "start": "none"}
    whole = run(tmp_path / "whole", Predicted(), **options)
    assert whole.history.query("round == 1")["value"].min() == 0
    run(tmp_path / "parts", Predicted(), evals=9, **options)
    resumed = law_ray.resume(tmp_path / "parts", Predicted(), evals=12, progress=False)
    assert comparable(resumed).equals(comparable(whole))
    unguided = run(tmp_path / "plain", plain, **options)
    assert initial(unguided.history) == initial(whole.history)
    assert unguided.history["permutation"].tolist() != whole.history["permutation"].tolist()


class Unusable(Predicted):
    def prior_mean(self, permutations):
        return permutations.sum()


def test_a_prior_mean_that_cannot_be_used_is_refused_before_anything_is_evaluated(tmp_path):
    with pytest.raises(InputError, match="return one finite number for each"):
        run(tmp_path / "run", Unusable(), start="none")
    assert not (tmp_path / "run" / journal.NAME).exists()


# outcomes and ends

NOISY = Settings(
    n_items=8, evals=20, n_init=8, method="random", mode="async", batch_size=8, target=0.0, reevaluations=5
)


@pytest.fixture
def without_a_cluster(monkeypatch):
    monkeypatch.setattr(actor, "slots", lambda settings: 8)


class OneByOne:
    """Evaluations that end one at a time, in the order in which they were submitted."""

    def __init__(self, outcomes):
        self.outcomes = outcomes
        self.jobs = []

    def __len__(self):
        return len(self.jobs)

    def submit(self, job):
        self.jobs.append(job)

    def wait(self):
        job = self.jobs.pop(0)
        return [(job, self.outcomes(job))]

    def ages(self):
        return {}

    def cancel(self):
        self.jobs.clear()


@pytest.mark.usefixtures("without_a_cluster")
def test_what_still_runs_when_the_target_is_reached_is_no_repeat_of_its_trial(tmp_path):
    """Trial 2 reaches the target while later ones run, which are left to a resume."""
    run = started(tmp_path, NOISY)
    values = {0: 5.0, 1: 5.0, 2: 0.0}
    evaluations = OneByOne(lambda job: Outcome(values[job.trial.id], 10.0))
    assert Driver(Spec(tmp_path, NOISY, None))._until_stopped(run, evaluations) == "the target was reached"
    read = Run.load(tmp_path)
    states = [trial.state for trial in read.optimizer.trials]
    assert states == ["told"] * 3 + ["pending"] * (len(states) - 3)
    assert len(states) > 8
    assert set(read.repeats) <= {0, 1, 2}
    assert (read.n_repeats, read.repeats_left) == (5, 0)


@pytest.mark.usefixtures("without_a_cluster")
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_run_that_only_fails_has_an_end_in_its_journal(tmp_path, mode):
    settings = Settings(n_items=8, evals=40, n_init=8, method="random", mode=mode, batch_size=4)
    run = started(tmp_path, settings)
    evaluations = OneByOne(lambda job: Outcome(reason="no licence"))
    with pytest.raises(RunError, match="all failed; trial 0: no licence"):
        Driver(Spec(tmp_path, settings, None))._until_stopped(run, evaluations)
    assert journal.read(tmp_path)[-1]["type"] == "end"
    assert Run.load(tmp_path).end_reason == "whole rounds of evaluations failed"
    assert not Run.load(tmp_path).is_complete(40)


@pytest.mark.usefixtures("without_a_cluster")
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_run_whose_folder_is_deleted_ends_by_that_and_has_no_end_in_its_journal(tmp_path, mode):
    settings = Settings(n_items=8, evals=40, n_init=8, method="random", mode=mode, batch_size=4)
    run = started(tmp_path / "run", settings)

    def outcome(job):
        if job.trial.id == 9:
            shutil.rmtree(tmp_path / "run")
        return Outcome(float(job.trial.id))

    with pytest.raises(RunError, match="was deleted while the run went on"):
        Driver(Spec(tmp_path / "run", settings, None))._until_stopped(run, OneByOne(outcome))
    assert journal.read(tmp_path / "run")[-1]["type"] == "tell"
    assert not Run.load(tmp_path / "run").end_reason


@pytest.mark.usefixtures("without_a_cluster")
@pytest.mark.parametrize(("waiting_for", "doing"), [(9.9, "evaluating"), (10.1, "waiting for the cluster:")])
def test_a_driver_says_when_nothing_it_submitted_has_begun_for_ten_seconds(tmp_path, waiting_for, doing):
    settings = Settings(n_items=8, evals=40, n_init=8)
    driver = Driver(Spec(tmp_path, settings, None))
    driver._run, driver._doing = started(tmp_path, settings), "evaluating"
    driver._evaluations = SimpleNamespace(waiting_for=waiting_for)
    assert driver.status().doing == doing


@pytest.mark.parametrize("failure", [None, RunError("no licence")])
def test_a_driver_with_a_name_says_now_and_then_that_the_run_goes_on(tmp_path, monkeypatch, failure):
    """Else each client that has left would hold one of its threads until the end."""
    monkeypatch.setattr(actor, "ANSWER_WITHIN", 0.05)
    end = threading.Event()

    def work(self, pickled):
        end.wait(60)
        if failure is not None:
            raise failure
        return "all evaluations were made"

    monkeypatch.setattr(Driver, "_work", work)
    named = Driver(Spec(tmp_path, NOISY, None, name="night"))
    assert named.result() is None
    end.set()
    unnamed = Driver(Spec(tmp_path, NOISY, None))
    if failure is None:
        assert unnamed.result(b"pickled") == "all evaluations were made"
        assert next(filter(None, iter(named.result, ""))) == "all evaluations were made"
    else:
        with pytest.raises(RunError, match="no licence"):
            unnamed.result(b"pickled")
        with pytest.raises(RunError, match="no licence"):
            list(iter(named.result, ""))
