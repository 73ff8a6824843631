import itertools

import numpy as np
import pytest
from pymoo.core.population import Population
from scipy.stats import chisquare, norm

from law_ray.acquisition.functions import ucb_beta
from law_ray.kernels.distance import DistanceHyperparameters
from law_ray.methods import mace
from law_ray.methods.law import estimate_optimum
from law_ray.methods.mace import mace_est, mace_ucb
from law_ray.models.gp import GaussianProcess
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import sample
from tests.oracles.contexts import context_of

OPTIMUM = -2.5  # m-hat
ROUND = 3


def posterior_of(n_items, n, seed):
    rng = np.random.default_rng(seed)
    everything = np.array(list(itertools.permutations(range(n_items))))
    X = rng.permutation(everything)[:n]
    y = rng.normal(size=(n_items, n_items))[np.arange(n_items), X].sum(axis=1)
    return GaussianProcess(X, y, DistanceHyperparameters(0.4, 1.2, 0.05, 0.1)), everything


def objectives(posterior, best, permutations, method, batch_size):
    """Return PI, EI and UCB or EST by their definitions, (m, 3), larger is better."""
    mean, variance = posterior.predict(permutations)
    sigma = np.sqrt(variance)
    z = (best - mean) / sigma
    beta = ucb_beta(permutations.shape[1], ROUND, batch_size)
    third = -mean + np.sqrt(beta) * sigma if method is mace_ucb else (OPTIMUM - mean) / sigma
    return np.column_stack([norm.cdf(z), (best - mean) * norm.cdf(z) + sigma * norm.pdf(z), third])


def dominated_by(values, others):
    """Count the others that are as large in all objectives and larger in one, (m,)."""
    no_less = (others[None] >= values[:, None]).all(axis=2)
    return (no_less & (others[None] > values[:, None]).any(axis=2)).sum(axis=1)


def fronts(values):
    """Return the number of each one's front, by removing again and again those that nothing dominates."""
    front, left, number = np.zeros(len(values), dtype=int), np.arange(len(values)), 0
    while len(left):
        best = dominated_by(values[left], values[left]) == 0
        front[left[best]] = number
        left, number = left[~best], number + 1
    return front


@pytest.fixture(autouse=True)
def optimum(monkeypatch):
    monkeypatch.setattr(mace, "estimate_optimum", lambda *given: OPTIMUM)


methods = pytest.mark.parametrize("method", [mace_ucb, mace_est])


@methods
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("batch_size", [3, 17])
def test_the_batch_is_from_the_first_fronts_of_all_free_permutations(method, seed, batch_size):
    posterior, everything = posterior_of(5, 30, seed)
    context = context_of(posterior, best=-1.5, seed=seed, round=ROUND)
    batch = method(context, batch_size)
    free = np.array([p for p in everything if p not in context.excluded])
    assert len(np.unique(batch, axis=0)) == batch_size
    front = fronts(objectives(posterior, -1.5, free, method, batch_size))
    chosen = [int(np.flatnonzero((free == p).all(axis=1))[0]) for p in batch]
    assert sorted(front[chosen]) == sorted(front)[:batch_size]


@methods
def test_what_evolves_is_for_the_logarithms_of_pi_and_ei_and_for_the_third(method, monkeypatch):
    posterior, everything = posterior_of(5, 10, seed=0)
    given = []
    monkeypatch.setattr(mace, "_evolved", lambda minimised, context: given.append(minimised(everything)))
    method(context_of(posterior, best=-1.0, round=ROUND), 4)
    expected = objectives(posterior, -1.0, everything, method, 4)
    expected[:, :2] = np.log(expected[:, :2])
    np.testing.assert_allclose(-given[0], expected, rtol=1e-6)


@pytest.mark.parametrize("constraints", [Constraints(9), Constraints(9, [(0, 1)])])
def test_est_has_the_optimum_estimate_of_allowed_orderings(constraints, monkeypatch):
    """There are so many of them that some are drawn, by the generator of the context."""
    rng = np.random.default_rng(0)
    X = constraints.sample(20, rng)
    posterior = GaussianProcess(X, rng.normal(size=20), DistanceHyperparameters(0.4, 1.2, 0.05, 0.1))
    given = []
    monkeypatch.setattr(mace, "estimate_optimum", estimate_optimum)
    monkeypatch.setattr(mace, "_evolved", lambda minimised, context: given.append(minimised(X)))
    mace_est(context_of(posterior, best=-1.0, constraints=constraints, seed=5), 4)
    optimum = estimate_optimum(posterior, -1.0, constraints, np.random.default_rng(5))
    mean, variance = posterior.predict(X)
    np.testing.assert_allclose(-given[0][:, 2], (optimum - mean) / np.sqrt(variance), rtol=1e-9)


def test_a_population_evolves_for_so_many_generations_after_the_first_and_by_the_generator_of_the_context(monkeypatch):
    monkeypatch.setattr(mace, "N_GENERATIONS", 3)
    X, predicted = sample(12, 20, np.random.default_rng(0)), []
    posterior = GaussianProcess(X, np.arange(20.0), DistanceHyperparameters(0.4, 1.2, 0.05, 0.1))

    def third(mean, variance):
        predicted.append(len(mean))
        return -mean

    batches = [mace.mace(context_of(posterior, best=-1.5, seed=4), 8, third) for _ in range(2)]
    assert predicted == 2 * [100, 100, 100, 100]
    np.testing.assert_array_equal(*batches)


def test_points_of_one_front_are_drawn_at_random(monkeypatch):
    posterior, everything = posterior_of(4, 8, seed=0)
    free = np.array([p for p in everything if p not in Exclusions(permutations=posterior.X)])
    population = Population.new("X", free, "rank", [2, 0, 1, 0, 1, 1, 0, *[3] * (len(free) - 7)])
    monkeypatch.setattr(mace, "_evolved", lambda *given: population)
    counts = np.zeros(len(free))
    for seed in range(600):
        batch = mace_ucb(context_of(posterior, -1.5, seed=seed), 4)
        drawn = [int(np.flatnonzero((free == p).all(axis=1))[0]) for p in batch]
        assert set(drawn[:3]) == {1, 3, 6}
        counts[drawn[3]] += 1
        counts[drawn[0]] += 1
    assert counts.sum() == counts[[1, 2, 3, 4, 5, 6]].sum()
    assert chisquare(counts[1:7]).pvalue > 1e-3  # a third for each of three, twice


@methods
def test_in_a_larger_space_next_to_nothing_dominates_the_batch(method):
    posterior, everything = posterior_of(8, 60, seed=0)
    batch = method(context_of(posterior, best=-1.5, round=ROUND), 5)
    values = objectives(posterior, -1.5, everything, method, 5)
    chosen = objectives(posterior, -1.5, batch, method, 5)
    assert dominated_by(chosen, values).max() <= 40  # of 40320, of which a random one is dominated by thousands
    chance = objectives(posterior, -1.5, sample(8, 20, np.random.default_rng(0)), method, 5)
    assert np.median(dominated_by(chance, values)) > 1000


@methods
def test_proposals_are_allowed_free_and_of_distinct_keys(method):
    constraints = Constraints(7, [(0, 1), (1, 2), (5, 4)], {3: 6})
    X = constraints.sample(10, np.random.default_rng(0))
    posterior = GaussianProcess(X, np.arange(10.0), DistanceHyperparameters(0.4, 1.2, 0.05, 0.1))
    excluded = Exclusions(lambda p: tuple(p[:2].tolist()), X)
    free = {excluded.key(p) for p in constraints.enumerate(5040)} - {excluded.key(p) for p in X}
    batch = method(context_of(posterior, -1.5, excluded, constraints), len(free))
    assert constraints.allows(batch).all()
    assert {tuple(p[:2].tolist()) for p in batch} == free
    assert len(excluded) == len({excluded.key(p) for p in X})


@methods
@pytest.mark.parametrize("left", [1, 2, 9])
def test_what_is_left_is_found(method, left):
    posterior, everything = posterior_of(6, 10, seed=2)
    order = np.random.default_rng(0).permutation(everything)
    excluded = Exclusions(permutations=order[left:])
    batch = method(context_of(posterior, -1.5, excluded), left)
    assert batch.dtype == np.int64
    assert sorted(map(tuple, batch.tolist())) == sorted(map(tuple, order[:left].tolist()))


@methods
def test_equal_values_and_one_point_are_enough(method, monkeypatch):
    monkeypatch.setattr(mace, "N_GENERATIONS", 5)
    X = sample(6, 3, np.random.default_rng(0))
    for n in (1, 3):
        posterior = GaussianProcess(X[:n], np.full(n, 2.0), DistanceHyperparameters(0.4, 1.2, 0.05, 0.0))
        batch = method(context_of(posterior, 0.0), 4)
        assert len({*map(tuple, batch.tolist()), *map(tuple, X[:n].tolist())}) == 4 + n
