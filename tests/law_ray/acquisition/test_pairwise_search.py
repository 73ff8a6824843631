import itertools
from functools import partial

import numpy as np
import pytest

from law_ray.acquisition.functions import log_ei, ucb
from law_ray.acquisition.pairwise_search import maximise
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import invert, sample
from tests.oracles.orderings import everything
from tests.oracles.pairwise import some_ensemble

VALUES = {"EI": partial(log_ei, best=-5.0), "UCB": partial(ucb, beta=9.0), "mean": lambda mean, variance: -mean}
FREE = Constraints(6)
CONSTRAINED = Constraints(6, before=[(0, 1), (1, 2)], fixed=[(3, 4)])


def heights(ensemble, value, permutations):
    return value(*ensemble.moments(ensemble.values(invert(permutations))))


def swapped(permutation):
    for i, j in itertools.combinations(range(len(permutation)), 2):
        moved = permutation.copy()
        moved[[i, j]] = moved[[j, i]]
        yield moved


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("constraints", [FREE, CONSTRAINED], ids=["free", "constrained"])
def test_no_free_and_allowed_swap_improves_the_end_of_a_climb(name, constraints):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        ensemble = some_ensemble(rng, 6)
        starts = constraints.sample(2, rng)
        excluded = Exclusions(permutations=[*starts, *constraints.sample(6, rng)])
        found = maximise(ensemble, VALUES[name], starts, excluded, constraints)
        assert found not in excluded
        assert constraints.allows(found[None]).all()
        others = [p for p in swapped(found) if p not in excluded and constraints.allows(p[None]).all()]
        assert (
            heights(ensemble, VALUES[name], np.array(others)).max()
            <= heights(ensemble, VALUES[name], found[None]) + 1e-8
        )


def test_from_all_permutations_the_largest_value_is_found():
    ensemble = some_ensemble(np.random.default_rng(0), 6)
    all_of_them = everything(6)
    found = maximise(ensemble, VALUES["EI"], all_of_them[::10], Exclusions(), FREE)
    best = heights(ensemble, VALUES["EI"], all_of_them).max()
    assert heights(ensemble, VALUES["EI"], found[None])[0] == pytest.approx(best)


@pytest.mark.parametrize("constraints", [FREE, CONSTRAINED], ids=["free", "constrained"])
def test_where_everything_near_is_excluded_nothing_is_found(constraints):
    start = constraints.sample(1, np.random.default_rng(0))[0]
    ensemble = some_ensemble(np.random.default_rng(1), 6)
    around = np.array([start, *swapped(start)])
    excluded = Exclusions(permutations=around[constraints.allows(around)])
    assert maximise(ensemble, VALUES["mean"], [start], excluded, constraints) is None


@pytest.mark.parametrize("constraints", [FREE, CONSTRAINED], ids=["free", "constrained"])
def test_a_step_makes_the_best_swap_if_it_gains(constraints):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        ensemble, start = some_ensemble(rng, 6), constraints.sample(1, rng)[0]
        around = np.array([start, *swapped(start)])
        around = around[constraints.allows(around)]
        best = around[heights(ensemble, VALUES["EI"], around).argmax()]
        found = [maximise(ensemble, VALUES["EI"], [start], Exclusions(), constraints, max_steps=n) for n in (0, 1)]
        assert np.array_equal(found, [start, best])
        top = maximise(ensemble, VALUES["EI"], [start], Exclusions(), constraints)
        stayed = maximise(ensemble, VALUES["EI"], [top], Exclusions(), constraints, max_steps=1)
        assert np.array_equal(stayed, top)


def test_where_no_swap_is_allowed_the_start_is_found_unless_it_is_excluded():
    ensemble, start = some_ensemble(np.random.default_rng(0), 6), np.arange(6)
    constraints = Constraints(6, before=itertools.pairwise(range(6)))
    found = maximise(ensemble, VALUES["mean"], [start], Exclusions(), constraints, max_steps=3)
    assert np.array_equal(found, start)
    assert maximise(ensemble, VALUES["mean"], [start], Exclusions(None, [start]), constraints, max_steps=3) is None


def test_of_equal_values_the_first_start_is_found():
    ensemble, starts = some_ensemble(np.random.default_rng(0), 6), sample(6, 3, np.random.default_rng(1))
    found = maximise(ensemble, lambda mean, variance: 0.0 * mean, starts, Exclusions(), FREE, max_steps=1)
    assert np.array_equal(found, starts[0])
