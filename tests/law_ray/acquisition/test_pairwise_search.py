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


def test_where_everything_near_is_excluded_nothing_is_found():
    start = sample(6, 1, np.random.default_rng(0))[0]
    ensemble = some_ensemble(np.random.default_rng(1), 6)
    excluded = Exclusions(permutations=[start, *swapped(start)])
    assert maximise(ensemble, VALUES["mean"], [start], excluded, FREE) is None
