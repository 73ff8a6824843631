"""What the progress line says."""

import dataclasses
import io
import math
import re
import sys

import pytest

from law_ray.driver import progress
from law_ray.driver.progress import (
    EVALUATING,
    REEVALUATING,
    WAITING,
    Left,
    Progress,
    Status,
    line_of,
    status_of,
    time_left,
)
from law_ray.runs.active import ActiveRun
from law_ray.runs.evaluation import Outcome
from law_ray.runs.settings import Settings
from tests.law_ray.runs import working

SETTINGS = Settings(n_items=8, evals=30, batch_size=5, n_init=10, method="random")


def begun(folder, ended, settings=SETTINGS, seconds=2.0):
    """A run of which so many evaluations have ended, each after so many seconds."""
    run = working.started(folder, settings)
    for trial in run.ask(10)[:ended]:
        run.enter(trial.id, Outcome(float(trial.id), seconds=seconds))
    return run


def test_a_status_counts_what_has_ended(tmp_path):
    run = begun(tmp_path, 6)
    run.enter(6, Outcome(reason="broken"))
    status = status_of(run, EVALUATING, 12.0, slots=2)
    assert status._replace(left=None) == (EVALUATING, 12.0, 7, 30, 1, 0.0, None, False)
    maximised = begun(tmp_path / "max", 6, dataclasses.replace(SETTINGS, maximize=True))
    assert status_of(maximised, EVALUATING, 12.0, slots=2).best == 5.0


def test_a_resumed_run_goes_on_counting(tmp_path):
    begun(tmp_path, 8, seconds=100.0).journal.close()
    status = status_of(ActiveRun.resume(tmp_path), EVALUATING, 1.0, slots=2)
    assert status.evaluations == 8
    assert status.left is not None


@pytest.mark.parametrize("ended", [0, 2])
def test_nothing_is_said_of_the_time_left_before_a_few_evaluations_have_ended(tmp_path, ended):
    assert time_left(begun(tmp_path, ended), slots=2) is None


def test_evaluations_without_a_time_say_nothing_of_the_time_left(tmp_path):
    assert time_left(begun(tmp_path, 9, seconds=math.nan), slots=2) is None


def test_while_no_choice_was_made_the_evaluations_alone_give_a_bound(tmp_path):
    # 4 of the initial design in 2 waves, then 4 rounds of 5 in 3 waves each
    run = begun(tmp_path / "slow", 6, seconds=100.0)
    assert time_left(run, slots=2) == Left((2 + 4 * 3) * 100.0, at_least=True)
    assert time_left(begun(tmp_path / "quick", 6, seconds=0.1), slots=2) is None  # choosing will take longer


def test_the_time_left_is_that_of_rounds_with_their_choices(tmp_path):
    run = begun(tmp_path, 10)
    run.seconds_of_asks = [900.0, 900.0, 9.0, 10.0, 11.0, 12.0, 13.0]  # the last five count
    assert time_left(run, slots=2) == Left(4 * (11.0 + 3 * 2.0), at_least=False)
    assert time_left(run, slots=5) == Left(4 * (11.0 + 2.0), at_least=False)


def test_asynchronous_evaluations_fill_the_slots(tmp_path):
    run = begun(tmp_path, 10, dataclasses.replace(SETTINGS, mode="async"))
    run.seconds_of_asks = [1.0]
    assert time_left(run, slots=2) == Left(20 / 2 * 2.0 + 20 * 1.0, at_least=False)
    assert time_left(run, slots=16) == Left(20 / 5 * 2.0 + 20 * 1.0, at_least=False)  # but no more than the batch size


def test_uneven_evaluations_make_rounds_as_long_as_their_longest(tmp_path):
    run = working.started(tmp_path, SETTINGS)
    for trial in run.ask(10):
        run.enter(trial.id, Outcome(1.0, seconds=1.0 if trial.id % 2 else 9.0))
    run.seconds_of_asks = [0.0]
    longest = 9.0 * (1 - 0.5**5) + 1.0 * 0.5**5  # of five
    assert time_left(run, slots=5).seconds == pytest.approx(4 * longest)
    assert time_left(run, slots=1).seconds == pytest.approx(20 * 5.0)
    assert time_left(run, slots=2).seconds == pytest.approx(4 * (2 * 5.0 + 7.0))


def test_what_is_pending_takes_as_long_as_was_expected_of_it(tmp_path):
    run = begun(tmp_path, 6)
    run.seconds_of_asks = [0.0]
    run.expected_seconds = {6: 10.0, 7: 3.0, 8: 4.0, 9: math.nan}  # 10 in one slot; 3, 4 and the mean, 2, in the other
    assert time_left(run, slots=2).seconds == pytest.approx(10.0 + 4 * 3 * 2.0)
    run.expected_seconds[8] = 9.0
    assert time_left(run, slots=2).seconds == pytest.approx(12.0 + 4 * 3 * 2.0)


def test_the_time_left_is_at_most_what_max_time_leaves(tmp_path):
    run = begun(tmp_path, 10, dataclasses.replace(SETTINGS, max_time=1000.0), seconds=1e6)
    left = time_left(run, slots=2)
    assert 0 < left.seconds <= 1000
    assert not left.at_least
    run.began -= 2000
    assert time_left(run, slots=2).seconds == 0


def test_the_line_says_what_is_being_done():
    assert line_of(Status(elapsed=72.4)) == "preparing, 1:12"
    status = Status(EVALUATING, 80.0, 45, 120, 2, 12.3456789, Left(3661.0, False))
    assert line_of(status) == "evaluating 45/120 (37%), best 12.3457, 2 failed, 1:20, 1:01:01 left"
    early = status._replace(evaluations=0, failed=0, best=None, left=Left(59.6, True))
    assert line_of(early) == "evaluating 0/120 (0%), 1:20, >1:00 left"
    assert line_of(early._replace(left=None)) == "evaluating 0/120 (0%), 1:20"
    assert line_of(early._replace(doing=WAITING, left=None)) == "waiting for the cluster: 0/120 (0%), 1:20"


@pytest.mark.parametrize("width", [79, 40, 10])
def test_the_line_fits_whatever_the_numbers(width):
    status = Status(REEVALUATING, 1e6, 99_999, 99_999, 9_999, -1.234567e-100, Left(1e6, True))
    assert len(line_of(status, width)) <= width


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_on_a_terminal_the_line_is_replaced_and_makes_room_for_others(monkeypatch):
    stderr = Terminal()
    monkeypatch.setattr(sys, "stderr", stderr)
    shown = Progress(wanted=True)
    shown.show(Status(elapsed=1.0))
    with shown.aside():
        print("a message", file=sys.stderr)
    shown.show(Status(elapsed=2.0))
    shown.close()
    assert stderr.getvalue() == ("\rpreparing, 0:01\x1b[K\r\x1b[Ka message\npreparing, 0:01\rpreparing, 0:02\x1b[K\n")


def test_in_a_file_there_is_a_line_now_and_then_and_a_last_one(monkeypatch):
    stderr, clock = io.StringIO(), iter([0.0, 10.0, 29.0, 31.0, 40.0])
    monkeypatch.setattr(sys, "stderr", stderr)
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    shown = Progress(wanted=True)
    for elapsed in (0, 10, 29, 31, 40):
        shown.show(Status(elapsed=elapsed))
        with shown.aside():
            pass
    shown.close()
    assert re.findall("preparing, (.*)\n", stderr.getvalue()) == ["0:00", "0:31", "0:40"]


def test_a_line_that_is_not_wanted_is_not_shown(monkeypatch):
    for stderr in (io.StringIO(), Terminal()):
        monkeypatch.setattr(sys, "stderr", stderr)
        shown = Progress(wanted=False)
        shown.show(Status())
        with shown.aside():
            pass
        shown.close()
        assert stderr.getvalue() == ""


@pytest.mark.parametrize("error", [BrokenPipeError, OSError, ValueError])
def test_where_nobody_reads_it_any_more_the_line_is_left_out_and_the_run_goes_on(monkeypatch, error):
    class Gone(io.StringIO):
        def write(self, text):
            raise error

    monkeypatch.setattr(sys, "stderr", Gone())
    shown = Progress(wanted=True)
    shown.show(Status())
    shown.show(Status())
    shown.close()
