import itertools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from law_ray.acquisition import climbers as climbing
from law_ray.acquisition.climbers import Climbers
from law_ray.acquisition.landscape import Landscape
from law_ray.acquisition.local_search import best_neighbour, climb, maximise
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


def distance_of_first_items(permutations):
    """Stand in for a proxy: how far items 0 and 1 are apart."""
    q = invert(permutations)
    return np.abs(q[:, 0] - q[:, 1]).astype(float)


class ProxyLaw(PlainLaw):
    """`PlainLaw` with what a proxy has `added` to the mean, set by `Problem`."""

    def mean(self, A):
        return super().mean(A) + self.added(A)


class Problem:
    """A landscape of LAW-EST for the first or a later point of a batch, and the same by direct formulas."""

    def __init__(self, seed, n_items=9, n=30, in_batch=2, n_excluded=0, prior=False, proxy=False):
        rng = np.random.default_rng(seed)
        gains = rng.normal(size=(n_items, n_items))
        X = sample(n_items, n, rng)
        y = gains[np.arange(n_items), X].sum(axis=1)
        h = DistanceHyperparameters(
            math.exp(rng.uniform(-3, 1)), math.exp(rng.uniform(-1, 1)), 10 ** rng.uniform(-6, -1), 0.1
        )
        self.batch = sample(n_items, in_batch, rng)
        self.optimum = -3.0
        prior_mean = PriorMean(distance_of_first_items, 0.3, 2.0) if proxy else None
        left = y - prior_mean(X) if proxy else y
        self.plain = PlainLaw(X, (left - left.mean()) / left.std(), h)
        if proxy:
            self.plain = ProxyLaw(X, self.plain.z, h)
            self.plain.added = lambda permutations: prior_mean(permutations) / left.std()
        self.gauge = PlainLaw(X[:0], np.zeros(0), h) if prior else self.plain
        posterior = GaussianProcess(X, y, h, prior_mean=prior_mean)
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


def slack_of(plain, permutation, around):
    """Return 2 (k(x, x) - k(x, x_new)), by which the variance after a move is less than its upper bound at most."""
    return 2.0 * (plain.h.signal_variance - plain.prior(permutation[None], around)[0])


def assert_bounded(low, variance, high, slack, signal_variance):
    assert np.all(low <= variance + 1e-8)
    assert np.all(variance <= high + 1e-8)
    assert np.all(high - low <= slack + 1e-8)
    assert np.all(high <= signal_variance + 1e-8)


def counted(monkeypatch):
    """Return a list to which every step of climbs adds which climbers are active, and the values of all."""
    steps, bounds = [], Climbers._bounds

    def spy(climbers, active, which):
        steps.append((active.copy(), climbers.values.copy()))
        return bounds(climbers, active, which)

    monkeypatch.setattr(Climbers, "_bounds", spy)
    return steps


def best_climb(landscape, starts, excluded, constraints=None):
    ends, values = climb(landscape, starts, excluded, constraints or Constraints(starts.shape[1]))
    return ends[0], values[0]


in_batch = pytest.mark.parametrize("in_batch", [0, 1, 4])
gauges = pytest.mark.parametrize(
    ("in_batch", "prior", "proxy"),
    [
        *((0, False, False), (1, False, False), (4, False, False), (1, True, False), (4, True, False)),
        *((0, False, True), (4, False, True)),
    ],
)


@gauges
@pytest.mark.parametrize("seed", range(5))
def test_values_of_a_landscape_are_those_of_direct_formulas(in_batch, prior, proxy, seed):
    problem = Problem(seed, in_batch=in_batch, prior=prior, proxy=proxy)
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
def test_the_moments_of_every_swap_lie_within_their_bounds(in_batch, prior, proxy, seed):
    problem = Problem(seed, in_batch=in_batch, prior=prior, proxy=proxy)
    climbers = Climbers(problem.landscape, problem.starts, problem.excluded, Constraints(9))
    active = np.arange(len(climbers.q))
    mean, *bounds, _ = climbers._bounds(active, climbers._moves.all)
    for climber in active:
        around = np.array(
            [invert(climbers._moves.after(climbers.q[climber], s).astype(int)) for s in range(mean.shape[1])]
        )
        np.testing.assert_allclose(mean[climber], problem.plain.mean(around), rtol=0, atol=1e-7)
        slack = slack_of(problem.plain, invert(climbers.q[climber].astype(int)), around)
        for (low, high), plain, batch in zip(bounds, (problem.plain, problem.gauge), ((), problem.batch), strict=True):
            assert_bounded(low[climber], plain.variance(around, batch), high[climber], slack, plain.h.signal_variance)


@gauges
@pytest.mark.parametrize("seed", range(8))
def test_a_climb_ends_at_a_free_local_maximum_and_returns_its_value(in_batch, prior, proxy, seed):
    problem = Problem(seed, in_batch=in_batch, n_excluded=300, prior=prior, proxy=proxy)
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

    def spy(climbers, *arguments, original=Climbers._leap):
        stepped.append(invert(climbers.q.astype(np.int64)))
        original(climbers, *arguments)
        stepped.append(invert(climbers.q.astype(np.int64)))

    monkeypatch.setattr(Climbers, "_leap", spy)
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


@pytest.mark.parametrize(("prior", "in_batch"), [(False, 6), (True, 4)])
@pytest.mark.parametrize("of_variance", [1.0, -1.0])
@pytest.mark.parametrize("of_batch", [1.0, -1.0])
def test_the_certificate_holds_where_the_value_rises_or_falls_with_either_variance(
    of_variance, of_batch, prior, in_batch, monkeypatch
):
    """The bound of such a value is at a corner of the box of both variances."""
    monkeypatch.setattr(climbing, "N_PROMISING", 1)  # so that climbs often end before the certificate

    def value(mean, variance, given_batch):
        return of_variance * variance + of_batch * given_batch - 1e-3 * mean

    for seed in range(12):
        problem = Problem(seed, in_batch=in_batch, n=20, prior=prior)
        landscape = Landscape(problem.landscape.posterior, problem.landscape.given_batch, value, prior)
        end, found = best_climb(landscape, problem.starts[:3], Exclusions())
        assert found == pytest.approx(landscape(end[None])[0], abs=1e-8)
        assert landscape(neighbours(end)).max() <= found + 1e-7


@pytest.mark.parametrize("of_variance", [1.0, -1.0])
@pytest.mark.parametrize("of_batch", [1.0, -1.0])
def test_at_a_maximum_just_the_moves_whose_bound_exceeds_its_value_are_evaluated(of_variance, of_batch):
    problem = Problem(1, in_batch=4)
    landscape = Landscape(
        problem.landscape.posterior,
        problem.landscape.given_batch,
        lambda mean, variance, given_batch: of_variance * variance + of_batch * given_batch - mean,
    )
    end, value = best_climb(landscape, problem.starts, Exclusions())
    climbers, evaluated = Climbers(landscape, end[None], Exclusions(), Constraints(9)), []
    mean, variance, given_batch, _ = climbers._bounds(np.array([0]), climbers._moves.all)
    upper = of_variance * variance[int(of_variance > 0), 0] + of_batch * given_batch[int(of_batch > 0), 0] - mean[0]
    evaluate = climbers._evaluate
    climbers._evaluate = lambda of, moves, *more: evaluated.extend(moves.tolist()) or evaluate(of, moves, *more)
    assert not climbers.step_if_any(0)
    assert sorted(evaluated) == np.flatnonzero(upper > value).tolist()
    assert 0 < len(evaluated) < len(upper)


@pytest.mark.parametrize(("gain", "made"), [(1.5e-9, True), (0.5e-9, False)])
def test_a_step_is_made_if_it_gains_more_than_a_billionth(gain, made):
    """Smaller gains may be rounding errors."""
    problem, start = Problem(0), Problem(0).starts[5:6]
    most = problem.plain.mean(start)[0] - problem.plain.mean(neighbours(start[0])).min()
    posterior = problem.landscape.posterior
    landscape = Landscape(posterior, posterior, lambda mean, *variances: -mean / most * gain)
    climbers = Climbers(landscape, start, Exclusions(), Constraints(9))
    assert most > 0
    assert climbers.step_if_any(0) is made


def test_the_search_makes_sure_of_its_maximum_unless_told_otherwise(monkeypatch):
    monkeypatch.setattr(climbing, "N_PROMISING", 1)  # so that climbs often end before the certificate
    n_certified = 0
    for seed in range(12):
        problem = Problem(seed)
        problem_of = problem.landscape, problem.starts[:1], problem.excluded, Constraints(9)
        ends = [climb(*problem_of, certify)[0].tolist() for certify in (True, False)]
        rng = np.random.default_rng(0)
        assert [maximise(*problem_of, rng, certify).tolist() for certify in (True, False)] == ends
        assert maximise(*problem_of, rng).tolist() == ends[0]
        n_certified += ends[0] != ends[1]
    assert n_certified > 0


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
    climbers = Climbers(problem.landscape, problem.starts[:4], problem.excluded, Constraints(9))
    active = np.arange(len(climbers.q))
    mean, *bounds, _ = climbers._bounds(active, climbers._moves.all)
    for climber in active:
        after = [climbers._moves.after(climbers.q[climber], move) for move in climbers._moves.all]
        around = np.array([invert(q.astype(int)) for q in after])
        np.testing.assert_allclose(mean[climber], problem.plain.mean(around), rtol=0, atol=1e-7)
        slack = slack_of(problem.plain, invert(climbers.q[climber].astype(int)), around)
        for (low, high), batch in zip(bounds, ((), problem.batch), strict=True):
            variance = problem.plain.variance(around, batch)
            assert_bounded(low[climber], variance, high[climber], slack, problem.plain.h.signal_variance)


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
    bounds = Climbers._bounds
    monkeypatch.setattr(Climbers, "_bounds", lambda self, *moves: tried.append(len(moves[1])) or bounds(self, *moves))

    def climbed(certify):
        tried.clear()
        ends, values = climb(problem.landscape, problem.starts[:1], problem.excluded, Constraints(20), certify)
        return ends[0], values[0], sum(tried)

    _, _, moves = climbed(certify=False)
    monkeypatch.setattr(climbing, "MAX_BARREN", 1)
    _, value, fewer = climbed(certify=False)
    assert fewer < moves and value >= problem.direct(problem.starts[:1])[0]
    end, value, _ = climbed(certify=True)
    assert max(problem.direct(np.array([p for p in moved(end) if p not in problem.excluded]))) <= value + 1e-7


@models
@pytest.mark.parametrize("constraints", [Constraints(9), Constraints(*WITHIN["fixed"])])
@pytest.mark.parametrize("n_promising", [1, 16])
@pytest.mark.parametrize("seed", range(3))
def test_the_best_neighbour_is_the_free_and_allowed_one_of_largest_value(
    model, constraints, seed, n_promising, monkeypatch
):
    monkeypatch.setattr(climbing, "N_PROMISING", n_promising)
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


@pytest.mark.parametrize("halving", [1, 2])
def test_of_climbs_that_are_cut_short_the_better_half_goes_on(halving, monkeypatch):
    problem = Problem(2, n_items=30)
    starts = sample(30, 8, np.random.default_rng(1))
    steps = counted(monkeypatch)
    excluded, constraints = Exclusions(), Constraints(30)
    _, whole = climb(problem.landscape, starts, excluded, constraints, certify=False)
    assert [len(active) for active, _ in steps[: 3 * halving + 1]] == [8] * (3 * halving + 1)
    steps.clear()
    monkeypatch.setattr(climbing, "MANY_MOVES", 0)
    monkeypatch.setattr(climbing, "HALVING", halving)
    ends, values = climb(problem.landscape, starts, excluded, constraints, certify=False)
    numbers = [8 // 2 ** (step // halving) for step in range(3 * halving)]
    assert [len(active) for active, _ in steps] == numbers + [1] * (len(steps) - len(numbers))
    assert len(steps) > len(numbers) + 1
    for (before, _), (active, heights) in itertools.pairwise(steps):
        assert set(active) == set(before[np.argsort(-heights[before])][: len(active)])
    assert len(ends) == len(values) > 1  # where the others stopped is returned too
    np.testing.assert_allclose(values, problem.landscape(ends), atol=1e-8)
    assert whole[0] >= values[0] > problem.landscape(starts).max()


# several moves at once


def around_one_point(value):
    """Return the identity of forty items, and a landscape of value(mean), which is largest at the identity."""
    X = np.arange(40)[None]
    posterior = GaussianProcess(X, np.zeros(1), DistanceHyperparameters(1.0, 1.0, 0.01, 1.0))
    return X[0], Landscape(posterior, posterior, lambda mean, *variances: value(mean))


def exchanged(order, pairs):
    order = order.copy()
    for a, b in pairs:
        order[[a, b]] = order[[b, a]]
    return order


def test_sixteen_swaps_apart_that_gain_are_made_in_one_step(monkeypatch):
    """By each of two climbs, which then meet and make sure that nothing gains."""
    steps = counted(monkeypatch)
    top, landscape = around_one_point(np.negative)
    starts = np.array([exchanged(top, [(k, k + 1) for k in range(first, first + 32, 2)]) for first in (0, 8)])
    ends, _ = climb(landscape, starts, Exclusions(), Constraints(40), certify=False)
    assert ends[0].tolist() == top.tolist()
    assert [len(active) for active, _ in steps] == [2, 1]


def test_several_moves_are_made_at_once_only_if_they_gain_more_than_the_best_alone():
    """On the way to a plateau that the best swap reaches alone."""
    top, landscape = around_one_point(np.negative)
    start = exchanged(top, [(k, k + 1) for k in range(0, 8, 2)])
    plateau = landscape(start[None])[0] + 1e-6
    _, flat = around_one_point(lambda mean: np.minimum(-mean, plateau))
    end, value = best_climb(flat, start[None], Exclusions())
    assert value == plateau
    assert np.sum(end != start) == 2


def test_the_moves_made_at_once_are_the_first_two_four_and_eight_that_touch_nothing_in_common():
    problem = Problem(0, n_items=20)
    climbers = Climbers(problem.landscape, problem.starts[5:6], Exclusions(), Constraints(20))
    numbers = {tuple(sorted(climbers._moves.touched(move))): move for move in climbers._moves.all}
    apart = [(0, 1), (2, 3), (4, 5), (6, 9), (8, 11), (7, 10), (12, 13), (14, 15), (16, 17)]
    moves = [*apart[:1], (1, 2), (0, 19), *apart[1:3], (3, 18), (0, 5), *apart[3:]]
    leaps = climbers._together(0, np.array([numbers[pair] for pair in moves]))
    expected = [exchanged(climbers.q[0], apart[:count]).tolist() for count in (2, 4, 8)]
    assert [q.tolist() for q in leaps] == expected


# which moves are evaluated exactly


@pytest.mark.parametrize("max_barren", [1, 435])
def test_of_a_value_that_depends_on_the_mean_alone_one_promising_swap_is_the_best(max_barren, monkeypatch):
    """Then the climb is the steepest ascent: a step for each gain, and one of 435 swaps that do not gain."""
    monkeypatch.setattr(climbing, "N_PROMISING", 1)
    monkeypatch.setattr(climbing, "MAX_BARREN", max_barren)
    steps = counted(monkeypatch)
    for seed in range(4):
        problem = Problem(seed, n_items=30)
        posterior = problem.landscape.posterior
        landscape = Landscape(posterior, posterior, lambda mean, *variances: -mean)
        order, n_steps = problem.starts[5], 1
        while (values := landscape(around := neighbours(order))).max() > landscape(order[None])[0] + 1e-9:
            order, n_steps = around[values.argmax()], n_steps + 1
        steps.clear()
        ends, _ = climb(landscape, problem.starts[5:6], Exclusions(), Constraints(30), certify=False)
        assert ends.tolist() == [order.tolist()]
        assert len(steps) == n_steps


@pytest.mark.parametrize("n_items", [2, 3, 6])
def test_climbs_of_few_items_end_at_a_maximum(n_items):
    """There are not more swaps than promising ones."""
    for seed in range(3):
        problem = Problem(seed, n_items)
        end, value = best_climb(problem.landscape, problem.starts[:1], Exclusions())
        assert value == pytest.approx(problem.direct(end[None])[0], abs=1e-8)
        assert problem.direct(neighbours(end)).max() <= value + 1e-7


@pytest.mark.parametrize("given_batch", [False, True])
def test_estimates_learn_where_a_variance_lies_between_its_bounds(given_batch):
    """On average over the moves that were evaluated: here again and again those of the largest shares."""
    problem = Problem(1, in_batch=4)
    landscape = Landscape(
        problem.landscape.posterior, problem.landscape.given_batch, lambda mean, *variances: variances[given_batch]
    )
    climbers = Climbers(landscape, problem.starts[5:6], Exclusions(), Constraints(9))
    around = np.array([invert(climbers._moves.after(climbers.q[0], move).astype(int)) for move in range(36)])
    variance = problem.plain.variance(around, problem.batch if given_batch else ())
    bounds = climbers._bounds(np.array([0]), climbers._moves.all)
    low, high = (bounds.given_batch if given_batch else bounds.variance)[:, 0]
    shares = (variance - low) / (high - low)
    largest, climber = np.argsort(shares)[-9:], np.zeros(9, dtype=int)
    assert shares[largest].mean() > 0.55
    for _ in range(40):
        climbers._evaluate(climber, largest, bounds, climber, largest)
    estimates = climbers._value(bounds, climbers._share)[0]
    np.testing.assert_allclose(estimates, low + shares[largest].mean() * (high - low), rtol=0, atol=1e-6)


# the same results on every machine


class Elsewhere:
    """In place of exclusions: all but some permutations are excluded, so that no climb can make a step."""

    def __init__(self, permutations):
        self._free = permutations.tolist()

    def __contains__(self, permutation):
        return permutation.tolist() not in self._free


def test_of_equal_values_in_a_small_space_the_first_ordering_is_best():
    candidates = everything(6)

    def two_values(permutations):
        return (permutations[:, 2] == 4).astype(float)

    found = maximise(two_values, candidates[:1], Exclusions(), Constraints(6), np.random.default_rng(0))
    assert found.tolist() == [[0, 1, 4, 2, 3, 5]]


def test_ends_of_equal_values_are_in_the_order_of_their_positions():
    problem, starts = Problem(0), sample(9, 60, np.random.default_rng(0))
    two_values = Landscape(
        problem.landscape.posterior, problem.landscape.given_batch, lambda mean, *variances: np.sign(mean)
    )
    ends, values = climb(two_values, starts, Elsewhere(starts), Constraints(9))
    assert set(values) == {-1.0, 1.0}
    for height in (-1.0, 1.0):
        q = invert(ends[values == height]).tolist()
        assert q == sorted(q)


@pytest.mark.parametrize("n_promising", [16, 64])
def test_of_equal_neighbours_the_first_pair_of_items_is_swapped(n_promising, monkeypatch):
    monkeypatch.setattr(climbing, "N_PROMISING", n_promising)
    problem = Problem(0, n_items=30)
    posterior = problem.landscape.posterior
    for centre in problem.starts[4:]:
        q = invert(centre)
        around = invert(np.array([exchanged(q, [pair]) for pair in itertools.combinations(range(30), 2)]))
        least = np.quantile(-posterior.predict(around)[0], [0.3, 0.6])
        three_values = Landscape(
            posterior, posterior, lambda mean, *_, least=least: np.searchsorted(least, -mean) + 0.0
        )
        found = best_neighbour(three_values, centre, Exclusions(), Constraints(30))
        assert found.tolist() == around[np.argmax(three_values(around))].tolist()


def test_moves_that_gain_come_best_first_and_equal_ones_in_their_order():
    problem = Problem(0, n_items=30)
    climbers = Climbers(problem.landscape, problem.starts[5:6], Exclusions(), Constraints(30))
    gains = np.random.default_rng(0).integers(-1, 3, size=435)
    gaining = climbers._gaining(0, climbers._moves.all, climbers.values[0] + gains)
    assert gaining.tolist() == sorted(np.flatnonzero(gains > 0), key=lambda move: -gains[move])
