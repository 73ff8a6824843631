import heapq
import math
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from experiments import RESULTS
from experiments.ours import asynchronous
from experiments.ours.asynchronous import (
    COLUMNS,
    EVALUATIONS,
    N_INIT,
    Case,
    Cluster,
    assignment,
    play,
    play_alone,
    report,
    simulate,
)
from experiments.tasks import read
from law_ray.runs.active import ActiveRun
from law_ray.runs.objective import BlackBox
from law_ray.runs.settings import Settings
from tests.experiments.committed import check_committed


def trial(number):
    return SimpleNamespace(id=number)


def seconds_of(trial):
    return 60.0 + 7.0 * (trial.id % 5)


def test_slots_evaluate_first_come_first_served():
    """Two slots; the lengths are 1, 5, 2, 2: the queue is taken as slots become free."""
    cluster = Cluster(2, lambda trial: [1.0, 5.0, 2.0, 2.0][trial.id])
    cluster.submit([trial(k) for k in range(4)])
    assert [t.id for t in cluster.advance(3.5)] == [0, 2]
    assert cluster.intervals == [(0.0, 1.0), (0.0, 5.0), (1.0, 3.0), (3.0, 5.0)]
    assert [t.id for t in cluster.wait()] == [1, 3] and cluster.now == 5.0
    assert cluster.wait() == []
    assert cluster.busy(2.0, 4.0) == 2.0 + 1.0 + 1.0


def simulated(tmp_path, mode, slots=4, evals=32, method="random", clock=time.process_time):
    objective = assignment(9)
    settings = Settings(9, seed=1, n_init=8, mode=mode, evals=evals, method=method)
    run = ActiveRun.start(tmp_path / mode, settings, BlackBox(objective).to_record(""))
    with run.journal:
        return run, simulate(run, objective, slots, seconds_of, clock)


def test_rounds_take_as_long_as_their_longest_evaluations(tmp_path):
    run, found = simulated(tmp_path, "sync")
    rounds = np.array([seconds_of(trial(k)) for k in range(8, 32)]).reshape(6, 4)
    assert found["asks"] == 6 and len(run.optimizer.trials) == 32
    assert found["seconds"] == pytest.approx(rounds.max(axis=1).sum(), abs=2.0)
    until_last = rounds[:5]
    assert found["idle"] == pytest.approx(1.0 - until_last.sum() / (4 * until_last.max(axis=1).sum()), abs=0.01)
    assert found["best"] == run.optimizer.best.value


def test_refills_schedule_as_a_list_does(tmp_path):
    run, found = simulated(tmp_path, "async")
    ends = [0.0] * 4
    for number in range(32):
        heapq.heapreplace(ends, ends[0] + seconds_of(trial(number)))
    initial = [0.0] * 4
    for number in range(8):
        heapq.heapreplace(initial, initial[0] + seconds_of(trial(number)))
    assert len(run.optimizer.trials) == 32
    assert found["seconds"] == pytest.approx(max(ends) - min(initial), abs=8.0)
    assert found["idle"] < 0.01


def test_choices_take_their_seconds_of_the_clock(tmp_path):
    ticks = iter(range(0, 100_000, 30))  # each choice takes 30 seconds

    def clock():
        return float(next(ticks))

    _, found = simulated(tmp_path, "sync", clock=clock)
    rounds = np.array([seconds_of(trial(k)) for k in range(8, 32)]).reshape(6, 4).max(axis=1)
    assert found["asking"] == 6 * 30.0
    assert found["seconds"] == pytest.approx(rounds.sum() + 6 * 30.0)
    _, found = simulated(tmp_path, "async", clock=clock)
    assert found["seconds"] < rounds.sum() + 6 * 30.0 and found["idle"] < 0.25  # some points were chosen ahead


def test_a_run_has_a_row_and_its_times_depend_on_the_seed_alone(monkeypatch):
    monkeypatch.setitem(EVALUATIONS, ("fsp:ta001", 8), N_INIT + 8)
    case = Case("fsp:ta001", 8, "uneven", "sync", 1, 3)
    (row,), (again,) = play(case), play(case)
    assert list(row) == list(COLUMNS)
    assert row["asks"] == 1 and row["best"] == again["best"]
    assert row["seconds"] - row["asking"] == pytest.approx(again["seconds"] - again["asking"])
    assert not math.isclose(row["seconds"], play(case._replace(seed=4))[0]["seconds"])


def test_a_round_may_have_two_points_a_slot(monkeypatch):
    monkeypatch.setitem(EVALUATIONS, ("fsp:ta001", 8), N_INIT + 16)
    (once,), (twice,) = (play(Case("fsp:ta001", 8, "equal", mode, 1, 0)) for mode in ("sync", "sync, two a slot"))
    assert (once["asks"], twice["asks"]) == (2, 1)


def test_the_report_has_a_table_for_each_problem_and_cluster():
    rows = [
        ("fsp:ta001", 8, times, mode, n_threads, seed, 1300.0 + seed, 500.0, 0.25, 20.0, 30)
        for times in ("equal", "uneven")
        for mode in ("sync", "async")
        for n_threads in (1, 2)
        for seed in range(2)
    ]
    text = report(pd.DataFrame(rows, columns=list(COLUMNS)))
    assert "## fsp:ta001, 8 slots, 256 evaluations" in text
    for n_threads in (1, 2):
        assert f"| uneven | async | {n_threads} | 2 | 1300.50 +- 0.50 | 500 | 25.0% | 20 | 30 |" in text


def test_runs_on_several_threads_are_played_by_the_clock_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.setitem(EVALUATIONS, ("fsp:ta001", 8), N_INIT + 8)
    played = []
    monkeypatch.setattr(asynchronous.threads, "limit", lambda n, blas: played.append((n, blas)))
    monkeypatch.setattr(asynchronous, "simulate", lambda *arguments: played.append(arguments[-1]) or {"best": 1.0})
    cases = [Case("fsp:ta001", 8, "equal", "sync", 2, seed) for seed in range(2)]
    play_alone(cases, 2, tmp_path / "rows.csv")
    assert played == [(2, 1), time.perf_counter, time.perf_counter]
    assert read(tmp_path / "rows.csv", COLUMNS)["seed"].tolist() == [0, 1]


@pytest.mark.skipif(not (RESULTS / "asynchronous.csv").exists(), reason="not played yet")
def test_the_committed_report_is_that_of_the_committed_rows():
    check_committed("asynchronous", report(read(RESULTS / "asynchronous.csv", COLUMNS)))
