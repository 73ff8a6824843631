import numpy as np
import pytest

from law_ray.models.part import part


@pytest.mark.parametrize("n", [1, 9, 10])
def test_few_values_are_all_given(n):
    assert part(np.random.default_rng(0).normal(size=n), 10).tolist() == list(range(n))


@pytest.mark.parametrize("size", [10, 11])
def test_of_many_half_are_the_best_and_the_others_are_spread_over_the_rest(size):
    y = np.random.default_rng(1).normal(size=400)
    given = part(y, size)
    assert len(set(given.tolist())) == size
    assert np.array_equal(given, np.sort(given))
    best = set(np.argsort(y)[: size // 2].tolist())
    assert best <= set(given.tolist())
    others = np.array(sorted(set(given.tolist()) - best))
    assert others.min() < 200 < others.max()


def test_the_others_stay_as_values_come_in():
    """Values that are worse than all before push out few of those that were given."""
    y = np.concatenate([np.random.default_rng(2).normal(size=200), 10.0 + np.arange(100)])
    before, after = set(part(y[:200], 100).tolist()), set(part(y, 100).tolist())
    best = set(np.argsort(y, kind="stable")[:50].tolist())
    assert best <= before & after
    kept = {i for i in after if i < 200}
    assert kept <= before and len(kept) > 70


def test_of_equal_values_the_earliest_are_the_best():
    assert set(range(5)) <= set(part(np.zeros(30), 10).tolist())
