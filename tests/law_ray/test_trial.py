import math
import pickle

import numpy as np
import pytest

import law_ray
from law_ray import Optimizer, optimizer, trial
from law_ray.errors import InputError
from law_ray.trial import Trial, finite


def pending():
    return Trial(3, 1, np.array([2, 0, 1]))


def test_a_trial_has_one_class_under_all_its_names():
    assert law_ray.Trial is optimizer.Trial is trial.Trial


def test_permutations_stay_read_only_through_pickle():
    opt = pickle.loads(pickle.dumps([Optimizer(5), *Optimizer(5).ask(2)]))
    assert not opt[1].permutation.flags.writeable


def test_a_trial_equals_itself_alone_and_can_be_in_a_set():
    """Two snapshots with the same fields are two trials: arrays do not compare to one truth value."""
    first, second = pending(), pending()
    assert first == first
    assert first != second
    assert len({first, second, first}) == 2


def test_a_trial_that_is_told_or_failed_is_another_one():
    before = pending()
    told, failed = before.told(2, 0.5, 1.5), before.failed("crashed", 0.5)
    assert (told.state, told.value, told.standard_error, told.seconds, told.reason) == ("told", 2.0, 0.5, 1.5, "")
    assert (failed.state, failed.seconds, failed.reason) == ("failed", 0.5, "crashed")
    assert math.isnan(failed.value)
    assert (before.state, math.isnan(before.value)) == ("pending", True)
    assert all((each.id, each.round, each.permutation.tolist()) == (3, 1, [2, 0, 1]) for each in (told, failed))
    assert pending().told(1.0, None, math.nan).standard_error == 0.0


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (math.nan, None, "the value of trial 3 is nan: give a finite number"),
        (1.0, -0.5, "the standard error of trial 3 is -0.5: give at least 0"),
        (1.0, math.inf, "the standard error of trial 3 is inf: give a finite number"),
    ],
)
def test_a_trial_refuses_what_is_no_finite_value_or_standard_error(value, error, message):
    with pytest.raises(InputError, match=message):
        pending().told(value, error, 1.0)


def test_numbers_beyond_the_floats_are_not_finite():
    with pytest.raises(InputError, match="it is 1000"):
        finite("it", 10**400)
    assert finite("it", 10**300) == 1e300


def test_a_trial_says_in_one_short_line_what_is_known_of_it():
    assert repr(pending()) == "<Trial 3 of round 1, pending: 2, 0, 1>"
    assert repr(pending().told(2, 0.5, 1.5)) == "<Trial 3 of round 1, told 2.00 ± 0.50: 2, 0, 1>"
    assert repr(pending().failed("crashed", 0.5)) == "<Trial 3 of round 1, failed: 2, 0, 1>"
    assert repr(Trial(0, -1, np.arange(2), "added", 0.1)) == "<Trial 0 of what was known, added 0.1: 0, 1>"
    assert repr(Trial(0, 0, np.arange(2))) == "<Trial 0 of the initial design, pending: 0, 1>"
    large = repr(Trial(0, 1, np.arange(1000)))
    assert large.endswith(", ... (1000 items)>")
    assert len(large) < 200


def test_a_notebook_shows_a_trial_as_a_table_in_which_reasons_stay_text():
    shown = pending().failed("ValueError: <script>alert('1')</script>", 0.5)._repr_html_()
    assert "<td>failed: ValueError: &lt;script&gt;" in shown
    assert "<script" not in shown
    assert "<th scope='row'>value</th><td>2.00 ± 0.50</td>" in pending().told(2, 0.5, 1.5)._repr_html_()
