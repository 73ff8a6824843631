from dataclasses import replace

import pytest

from experiments.ours.general_rivals import playing
from experiments.ours.general_rivals.methods import METHODS
from experiments.ours.general_rivals.playing import COLUMNS, Run, planned, play_alone, playable
from experiments.ours.general_rivals.problems import problem, truth
from experiments.runs import best_after


def test_heuristics_are_played_once_and_the_others_by_seed_and_batch():
    runs = planned(["line:20"], ["random", "local search"], [1, 5], 50, 2)
    heuristics = [run for run in runs if run.method not in METHODS]
    assert [(run.method, run.batch_size, run.evaluations, run.seed) for run in heuristics] == [
        ("NEH", 1, 1, 0),
        ("earliest due date", 1, 1, 0),
    ]
    assert len(runs) == 2 + 2 * 2 * 2
    assert len(set(runs)) == len(runs)


def test_all_methods_are_planned_where_none_is_named():
    methods = {run.method for run in planned(["asteroid:15"], [], [1], 50, 1)}
    assert methods == {*METHODS, "greedy"}


def test_a_method_that_is_not_installed_is_skipped_with_the_command_that_installs_it(monkeypatch, capsys):
    absent = replace(METHODS["random"], distributions="nowhere==1.0", module="nowhere_to_be_found")
    monkeypatch.setitem(playing.METHODS, "random", absent)
    runs = planned(["line:20"], ["random", "local search"], [5], 50, 1)
    assert {run.method for run in playable(runs)} == {run.method for run in runs} - {"random"}
    assert capsys.readouterr().err == "random is skipped: install it with `pip install nowhere==1.0`\n"


@pytest.mark.slow
def test_the_row_of_a_run_has_its_curve_and_seconds():
    (row,) = play_alone(Run("asteroid:15", "local search", 5, 25, 0))
    assert tuple(row) == COLUMNS
    assert row["evaluated"] == 25
    assert row["wall"] > 0.0
    assert row["evaluating"] > row["choosing"] > 0.0
    first, last = best_after(row["curve"], [1, 25])
    assert last < first


def test_the_row_of_a_heuristic_has_the_value_of_its_ordering():
    (row,) = play_alone(Run("line:20", "earliest due date", 1, 1, 0))
    assert row["curve"] == f"1:{truth('line:20', problem('line:20').earliest_due()):.12g}"
