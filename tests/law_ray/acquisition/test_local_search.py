import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from law_ray.acquisition import local_search
from law_ray.acquisition.landscape import Landscape
from law_ray.acquisition.local_search import _Climbers, best_neighbour, climb, maximise
from law_ray.errors import UsedUpError
from law_ray.kernels.additive import AdditiveHyperparameters
from law_ray.kernels.distance import DistanceHyperparameters
from law_ray.models.gp import GaussianProcess
from law_ray.models.prior_mean import PriorMean
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import EXHAUSTIVE, Exclusions
from law_ray.space.permutations import invert, sample
from tests.oracles.additive import some_components
from tests.oracles.orderings import everything, first_item, known_of, moved, up_to_reversal
from tests.oracles.plain_law import PlainLaw, neighbours
from tests.oracles.tour import covariances, some_tour

keys = pytest.mark.parametrize("key", [None, up_to_reversal, first_item])


def rugged(n_items, seed):
    """Return a score with an independent value at each permutation, and so with many local maxima and no ties."""
    values = np.random.default_rng(seed).normal(size=math.factorial(n_items))
    table = dict(zip(itertools.permutations(range(n_items)), values, strict=True))
    return lambda permutations: np.array([table[tuple(p)] for p in permutations.tolist()])


class Table:
    """Replaces a landscape of a small space: a value for each permutation."""

    def __init__(self, n_items, seed):
        self.posterior = SimpleNamespace(X=everything(n_items)[:1])
        self._score = rugged(n_items, seed)

    def __call__(self, permutations):
        return self._score(permutations)


class Problem:
    """A landscape of LAW-EST for the first or a later point of a batch, and the same by direct formulas."""

    def __init__(self, seed, n_items=9, n=30, in_batch=2, n_excluded=0, prior=False):
        rng = np.random.default_rng(seed)
        gains = rng.normal(size=(n_items, n_items))
        X = sample(n_items, n, rng)
        y = gains[np.arange(n_items), X].sum(axis=1)
        h = DistanceHyperparameters(
            math.exp(rng.uniform(-3, 1)), math.exp(rng.uniform(-1, 1)), 10 ** rng.uniform(-6, -1), 0.1
        )
        self.batch = sample(n_items, in_batch, rng)
        self.optimum = -3.0
        self.plain = PlainLaw(X, (y - y.mean()) / y.std(), h)
        self.gauge = PlainLaw(X[:0], np.zeros(0), h) if prior else self.plain
        posterior = GaussianProcess(X, y, h)
        if prior:
            given_batch = GaussianProcess(self.batch, np.zeros(in_batch), h)
        else:
            given_batch = posterior.condition(self.batch) if in_batch else posterior
        self.landscape = Landscape(posterior, given_batch, self.gain if in_batch else self.first, prior)
        self.starts = np.concatenate([X[:4], sample(n_items, 8, rng)])
        self.excluded = Exclusions(permutations=[*X, *self.batch, *sample(n_items, n_excluded, rng)])

    def first(self, mean, variance, given_batch):
        return (self.optimum - mean) / np.sqrt(variance)

    def gain(self, mean, variance, given_batch):
        acquisition = np.maximum(self.first(mean, variance, given_batch), -1e3)
        return np.log(given_batch) + 2 * np.log(0.01 + 0.99 / (1 + np.exp(-0.2 * acquisition)))

    def direct(self, permutations):
        acquisition, weight = self.plain.weight(permutations, self.optimum)
        return (
            np.log(self.gauge.variance(permutations, self.batch)) + 2 * np.log(weight)
            if self.batch.size
            else acquisition
        )


def best_climb(landscape, starts, excluded, constraints=None):
    ends, values = climb(landscape, starts, excluded, constraints or Constraints(starts.shape[1]))
    return ends[0], values[0]


in_batch = pytest.mark.parametrize("in_batch", [0, 1, 4])
gauges = pytest.mark.parametrize(("in_batch", "prior"), [(0, False), (1, False), (4, False), (1, True), (4, True)])


@gauges
@pytest.mark.parametrize("seed", range(5))
def test_values_of_a_landscape_are_those_of_direct_formulas(in_batch, prior, seed):
    problem = Problem(seed, in_batch=in_batch, prior=prior)
    permutations = sample(9, 50, np.random.default_rng(1))
    np.testing.assert_allclose(problem.landscape(permutations), problem.direct(permutations), rtol=0, atol=1e-8)


def test_values_of_a_landscape_include_what_a_proxy_predicts():
    problem, permutations = Problem(0), sample(9, 50, np.random.default_rng(1))
    data, y, h = problem.plain.X, problem.plain.z, problem.plain.h
    mean = PriorMean(lambda permutations: permutations[:, 0] ** 2.0, 0.3)
    process = GaussianProcess(data, y, h, prior_mean=mean)
    landscape = Landscape(process, process, lambda mean, variance, given_batch: mean)
    left = y - mean(data)
    plain = PlainLaw(data, (left - left.mean()) / left.std(), h)
    expected = plain.mean(permutations) + mean(permutations) / left.std()
    np.testing.assert_allclose(landscape(permutations), expected, rtol=0, atol=1e-8)


@gauges
@pytest.mark.parametrize("seed", range(10))
def test_the_moments_of_every_swap_lie_within_their_bounds(in_batch, prior, seed):
    problem = Problem(seed, in_batch=in_batch, prior=prior)
    climbers = _Climbers(problem.landscape, problem.starts, problem.excluded, Constraints(9))
    active = np.arange(len(climbers.q))
    mean, *bounds, _ = climbers._bounds(active, climbers._moves.all)
    for climber in active:
        around = np.array(
            [invert(climbers._moves.after(climbers.q[climber], s).astype(int)) for s in range(mean.shape[1])]
        )
        np.testing.assert_allclose(mean[climber], problem.plain.mean(around), rtol=0, atol=1e-7)
        for (low, high), plain, batch in zip(bounds, (problem.plain, problem.gauge), ((), problem.batch), strict=True):
            variance = plain.variance(around, batch)
            assert np.all(low[climber] <= variance + 1e-8)
            assert np.all(variance <= high[climber] + 1e-8)


@gauges
@pytest.mark.parametrize("seed", range(8))
def test_a_climb_ends_at_a_free_local_maximum_and_returns_its_value(in_batch, prior, seed):
    problem = Problem(seed, in_batch=in_batch, n_excluded=300, prior=prior)
    end, value = best_climb(problem.landscape, problem.starts, problem.excluded)
    assert end not in problem.excluded
    assert value == pytest.approx(problem.direct(end[None])[0], abs=1e-8)
    free = np.array([p for p in neighbours(end) if p not in problem.excluded])
    assert problem.direct(free).max() <= value + 1e-7


class QuickPlainLaw(PlainLaw):
    """`PlainLaw` that computes the covariances among the given points once, as a climb needs them at every step."""

    def __init__(self, X, z, hyperparameters):
        super().__init__(X, z, hyperparameters)
        self._among = {}

    def prior(self, A, B):
        if A is B:
            if A.tobytes() not in self._among:
                self._among[A.tobytes()] = super().prior(A, A)
            return self._among[A.tobytes()]
        distances = np.abs(np.argsort(A, axis=1)[:, None] - np.argsort(B, axis=1)).sum(axis=2)
        return self.h.signal_variance * np.exp(-self.h.decay / self.n_items * distances)


def test_climbs_find_what_the_plain_search_finds_from_the_same_starts():
    behind = []
    for seed in range(40):
        problem = Problem(seed, n_items=8 + seed % 3, n=20 + seed % 25, in_batch=seed % 4, n_excluded=20)
        _, value = best_climb(problem.landscape, problem.starts, problem.excluded)
        plain_law = QuickPlainLaw(problem.plain.X, problem.plain.z, problem.plain.h)
        _, plain = plain_law.climb(problem.starts, problem.optimum, problem.batch, problem.excluded)
        behind.append(plain - value > 1e-6)
    assert sum(behind) <= 2


def test_a_climb_leaves_an_excluded_start_even_downhill():
    problem = Problem(0)
    top, _ = best_climb(problem.landscape, problem.starts, problem.excluded)
    problem.excluded.add(top)
    end, value = best_climb(problem.landscape, top[None], problem.excluded)
    assert end not in problem.excluded
    assert value == pytest.approx(problem.direct(end[None])[0], abs=1e-8)


def test_a_climb_surrounded_by_excluded_permutations_has_value_minus_infinity():
    problem = Problem(0)
    start = problem.starts[5]
    excluded = Exclusions(permutations=[start, *neighbours(start)])
    assert climb(problem.landscape, start[None], excluded, Constraints(9))[1].tolist() == [-np.inf]


def test_a_climb_ends_on_a_plateau():
    problem = Problem(0)
    flat = Landscape(problem.landscape.posterior, problem.landscape.given_batch, lambda mean, *variances: 0 * mean + 7)
    end, value = best_climb(flat, problem.starts[5:6], Exclusions())
    assert (end.tolist(), value) == (problem.starts[5].tolist(), 7.0)


def test_climbing_leaves_the_starts_as_they_were():
    problem = Problem(0)
    before = problem.starts.copy()
    climb(problem.landscape, problem.starts, problem.excluded, Constraints(9))
    assert np.array_equal(problem.starts, before)


@keys
@pytest.mark.parametrize("n_items", [2, 3, 4, 5, 6])
def test_maximum_of_a_small_space_is_that_of_enumeration_over_free_permutations(n_items, key):
    rng = np.random.default_rng(n_items)
    candidates = everything(n_items)
    for seed in range(5):
        table = Table(n_items, seed)
        best_first = candidates[np.argsort(-table(candidates))]
        excluded = Exclusions(key, best_first[: rng.integers(len({Exclusions(key).key(p) for p in candidates}))])
        free = [p for p in best_first if p not in excluded]
        assert maximise(table, candidates[:1], excluded, Constraints(n_items), rng).tolist() == [free[0].tolist()]


def test_the_maximum_of_a_large_space_is_the_best_climb():
    problem = Problem(3)
    end, _ = best_climb(problem.landscape, problem.starts, problem.excluded)
    found = maximise(problem.landscape, problem.starts, problem.excluded, Constraints(9), np.random.default_rng(0))
    assert found[0].tolist() == end.tolist()


def test_the_search_draws_a_free_permutation_if_every_climb_is_surrounded():
    def begins_in_order(permutation):
        return permutation[:3].tolist() == [0, 1, 2]

    problem, reverse = Problem(0), np.arange(9)[::-1].copy()
    excluded = Exclusions(begins_in_order, [reverse])  # no swap of the reverse gives a free permutation
    assert begins_in_order(
        maximise(problem.landscape, reverse[None], excluded, Constraints(9), np.random.default_rng(0))[0]
    )


def test_the_search_leaves_the_exclusions_as_they_were():
    problem = Problem(0)
    before = len(problem.excluded)
    maximise(problem.landscape, problem.starts, problem.excluded, Constraints(9), np.random.default_rng(0))
    assert len(problem.excluded) == before


def test_the_maximum_of_a_small_space_that_is_used_up_is_refused():
    with pytest.raises(UsedUpError, match="used up"):
        maximise(
            Table(3, 0), everything(3), Exclusions(permutations=everything(3)), Constraints(3), np.random.default_rng(0)
        )


def test_the_maximum_of_a_large_space_whose_keys_are_used_up_is_refused():
    known = np.array([np.roll(np.arange(9), shift) for shift in range(9)])
    with pytest.raises(UsedUpError, match="used up"):
        maximise(Problem(0).landscape, known, Exclusions(first_item, known), Constraints(9), np.random.default_rng(0))


# within constraints

WITHIN = known_of(9)
within = pytest.mark.parametrize("known", WITHIN.values(), ids=WITHIN)


def constrained(seed, known, **options):
    """Return a problem with allowed starts, and its constraints."""
    problem, constraints = Problem(seed, **options), Constraints(*known)
    problem.starts = constraints.sample(12, np.random.default_rng(seed))
    return problem, constraints


@within
@in_batch
@pytest.mark.parametrize("seed", range(4))
def test_climbs_within_constraints_end_allowed_and_the_best_at_a_maximum_of_its_allowed_neighbours(
    known, in_batch, seed
):
    problem, constraints = constrained(seed, known, in_batch=in_batch)
    problem.excluded = Exclusions(permutations=constraints.sample(100, np.random.default_rng(seed + 100)))
    ends, values = climb(problem.landscape, problem.starts, problem.excluded, constraints)
    assert constraints.allows(ends).all()
    assert ends[0] not in problem.excluded
    np.testing.assert_allclose(values[values > -np.inf], problem.direct(ends[values > -np.inf]), rtol=0, atol=1e-8)
    around = np.array(neighbours(ends[0]))
    free = np.array([p for p in around[constraints.allows(around)] if p not in problem.excluded])
    assert problem.direct(free).max() <= values[0] + 1e-7


@within
def test_every_step_of_a_climb_is_allowed(known, monkeypatch):
    stepped = []

    def spy(climbers, *arguments, original=_Climbers._leap):
        stepped.append(invert(climbers.q.astype(np.int64)))
        original(climbers, *arguments)
        stepped.append(invert(climbers.q.astype(np.int64)))

    monkeypatch.setattr(_Climbers, "_leap", spy)
    for seed in range(5):
        problem, constraints = constrained(seed, known)
        climb(problem.landscape, problem.starts, Exclusions(), constraints)
        assert all(constraints.allows(permutations).all() for permutations in stepped)
    assert len(stepped) > 20


@within
def test_climbs_within_constraints_mostly_find_the_best_of_all_allowed_orderings(known):
    """From twelve starts, in at least six of ten problems."""
    found = []
    for seed in range(10):
        problem, constraints = constrained(seed, known, in_batch=seed % 3)
        _, value = best_climb(problem.landscape, problem.starts, Exclusions(), constraints)
        candidates = constraints.enumerate(400_000)
        found.append(value >= problem.landscape(candidates).max() - 1e-8)
    assert sum(found) >= 6


@pytest.mark.parametrize(("of_variance", "prior", "in_batch"), [(1.0, False, 6), (-1.0, True, 4)])
def test_the_certificate_holds_where_the_value_rises_with_one_variance_and_falls_with_the_other(
    of_variance, prior, in_batch, monkeypatch
):
    """The bound of such a value is at a corner of the box where one variance is least and the other largest."""
    monkeypatch.setattr(local_search, "N_PROMISING", 1)  # so that climbs often end before the certificate

    def value(mean, variance, given_batch):
        return of_variance * (variance - given_batch) - 1e-3 * mean

    for seed in range(12):
        problem = Problem(seed, in_batch=in_batch, n=20, prior=prior)
        landscape = Landscape(problem.landscape.posterior, problem.landscape.given_batch, value, prior)
        end, found = best_climb(landscape, problem.starts[:1], Exclusions())
        assert landscape(neighbours(end)).max() <= found + 1e-7


def test_ends_that_are_taken_are_not_returned():
    """A climb that is surrounded ends where it starts, with value -inf."""
    problem = Problem(0)
    surrounded, free = problem.starts[5], problem.starts[6]
    excluded = Exclusions(permutations=[surrounded, *neighbours(surrounded)])
    starts = np.array([surrounded, free])
    assert len(climb(problem.landscape, starts, excluded, Constraints(9))[0]) == 2
    found = maximise(problem.landscape, starts, excluded, Constraints(9), np.random.default_rng(0))
    assert len(found) == 1
    assert found[0] not in excluded


def test_climbs_without_certificate_end_at_a_maximum_if_few_swaps_are_allowed():
    """Then each of the allowed swaps is among the promising ones."""
    tiers = [(a, b) for a in range(9) for b in range(9) if a // 3 < b // 3]  # allow nine swaps
    for seed in range(20):
        problem, constraints = constrained(seed, (9, tiers), in_batch=seed % 3)
        ends, values = climb(problem.landscape, problem.starts[:1], Exclusions(), constraints, certify=False)
        around = np.array(neighbours(ends[0]))
        assert problem.direct(around[constraints.allows(around)]).max() <= values[0] + 1e-7


def test_the_maximum_of_a_small_constrained_space_of_many_items_is_that_of_enumeration():
    problem, constraints = constrained(0, (9, [(i, i + 1) for i in range(7)]))
    candidates = constraints.enumerate(100)
    values = problem.direct(candidates)
    excluded = Exclusions(permutations=[candidates[values.argmax()]])
    found = maximise(problem.landscape, candidates[:1], excluded, constraints, np.random.default_rng(0))
    assert found.tolist() == [candidates[values.argsort()[-2]].tolist()]


def test_a_constrained_search_draws_an_allowed_permutation_if_every_climb_is_surrounded():
    problem, constraints = constrained(0, WITHIN["a relation"])
    assert constraints.enumerate(EXHAUSTIVE) is None
    start = problem.starts[0]
    around = np.array(neighbours(start))
    excluded = Exclusions(permutations=[start, *around[constraints.allows(around)]])
    found = maximise(problem.landscape, start[None], excluded, constraints, np.random.default_rng(0))
    assert constraints.allows(found).all()
    assert found[0] not in excluded


# over all moves


MODELS = {
    "additive": lambda rng: AdditiveHyperparameters(some_components(rng), 0.05, 0.1),
    "tour": some_tour,
}
models = pytest.mark.parametrize("model", MODELS)


class OtherProblem(Problem):
    """A landscape of LAW-EST with another kernel, and the same by direct formulas."""

    def __init__(self, model, seed, n_items=9, n=30, in_batch=2):
        super().__init__(seed, n_items, n, in_batch)
        h = MODELS[model](np.random.default_rng(seed))
        posterior = GaussianProcess(self.plain.X, self.plain.z, h)
        given_batch = posterior.condition(self.batch) if in_batch else posterior
        self.plain = PlainOther(self.plain.X, self.plain.z, h)
        self.gauge = self.plain
        self.landscape = Landscape(posterior, given_batch, self.gain if in_batch else self.first)


class PlainOther(PlainLaw):
    def prior(self, A, B):
        return covariances(self.h, np.asarray(A), np.asarray(B))


@models
@in_batch
@pytest.mark.parametrize("seed", range(3))
def test_the_moments_of_every_move_lie_within_their_bounds(model, in_batch, seed):
    problem = OtherProblem(model, seed, in_batch=in_batch)
    climbers = _Climbers(problem.landscape, problem.starts[:4], problem.excluded, Constraints(9))
    active = np.arange(len(climbers.q))
    mean, *bounds, _ = climbers._bounds(active, climbers._moves.all)
    for climber in active:
        after = [climbers._moves.after(climbers.q[climber], move) for move in climbers._moves.all]
        around = np.array([invert(q.astype(int)) for q in after])
        np.testing.assert_allclose(mean[climber], problem.plain.mean(around), rtol=0, atol=1e-7)
        for (low, high), batch in zip(bounds, ((), problem.batch), strict=True):
            variance = problem.plain.variance(around, batch)
            assert np.all(low[climber] <= variance + 1e-8)
            assert np.all(variance <= high[climber] + 1e-8)


@models
@in_batch
@pytest.mark.parametrize("constraints", [Constraints(9), Constraints(*WITHIN["fixed"])])
@pytest.mark.parametrize("seed", range(3))
def test_a_climb_over_all_moves_ends_at_a_free_and_allowed_local_maximum(model, in_batch, constraints, seed):
    problem = OtherProblem(model, seed, in_batch=in_batch)
    starts = constraints.sample(8, np.random.default_rng(seed))
    excluded = Exclusions(permutations=constraints.sample(200, np.random.default_rng(seed + 9)))
    end, value = best_climb(problem.landscape, starts, excluded, constraints)
    assert constraints.allows(end[None]).all()
    assert end not in excluded
    assert value == pytest.approx(problem.direct(end[None])[0], abs=1e-8)
    around = moved(end)
    free = np.array([p for p in around[constraints.allows(around)] if p not in excluded])
    assert problem.direct(free).max() <= value + 1e-7


def test_a_climb_ends_after_many_moves_without_a_gain_and_is_certified_all_the_same(monkeypatch):
    problem = OtherProblem("additive", seed=0, n_items=20)
    tried = []
    bounds = _Climbers._bounds
    monkeypatch.setattr(_Climbers, "_bounds", lambda self, *moves: tried.append(len(moves[1])) or bounds(self, *moves))

    def climbed(certify):
        tried.clear()
        ends, values = climb(problem.landscape, problem.starts[:1], problem.excluded, Constraints(20), certify)
        return ends[0], values[0], sum(tried)

    _, _, moves = climbed(certify=False)
    monkeypatch.setattr(local_search, "MAX_BARREN", 1)
    _, value, fewer = climbed(certify=False)
    assert fewer < moves and value >= problem.direct(problem.starts[:1])[0]
    end, value, _ = climbed(certify=True)
    assert max(problem.direct(np.array([p for p in moved(end) if p not in problem.excluded]))) <= value + 1e-7


@models
@pytest.mark.parametrize("constraints", [Constraints(9), Constraints(*WITHIN["fixed"])])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_neighbour_is_the_free_and_allowed_one_of_largest_value(model, constraints, seed):
    problem = OtherProblem(model, seed)
    centre = constraints.sample(1, np.random.default_rng(seed))[0]
    around = moved(centre)
    around = around[constraints.allows(around)]
    order = np.argsort(-problem.direct(around))
    excluded = Exclusions(permutations=[centre, *around[order[:3]]])  # some of them may be equal
    free = np.array([p for p in around if p not in excluded])
    found = best_neighbour(problem.landscape, centre, excluded, constraints)
    assert found not in excluded
    assert any((found == p).all() for p in free)
    assert problem.direct(found[None])[0] == pytest.approx(problem.direct(free).max(), abs=1e-8)
    everywhere = Exclusions(permutations=[centre, *around])
    assert best_neighbour(problem.landscape, centre, everywhere, constraints) is None


def test_of_climbs_that_are_cut_short_the_better_half_goes_on(monkeypatch):
    problem = Problem(0, n_items=9)
    starts = sample(9, 8, np.random.default_rng(1))
    numbers = []
    bounds = _Climbers._bounds

    def spy(climbers, active, which):
        numbers.append(len(active))
        return bounds(climbers, active, which)

    monkeypatch.setattr(_Climbers, "_bounds", spy)
    excluded, constraints = Exclusions(), Constraints(9)
    _, whole = climb(problem.landscape, starts, excluded, constraints, certify=False)
    assert max(numbers) == 8
    assert len(numbers) > 4
    numbers.clear()
    monkeypatch.setattr(local_search, "MANY_MOVES", 0)
    monkeypatch.setattr(local_search, "HALVING", 1)
    ends, values = climb(problem.landscape, starts, excluded, constraints, certify=False)
    most = np.maximum(8 // 2 ** np.arange(len(numbers)), 1)
    assert (np.array(numbers) <= most).all()
    assert len(ends) == len(values) > 1  # where the others stopped is returned too
    np.testing.assert_allclose(values, problem.landscape(ends), atol=1e-8)
    assert whole[0] >= values[0] > problem.landscape(starts).max()
