import dataclasses
from functools import partial
from itertools import combinations

import numpy as np
import pytest

from law_ray.acquisition.functions import log_ei, ucb
from law_ray.kernels.additive import AdditiveHyperparameters
from law_ray.kernels.weighted_precedence import symmetric as symmetric_of
from law_ray.methods import pairwise
from law_ray.methods.auto import law_auto
from law_ray.methods.incumbent import incumbent
from law_ray.methods.pairwise import (
    BETA,
    CLEAR_ADVANTAGE,
    EXPLORE,
    LEAST_VALUES,
    LOCAL,
    PURPOSES,
    SAMPLE,
    STALLED_PURPOSES,
    SURE_PURPOSES,
)
from law_ray.models.gp import GaussianProcess
from law_ray.models.pairwise.chain import Chain, Kind
from law_ray.models.pairwise.ensemble import Ensemble
from law_ray.models.pairwise.hyperparameters import PairwiseHyperparameters
from law_ray.models.pairwise.templates import Template
from law_ray.models.prior_mean import PriorMean
from law_ray.models.selection import SelectionHyperparameters
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import invert, sample
from tests.oracles.additive import some_components
from tests.oracles.contexts import context_of
from tests.oracles.orderings import everything
from tests.oracles.pairwise import some_ensemble, symmetric
from tests.oracles.tour import some_tour

N_ITEMS = 7


def problem(advantage, n=LEAST_VALUES * N_ITEMS, seed=0, constraints=None, without_value=None, prior_mean=None):
    """Return a context whose pairwise model has this advantage, and unrelated draws."""
    rng = np.random.default_rng(seed)
    X = np.unique((constraints or Constraints(N_ITEMS)).sample(5 * n, rng), axis=0)[:n]
    process = SelectionHyperparameters(
        AdditiveHyperparameters(some_components(rng), 0.1, 0.0), some_tour(rng), (0.5, 1.5), n, n, 1.0
    )
    chains = tuple(Chain.start(N_ITEMS, Kind.ANY, rng) for _ in range(2))
    ensemble = some_ensemble(rng, N_ITEMS, n_draws=6)
    h = PairwiseHyperparameters(process, chains, (advantage, 1.0), (1.0, 1.0), n, ensemble)
    y = rng.normal(size=n)
    posterior = GaussianProcess(X, y, h, None, prior_mean)
    excluded = Exclusions(permutations=[*X, *([] if without_value is None else without_value)])
    context = context_of(posterior, excluded=excluded, constraints=constraints, without_value=without_value, seed=seed)
    return dataclasses.replace(context, y=y), ensemble


# how many points


@pytest.mark.parametrize(
    ("advantage", "purposes"),
    [(0.5, ()), (1.0, ()), (1.2, PURPOSES), (CLEAR_ADVANTAGE, SURE_PURPOSES), (50.0, SURE_PURPOSES)],
)
def test_the_advantage_decides_how_many_points_the_pairwise_model_chooses(advantage, purposes):
    context, _ = problem(advantage)
    assert pairwise.planned(context, 5) == [each for each in purposes if each is not None]


@pytest.mark.parametrize(("best", "purposes"), [(49, SURE_PURPOSES), (48, STALLED_PURPOSES)])
def test_a_clear_advantage_counts_for_less_after_fifty_evaluations_without_a_better_value(best, purposes):
    context, _ = problem(50.0, n=100)
    y = np.ones(100)
    y[best + 1] = 0.0
    found = pairwise.planned(dataclasses.replace(context, y=y), 5)
    assert found == [each for each in purposes if each is not None]


def test_batches_of_one_have_the_purposes_in_turn():
    found = [pairwise.planned(problem(1.2, n)[0], 1) for n in range(35, 40)]
    assert found == [[] if each is None else [each] for each in PURPOSES]


def test_with_few_values_the_process_chooses_all():
    context, _ = problem(50.0, n=LEAST_VALUES * N_ITEMS - 1)
    assert pairwise.planned(context, 5) == []


def test_with_a_prior_mean_the_process_chooses_all():
    context, _ = problem(50.0, prior_mean=PriorMean(lambda permutations: permutations[:, 0], 1.0))
    assert pairwise.planned(context, 5) == []


def test_without_draws_the_process_chooses_all():
    context, _ = problem(50.0)
    h = dataclasses.replace(context.posterior.hyperparameters, ensemble=None)
    assert pairwise.planned(dataclasses.replace(context, process=GaussianProcess(context.X, context.y, h)), 5) == []


@pytest.mark.parametrize("advantage", [0.5, 1.2, 50.0])
@pytest.mark.parametrize("constraints", [None, Constraints(N_ITEMS, before=[(0, 1), (1, 2)])])
def test_a_batch_has_free_allowed_and_distinct_points(advantage, constraints):
    context, _ = problem(advantage, constraints=constraints)
    before = context.excluded.copy()
    batch = law_auto(context, 8)
    assert batch.shape == (8, N_ITEMS)
    assert len({p.tobytes() for p in batch}) == 8
    assert not any(p in before for p in batch)
    assert context.constraints.allows(batch).all()
    assert len(context.excluded) == len(before)  # the context does not change


# which points


def best_of(context, ensemble, value, taken):
    """Return the largest value among all free permutations."""
    free = np.array([p for p in everything(N_ITEMS) if p not in context.excluded and p.tobytes() not in taken])
    return value(*ensemble.moments(ensemble.values(invert(free)))).max()


def alone(ensemble, draw):
    """Return one draw of the ensemble."""
    return Ensemble.of(ensemble.items[[draw]], ensemble.places[[draw]], ensemble.constants[[draw]], ensemble.noise)


def downwards(mean, variance):
    return -mean


def test_points_maximise_their_value_given_the_points_before_them():
    pending = sample(N_ITEMS, 2, np.random.default_rng(7))
    hits = []
    for seed in range(4):
        context, ensemble = problem(1.2, seed=seed, without_value=pending)
        first = sample(N_ITEMS, 1, np.random.default_rng(8))
        purposes = [EXPLORE, SAMPLE, SAMPLE, SAMPLE]
        chosen = pairwise.choose(context, purposes, first)
        given, taken = after(ensemble, [*pending, *first]), {first[0].tobytes()}
        order = iter(np.random.default_rng(seed).permutation(6).tolist())  # as the context's generator draws it first
        for purpose, point in zip(purposes, chosen, strict=True):
            model, value = given, partial(ucb, beta=BETA)
            if purpose is SAMPLE:
                model, value = alone(ensemble, next(order)), downwards
            reached, best = value_of(model, value, point), best_of(context, model, value, taken)
            near = [p for p in swapped([point]) if p not in context.excluded and p.tobytes() not in taken]
            assert max(value_of(model, value, p) for p in near) - 1e-8 <= reached <= best + 1e-9
            hits.append(reached >= best - 1e-9)
            taken.add(point.tobytes())
            given = after(given, [point])
    assert np.mean(hits) > 0.5  # a local search misses some on such rugged ground


def test_points_that_explore_start_from_the_best_values_and_from_random_orderings(monkeypatch):
    context, _ = problem(1.2)
    y = np.arange(len(context.X)) % 2 == 0
    started = []

    def spy(model, value, starts, *others, original=pairwise.maximise):
        started.extend(starts)
        return original(model, value, starts, *others)

    monkeypatch.setattr(pairwise, "maximise", spy)
    pairwise.choose(dataclasses.replace(context, y=y.astype(float), rng=np.random.default_rng(1)), [EXPLORE], [])
    np.testing.assert_array_equal(started[:4], context.X[~y][:4])
    assert len({p.tobytes() for p in started} - {p.tobytes() for p in context.X}) == 4


@pytest.mark.parametrize("purpose", [LOCAL, EXPLORE, SAMPLE])
@pytest.mark.parametrize("seed", range(3))
def test_the_last_free_ordering_is_chosen_even_where_no_search_leads_to_it(purpose, seed):
    constraints = Constraints(N_ITEMS, before=[(0, 1)])
    context, _ = problem(1.2, constraints=constraints)
    *taken, last = np.random.default_rng(seed).permutation(constraints.enumerate(5040))
    chosen = pairwise.choose(dataclasses.replace(context, excluded=Exclusions(permutations=taken)), [purpose], [])
    np.testing.assert_array_equal(chosen, [last])


@pytest.mark.parametrize("of_items", [False, True])
def test_where_all_draws_share_a_matrix_the_fewest_are_averaged_whose_minimum_is_expected_to_improve(of_items):
    sizes_used = set()
    for seed in range(6):
        context, ensemble = problem(50.0, seed=seed)
        known = symmetric(np.random.default_rng(9), N_ITEMS, 1000) / 100  # so that no two orderings are equal
        shared = np.broadcast_to(known, ensemble.items.shape)
        ensemble = dataclasses.replace(ensemble, **{"items" if of_items else "places": shared})
        free = np.array([p for p in everything(N_ITEMS) if p not in context.excluded])
        values = ensemble.values(invert(free))
        order = np.random.default_rng(seed).permutation(6)  # as the context's generator draws it
        minima = [values[:, order[:size]].mean(axis=1).argmin() for size in (1, 2, 4)]
        expected = values.mean(axis=1)[minima]
        for best in (*(expected + 1e-6), expected.min() - 1.0):
            improving = np.flatnonzero(expected < best)
            which = improving[0] if len(improving) else 0
            among = context_of(context.posterior, best, context.excluded, seed=seed)
            sizes = np.array([1, 2, 4])
            found, left = pairwise._likely_minimum(among, ensemble, np.arange(6), sizes, context.excluded)
            assert list(left) == ([1, 2, 4][which:] if len(improving) else [])
            of_some = ensemble.values(invert(found[None]))[:, order[: (1, 2, 4)[which]]].mean()
            assert of_some == pytest.approx(values[minima[which]][order[: (1, 2, 4)[which]]].mean())
            sizes_used.add((1, 2, 4)[which])
    assert sizes_used == {1, 2, 4}


def test_a_minimum_as_good_as_the_best_value_does_not_improve():
    context, _ = problem(50.0)
    flat = np.zeros((2, N_ITEMS, N_ITEMS))
    for below, left in ((0.0, []), (1e-6, [1, 2])):
        ensemble = Ensemble.of(flat, flat, np.full(2, context.best - below), 0.01)
        found = pairwise._likely_minimum(context, ensemble, np.arange(2), np.array([1, 2]), context.excluded)
        assert list(found[1]) == left


def with_template(of_items, which=(0, 1, 0, 0, 1, 0)):
    """Return a context whose best chain knows the matrix that draws with a 0 in `which` have, and those draws."""
    context, ensemble = problem(50.0)
    matrices = [symmetric(np.random.default_rng(seed), N_ITEMS) for seed in range(2)]
    templates = [Template.of("some shape", matrix, of_items, 30) for matrix in matrices]
    chains = tuple(Chain.start(N_ITEMS, Kind.TEMPLATE, np.random.default_rng(0), 30, each) for each in templates)
    known = np.array([symmetric_of(chains[k].known.entries, N_ITEMS) for k in which])
    ensemble = dataclasses.replace(ensemble, **{"items" if of_items else "places": known})
    old = context.posterior.hyperparameters
    h = dataclasses.replace(old, chains=chains, chain_errors=(1.0, 1.1), ensemble=ensemble)
    return context_of(GaussianProcess(context.X, context.y, h), excluded=context.excluded), ensemble


@pytest.mark.parametrize("of_items", [False, True])
def test_with_a_template_all_points_are_such_minima_of_the_draws_that_have_it(of_items, monkeypatch):
    context, ensemble = with_template(of_items)
    assert pairwise.planned(context, 5) == 5 * [SAMPLE]
    free = np.array([p for p in everything(N_ITEMS) if p not in context.excluded])
    others, tried = iter(free), []

    def likely_minimum(among, draws, alike, sizes, excluded):
        assert among is context
        assert draws is ensemble
        assert list(alike) == [0, 2, 3, 5]
        assert [p in excluded for p in free[:4]] == [b < len(tried) for b in range(4)]
        tried.append(list(sizes))
        return next(others), sizes[1:]

    monkeypatch.setattr(pairwise, "_likely_minimum", likely_minimum)
    np.testing.assert_array_equal(pairwise.choose(context, 4 * [SAMPLE], []), free[:4])
    assert tried == [[1, 2, 4], [2, 4], [4], []]  # what was too few for a point is too few for the next


def test_draws_that_do_not_share_the_matrix_are_never_averaged(monkeypatch):
    context, ensemble = with_template(False)
    averaged = []
    monkeypatch.setattr(pairwise, "_minimum", lambda _, draws, some, excluded: averaged.append(some.tolist()))
    for seed in range(10):
        among = context_of(context.posterior, -np.inf, context.excluded, seed=seed)
        pairwise._likely_minimum(among, ensemble, np.array([1, 3, 4]), np.array([2]), context.excluded)
    assert {frozenset(each) for each in averaged} == {frozenset(pair) for pair in ((1, 3), (1, 4), (3, 4))}


@pytest.mark.parametrize("seed", range(4))
def test_local_points_are_the_best_within_two_swaps_of_the_incumbent(seed):
    context, ensemble = problem(1.2, seed=seed)
    chosen = pairwise.choose(context, [LOCAL, LOCAL], [])
    centre = context.X[incumbent(dataclasses.replace(context, rng=np.random.default_rng(seed)))]
    value = partial(log_ei, best=context.y[(centre == context.X).all(axis=1)].item())
    assert pairwise.LOCAL_STEPS == 2
    given, taken = ensemble, set()
    for point in chosen:
        near = swapped([centre])
        far = swapped(near)
        values = [
            max(value_of(given, value, p) for p in ring if p not in context.excluded and p.tobytes() not in taken)
            for ring in (near, far)
        ]
        reached = value_of(given, value, point)
        assert any(np.array_equal(point, p) for p in far)
        assert values[0] - 1e-9 <= reached <= values[1] + 1e-9
        taken.add(point.tobytes())
        given = after(given, [point])


def swapped(permutations):
    """Return the permutations, and all that are one swap from them."""
    found = list(permutations)
    for permutation in permutations:
        for i, j in combinations(range(N_ITEMS), 2):
            other = permutation.copy()
            other[[i, j]] = other[[j, i]]
            found.append(other)
    return found


def value_of(model, value, point):
    return value(*model.moments(model.values(invert(point[None]))))[0]


def after(ensemble, points):
    """Return the ensemble given further points."""
    for point in points:
        ensemble = ensemble.given(ensemble.values(invert(point[None]))[0])
    return ensemble
