import contextlib
import json
import math
import sys
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from law_ray.runs.evaluation import (
    MAX_REASON,
    MAX_TRACEBACK,
    MAX_TRACEBACK_HEAD,
    Outcome,
    Part,
    combine,
    evaluate,
    evaluate_part,
    generator_name,
)

PERMUTATION = np.array([2, 0, 1])


def outcome_of(result):
    return evaluate(lambda permutation: result, PERMUTATION, np.random.default_rng(0))


@pytest.mark.parametrize("result", [3, 3.0, np.float64(3), np.int32(3), np.array(3.0), np.array([3.0]), np.float32(3)])
def test_a_number_of_any_kind_is_a_value(result):
    outcome = outcome_of(result)
    assert (outcome.value, outcome.standard_error, outcome.reason) == (3.0, 0.0, "")
    assert type(outcome.value) is float
    assert outcome.seconds >= 0


def test_a_pair_is_a_value_and_its_standard_error():
    assert outcome_of((3.0, np.float64(0.5)))[:2] == (3.0, 0.5)


@pytest.mark.parametrize(
    "result",
    [math.nan, math.inf, -math.inf, (1.0, math.nan), (1.0, -1.0), None, "3", [3.0], np.zeros(2), (1, 2, 3), 1j],
)
def test_anything_else_fails_and_says_what_came_back(result):
    outcome = outcome_of(result)
    assert outcome.reason.startswith(f"returned {result!r}, ")
    assert math.isnan(outcome.value)


def test_what_the_objective_raises_becomes_a_one_line_reason():
    def raises(permutation):
        raise KeyError("a\nb" + "x" * 10_000)

    outcome = evaluate(raises, PERMUTATION, np.random.default_rng(0))
    assert outcome.reason.startswith("KeyError: ")
    assert "\n" not in outcome.reason
    assert len(outcome.reason) <= MAX_REASON


def test_the_reason_says_where_in_the_users_code():
    def looks_up(permutation):
        return np.loadtxt("no such file")  # raised within NumPy

    line = looks_up.__code__.co_firstlineno + 1
    reason = evaluate(looks_up, PERMUTATION, np.random.default_rng(0)).reason
    assert reason.endswith(f"(test_evaluation.py, line {line})")
    assert reason.startswith("FileNotFoundError: no such file")


@pytest.mark.parametrize("fails", [False, True])
def test_a_limit_of_the_recursion_that_leaves_no_room_is_taken_back_at_once(fails):
    def limits(permutation):
        for limit in range(10_000):
            with contextlib.suppress(ValueError, RecursionError):  # too low, or lower than the present depth
                sys.setrecursionlimit(limit)
                break
        return 1 / 0 if fails else 3

    before = sys.getrecursionlimit()
    outcome = evaluate(limits, PERMUTATION, np.random.default_rng(0))
    assert sys.getrecursionlimit() == before
    assert outcome.reason.startswith("ZeroDivisionError") if fails else outcome.value == 3


def test_an_error_that_cannot_be_shown_fails_alone():
    class ShyError(Exception):
        def __str__(self):
            raise RuntimeError

    def raises(permutation):
        raise ShyError

    assert evaluate(raises, PERMUTATION, np.random.default_rng(0)).reason.startswith("ShyError: it cannot be shown (")


def test_an_objective_that_calls_exit_fails_alone():
    def leaves(permutation):
        raise SystemExit(3)

    assert evaluate(leaves, PERMUTATION, np.random.default_rng(0)).reason.startswith("SystemExit: 3 (")


def test_a_result_that_cannot_be_shown_fails():
    class Shy:
        def __repr__(self):
            raise RuntimeError

    assert "a Shy" in outcome_of(Shy()).reason


def test_the_objective_may_change_the_permutation_it_is_given():
    def shuffles(permutation):
        permutation[:] = 0
        return 1.0

    read_only = PERMUTATION.copy()
    read_only.flags.writeable = False
    assert evaluate(shuffles, read_only, np.random.default_rng(0)).value == 1.0
    np.testing.assert_array_equal(read_only, PERMUTATION)


def test_the_generator_is_passed_to_those_who_want_it():
    class Callable:
        def __call__(self, permutation, rng):
            return rng.random()

    expected = np.random.default_rng(5).random()
    for objective in (Callable(), lambda p, rng: rng.random(), lambda p, rng=None: rng.random()):
        assert evaluate(objective, PERMUTATION, np.random.default_rng(5)).value == expected


def test_a_second_parameter_without_a_default_is_for_the_generator_whatever_its_name():
    assert generator_name(lambda permutation, weights: 0) == "weights"
    assert generator_name(lambda permutation, rng=None: 0) == "rng"


def test_other_parameters_are_left_alone():
    assert generator_name(lambda permutation, scale=2.0: 0) is None
    assert generator_name(lambda permutation, *, rng=None: 0) is None
    assert generator_name(lambda permutation, *rest: 0) is None
    assert generator_name(max) is None
    assert evaluate(lambda p, scale=2.0: scale, PERMUTATION, np.random.default_rng(0)).value == 2.0


def looked_up(machine):
    return {}[machine]


def traceback_from(objective):
    return evaluate(objective, PERMUTATION, np.random.default_rng(0)).traceback


def test_the_traceback_begins_with_the_users_code_and_has_the_causes():
    def raises(permutation):
        try:
            looked_up("machine 3")
        except KeyError as error:
            raise ValueError("bad machine") from error

    text = traceback_from(raises)
    cause, told = text.split("\n\nThe above exception was the direct cause of the following exception:\n\n")
    for part, last in ((cause, "KeyError: 'machine 3'"), (told, "ValueError: bad machine")):
        assert part.splitlines()[0] == "Traceback (most recent call last):"
        assert part.splitlines()[-1] == last
    assert f"line {looked_up.__code__.co_firstlineno + 1}, in looked_up" in cause
    assert "test_evaluation.py" in told.splitlines()[1]
    assert "evaluation.py" not in text.replace("test_evaluation.py", "")  # no frame of ours


def test_an_error_raised_in_no_code_of_the_user_has_a_traceback_and_a_reason_without_a_place():
    with pytest.raises(TypeError) as raised:
        math.sqrt(PERMUTATION)
    assert traceback_from(math.sqrt).splitlines()[-1] == f"TypeError: {raised.value}"
    assert evaluate(math.sqrt, PERMUTATION, np.random.default_rng(0)).reason == f"TypeError: {raised.value}"


def test_the_traceback_of_a_librarys_function_begins_with_that_function():
    *_, frame, last = [line for line in traceback_from(json.loads).splitlines() if not line.startswith("    ")]
    assert frame.endswith("in loads")
    assert last.startswith("TypeError: the JSON object must be str")
    assert "evaluation.py" not in traceback_from(json.loads)


def test_what_a_library_does_before_it_calls_the_users_code_is_left_out_of_the_traceback():
    @contextlib.contextmanager
    def warm():
        yield

    @warm()  # contextlib calls the function
    def raises(permutation):
        looked_up("machine 3")

    frames = [line for line in traceback_from(raises).splitlines() if line.startswith("  File")]
    assert [line.rsplit(" in ")[-1] for line in frames] == ["raises", "looked_up"]


def test_what_failed_has_taken_time_too():
    def waits(permutation):
        time.sleep(0.02)
        raise OSError

    assert 0.02 <= evaluate(waits, PERMUTATION, np.random.default_rng(0)).seconds < 20
    for result in (1.0, "text", math.inf, (1.0, -1.0)):
        seconds = evaluate(lambda _, result=result: time.sleep(0.02) or result, PERMUTATION, None).seconds
        assert 0.02 <= seconds < 20


def test_a_long_traceback_keeps_its_beginning_and_its_end():
    def raises(permutation):
        raise ValueError("x" * 10_000 + " the end")

    text = traceback_from(raises)
    assert len(text) == MAX_TRACEBACK
    assert text.startswith("Traceback (most recent call last):\n")
    assert text.endswith("x the end")
    assert text.count("\n...\n") == 1
    assert text[MAX_TRACEBACK_HEAD:].startswith("\n...\nx")


def test_a_traceback_of_just_the_length_that_is_kept_is_whole():
    def raises(permutation):
        raise ValueError("x" * length)

    length = 0
    length = MAX_TRACEBACK - len(traceback_from(raises) + ": ")
    text = traceback_from(raises)
    assert len(text) == MAX_TRACEBACK
    assert text.endswith("ValueError: " + "x" * length)


def test_an_error_that_cannot_be_printed_fails_alone():
    class ShyError(Exception):
        def __str__(self):
            raise RuntimeError

        __repr__ = __str__
        __notes__ = property(__str__)

    def raises(permutation):
        raise ShyError from ShyError()

    outcome = evaluate(raises, PERMUTATION, np.random.default_rng(0))
    assert outcome.reason.startswith("ShyError: it cannot be shown")
    assert isinstance(outcome.traceback, str)


class Halves:
    """Combines its parts by their sum, unless `flawed`."""

    def __init__(self, flawed=False):
        self.flawed = flawed

    def combine(self, values):
        return sum(values) if not self.flawed else looked_up("sum")


def test_a_part_is_evaluated_as_the_whole_would_be():
    class Split:
        def split(self, n_parts):
            return [lambda permutation, rng, i=i: (i, n_parts, permutation.tolist(), rng.random()) for i in range(3)]

    part = evaluate_part(Split(), 1, 3, PERMUTATION, np.random.default_rng(5))
    assert part.value == (1, 3, [2, 0, 1], np.random.default_rng(5).random())
    assert part.reason == ""
    assert evaluate_part(Split(), 3, 3, PERMUTATION, np.random.default_rng(5)).reason.startswith("IndexError: list ")


def test_parts_are_of_the_slowest_worker_and_their_prints_are_put_together():
    parts = [Part(1.0, 2.0, worker="a/1", printed="one\n"), Part(2.0, 1.0, worker="b/2", printed="two\n")]
    assert combine(Halves(), parts) == Outcome(3.0, 0.0, 2.0, worker="a/1", printed="one\ntwo\n")
    failed = combine(Halves(flawed=True), parts)
    assert (failed.worker, failed.seconds) == ("a/1", 2.0)
    assert failed.reason.startswith("KeyError: 'sum'")
    assert "in looked_up" in failed.traceback


@pytest.mark.parametrize("error", [SystemExit(3), ZeroDivisionError(), OSError("no disk")])
def test_parts_that_cannot_be_combined_fail_their_trial_alone(error):
    class Broken:
        def combine(self, values):
            raise error

    class Whole:
        def combine(self, values):
            return values[0] if len(values[0]) > 1 else values[0][0]

    outcome = combine(Broken(), [Part(1.0, 2.0, worker="a/1"), Part(2.0, 3.0, worker="b/2")])
    assert outcome.reason.startswith(type(error).__name__)
    assert (outcome.seconds, outcome.worker) == (3.0, "b/2")
    nonsense = combine(Halves(), [Part(math.inf, 1.0)])
    assert nonsense.reason == "returned inf, not finite"
    for result in ((math.inf,), ("text",), (1.0, -1.0)):
        nonsense = combine(Whole(), [Part(result, 1.0)])
        assert nonsense.reason.startswith("returned ")
        assert nonsense.seconds == 1.0


def test_parts_are_combined_in_their_order():
    class Listed:
        def combine(self, values):
            return sum(10**place * value for place, value in enumerate(values))

    assert combine(Listed(), [Part(1, 1.0), Part(2, 3.0), Part(3, 2.0)]).value == 321.0


def test_a_part_that_fails_is_the_outcome():
    parts = [Part(1.0, 2.0, worker="a/1"), Part(None, 1.0, "broken", "Traceback", "b/2", "two\n")]
    outcome = combine(Halves(), parts)
    assert outcome[2:] == (2.0, "broken", "Traceback", "b/2", 1, "two\n")
    assert math.isnan(outcome.value)


@pytest.mark.parametrize("number", [Decimal(3), Fraction(3), True + 2, np.True_ + np.int8(2)])
def test_numbers_of_other_kinds_are_values_too(number):
    assert (outcome_of(number).value, outcome_of((number, number))[:2]) == (3.0, (3.0, 3.0))


def test_a_number_too_large_for_a_float_is_not_finite():
    assert outcome_of(10**400).reason.endswith("not finite")


@pytest.mark.parametrize("error", [KeyboardInterrupt, GeneratorExit, SystemExit, OverflowError])
def test_whatever_the_objective_its_error_or_its_number_raises_fails_alone(error):
    def raising(*_):
        raise error("so")

    shy = type("Shy", (Exception,), {"__str__": raising})
    odd = type("Odd", (float,), {"__float__": raising, "__repr__": raising})

    def raises_shy(permutation):
        raise shy

    for objective, reason in (
        (raising, f"{error.__name__}: so ("),
        (raises_shy, "Shy: it cannot be shown ("),
        (lambda permutation: odd(1), "returned a Odd, not "),
    ):
        assert evaluate(objective, PERMUTATION, np.random.default_rng(0)).reason.startswith(reason)


def test_a_reason_is_one_line_that_any_terminal_can_show():
    def raises(permutation):
        raise ValueError("a\x1b[2J\ud800\x00\r\nb")

    outcome = evaluate(raises, PERMUTATION, np.random.default_rng(0))
    assert outcome.reason.startswith("ValueError: a [2J    b (")
    assert (outcome.reason + outcome.traceback).encode()
    assert "\\ud800" in outcome.traceback
