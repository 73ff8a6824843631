import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest

from law_ray import journal
from law_ray.errors import InputError, RunError
from law_ray.evaluation import Outcome, evaluate
from law_ray.run import Run, folder_for, replayed, settings_of, spans
from law_ray.seeding import generator
from law_ray.settings import Settings

ABOUT = {"name": "f", "fingerprint": None, "source": None, "folder": "."}
QUICK = Settings(n_items=8, evals=40, batch_size=5, n_init=10, method="random")


def noisy_displacement(permutation, rng):
    return float(np.abs(permutation - np.arange(len(permutation))).sum() + rng.normal())


def work(run, objective=noisy_displacement, limit=math.inf, order=1):
    """What the driver does, in this process: evaluate, at most `limit` trials, until the run stops."""
    made = 0
    while (reason := run.stop_reason()) is None:
        for trial in (run.pending or run.ask(run.settings.batch_size))[::order]:
            if made == limit:
                return None
            run.enter(
                trial.id, evaluate(objective, trial.permutation, generator(run.settings.seed, "evaluate", trial.id))
            )
            made += 1
    return reason


def started(folder, settings=QUICK):
    return Run.start(folder, settings, ABOUT)


def comparable(optimizer):
    return optimizer.history.drop(columns="seconds")


@pytest.mark.parametrize("settings", [QUICK, dataclasses.replace(QUICK, method="law-est")])
def test_a_run_stopped_after_any_number_of_evaluations_resumes_to_the_same_history(tmp_path, settings):
    whole = started(tmp_path / "whole", settings)
    assert work(whole) == "all evaluations were made"
    for limit in (0, 3, 10, 12, 15, 39, 40):
        folder = tmp_path / str(limit)
        run = started(folder, settings)
        work(run, limit=limit)
        run.journal.close()
        run = Run.resume(folder)
        assert work(run, order=-1) == "all evaluations were made"
        assert comparable(run.optimizer).equals(comparable(whole.optimizer))
        run.journal.close()


def test_the_journal_has_an_ask_before_its_tells_and_all_that_a_replay_needs(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, method="law-est"))
    work(run)
    records = journal.read(tmp_path / "run")
    asked = set()
    for record in records[1:]:
        if record["type"] == "ask":
            asked |= {trial["id"] for trial in record["trials"]}
            assert record["batch_size"] == len(record["trials"])
            assert (record["model"] is None) == (record["round"] == 0)
        else:
            assert record["id"] in asked
    again = replayed(records, None)
    assert again.history.equals(run.optimizer.history)
    assert again.model == run.optimizer.model


def test_an_outcome_counts_once_it_is_on_disk(tmp_path):
    run = started(tmp_path / "run")
    trial = run.ask(5)[0]
    run.journal.close()
    with pytest.raises(ValueError, match="closed file"):
        run.enter(trial.id, Outcome(1.0))
    assert len(run.pending) == QUICK.n_init


def test_more_evals_extend_a_finished_run(tmp_path):
    run = started(tmp_path / "run")
    work(run)
    run.journal.close()
    run = Run.resume(tmp_path / "run", 47)
    work(run)
    assert len(run.optimizer.trials) == 47
    assert settings_of(journal.read(tmp_path / "run")).evals == 47


def test_the_target_ends_a_run_at_once(tmp_path):
    for maximize, target in ((False, 15.0), (True, 26.0)):
        settings = dataclasses.replace(QUICK, n_init=1, batch_size=1, target=target, maximize=maximize)
        run = started(tmp_path / str(maximize), settings)
        assert work(run) == "the target was reached"
        values = run.optimizer.history["value"]
        reached = values >= target if maximize else values <= target
        assert reached.tolist() == [False] * (len(values) - 1) + [True]


def test_patience_counts_rounds_without_a_better_value(tmp_path):
    values = iter([5.0] * 10 + [4.0] * 5 + [4.0] * 5 + [3.0] * 5 + [9.0] * 100)
    run = started(tmp_path / "run", dataclasses.replace(QUICK, patience=2))
    assert work(run, lambda permutation: next(values)) == "2 rounds brought nothing better"
    assert run.optimizer.trials[-1].round == 5


def test_max_time_counts_from_the_start_of_this_process(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, max_time=1000.0))
    trial = run.ask(5)[0]
    run.began -= 1000.0
    assert run.stop_reason() is None  # there is one result at least, so that resuming leads on
    run.enter(trial.id, Outcome(1.0))
    assert run.stop_reason() == "the time was up"


def test_two_whole_rounds_of_failures_end_the_run_with_the_last_reason(tmp_path):
    run = started(tmp_path / "run")

    def broken(permutation):
        raise OSError("no licence")

    with pytest.raises(RunError, match="no licence"):
        work(run, broken)
    assert len(run.optimizer.trials) == QUICK.n_init + QUICK.batch_size
    run.journal.close()
    assert work(Run.resume(tmp_path / "run")) == "all evaluations were made"  # once it is mended


def test_a_round_with_one_success_does_not_end_the_run(tmp_path):
    calls = iter(range(1000))

    def mostly_broken(permutation):
        if next(calls) % 5:
            raise OSError
        return 1.0

    assert work(started(tmp_path / "run"), mostly_broken) == "all evaluations were made"


def test_a_run_ends_when_the_space_is_used_up(tmp_path):
    settings = Settings(n_items=12, evals=40, batch_size=5, n_init=4, method="random")
    run = Run.start(tmp_path / "run", settings, ABOUT, key=lambda permutation: int(permutation[0]))
    assert work(run) == "nothing new was left to evaluate"
    assert sorted(trial.permutation[0] for trial in run.optimizer.trials) == list(range(12))


def test_a_small_space_is_evaluated_whole_however_many_evaluations_are_allowed(tmp_path):
    run = started(tmp_path / "run", Settings(n_items=3, evals=120, n_init=20, method="random"))
    while run.stop_reason() is None:
        for trial in run.ask(4):
            run.enter(trial.id, Outcome(0.0))
    assert run.stop_reason() == "nothing new was left to evaluate"
    assert len(run.optimizer.trials) == 6


def test_spans_leave_out_what_passed_before_a_resume():
    records = [
        {"type": "run", "time": 0.0},
        {"type": "ask", "time": 2.0, "seconds": 1.5},
        {"type": "tell", "time": 5.0},
        {"type": "fail", "time": 6.0},
        {"type": "resume", "time": 1000.0},
        {"type": "tell", "time": 1007.0},
    ]
    assert spans(records) == (1.5, 11.0)


@pytest.mark.parametrize(
    ("wrong", "culprit"),
    [
        ({"n_items": 1}, "n_items is 1"),
        ({"evals": 5}, "evals is 5, less than the 10"),
        ({"evals": 0}, "evals is 0"),
        ({"n_items": 3, "evals": 6, "n_init": 2, "batch_size": 5}, "batch_size is 5, but .* leaves 4 of the 6"),
        ({"batch_size": 0}, "batch_size is 0"),
        ({"batch_size": 2.5}, "batch_size is 2.5"),
        ({"method": "magic"}, "unknown method 'magic'"),
        ({"seed": -1}, "seed is -1"),
        ({"mode": "later"}, "mode is 'later'"),
        ({"num_cpus": 0}, "num_cpus is 0"),
        ({"timeout": -1.0}, "timeout is -1"),
        ({"max_time": math.nan}, "max_time is nan"),
        ({"target": math.inf}, "target is inf"),
        ({"patience": 0}, "patience is 0"),
    ],
)
def test_bad_settings_are_refused_by_name(wrong, culprit):
    with pytest.raises(InputError, match=culprit):
        dataclasses.replace(QUICK, **wrong)


def test_a_default_folder_is_always_a_new_one(tmp_path):
    first = folder_for("nml:sachs", 3, tmp_path)
    first.mkdir()
    second = folder_for("nml:sachs", 3, tmp_path)
    assert first != second
    assert first.name.startswith("nml-sachs-seed3-")


def test_a_journal_of_the_first_version_still_loads():
    folder = Path(__file__).parent / "data" / "journal-v1"
    optimizer = replayed(journal.read(folder), None)
    expected = json.loads((folder / "expected.json").read_text())
    assert optimizer.best.id == expected["best_id"]
    assert optimizer.best.value == expected["best_value"]
    assert optimizer.history["state"].value_counts().to_dict() == expected["states"]
    assert dataclasses.asdict(optimizer.model) == expected["model"]


def work_async(run, rng, in_flight=4, limit=math.inf):
    """What the driver does in asynchronous mode, its evaluations ending in an order of chance."""
    under_way = list(run.pending)
    made = 0
    while (reason := run.stop_reason()) is None:
        under_way += run.refill(in_flight)
        if made == limit:
            return None
        trial = under_way.pop(int(rng.integers(min(in_flight, len(under_way)))))
        value = noisy_displacement(trial.permutation, generator(run.settings.seed, "evaluate", trial.id))
        run.enter(trial.id, Outcome(value))
        made += 1
    return reason


ASYNC = dataclasses.replace(QUICK, method="law-est", mode="async")


@pytest.mark.parametrize("limit", [3, 9, 17, 38])
def test_asynchronous_proposals_follow_from_the_journal_before_them(tmp_path, limit):
    run = started(tmp_path / "run", ASYNC)
    work_async(run, np.random.default_rng(limit), limit=limit)
    run.journal.close()
    run = Run.resume(tmp_path / "run")
    assert work_async(run, np.random.default_rng(0)) == "all evaluations were made"
    records = journal.read(tmp_path / "run")
    asked = [i for i, record in enumerate(records) if record["type"] == "ask" and record["round"] > 0]
    assert len(asked) > 20
    for i in asked:
        optimizer = replayed(records[:i], None)
        joining = records[i]["round"] == optimizer.trials[-1].round
        trials = optimizer.ask(records[i]["batch_size"], joining)
        assert [trial.permutation.tolist() for trial in trials] == [t["permutation"] for t in records[i]["trials"]]
        assert dataclasses.asdict(optimizer.model) == records[i]["model"]


def test_a_freed_slot_is_refilled_at_once_and_rounds_are_as_large_as_what_is_under_way(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(ASYNC, method="random"))
    first = run.refill(4)
    assert len(first) == len(run.pending) == QUICK.n_init
    assert run.refill(4) == []
    for trial in first[:8]:
        run.enter(trial.id, Outcome(1.0))
    assert [trial.round for trial in run.refill(4)] == [1, 1]  # 2 of the initial design are still under way
    assert run.refill(4) == []
    for trial in first[8:]:
        run.enter(trial.id, Outcome(1.0))
    assert [trial.round for trial in run.refill(4)] == [1, 1]
    for trial in run.pending[:1]:
        run.enter(trial.id, Outcome(1.0))
    assert [trial.round for trial in run.refill(4)] == [2]
    assert [trial.round for trial in run.refill(8)] == [2, 2, 2, 2]  # nodes have joined; the round grows with them


def test_patience_in_asynchronous_mode_counts_rounds_that_have_ended_and_lets_the_rest_end(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(ASYNC, method="random", patience=2))
    values = iter([5.0] * 10 + [4.0] * 4 + [9.0] * 100)
    under_way = []
    while run.stop_reason() is None:
        under_way += run.refill(4)
        run.enter(under_way.pop(0).id, Outcome(next(values)))
    assert run.stop_reason() == "2 rounds brought nothing better"
    assert run.optimizer.best.round == 1
    assert not run.pending
    assert run.optimizer.trials[-1].round in (3, 4)


def test_two_rounds_of_failures_end_an_asynchronous_run(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(ASYNC, method="random"))
    under_way = run.refill(4)
    with pytest.raises(RunError, match=r"the last \d+ evaluations, 2 whole rounds, all failed"):
        while run.stop_reason() is None:
            under_way += run.refill(4)
            run.enter(under_way.pop(0).id, Outcome(reason="broken"))
    assert len(run.optimizer.trials) <= QUICK.n_init + 3 * 4
