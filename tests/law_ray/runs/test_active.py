"""A run that goes on: what it asks for, when it ends, and that it resumes to the history of one never stopped."""

import dataclasses

import numpy as np
import pytest

from law_ray.errors import RunError
from law_ray.runs import journal
from law_ray.runs.active import ActiveRun
from law_ray.runs.evaluation import Outcome
from law_ray.runs.run import Run
from law_ray.runs.settings import Settings
from tests.law_ray.runs import working
from tests.law_ray.runs.working import OBJECTIVE, comparable, work, work_async

QUICK = Settings(n_items=8, evals=40, batch_size=5, n_init=10, method="random")
ASYNC = dataclasses.replace(QUICK, n_items=7, method="law-est", mode="async", evals=24)


def started(folder, settings=QUICK):
    return working.started(folder, settings)


@pytest.mark.parametrize("settings", [QUICK, dataclasses.replace(QUICK, n_items=7, method="law-est", evals=20)])
def test_a_run_stopped_after_any_number_of_evaluations_resumes_to_the_same_history(tmp_path, settings):
    whole = started(tmp_path / "whole", settings)
    assert work(whole) == "all evaluations were made"
    for limit in (0, 3, 10, 12, 15, settings.evals - 1, settings.evals):
        folder = tmp_path / str(limit)
        run = started(folder, settings)
        work(run, limit=limit)
        run.journal.close()
        run = ActiveRun.resume(folder)
        assert work(run, order=-1) == "all evaluations were made"
        assert comparable(run).equals(comparable(whole))
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
    again = Run.replayed(tmp_path / "run", records)
    assert again.history.equals(run.history)
    assert again.optimizer.model == run.optimizer.model


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
    run = ActiveRun.resume(tmp_path / "run", 47)
    work(run)
    assert len(run.optimizer.trials) == 47
    assert Run.load(tmp_path / "run").settings.evals == run.settings.evals == 47


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


def resumed(run, evals=None):
    run.journal.close()
    return ActiveRun.resume(run.folder, evals)


def test_patience_is_counted_anew_once_the_budget_is_raised(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, patience=2))
    reason = "2 rounds brought nothing better"
    assert work(run, lambda permutation: 1.0) == reason
    assert len(run.optimizer.trials) == 20
    run = resumed(run)
    assert work(run, lambda permutation: 1.0) == reason
    assert len(run.optimizer.trials) == 20
    run = resumed(run, 41)
    assert work(run, lambda permutation: 1.0) == reason
    assert len(run.optimizer.trials) == 30
    assert work(resumed(run), lambda permutation: 1.0) == reason  # the same budget changes nothing


def test_a_target_that_was_reached_does_not_end_a_run_whose_budget_is_raised(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, target=30.0))
    assert work(run) == "the target was reached"
    run = resumed(run)
    assert work(run) == "the target was reached"
    run = resumed(run, 41)
    assert work(run) == "all evaluations were made"
    unreached = started(tmp_path / "other", dataclasses.replace(QUICK, target=0.5))
    values = iter([1.0] * 41 + [0.0] * 9)
    assert work(unreached, lambda permutation: next(values)) == "all evaluations were made"
    unreached = resumed(unreached, 50)
    assert work(unreached, lambda permutation: next(values)) == "the target was reached"


def repeat_to_the_end(run):
    made = 0
    while again := run.ask_again():
        for trial, _ in again:
            run.enter_again(trial.id, Outcome(float(trial.id), 1000.0))
            made += 1
    return made


def test_a_larger_budget_brings_as_many_repeats_again(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, reevaluations=7))
    work(run, lambda permutation, rng: (rng.normal(), 1.0))
    assert repeat_to_the_end(run) == 7
    run.end("all evaluations were made")
    assert run.is_complete(40)
    assert not run.is_complete(45)
    run = resumed(run)
    assert repeat_to_the_end(run) == 0
    run = resumed(run, 45)
    work(run, lambda permutation, rng: (rng.normal(), 1.0))
    assert repeat_to_the_end(run) == 7
    assert repeat_to_the_end(resumed(run)) == 0


def test_a_repeat_is_a_result_after_which_max_time_ends_a_process(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, max_time=1000.0))
    work(run, lambda permutation, rng: (rng.normal(), 1.0))
    run = resumed(run)
    run.began -= 1000.0
    assert (run.late, run.must_go_on) == (False, True)
    (trial, _), *_ = run.ask_again()
    run.enter_again(trial.id, Outcome(1.0, 1.0))
    assert (run.late, run.must_go_on) == (True, False)


def test_max_time_counts_from_the_start_of_this_process(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, max_time=1000.0))
    trial = run.ask(5)[0]
    run.began -= 1000.0
    assert run.stop_reason() is None  # there is at least one result, so that resuming always makes progress
    run.enter(trial.id, Outcome(1.0))
    assert run.stop_reason() == "the time was up"


def test_a_choice_that_would_end_after_max_time_is_not_begun(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, max_time=1000.0))
    run.seconds_of_asks = [1.0, 90.0]
    for trial in run.ask(5):
        run.enter(trial.id, Outcome(1.0))
    run.began -= 900.0
    assert run.stop_reason() is None  # there are 100 seconds
    run.began -= 20.0
    assert run.stop_reason() == "the time was up"
    run.journal.close()
    again = ActiveRun.resume(tmp_path / "run")
    again.began -= 920.0
    again.seconds_of_asks = [90.0]
    assert again.stop_reason() is None  # it has no result yet, so it tries


def test_an_asynchronous_run_lets_evaluations_end_for_which_no_choice_is_left(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, mode="async", max_time=1000.0))
    first, *others = run.refill(4, {})
    run.enter(first.id, Outcome(1.0))
    run.seconds_of_asks = [90.0]
    run.began -= 950.0
    for trial in others:
        assert (run.refill(11, {}), run.stop_reason()) == ([], None)
        run.enter(trial.id, Outcome(1.0))
    assert run.stop_reason() == "the time was up"


def test_a_resumed_run_knows_how_long_the_last_choices_took(tmp_path):
    run = started(tmp_path / "run")
    work(run, limit=20)
    run.journal.close()
    asks = [record["seconds"] for record in journal.read(tmp_path / "run") if record["type"] == "ask"]
    assert run.seconds_of_asks == ActiveRun.resume(tmp_path / "run").seconds_of_asks == asks[1:]
    assert len(asks) == 4


def test_the_journal_says_how_an_evaluation_was_made(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, reevaluations=9))
    told, failed, *others = run.ask(5)
    run.enter(told.id, Outcome(1.0, 0.5, 3.0, worker="a-12ab/7"))
    run.enter(failed.id, Outcome(reason="broken", traceback="Traceback\nbroken", worker="b-34cd/8", attempts=2))
    for trial in others:
        run.enter(trial.id, Outcome(1.0, 0.5))
    (again, _), *_ = run.ask_again()
    run.enter_again(again.id, Outcome(seconds=4.0, reason="lost", worker="c-56ef/9", attempts=3))
    records = [each for each in journal.read(tmp_path / "run") if each["type"] in ("tell", "fail", "tell again")]
    assert [record.get("reason", "") for record in records] == ["", "broken", *("" for _ in others), "lost"]
    assert [record["seconds"] for record in records] == [3.0, None, *(None for _ in others), 4.0]
    assert [
        {name: record[name] for name in ("worker", "attempts", "traceback") if name in record} for record in records
    ] == [
        {"worker": "a-12ab/7"},
        {"worker": "b-34cd/8", "attempts": 2, "traceback": "Traceback\nbroken"},
        *({} for _ in others),
        {"worker": "c-56ef/9", "attempts": 3},
    ]


def test_what_a_run_does_is_logged(tmp_path, caplog):
    with caplog.at_level("DEBUG", "law_ray"):
        run = started(tmp_path / "run", dataclasses.replace(QUICK, method="law-est", evals=15))
        values = iter([*range(13, 0, -1), None, 7])
        while run.stop_reason() is None:
            for trial in run.pending or run.ask(5):
                value = next(values)
                run.enter(
                    trial.id, Outcome(value) if value else Outcome(reason="broken", traceback="Traceback\nbroken")
                )
    by_level = {level: [r.getMessage() for r in caplog.records if r.levelname == level] for level in ("INFO", "DEBUG")}
    chosen = [line for line in by_level["INFO"] if "chosen" in line]
    assert [line.split(" chosen")[0] for line in chosen] == ["round 0: 10 orderings", "round 1: 5 orderings"]
    assert [line for line in by_level["INFO"] if line not in chosen] == [
        "round 0: all evaluations have ended, the best value is 4",
        "trial 13 failed: broken\nTraceback\nbroken",
        "round 1: all evaluations have ended, the best value is 1",
    ]
    values = [line for line in by_level["DEBUG"] if line.startswith("trial")]
    assert values == [*(f"trial {i}: {13 - i}" for i in range(13)), "trial 14: 7"]
    (model,) = [line for line in by_level["DEBUG"] if "model" in line]
    assert model == f"round 1: the fitted model is {run.optimizer.model.to_record()}"


def test_a_round_without_any_value_is_logged(tmp_path, caplog):
    run = started(tmp_path / "run")
    with caplog.at_level("INFO", "law_ray"):
        for trial in run.ask(5):
            run.enter(trial.id, Outcome(reason="broken"))
    assert caplog.messages[-1] == "round 0: all evaluations have ended"


def test_it_is_known_while_a_batch_is_being_chosen(tmp_path):
    seen = []

    def key(permutation):
        seen.append(run.choosing)
        return permutation.tobytes()

    run = ActiveRun.start(tmp_path / "run", QUICK, OBJECTIVE, key=key)
    for trial in run.ask(5):
        assert run.choosing is False
        run.enter(trial.id, Outcome(1.0))
    seen.clear()
    run.ask(5)
    assert set(seen) == {True}
    assert run.choosing is False


@pytest.mark.parametrize("maximize", [False, True])
def test_the_best_are_evaluated_again_and_their_repeats_numbered(tmp_path, caplog, maximize):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, evals=10, reevaluations=9, maximize=maximize))
    for trial in run.ask(5):
        value = {3: -50.0, 4: -50.2, 7: 50.0, 8: 50.2}.get(trial.id, 0.0)
        run.enter(trial.id, Outcome(value, 1.0))
    best = [8, 7] if maximize else [4, 3]
    for number in (1, 2):
        with caplog.at_level("INFO", "law_ray"):
            again = run.ask_again()
        assert {(trial.id, repeat) for trial, repeat in again} == {(i, number) for i in best}
        assert caplog.messages[-1] == "the best trials are evaluated again: " + ", ".join(str(t.id) for t, _ in again)
        for trial, _ in again:
            run.enter_again(trial.id, Outcome(trial.value, 1.0))


def test_the_first_traceback_of_the_failures_that_ended_a_run_is_in_the_notes(tmp_path):
    run = started(tmp_path / "run")
    for trial in run.ask(5):
        run.enter(trial.id, Outcome(reason=f"reason {trial.id}", traceback="" if trial.id < 3 else f"trace {trial.id}"))
    for trial in run.ask(5):
        run.enter(trial.id, Outcome(reason="later"))
    with pytest.raises(RunError, match=r"the last 15 evaluations, .* trial 0: reason 0; correct") as ended:
        run.stop_reason()
    assert str(ended.value).endswith(
        "failed ones count and are not made again; or begin a new run if another setting, such as n_items, is wrong"
    )
    assert "\n" not in str(ended.value)
    assert ended.value.__notes__ == ["trial 3 failed:\ntrace 3"]


def test_two_whole_rounds_of_failures_end_the_run_with_their_reason(tmp_path):
    run = started(tmp_path / "run")

    def broken(permutation):
        raise OSError("no licence")

    with pytest.raises(RunError, match="no licence"):
        work(run, broken)
    assert len(run.optimizer.trials) == QUICK.n_init + QUICK.batch_size
    run.journal.close()
    assert work(ActiveRun.resume(tmp_path / "run")) == "all evaluations were made"  # once it is corrected


def test_two_rounds_of_failures_after_good_ones_end_the_run(tmp_path):
    run = started(tmp_path / "run")
    values = iter([1.0] * 20)
    with pytest.raises(RunError, match="the last 10 evaluations, 2 whole rounds, all failed; trial 20: "):
        work(run, lambda permutation: next(values, None))
    assert len(run.optimizer.trials) == 30


def test_a_round_with_one_success_does_not_end_the_run(tmp_path):
    calls = iter(range(1000))

    def mostly_broken(permutation):
        if next(calls) % 5:
            raise OSError
        return 1.0

    assert work(started(tmp_path / "run"), mostly_broken) == "all evaluations were made"


def test_a_run_ends_when_the_space_is_used_up(tmp_path):
    settings = Settings(n_items=12, evals=40, batch_size=5, n_init=4, method="random")
    run = ActiveRun.start(tmp_path / "run", settings, OBJECTIVE, key=lambda permutation: int(permutation[0]))
    assert work(run) == "nothing new was left to evaluate: every other ordering counts as one of these"
    assert sorted(trial.permutation[0] for trial in run.optimizer.trials) == list(range(12))


def test_a_resumed_run_has_the_key_and_the_prior_mean_that_it_is_given(tmp_path):
    started(tmp_path / "run").journal.close()
    given = (lambda permutation: int(permutation[0])), (lambda permutations: permutations[:, 0].astype(float))
    run = ActiveRun.resume(tmp_path / "run", None, *given)
    assert (run.optimizer.key(np.arange(8)[::-1]), run.optimizer.proxy) == (7, given[1])


def test_a_small_space_is_evaluated_whole_however_many_evaluations_are_allowed(tmp_path):
    run = started(tmp_path / "run", Settings(n_items=3, evals=120, n_init=20, method="random"))
    while run.stop_reason() is None:
        for trial in run.ask(4):
            run.enter(trial.id, Outcome(0.0))
    assert run.stop_reason() == "nothing new was left to evaluate"
    assert len(run.optimizer.trials) == 6


@pytest.mark.parametrize("limit", [3, 17, *(pytest.param(limit, marks=pytest.mark.slow) for limit in (9, 22))])
def test_asynchronous_proposals_follow_from_the_journal_before_them(tmp_path, limit):
    run = started(tmp_path / "run", ASYNC)
    work_async(run, np.random.default_rng(limit), limit=limit)
    run.journal.close()
    run = ActiveRun.resume(tmp_path / "run")
    assert work_async(run, np.random.default_rng(0)) == "all evaluations were made"
    records = journal.read(tmp_path / "run")
    asked = [i for i, record in enumerate(records) if record["type"] == "ask" and record["round"] > 0]
    assert len(asked) > 10
    for i in asked:
        optimizer = Run.replayed(tmp_path / "run", records[:i]).optimizer
        joining = records[i]["round"] == optimizer.trials[-1].round
        trials = optimizer.ask(records[i]["batch_size"], joining)
        assert [trial.permutation.tolist() for trial in trials] == [t["permutation"] for t in records[i]["trials"]]
        assert optimizer.model.to_record() == records[i]["model"]


def test_a_freed_slot_is_refilled_at_once_and_rounds_are_as_large_as_what_is_under_way(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, mode="async", batch_size=None))
    first = run.refill(4, {})
    assert len(first) == len(run.pending) == QUICK.n_init
    assert run.refill(4, {}) == []
    for trial in first[:8]:
        run.enter(trial.id, Outcome(1.0))
    assert [trial.round for trial in run.refill(4, {})] == [1, 1]  # 2 of the initial design are still under way
    assert run.refill(4, {}) == []
    for trial in first[8:]:
        run.enter(trial.id, Outcome(1.0))
    assert [trial.round for trial in run.refill(4, {})] == [1, 1]
    for trial in run.pending[:1]:
        run.enter(trial.id, Outcome(1.0))
    assert [trial.round for trial in run.refill(4, {})] == [2]
    assert [trial.round for trial in run.refill(8, {})] == [2, 2, 2, 2]  # nodes have joined; the round grows with them
    assert run.refill(8, {}) == []


def test_a_round_is_joined_as_soon_as_its_first_point_was_asked_for(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, mode="async", batch_size=None))
    first = run.refill(4, {})
    for done in (first[:7], first[7:8]):
        for trial in done:
            run.enter(trial.id, Outcome(1.0))
        assert [trial.round for trial in run.refill(4, {})] == [1]


def test_a_round_may_be_larger_than_the_initial_design(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, mode="async", batch_size=None, evals=60))
    for trial in run.refill(20, {}):
        run.enter(trial.id, Outcome(1.0))
    first = run.refill(20, {})
    assert [trial.round for trial in first] == [1] * 20
    run.enter(first[0].id, Outcome(1.0))
    assert [trial.round for trial in run.refill(20, {})] == [2]


@pytest.mark.parametrize("scale", [1.0, 0.01])
@pytest.mark.parametrize(
    ("asking", "batch_size", "n_ahead"),
    [(0.28, None, 0), (0.32, None, 3), (1.9, None, 3), (2.1, None, 6), (90.0, None, 10), (90.0, 10, 0), (90.0, 4, -6)],
)
def test_as_many_points_are_chosen_ahead_as_trials_end_during_two_choices(tmp_path, asking, batch_size, n_ahead, scale):
    """An evaluation takes 10 seconds: those end that began 10 seconds ago, less two choices, or earlier."""
    settings = dataclasses.replace(QUICK, mode="async", batch_size=batch_size)
    run = started(tmp_path / "run", settings)
    for trial in run.longest_first(run.refill(10, {})):
        run.enter(trial.id, Outcome(1.0, seconds=10.0 * scale))
    run.seconds_of_asks = [9000.0, 0.0, asking * scale, *[0.0] * 8]  # the longest of the last ten counts
    ages = {100 + k: age * scale for k, age in enumerate([9.9, 9.9, 9.9, 6.0, 6.0, 6.0, 0.0, 0.0, 0.0, 0.0])}
    run.refill(10, ages)
    assert len(run.pending) == 10 + n_ahead
    assert run.refill(10, ages) == []


@pytest.mark.parametrize("scale", [1.0, 0.02])
def test_slow_trials_are_not_expected_to_end_soon(tmp_path, scale):
    """The second half of the space takes ten times as long, which `longest_first` has learned."""
    run = working.started(tmp_path, Settings(n_items=10, evals=200, n_init=60, method="random", mode="async"))
    for _ in range(2):
        for trial in run.longest_first(run.refill(60, {})):
            seconds = 300.0 if trial.permutation.tolist().index(0) < 5 else 30.0
            run.enter(trial.id, Outcome(1.0, seconds=seconds * scale))
    later = run.longest_first(run.refill(20, {}))
    run.seconds_of_asks.append(10.0 * scale)
    ages = dict.fromkeys((trial.id for trial in later), 25.0 * scale)
    n_fast = sum(run.expected_seconds[trial.id] < 100.0 * scale for trial in later)
    n_chosen = len(run.refill(20, ages))
    assert abs(n_chosen - n_fast) <= 3
    assert 3 < n_fast < 17


def test_trials_that_are_expected_to_take_long_begin_first(tmp_path):
    run = working.started(tmp_path, Settings(n_items=10, evals=200, batch_size=20, n_init=60, method="random"))
    assert run.longest_first([]) == []
    first = run.ask(60)
    assert run.longest_first(first) == first  # nothing is known yet
    slow = {trial.id for trial in first if trial.permutation.tolist().index(0) < 5}
    for trial in first:
        run.enter(trial.id, Outcome(1.0, seconds=30.0 if trial.id in slow else 3.0))
    later = run.longest_first(run.ask(20))
    places = [trial.permutation.tolist().index(0) for trial in later]
    assert np.mean(places[:10]) < np.mean(places[10:]) - 2
    seconds = [run.expected_seconds[trial.id] for trial in later]
    assert seconds == sorted(seconds, reverse=True)


def test_a_round_gets_no_more_points_than_it_lacks_however_many_slots_are_free(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, mode="async", batch_size=None))
    initial = run.refill(4, {})
    for trial in initial[:9]:
        run.enter(trial.id, Outcome(1.0))
    assert [trial.round for trial in run.refill(4, {})] == [1, 1, 1]  # one of the initial design is still under way
    for trial in run.pending[:2]:
        run.enter(trial.id, Outcome(1.0))
    assert [trial.round for trial in run.refill(4, {})] == [1]  # its fourth and last
    assert [trial.round for trial in run.refill(4, {})] == [2]
    assert run.refill(4, {}) == []
    for trial in run.pending[:2]:
        run.enter(trial.id, Outcome(1.0))
    assert [trial.round for trial in run.refill(4, {})] == [2, 2]  # it lacks three


def test_a_run_can_be_extended_more_than_once_and_a_resume_without_a_budget_keeps_it(tmp_path):
    started(tmp_path / "run").journal.close()
    for given, budget in ((47, 47), (None, 47), (60, 60), (None, 60)):
        run = ActiveRun.resume(tmp_path / "run", given)
        assert run.settings.evals == Run.load(tmp_path / "run").settings.evals == budget
        run.journal.close()


def test_a_backup_that_a_resume_names_holds_from_then_on(tmp_path):
    started(tmp_path / "run").journal.close()
    for given, backup in ((None, None), ("file:///a", "file:///a"), (None, "file:///a"), ("file:///b", "file:///b")):
        run = ActiveRun.resume(tmp_path / "run", backup=given)
        assert run.settings.backup == Run.load(tmp_path / "run").settings.backup == backup
        run.journal.close()
    resumes = [record for record in journal.read(tmp_path / "run") if record["type"] == "resume"]
    assert [record.get("backup") for record in resumes] == [None, "file:///a", None, "file:///b"]
    assert {record["evals"] for record in resumes} == {QUICK.evals}


def test_patience_in_asynchronous_mode_counts_rounds_that_have_ended_and_lets_the_rest_end(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, mode="async", patience=2))
    values = iter([5.0] * 10 + [4.0] * 4 + [9.0] * 100)
    under_way = []
    while run.stop_reason() is None:
        under_way += run.refill(4, {})
        run.enter(under_way.pop(0).id, Outcome(next(values)))
    assert run.stop_reason() == "2 rounds brought nothing better"
    assert run.optimizer.best.round == 1
    assert not run.pending
    assert run.optimizer.trials[-1].round in (3, 4)


def test_two_rounds_of_failures_end_an_asynchronous_run(tmp_path):
    run = started(tmp_path / "run", dataclasses.replace(QUICK, mode="async"))
    under_way = run.refill(4, {})

    def fail_on():
        while run.stop_reason() is None:
            under_way.extend(run.refill(4, {}))
            run.enter(under_way.pop(0).id, Outcome(reason="broken"))

    with pytest.raises(RunError, match=r"the last \d+ evaluations, 2 whole rounds, all failed"):
        fail_on()
    assert len(run.optimizer.trials) <= QUICK.n_init + 3 * 4
