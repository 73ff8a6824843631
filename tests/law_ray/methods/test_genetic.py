import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.core.population import Population
from pymoo.core.problem import Problem
from pymoo.operators.crossover.erx import EdgeRecombinationCrossover
from pymoo.operators.mutation.inversion import InversionMutation
from scipy.stats import ks_2samp

from law_ray import Optimizer
from law_ray.errors import UsedUpError
from law_ray.methods import genetic
from law_ray.methods.baselines import random
from law_ray.methods.genetic import Admission, ga, moved_towards
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import sample
from law_ray.utils.seeding import generator
from tests.oracles.contexts import context_after
from tests.oracles.orderings import some_constraints


def length(permutation):
    """Return the sum of the differences of neighbours, a value with many ties."""
    return float(np.abs(np.diff(permutation)).sum())


class Length(Problem):
    def __init__(self, n_items):
        super().__init__(n_var=n_items, n_obj=1)

    def _evaluate(self, X, out, *args, **kwargs):
        out["F"] = np.array([[length(x)] for x in X])


def evaluated(n_items, size, seed=0):
    X = sample(n_items, size, np.random.default_rng(seed))
    return X, np.array([length(x) for x in X])


def ask_and_tell(optimizer, batch_size):
    trials = optimizer.ask(batch_size)
    for trial in trials:
        optimizer.tell(trial.id, length(trial.permutation))
    return [trial.permutation.tolist() for trial in trials]


@pytest.mark.parametrize("seed", range(3))
def test_in_batches_of_twenty_it_is_the_genetic_algorithm_of_pymoo(seed):
    n_items = 16
    optimizer = Optimizer(n_items, "ga", seed=seed)
    first = np.array([row for _ in range(5) for row in ask_and_tell(optimizer, 20)])
    sampling = first[np.argsort([length(x) for x in first], kind="stable")]
    plain = GA(
        pop_size=100,
        n_offsprings=20,
        sampling=sampling,
        crossover=EdgeRecombinationCrossover(),
        mutation=InversionMutation(),
    )
    plain.setup(Length(n_items), termination=("n_gen", 41))
    plain.next()
    while plain.has_next():
        plain.random_state = generator(seed, "choose", len(optimizer.trials))
        plain.next()
        assert ask_and_tell(optimizer, 20) == plain.off.get("X").tolist()
    assert len(optimizer.trials) == 900
    assert optimizer.best.value < length(sampling[0])


def test_until_a_hundred_points_are_known_batches_are_random():
    X, y = evaluated(9, 100)
    first = [method(context_after(X[:99], y[:99], seed=4), 5) for method in (ga, random)]
    np.testing.assert_array_equal(*first)
    then = [method(context_after(X, y, seed=4), 5) for method in (ga, random)]
    assert not np.array_equal(*then)


@pytest.mark.parametrize("count", [100, 107, 119, 120, 139])
def test_parents_are_those_of_the_last_complete_generation(count):
    X, y = evaluated(9, 140)
    complete = 100 + (count - 100) // 20 * 20
    expected = ga(context_after(X[:count], y[:count], Exclusions(permutations=X)), 5)
    incomplete = np.append(y[:complete], np.full(count - complete, -1e9))
    batch = ga(context_after(X[:count], incomplete, Exclusions(permutations=X)), 5)
    np.testing.assert_array_equal(batch, expected)
    other = y[:count].copy()
    other[complete - 1] = -1e9  # the last of the generation now is the best
    assert not np.array_equal(ga(context_after(X[:count], other, Exclusions(permutations=X)), 5), expected)


def test_offspring_in_small_batches_have_the_distribution_of_those_in_a_generation():
    X, y = evaluated(12, 100)
    whole = np.concatenate([ga(context_after(X, y, seed=seed), 20) for seed in range(40)])
    parts = np.concatenate([ga(context_after(X, y, seed=seed), 2) for seed in range(1000, 1400)])
    assert ks_2samp([length(x) for x in whole], [length(x) for x in parts]).pvalue > 1e-3
    chance = [length(x) for x in sample(12, 800, np.random.default_rng(1))]
    assert ks_2samp(chance, [length(x) for x in parts]).pvalue < 1e-6  # 800 are enough to tell


@pytest.mark.parametrize("attempts", [1, 100])
def test_what_the_mating_does_not_find_is_drawn(attempts, monkeypatch):
    monkeypatch.setattr(genetic, "N_ATTEMPTS", attempts)
    everything = np.random.default_rng(0).permutation(list(itertools.permutations(range(5))))
    X, left = everything[:119], sorted(map(tuple, everything[119:].tolist()))
    y = np.array([length(x) for x in X])
    batch = ga(context_after(X, y), 1)
    assert batch.dtype == np.int64
    assert sorted(map(tuple, batch.tolist())) == left
    matings = []

    def spy(admission, *populations, original=Admission.do):
        matings.append(1)
        return original(admission, *populations)

    monkeypatch.setattr(Admission, "do", spy)
    with pytest.raises(UsedUpError, match="used up"):
        ga(context_after(X, y), 2)
    assert len(matings) == attempts


@pytest.mark.parametrize("size", [1, 20, 250])
def test_offspring_are_free_of_distinct_keys_and_allowed(size):
    constraints = Constraints(10, [(0, 1), (1, 2), (5, 4), (7, 4)], {3: 6})
    X = constraints.sample(120, np.random.default_rng(1))
    excluded = Exclusions(lambda p: tuple(p[:6].tolist()), X)
    y = np.array([length(x) for x in X])
    batch = ga(context_after(X, y, excluded, constraints), size)
    assert constraints.allows(batch).all()
    keys = {tuple(p[:6].tolist()) for p in batch}
    assert len(keys) == size
    assert not keys & {tuple(p[:6].tolist()) for p in X}


def test_within_constraints_offspring_are_nearer_to_good_values_than_random_ones():
    constraints = Constraints(14, [(0, 1), (1, 2), (2, 3), (9, 4), (4, 5), (5, 6), (8, 7)])
    X = constraints.sample(2000, np.random.default_rng(1))
    y = np.array([length(x) for x in X])
    best = np.argsort(y)[:100]
    batch = ga(context_after(X[best], y[best], constraints=constraints), 200)
    assert np.mean([length(x) for x in batch]) < np.mean(y) - 5 * np.std(y) / np.sqrt(200)


# admission


def population(permutations):
    return Population.new("X", np.array(permutations))


def admit(admission, offspring, *others):
    return admission.do(population(offspring), *map(population, others)).get("X").tolist()


def test_of_each_key_that_is_not_excluded_nor_among_parents_or_chosen_the_first_is_admitted():
    by_first = Admission(Exclusions(lambda p: int(p[0]), np.array([[0, 1, 2, 3, 4]])), Constraints(5))
    offspring = [[0, 2, 1, 3, 4], [1, 0, 2, 3, 4], [2, 0, 1, 3, 4], [1, 2, 3, 4, 0], [4, 0, 1, 2, 3], [3, 0, 1, 2, 4]]
    parents, chosen = [[2, 1, 0, 3, 4]], [[3, 2, 1, 0, 4]]
    assert admit(by_first, offspring, parents, chosen) == [offspring[1], offspring[4]]
    assert admit(by_first, offspring) == [offspring[1], offspring[2], offspring[4], offspring[5]]
    assert len(by_first.do(population(offspring[:1]))) == 0
    assert len(by_first.do(Population.empty())) == 0


def test_offspring_that_break_constraints_become_allowed_and_others_stay():
    constraints = Constraints(5, [(0, 1)])
    parents = [[0, 1, 2, 3, 4], [4, 3, 2, 0, 1]]
    offspring = [[0, 2, 1, 3, 4], [1, 0, 2, 4, 3], [4, 3, 2, 1, 0], [3, 4, 2, 1, 0]]
    # the second becomes the first parent with its last items exchanged; the third its nearest parent, which is known
    expected = [[0, 2, 1, 3, 4], [0, 1, 2, 4, 3], [3, 4, 2, 0, 1]]
    assert admit(Admission(Exclusions(), constraints), offspring, parents) == expected


@given(some_constraints(), st.integers(0, 100))
def test_moves_towards_a_target_are_allowed_and_lose_no_position(known, seed):
    n_items, before, fixed = known
    constraints, rng = Constraints(n_items, before, fixed), np.random.default_rng(seed)
    starts, targets = constraints.sample(4, rng), sample(n_items, 4, rng)
    moved = moved_towards(targets, starts, constraints)
    assert constraints.allows(moved).all()
    assert ((moved == targets).sum(axis=1) >= (starts == targets).sum(axis=1)).all()
    np.testing.assert_array_equal(moved_towards(targets, starts, Constraints(n_items)), targets)


def test_moves_within_fixed_positions_reach_every_allowed_target():
    constraints, rng = Constraints(7, (), {3: 1, 0: 6}), np.random.default_rng(0)
    starts, targets = constraints.sample(20, rng), constraints.sample(20, rng)
    np.testing.assert_array_equal(moved_towards(targets, starts, constraints), targets)
