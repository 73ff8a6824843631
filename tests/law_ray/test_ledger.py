"""The trials of an optimisation: what is pending, what is known, and since when."""

import math

import numpy as np
import pytest

from law_ray.errors import InputError
from law_ray.ledger import Ledger


def ledger(count):
    found = Ledger()
    for k in range(count):
        found.enter(k // 2, np.roll(np.arange(4), k))
    return found


def tell(found, trial_id, value):
    found.end(found.pending_trial(trial_id).told(value, None, 1.0))


def test_trials_have_the_ids_in_which_order_they_were_entered():
    found = ledger(3)
    assert found.enter(-1, np.arange(4), 2.5).state == "added"
    assert [(trial.id, trial.round, trial.state) for trial in found] == [
        (0, 0, "pending"),
        (1, 0, "pending"),
        (2, 1, "pending"),
        (3, -1, "added"),
    ]
    assert len(found) == 4


def test_what_ends_is_pending_no_longer():
    found = ledger(4)
    tell(found, 2, 1.0)
    found.end(found.pending_trial(0).failed("broken", math.nan))
    assert [trial.id for trial in found.pending] == [1, 3]
    assert [trial.state for trial in found] == ["failed", "pending", "told", "pending"]
    for trial_id, says in ((2, "trial 2 is told already"), (0, "trial 0 is failed already"), (4, "no trial 4")):
        with pytest.raises(InputError, match=says):
            found.pending_trial(trial_id)


def test_the_best_is_the_earliest_of_equals_whichever_way_is_better():
    found = ledger(5)
    with pytest.raises(InputError, match="no value was told yet"):
        found.best(maximize=False)
    for trial_id, value in ((4, 1.0), (1, 3.0), (2, 1.0), (3, 3.0)):
        tell(found, trial_id, value)
    assert (found.best(maximize=False).id, found.best(maximize=True).id) == (2, 1)


def test_values_come_in_the_order_in_which_asks_learnt_them():
    """Within one ask they come by id, however they were told: the proposals do not depend on that."""
    found = ledger(4)
    tell(found, 3, 1.0)
    tell(found, 2, 1.0)
    found.note_ask()
    assert [found.known_since(k) for k in range(4)] == [None, None, 4, 4]
    found.enter(2, np.arange(4))
    tell(found, 4, 1.0)
    tell(found, 0, 1.0)
    assert [trial.id for trial in found.known] == [2, 3, 0, 4]
    found.note_ask()
    assert [found.known_since(k) for k in range(5)] == [5, None, 4, 4, 5]
    tell(found, 1, 1.0)
    assert [trial.id for trial in found.known] == [2, 3, 0, 4, 1]


def test_a_frame_has_the_same_types_with_and_without_trials():
    empty, full = Ledger().to_frame(), ledger(2).to_frame()
    assert (len(empty), len(full)) == (0, 2)
    assert empty.dtypes.equals(full.dtypes)
    assert full["permutation"].tolist() == [(0, 1, 2, 3), (3, 0, 1, 2)]
