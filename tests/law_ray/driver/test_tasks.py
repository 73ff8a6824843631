"""Evaluations as Ray tasks: in several parts, repeated, lost, late, and twice.

First on Ray; then on a stand-in for Ray that does at once what the tests say.
"""

import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from ray.exceptions import NodeDiedError, RayTaskError, WorkerCrashedError

import law_ray
from law_ray.driver import tasks
from law_ray.driver.tasks import Evaluations, Job
from law_ray.driver.worker import Place
from law_ray.errors import InputError
from law_ray.optimizer import Optimizer
from law_ray.runs import journal
from law_ray.runs.evaluation import Outcome, Part, evaluate
from law_ray.runs.settings import Settings
from law_ray.trial import Trial
from law_ray.utils.seeding import generator

on_ray = pytest.mark.usefixtures("cluster")


class Sum:
    """The weighted displacement, summed in slices; `flaw` is what the part that holds item 0 does."""

    n_items, name = 7, "sum"

    def __init__(self, flaw=None):
        self.flaw = flaw

    def __call__(self, permutation, rng):
        return self.combine([self.split(1)[0](permutation, rng)])

    def split(self, k):
        return [lambda permutation, rng, i=i: self.slice(permutation, rng, i, k) for i in range(k)]

    def slice(self, permutation, rng, i, k):
        noise = rng.normal(size=7)
        if i == 0 and self.flaw == "raises" and permutation[0] == 0:
            raise ValueError("item 0")
        if i == 0 and self.flaw == "hangs" and permutation[0] == 0:
            time.sleep(1000)
        items = np.arange(7) % k == i
        return {"terms": (np.abs(permutation - np.arange(7)) + noise)[items].tolist()}

    def combine(self, values):
        return sum(sorted(term for value in values for term in value["terms"]))


def minimize(objective, folder, **options):
    options = {"evals": 16, "n_init": 8, "batch_size": 4, "method": "random", "progress": False} | options
    return law_ray.minimize(objective, out=folder, **options)


@on_ray
def test_a_split_evaluation_has_the_value_of_the_whole_one(tmp_path):
    split = minimize(Sum(), tmp_path, split=3).history
    whole = Optimizer(7, "random", n_init=8)
    for size in (8, 4, 4):
        for trial in whole.ask(size):
            whole.tell(trial.id, evaluate(Sum(), trial.permutation, generator(0, "evaluate", trial.id)).value)
    assert split.drop(columns="seconds").equals(whole.history.drop(columns="seconds"))
    assert (split["seconds"] < 5).all()


@on_ray
@pytest.mark.parametrize(
    ("flaw", "reason"),
    [
        ("raises", "ValueError: item 0"),
        pytest.param("hangs", "timed out after 10 s", marks=pytest.mark.slow),
    ],
)
def test_a_part_that_fails_fails_its_trial_alone(tmp_path, flaw, reason):
    history = minimize(Sum(flaw), tmp_path, split=2, evals=21, n_init=21, timeout=10.0).history
    firsts = history["permutation"].map(lambda permutation: permutation[0])
    assert (firsts == 0).any()
    assert (history["state"] == "failed").tolist() == (firsts == 0).tolist()
    reasons = [r["reason"] for r in journal.read(tmp_path) if r["type"] == "fail"]
    assert all(each.startswith(reason) for each in reasons)


@on_ray
def test_an_objective_without_parts_cannot_be_split(tmp_path):
    with pytest.raises(InputError, match=r"split is 2, but .*: leave it out"):
        law_ray.minimize(lambda permutation: 0.0, 5, evals=20, split=2, out=tmp_path)


def noisy(permutation, rng):
    return float(np.abs(permutation - np.arange(len(permutation))).sum() + 5 * rng.normal()), 5.0


def repeats(folder):
    return [record for record in journal.read(folder) if record["type"] == "tell again"]


@pytest.fixture(scope="module")
def run(cluster, tmp_path_factory):
    """A run of noisy values whose best were evaluated again; do not write into its folder."""
    return minimize(noisy, tmp_path_factory.mktemp("noisy") / "run", n_items=6, reevaluations=9)


def test_the_best_of_noisy_values_are_evaluated_again_within_the_budget(run):
    made = repeats(run.out)
    assert 0 < len(made) <= 9
    assert run.reevaluated.repeats == len(made)
    assert run.evaluations == len(run.history) == 16
    of_best = [record["value"] for record in made if record["id"] == run.best.id]
    assert run.reevaluated.trial_id == run.best.id
    assert run.reevaluated.value == pytest.approx(np.mean(of_best))  # there are some
    assert run.reevaluated.standard_error == pytest.approx(5.0 / np.sqrt(len(of_best)))
    assert {record["id"] for record in made} <= set(run.history["value"].nsmallest(5).index)
    assert len({record["value"] for record in made}) == len(made)  # each repeat has draws of its own
    assert not set(run.history["value"]) & {record["value"] for record in made}


@on_ray
@pytest.mark.slow
def test_a_run_that_was_cut_off_goes_on_repeating_where_it_was(run, tmp_path):
    lines = (run.out / journal.NAME).read_bytes().splitlines(keepends=True)
    first = next(i for i, line in enumerate(lines) if b'"type": "tell again"' in line)
    (tmp_path / journal.NAME).write_bytes(b"".join(lines[: first + 1]))
    resumed = law_ray.resume(tmp_path, noisy, progress=False)
    assert resumed.reevaluated == run.reevaluated
    assert resumed.best.id == run.best.id


@on_ray
@pytest.mark.slow
def test_no_repeats_where_none_are_wanted_or_values_are_exact(tmp_path):
    assert minimize(noisy, tmp_path / "none", n_items=6, reevaluations=0).reevaluated.repeats == 0
    exact = minimize(lambda permutation: float(permutation[0]), tmp_path / "exact", n_items=6)
    assert exact.reevaluated is None
    assert repeats(tmp_path / "none") == repeats(tmp_path / "exact") == []


# on a stand-in for Ray


class Reference:
    """A task; it is done once it has a result, which may be an error."""

    def __init__(self, task_id, options):
        self.id, self.options, self.result, self.cancelled = task_id, options, None, False

    def begins_on(self, node):
        self.owner.started(self.id, Place(node, f"{node}/1"))


class FakeRay:
    """Stands in for Ray, for its tasks and for the clock and heartbeats of the module."""

    def __init__(self):
        self.submitted, self.now, self.silent = [], 0.0, frozenset()
        self.ended_here, self.ended_elsewhere = [], []  # marks of evaluations whose children were ended

    def put(self, value):
        return value

    def get(self, reference):
        if isinstance(reference.result, Exception):
            raise reference.result
        return reference.result

    def wait(self, references, num_returns, timeout):
        done = [each for each in references if each.result is not None]
        return done[:num_returns], [each for each in references if each not in done[:num_returns]]

    def cancel(self, reference, **_):
        reference.cancelled = True

    def get_runtime_context(self):
        return SimpleNamespace(current_actor=None, get_node_id=lambda: "here")

    def options(self, **options):
        def remote(objective, driver, node, task_id, permutation, settings):
            self.submitted.append(Reference(task_id, options))
            return self.submitted[-1]

        return SimpleNamespace(remote=remote)


@pytest.fixture
def ray(monkeypatch):
    fake = FakeRay()
    monkeypatch.setattr(tasks, "ray", fake)
    monkeypatch.setattr(tasks, "evaluation_task", fake)
    heartbeats = SimpleNamespace(
        silent=lambda: fake.silent, end_children=lambda *ended: fake.ended_elsewhere.append(ended)
    )
    monkeypatch.setattr(tasks, "Heartbeats", lambda: heartbeats)
    monkeypatch.setattr(tasks, "end_children", fake.ended_here.extend)
    monkeypatch.setattr(tasks, "time", SimpleNamespace(monotonic=lambda: fake.now))
    return fake


class Total:
    def combine(self, values):
        return sum(values)


JOB = Job(Trial(3, 1, np.arange(4)))


def evaluations(ray, **options):
    found = Evaluations(Total(), b"", Settings(n_items=4, n_init=4, evals=9, **options), Path("nowhere"))
    Reference.owner = found
    found.submit(JOB)
    return found


def avoided(reference):
    selector = reference.options["label_selector"]
    return None if selector is None else selector["ray.io/node-id"]


def test_a_result_ends_its_job(ray):
    running = evaluations(ray)
    assert (len(running), list(running.wait())) == (1, [])
    ray.submitted[0].result = Outcome(1.5, worker="a/1")
    assert list(running.wait()) == [(JOB, Outcome(1.5, worker="a/1"))]
    assert (len(running), len(ray.submitted), list(running.wait())) == (0, 1, [])


def test_the_age_of_a_trial_is_that_of_its_first_part_that_began(ray):
    running = evaluations(ray, split=2)
    assert running.ages() == {}
    ray.now = 10.0
    ray.submitted[1].begins_on("there")
    ray.now = 15.0
    ray.submitted[0].begins_on("here")
    ray.now = 17.0
    assert running.ages() == {JOB.trial.id: 7.0}
    for part, each in enumerate(ray.submitted):
        each.result = Part(1.0 + part, 2.0)
    list(running.wait())
    assert running.ages() == {}


def test_evaluations_wait_from_the_last_submission_until_one_of_them_begins(ray):
    running = evaluations(ray, split=2)
    ray.now = 7.0
    assert running.waiting_for == 7.0
    running.submit(Job(Trial(4, 1, np.arange(4))))
    ray.now = 19.0
    assert running.waiting_for == 12.0
    ray.submitted[1].begins_on("there")
    assert running.waiting_for == 0.0
    ray.submitted[1].result = Part(1.0, 2.0)
    list(running.wait())
    assert running.waiting_for == 12.0
    running.cancel()
    assert running.waiting_for == 0.0


def test_a_job_of_several_parts_ends_with_the_last_of_them(ray):
    running = evaluations(ray, split=3)
    for part in (2, 0):
        ray.submitted[part].result = Part(10.0**part, 1.0 + part, worker=f"{part}/1")
        assert list(running.wait()) == []
    ray.submitted[1].result = Part(10.0, 2.0, worker="1/1")
    assert list(running.wait()) == [(JOB, Outcome(111.0, seconds=3.0, worker="2/1"))]


def test_a_part_that_fails_ends_its_job_and_stops_the_others(ray):
    running = evaluations(ray, split=3)
    ray.submitted[1].result = Part(None, 2.0, "broken", worker="1/1")
    ((job, outcome),) = running.wait()
    assert (job, outcome.reason, outcome.worker) == (JOB, "broken", "1/1")
    assert [each.cancelled for each in ray.submitted] == [True, False, True]
    assert len(running) == 0


@pytest.mark.parametrize(("error", "attempts"), [(WorkerCrashedError, 2), (NodeDiedError, 4)])
def test_a_lost_attempt_is_made_again_until_it_is_most_likely_its_own_fault(ray, error, attempts):
    running = evaluations(ray)
    for attempt in range(attempts):
        assert len(ray.submitted) == attempt + 1
        ray.submitted[-1].begins_on("there")
        ray.submitted[-1].result = error("lost")
        ended = list(running.wait())
        assert len(ended) == (attempt == attempts - 1)
    ((_, outcome),) = ended
    assert outcome.reason == f"{error.__name__}: the worker died or was lost, again"
    assert (outcome.attempts, outcome.worker) == (attempts, "there/1")
    assert len({each.id for each in ray.submitted}) == attempts


def test_each_part_may_be_lost_as_often_as_a_whole_evaluation(ray):
    running = evaluations(ray, split=2)
    for part in (0, 1):
        ray.submitted[part].result = WorkerCrashedError("lost")
        assert list(running.wait()) == []
    for part, again in enumerate(ray.submitted[2:]):
        again.result = Part(1.0 + part, 1.0)
    ((_, outcome),) = running.wait()
    assert (outcome.value, outcome.attempts) == (3.0, 2)


def test_an_evaluation_on_a_silent_node_is_made_elsewhere_too_and_the_first_result_counts(ray):
    for first in (0, 1):
        ray.submitted.clear()
        ray.silent = frozenset()
        running = evaluations(ray)
        ray.submitted[0].begins_on("there")
        assert list(running.wait()) == []
        ray.silent = frozenset({"there"})
        for _ in range(3):  # it is submitted once more, not at every look
            assert list(running.wait()) == []
        assert [avoided(each) for each in ray.submitted] == [None, "!in(there)"]
        assert not any(each.cancelled for each in ray.submitted)
        ray.submitted[first].result = Outcome(1.0 + first)
        ((_, outcome),) = running.wait()
        assert (outcome.value, outcome.attempts) == (1.0 + first, 2)
        assert [each.cancelled for each in ray.submitted] == [first == 1, first == 0]
        ray.submitted[1 - first].result = Outcome(9.0)  # which comes too late
        assert list(running.wait()) == []


def test_other_attempts_at_a_part_are_stopped_once_it_has_returned_and_those_at_other_parts_go_on(ray):
    running = evaluations(ray, split=2)
    for each in ray.submitted:
        each.begins_on("there")
    ray.silent = frozenset({"there"})
    assert list(running.wait()) == []
    assert [(each.id.part, avoided(each)) for each in ray.submitted[2:]] == [(0, "!in(there)"), (1, "!in(there)")]
    ray.submitted[2].result = Part(1.0, 1.0)
    assert list(running.wait()) == []
    assert [each.cancelled for each in ray.submitted] == [True, False, False, False]
    ray.submitted[0].result = Part(100.0, 1.0)
    assert list(running.wait()) == []
    ray.submitted[1].result = Part(2.0, 1.0)
    ((_, outcome),) = running.wait()
    assert outcome.value == 3.0
    assert [each.cancelled for each in ray.submitted] == [True, False, False, True]


def test_two_attempts_that_return_at_once_count_once(ray):
    running = evaluations(ray)
    ray.submitted[0].begins_on("there")
    ray.silent = frozenset({"there"})
    assert list(running.wait()) == []
    for value, each in enumerate(ray.submitted):
        each.result = Outcome(float(value))
    assert [outcome.value for _, outcome in running.wait()] == [0.0]


def test_what_has_not_begun_when_a_node_falls_silent_is_submitted_to_the_others(ray):
    """It may be on its way there."""
    running = evaluations(ray)
    ray.silent = frozenset({"there"})
    assert list(running.wait()) == []
    assert [each.cancelled for each in ray.submitted] == [True, False]
    assert avoided(ray.submitted[1]) == "!in(there)"
    ray.submitted[1].result = WorkerCrashedError("lost")
    assert list(running.wait()) == []
    assert avoided(ray.submitted[2]) == "!in(there)"


def test_what_waits_may_run_on_a_node_that_answers_again(ray):
    """It may be the only one that has what an evaluation asks for."""
    running = evaluations(ray)
    ray.silent = frozenset({"there"})
    assert list(running.wait()) == []
    ray.silent = frozenset()
    for _ in range(2):
        assert list(running.wait()) == []
    assert [avoided(each) for each in ray.submitted] == [None, "!in(there)", None]
    assert [each.cancelled for each in ray.submitted] == [True, True, False]


def test_an_attempt_on_a_silent_node_that_dies_is_not_made_a_third_time(ray):
    running = evaluations(ray)
    ray.submitted[0].result = WorkerCrashedError("lost")  # which makes the next crash the last one
    assert list(running.wait()) == []
    ray.submitted[1].begins_on("there")
    ray.silent = frozenset({"there"})
    assert list(running.wait()) == []
    ray.submitted[2].begins_on("elsewhere")
    ray.submitted[1].result = WorkerCrashedError("its node died")
    assert list(running.wait()) == []
    assert len(ray.submitted) == 3 and not ray.submitted[2].cancelled
    ray.submitted[2].result = Outcome(5.0)
    assert [outcome.value for _, outcome in running.wait()] == [5.0]


@pytest.mark.parametrize("memory", [0, 2**33])
def test_a_task_asks_for_no_more_memory_than_a_node_may_have_in_all_and_never_for_the_same(ray, monkeypatch, memory):
    asked = []
    for pid in (11, 12):
        monkeypatch.setattr(tasks.os, "getpid", lambda pid=pid: pid)
        evaluations(ray, memory=memory)
        asked.append(ray.submitted[-1].options["memory"])
    assert asked == ([11, 12] if not memory else [memory - 11, memory - 12])


def test_the_timeout_counts_from_where_a_worker_begins_and_not_on_a_silent_node(ray):
    running = evaluations(ray, timeout=10.0)
    ray.now = 100.0
    assert list(running.wait()) == []  # it was never begun
    ray.submitted[0].begins_on("there")
    ray.now = 109.0
    ray.silent = frozenset({"there"})
    assert list(running.wait()) == []
    ray.now = 115.0
    assert list(running.wait()) == []
    ray.submitted[1].begins_on("elsewhere")
    ray.now = 125.0
    assert list(running.wait()) == []
    ray.now = 125.1
    ((_, outcome),) = running.wait()
    assert (outcome.reason, outcome.seconds, outcome.worker) == ("timed out after 10 s", 10.0, "elsewhere/1")
    assert all(each.cancelled for each in ray.submitted)


def test_cancelling_stops_everything(ray):
    running = evaluations(ray, split=2)
    running.submit(Job(Trial(4, 1, np.arange(4))))
    running.cancel()
    assert len(running) == 0
    assert [each.cancelled for each in ray.submitted] == [True] * 4


def test_what_an_evaluation_has_started_is_ended_where_it_was_stopped_or_lost_and_nowhere_else(ray):
    running = evaluations(ray, timeout=10.0)
    jobs = [JOB, *(Job(Trial(i, 1, np.arange(4))) for i in (4, 5, 6))]
    for job in jobs[1:]:
        running.submit(job)
    finished, crashed, late, unheard = ray.submitted
    for each, node in ((finished, "here"), (crashed, "there"), (late, "here")):
        each.begins_on(node)
    finished.result, crashed.result = Outcome(1.0), WorkerCrashedError("lost")
    ray.now = 11.0
    ended = list(running.wait())
    assert [job for job, _ in ended] == [jobs[0], jobs[2]]
    running.cancel()
    assert len(ray.submitted) == 5  # the crashed one again
    unbegun = {each.id.attempt for each in (unheard, ray.submitted[4])}
    assert set(ray.ended_here) == {late.id.attempt} | unbegun
    assert ray.ended_elsewhere == [("there", crashed.id.attempt)]


def test_a_process_that_is_damaged_is_hardly_the_fault_of_the_evaluation_that_finds_it(ray):
    running = evaluations(ray)
    for attempts in range(1, 9):
        running.damaged(ray.submitted[-1].id, "somebody has broken it")
        ray.submitted[-1].result = WorkerCrashedError("lost")
        ended = list(running.wait())
        assert len(ended) == (attempts == 8)
    ((_, outcome),) = ended
    assert (outcome.reason, outcome.attempts) == ("somebody has broken it, again", 8)


def test_processes_that_hold_too_much_memory_are_never_the_fault_of_the_evaluation_that_finds_them(ray):
    running = evaluations(ray)
    for _ in range(100):
        running.damaged(ray.submitted[-1].id, "earlier ones have left 200 MB", leaked=True)
        ray.submitted[-1].result = WorkerCrashedError("lost")
        assert not list(running.wait())
    ray.submitted[-1].result = Outcome(1.0)
    ((_, outcome),) = running.wait()
    assert (outcome.value, outcome.attempts) == (1.0, 101)


def test_what_a_worker_cannot_return_is_said(ray):
    running = evaluations(ray, split=2)
    while not (ended := list(running.wait())):
        ray.submitted[-1].result = RayTaskError("evaluate", "", TypeError("cannot pickle a lock\nmore"))
    ((_, outcome),) = ended
    assert outcome.reason == "the worker could not return it (TypeError: cannot pickle a lock), again"
