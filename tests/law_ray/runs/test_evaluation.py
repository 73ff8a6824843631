import math

import numpy as np
import pytest

from law_ray.runs.evaluation import MAX_REASON, evaluate, takes_rng

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
    assert "returned" in outcome.reason
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


def test_other_parameters_are_left_alone():
    assert not takes_rng(lambda permutation, scale=2.0: 0)
    assert not takes_rng(lambda permutation, *, rng=None: 0)
    assert not takes_rng(lambda permutation, *rest: 0)
    assert not takes_rng(max)
    assert evaluate(lambda p, scale=2.0: scale, PERMUTATION, np.random.default_rng(0)).value == 2.0
