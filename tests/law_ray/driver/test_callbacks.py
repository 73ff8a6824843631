"""The user's callbacks get each trial once, in the order of the journal."""

import pytest

import law_ray
from law_ray.driver.callbacks import CallbackError, Callbacks
from law_ray.errors import InputError
from law_ray.runs import journal
from law_ray.runs.active import ActiveRun
from law_ray.runs.evaluation import Outcome
from law_ray.runs.run import Run
from law_ray.runs.settings import Settings
from tests.law_ray.runs import working

SETTINGS = Settings(n_items=7, evals=30, batch_size=5, n_init=10, method="random", reevaluations=2)


def facts(trial):
    """What is known of a trial, in a form that can be compared."""
    known = (trial.value, trial.standard_error, trial.seconds)
    return trial.id, trial.round, trial.permutation.tolist(), trial.state, trial.reason, repr(known)


def enter(run, ids):
    for i in ids:
        run.enter(i, Outcome(reason="broken") if i % 4 == 1 else Outcome(float(i), 0.5, 0.125))


def test_each_trial_that_ends_is_passed_on_once_in_the_order_of_the_journal(tmp_path):
    got = []
    callbacks = Callbacks(tmp_path / "run", [got.append, lambda trial: got.append(trial)])
    callbacks.catch_up()  # before there is a run
    run = working.started(tmp_path / "run", SETTINGS)
    run.ask(5)
    for ids in ([3, 1], [], [0, 2, 9, 8, 7, 6, 5, 4]):
        enter(run, ids)
        callbacks.catch_up()
    run.ask(5)
    enter(run, [12])
    for trial, _ in run.ask_again():
        run.enter_again(trial.id, Outcome(1.0, 0.5))
    callbacks.catch_up()
    ids = [3, 1, 0, 2, 9, 8, 7, 6, 5, 4, 12]
    assert [trial.id for trial in got] == [i for i in ids for _ in range(2)]
    assert {trial.state for trial in got} == {"told", "failed"}
    assert [facts(trial) for trial in got[::2]] == [facts(run.optimizer.trials[i]) for i in ids]


def test_trials_that_ended_before_a_resume_are_not_passed_on_again(tmp_path):
    run = working.started(tmp_path, SETTINGS)
    run.ask(5)
    enter(run, [0, 1, 2])
    run.journal.close()
    got = []
    callbacks = Callbacks(tmp_path, [got.append])
    resumed = ActiveRun.resume(tmp_path)
    enter(resumed, [7, 4])
    callbacks.catch_up()
    assert [facts(trial) for trial in got] == [facts(resumed.optimizer.trials[i]) for i in (7, 4)]


def test_half_a_record_is_left_for_later(tmp_path):
    run = working.started(tmp_path / "whole", SETTINGS)
    run.ask(5)
    enter(run, range(10))
    content = (tmp_path / "whole" / journal.NAME).read_bytes()
    got = []
    callbacks = Callbacks(tmp_path, [got.append])
    for end in range(0, len(content) + 1, 37):
        (tmp_path / journal.NAME).write_bytes(content[:end])
        callbacks.catch_up()
    (tmp_path / journal.NAME).write_bytes(content)
    callbacks.catch_up()
    assert [trial.id for trial in got] == list(range(10))


@pytest.mark.parametrize("wrong", [print, "print", [print, 3], 5])
def test_what_is_no_list_of_functions_is_refused_before_ray_is_started(tmp_path, wrong):
    with pytest.raises(InputError, match=r"^callbacks is .*: give a list of functions, each of which takes a trial$"):
        law_ray.minimize(working.displacement, 7, evals=20, out=tmp_path / "run", callbacks=wrong)
    assert not (tmp_path / "run").exists()


def test_without_functions_the_journal_is_not_read(tmp_path):
    (tmp_path / journal.NAME).write_text("not JSON\n")
    Callbacks(tmp_path, []).catch_up()


def test_the_error_of_a_function_is_kept(tmp_path):
    run = working.started(tmp_path, SETTINGS)
    callbacks = Callbacks(tmp_path, [lambda trial: {}[trial.id]])
    run.ask(5)
    enter(run, [3, 4])
    with pytest.raises(CallbackError) as raised:
        callbacks.catch_up()
    assert isinstance(raised.value.error, KeyError)


OPTIONS = {"evals": 20, "n_init": 10, "batch_size": 5, "method": "random", "progress": False}


@pytest.mark.usefixtures("cluster")
@pytest.mark.slow
def test_a_run_on_ray_calls_back_and_a_callback_that_raises_ends_it_so_that_it_can_be_resumed(tmp_path):
    got = []

    def third(trial):
        got.append(trial)
        if len(got) == 3:
            raise OSError("the tracker is gone")

    with pytest.raises(OSError, match="the tracker is gone") as raised:
        law_ray.minimize(working.displacement, 7, out=tmp_path, callbacks=[third], **OPTIONS)
    assert raised.value.__context__ is None
    ended = len(Run.load(tmp_path).ended)
    assert ended >= 3
    law_ray.resume(tmp_path, working.displacement, evals=25, callbacks=[got.append], progress=False)
    records = [record["id"] for record in journal.read(tmp_path) if record["type"] in ("tell", "fail")]
    assert [trial.id for trial in got] == [*records[:3], *records[ended:]]
    assert len(records) == 25
