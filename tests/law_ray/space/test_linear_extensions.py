import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import chisquare

from law_ray.space import constraints as module
from law_ray.space import linear_extensions
from law_ray.space.constraints import Constraints
from tests.oracles.orderings import allowed_orderings, some_constraints

FORESTS = {
    "a pair": (4, [(0, 1)]),
    "two chains": (6, [(0, 1), (1, 2), (3, 4), (4, 5)]),
    "a tree": (6, [(0, 1), (0, 2), (1, 3), (1, 4)]),
    "tiers": (6, [(a, b) for a in (0, 3) for b in (1, 2, 4, 5)]),
    "tiers of forests": (6, [(a, b) for a in (0, 1, 2) for b in (3, 4, 5)] + [(0, 1), (4, 3)]),
}
OTHERS = {
    "a letter N": (5, [(0, 1), (2, 1), (2, 3)]),
    "an inverted tree": (6, [(0, 2), (1, 2), (3, 4), (2, 5)]),
    "fixed": (6, [], {2: 3}),
    "fixed and before": (6, [(0, 1), (2, 3)], {4: 2}),
    "walls": (6, [(0, 4), (1, 5), (2, 1)], {4: 3}),
}


def drawn_counts(known, size, rng):
    """Count how often each allowed ordering is drawn; a KeyError if another one is."""
    allowed = allowed_orderings(*known, *([{}] if len(known) == 2 else []))
    number = {p: i for i, p in enumerate(allowed)}
    drawn = Constraints(*known).sample(size, rng)
    return np.bincount([number[p] for p in map(tuple, drawn.tolist())], minlength=len(allowed))


@pytest.mark.parametrize("known", FORESTS.values(), ids=FORESTS)
def test_draws_from_tiers_of_forests_are_uniform_without_a_walk(known, monkeypatch):
    assert Constraints(*known)._forests
    monkeypatch.setattr(module, "STEPS_PER_ITEM", 0)
    counts = drawn_counts(known, 20_000, np.random.default_rng(0))
    assert chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("known", OTHERS.values(), ids=OTHERS)
def test_draws_from_other_constraints_are_uniform_after_the_walk(known):
    counts = drawn_counts(known, 20_000, np.random.default_rng(0))
    assert chisquare(counts).pvalue > 1e-3


@pytest.mark.parametrize("known", OTHERS.values(), ids=OTHERS)
def test_the_walk_makes_nonuniform_draws_uniform(known):
    constraints = Constraints(*known)
    weights = 10.0 ** np.arange(known[0])
    order = constraints._order
    start, walked = (linear_extensions.draw(10_000, order, weights, n, np.random.default_rng(1)) for n in (0, 300))
    n_allowed = len(constraints.enumerate(1000))
    counts = [np.unique(drawn, axis=0, return_counts=True)[1] for drawn in (start, walked)]
    assert len(counts[1]) == n_allowed
    assert chisquare(counts[1]).pvalue > 1e-3
    assert np.ptp(counts[0]) > 10 * np.ptp(counts[1])


@given(some_constraints())
@settings(max_examples=60)
def test_draws_without_a_walk_are_allowed_and_reach_nearly_all_orderings(known):
    constraints, allowed = Constraints(*known), allowed_orderings(*known)
    built = linear_extensions.draw(
        60 * len(allowed), constraints._order, np.ones(known[0]), 0, np.random.default_rng(len(allowed))
    )
    found = set(map(tuple, built.tolist()))
    assert found <= set(allowed)
    assert len(found) >= 0.9 * len(allowed)  # some are rare


@given(some_constraints())
@settings(max_examples=60)
def test_the_walk_stays_among_allowed_orderings(known):
    constraints, allowed = Constraints(*known), set(allowed_orderings(*known))
    walked = linear_extensions.draw(100, constraints._order, np.ones(known[0]), 40, np.random.default_rng(0))
    assert set(map(tuple, walked.tolist())) <= allowed


@given(some_constraints())
@settings(max_examples=60)
def test_enumeration_up_to_a_limit_gives_the_first_in_lexicographic_order(known):
    constraints, allowed = Constraints(*known), allowed_orderings(*known)
    for limit in {0, 1, len(allowed) // 2, len(allowed) - 1, len(allowed), len(allowed) + 1}:
        found, whole = linear_extensions.enumerate_up_to(limit, constraints._order)
        assert list(map(tuple, found.tolist())) == allowed[:limit]
        assert whole == (len(allowed) <= limit)
