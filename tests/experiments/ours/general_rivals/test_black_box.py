import numpy as np
import pytest

from experiments.ours.general_rivals import black_box
from experiments.ours.general_rivals.black_box import PATIENCE, BlackBox, SpentError
from experiments.ours.general_rivals.problems import observed, truth


def orderings(count, n_items, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.permutation(n_items) for _ in range(count)]


def test_the_budget_ends_with_its_last_evaluation():
    box = BlackBox("asteroid:15", 3, 2, 0)
    some = orderings(4, 15)
    assert box.values(some[:2]) == [truth("asteroid:15", each) for each in some[:2]]
    with pytest.raises(SpentError):
        box.values(some[2:])
    assert [list(key) for key in box.evaluated] == [each.tolist() for each in some[:3]]


def test_an_ordering_proposed_again_costs_nothing_until_patience_ends(monkeypatch):
    calls = []
    monkeypatch.setattr(black_box, "observed", lambda name, ordering, rng: (calls.append(ordering) or 7.0, 0.0))
    box = BlackBox("asteroid:15", 2, 1, 0)
    (ordering,) = orderings(1, 15)
    for _ in range(PATIENCE * 2 - 1):
        assert box.values([ordering]) == [7.0]
    with pytest.raises(SpentError):
        box.values([ordering])
    assert len(calls) == len(box.evaluated) == 1


def test_orderings_are_repaired_before_they_are_evaluated():
    box = BlackBox("line:20", 30, 1, 0)
    box.values(orderings(10, 20))
    allowed = box.objective.allows(np.array(list(box.evaluated)))
    given = box.objective.allows(orderings(10, 20))
    assert all(allowed)
    assert not all(given)


def test_noise_depends_on_the_seed_and_the_number_of_the_evaluation():
    some = orderings(3, 20)
    first, same, other = (BlackBox("line:20", 9, 1, seed).values(some) for seed in (0, 0, 1))
    assert first == same
    assert all(a != b for a, b in zip(first, other, strict=True))


@pytest.mark.slow
def test_the_curve_has_the_true_value_of_the_ordering_with_the_least_observed_one():
    box = BlackBox("line:20", 9, 1, 3)
    found = box.values(orderings(8, 20))
    counts = [count for count, value in enumerate(found, 1) if value == min(found[:count])]
    keys = list(box.evaluated)
    assert 1 < len(counts) < 8
    assert box.curve() == [(count, truth("line:20", np.array(keys[count - 1]))) for count in counts]
    assert box.curve()[0][1] != found[0]
    assert observed("line:20", np.array(keys[0]), np.random.default_rng(0))[1] > 0.0
