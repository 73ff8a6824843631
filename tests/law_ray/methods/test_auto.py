import dataclasses
import itertools
import json

import numba
import numpy as np
import pytest

from law_ray import Optimizer
from law_ray.acquisition.functions import est, log_ei, sigmoid_weight
from law_ray.kernels.additive import AdditiveHyperparameters
from law_ray.methods import auto, greedy
from law_ray.methods.auto import DESIGN, Purpose, law_auto
from law_ray.methods.incumbent import on_plateau
from law_ray.models.gp import GaussianProcess
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import sample, swap_neighbours
from tests.oracles.additive import some_components
from tests.oracles.contexts import context_of
from tests.oracles.orderings import everything, first_item, moved

GAINS = np.random.default_rng(0).normal(size=(12, 12))
PURPOSES = (Purpose.IMPROVE, Purpose.LOCAL, Purpose.EXPLORE, Purpose.LOCAL, Purpose.EXPLORE)
ON_PLATEAU = (Purpose.IMPROVE, Purpose.SPREAD, Purpose.SPREAD, Purpose.SPREAD, Purpose.SPREAD)


def problem(n_items=6, n=20, seed=0, constraints=None, turn=0):
    """Return a context with an additive kernel; n is such that the first point of a batch is for PURPOSES[turn]."""
    rng = np.random.default_rng(seed)
    n += (turn - n) % len(PURPOSES)
    X = np.unique(sample(n_items, 3 * n, rng) if constraints is None else constraints.sample(9 * n, rng), axis=0)
    X = X[rng.permutation(len(X))[:n]]
    assert len(X) == n
    y = GAINS[np.arange(n_items), X].sum(axis=1)
    h = AdditiveHyperparameters(some_components(rng), 0.05, 0.1)
    context = context_of(
        GaussianProcess(X, y, h), excluded=Exclusions(permutations=X), constraints=constraints, seed=seed
    )
    return dataclasses.replace(context, y=y)


def expected(context, purpose, before, candidates):
    """Return the largest value of the purpose among the free candidates, by prediction in full."""
    busy = {tuple(p) for p in [*context.X.tolist(), *before.tolist()]}
    free = np.array([p for p in candidates if tuple(p.tolist()) not in busy])
    return values(context, purpose, before, free).max()


def values(context, purpose, before, permutations, beta=9.0):
    posterior = context.posterior
    mean, variance = posterior.predict(permutations)
    if len(before):
        variance = posterior.condition(before).predict(permutations)[1]
    if purpose is Purpose.EXPLORE:
        return np.sqrt(beta * variance) - mean
    if purpose is Purpose.SPREAD:
        given_data = posterior.predict(permutations)[1]
        return np.log(variance) + 2.0 * np.log(sigmoid_weight(est(mean, given_data, context.best)))
    return log_ei(mean, variance, context.best)


@pytest.mark.parametrize("plateau", [False, True])
@pytest.mark.parametrize("turn", range(len(PURPOSES)))
@pytest.mark.parametrize("seed", range(4))
def test_each_point_is_the_best_of_its_purpose_given_those_before_it(turn, seed, plateau):
    context = problem(seed=seed, turn=turn)  # a space small enough to be searched whole
    if plateau:
        context.y[np.argsort(context.y)[:11]] = context.y.min()
    purposes = ON_PLATEAU if plateau else PURPOSES
    batch = law_auto(context, 6)
    for b, point in enumerate(batch):
        purpose = purposes[(turn + b) % len(purposes)]
        best = context.X[context.y.argmin()]
        candidates = moved(best) if purpose is Purpose.LOCAL else everything(6)
        found = values(context, purpose, batch[:b], point[None])[0]
        assert found == pytest.approx(expected(context, purpose, batch[:b], candidates), abs=1e-8)


def test_the_incumbent_is_the_last_of_equals():
    context = problem(turn=PURPOSES.index(Purpose.LOCAL), n=30)
    context.y[[3, 17]] = context.y.min() - 1.0
    point = law_auto(context, 1)[0]
    around = {tuple(p) for p in moved(context.X[17]).tolist()}
    assert tuple(point.tolist()) in around


def test_batches_of_one_serve_all_purposes(monkeypatch):
    asked = []

    def spy(*arguments, original=auto.best_neighbour):
        asked.append(turn)
        return original(*arguments)

    monkeypatch.setattr(auto, "best_neighbour", spy)
    for turn in range(len(PURPOSES)):
        law_auto(problem(turn=turn), 1)
    assert asked == [turn for turn, purpose in enumerate(PURPOSES) if purpose is Purpose.LOCAL]
    assert {Purpose.IMPROVE, Purpose.LOCAL, Purpose.EXPLORE} == set(PURPOSES)


@pytest.mark.parametrize("purpose", Purpose, ids=lambda purpose: purpose.name)
def test_a_design_of_one_purpose_gives_all_points_this_purpose(purpose):
    context = problem()
    batch = law_auto(context, 4, dataclasses.replace(DESIGN, purposes=(purpose,)))
    best = context.X[context.y.argmin()]
    candidates = moved(best) if purpose is Purpose.LOCAL else everything(6)
    for b, point in enumerate(batch):
        found = values(context, purpose, batch[:b], point[None])[0]
        assert found == pytest.approx(expected(context, purpose, batch[:b], candidates), abs=1e-8)


def test_only_a_design_that_leaves_what_was_searched_goes_on_to_another_incumbent():
    first, second = np.arange(8), np.roll(np.arange(8), 3)  # nothing in common
    two_swaps = np.unique(swap_neighbours(swap_neighbours(first[None])[0]).reshape(-1, 8), axis=0)
    near = two_swaps[np.count_nonzero(two_swaps != first, axis=1) == 3][: 8 * 8]
    X, y = np.concatenate([[second, first], near]), np.array([2.0, 0.0, *np.linspace(3.0, 4.0, len(near))])
    h = AdditiveHyperparameters({"hamming": [0.0, 1.0, 1.0, 0.0]}, 0.1, 0.0)  # near: at most three items elsewhere
    context = dataclasses.replace(context_of(GaussianProcess(X, y, h)), y=y)
    around = [{tuple(p) for p in moved(incumbent).tolist()} for incumbent in (first, second)]
    for leaves in (False, True):
        design = dataclasses.replace(DESIGN, purposes=(Purpose.LOCAL,), leaves_searched=leaves)
        (point,) = law_auto(context, 1, design)
        assert tuple(point.tolist()) in around[leaves] - around[not leaves]
    free = np.array([p for p in moved(second) if p not in context.excluded])
    over_incumbent, over_best = (
        free[log_ei(*context.posterior.predict(free), best).argmax()]
        for best in context.posterior.standardize(np.array([2.0, 0.0]))
    )
    assert point.tolist() == over_incumbent.tolist() != over_best.tolist()


def test_every_point_but_the_first_is_searched_from_the_four_best_of_the_pool_given_those_before_it(monkeypatch):
    context, searched, pools = problem(n_items=9, n=30), [], []

    def spy(landscape, starts, excluded, constraints, rng, certify, original=auto.maximise):
        searched.append((landscape, starts))
        return original(landscape, starts, excluded, constraints, rng, certify)

    def pool_spy(pool, *arguments, original=greedy.Pool.best):
        pools.append(pool._permutations)
        return original(pool, *arguments)

    monkeypatch.setattr(auto, "maximise", spy)
    monkeypatch.setattr(greedy.Pool, "best", pool_spy)
    law_auto(context, 5, dataclasses.replace(DESIGN, purposes=(Purpose.EXPLORE, Purpose.IMPROVE)))
    assert (len(searched), len(pools)) == (5, 4)
    for (landscape, starts), pool in zip(searched[1:], pools, strict=True):
        assert len(pool) >= 500 + 30
        best = np.argsort(-landscape(pool), kind="stable")[:4]
        np.testing.assert_allclose(landscape(starts), landscape(pool[best]), atol=1e-8)


def test_where_every_neighbour_of_the_incumbent_is_excluded_a_batch_goes_elsewhere():
    context = problem(n_items=9, n=30)
    best = context.X[context.y.argmin()]
    for permutation in moved(best):
        context.excluded.add(permutation)
    batch = law_auto(context, 5)
    assert not {tuple(p) for p in batch.tolist()} & {tuple(p) for p in moved(best).tolist()}


@pytest.mark.parametrize("known", [(8, [(0, 1), (2, 1), (2, 3)], {5: 4}), (8, [(7, i) for i in range(7)], {})])
@pytest.mark.parametrize("batch_size", [1, 7])
def test_a_batch_is_free_distinct_and_allowed(known, batch_size):
    constraints = Constraints(*known)
    for seed in range(3):
        context = problem(8, 15, seed, constraints, turn=seed)
        before = len(context.excluded)
        batch = law_auto(context, batch_size)
        assert constraints.allows(batch).all()
        assert not any(p in context.excluded for p in batch)
        assert len({tuple(p) for p in batch.tolist()}) == batch_size
        assert len(context.excluded) == before


def test_no_two_points_of_a_batch_have_one_key():
    for seed in range(3):
        context = problem(9, 15, seed)
        batch = law_auto(dataclasses.replace(context, excluded=Exclusions(first_item, context.X[:1])), 8)
        assert sorted([*batch[:, 0].tolist(), context.X[0, 0]]) == list(range(9))


def history(optimizer, rounds=3, batch_size=4):
    for _ in range(rounds + 1):
        for trial in optimizer.ask(batch_size):
            x = trial.permutation
            optimizer.tell(trial.id, float(GAINS[np.arange(len(x)), x].sum() + np.abs(np.diff(x)).sum()))
    return [(*trial.permutation.tolist(), trial.value) for trial in optimizer.trials]


def test_the_history_does_not_depend_on_the_number_of_threads():
    threads = numba.get_num_threads()
    try:
        histories = []
        for count in (1, 2):
            numba.set_num_threads(min(count, threads))
            histories.append(history(Optimizer(12, "law-auto", n_init=12)))
    finally:
        numba.set_num_threads(threads)
    assert histories[0] == histories[1]


@pytest.mark.slow
def test_a_run_continues_from_its_journal_as_if_it_had_not_stopped():
    whole = Optimizer(9, "law-auto", n_init=8)
    history(whole, rounds=4, batch_size=8)
    again = Optimizer(9, "law-auto", n_init=8)
    part = Optimizer(9, "law-auto", n_init=8)
    history(part, rounds=3, batch_size=8)
    record = None if part.model is None else json.loads(json.dumps(part.model.to_record()))
    for number, trials in itertools.groupby(part.trials, lambda trial: trial.round):
        rows = list(trials)
        again.replay([trial.permutation for trial in rows], number, record if number == 3 else None)
        for trial in rows:
            again.tell(trial.id, trial.value)
    assert again.model == part.model
    asked = [trial.permutation.tolist() for trial in again.ask(8)]
    assert asked == [trial.permutation.tolist() for trial in whole.trials[-8:]]


@pytest.mark.parametrize("family", ["tour", "assignment", "order"])
def test_few_evaluations_find_a_top_solution_of_a_problem_of_each_family(family):
    """They are one of the best ten values of 5040, or the best tour of 360, for two seeds of three."""
    rng = np.random.default_rng(1)
    A, B = rng.random((7, 7)), rng.random((7, 7))
    A += A.T

    def value(x):
        if family == "tour":
            return float(A[x, np.roll(x, -1)].sum())
        if family == "assignment":
            return float((A * B[np.ix_(x, x)]).sum())
        return float(np.sum(np.triu(B[np.ix_(x, x)], 1)))

    good = np.unique([value(x) for x in everything(7)])[9 if family != "tour" else 0]
    found = 0
    for seed in range(3):
        optimizer = Optimizer(7, "law-auto", seed=seed, n_init=15)
        for batch_size in (15, *[10] * 8):
            for trial in optimizer.ask(batch_size):
                optimizer.tell(trial.id, value(trial.permutation))
            if optimizer.best.value <= good + 1e-9:
                found += 1
                break
    assert found >= 2


def test_noisy_values_are_replaced_by_the_posterior_mean():
    context = problem()
    assert auto.denoised(context) is context
    noisy = dataclasses.replace(context, noisy=True)
    found = auto.denoised(noisy)
    assert not found.noisy
    standardize = context.posterior.standardize
    np.testing.assert_allclose(standardize(found.y), context.posterior.predict(context.X)[0])
    assert found.best == pytest.approx(context.posterior.predict(context.X)[0].min())


def test_errors_that_are_small_beside_the_deviation_do_not_count_as_noise():
    exact = problem()
    small, large = (np.full(len(exact.y), share * np.std(exact.y)) for share in (0.04, 0.06))
    batches = [
        law_auto(dataclasses.replace(exact, rng=np.random.default_rng(0), noisy=noisy, standard_errors=errors), 5)
        for noisy, errors in ((False, 0.0 * small), (True, small), (True, large), (True, 0.0 * small))
    ]
    np.testing.assert_array_equal(batches[1], batches[0])
    np.testing.assert_array_equal(batches[2], batches[3])  # errors that nobody knows may be large
    assert not np.array_equal(batches[2], batches[0])


@pytest.mark.parametrize(("share", "matters"), [(0.04, False), (0.06, True)])
def test_values_without_an_error_are_taken_to_be_as_noisy_as_the_others(share, matters):
    exact = problem()
    errors = np.zeros(len(exact.y))
    errors[3] = share * np.std(exact.y)
    assert auto.noise_matters(dataclasses.replace(exact, noisy=True, standard_errors=errors)) == matters


@pytest.mark.parametrize("plateau", [False, True])
def test_all_points_explore_where_values_are_noisy(plateau):
    context = dataclasses.replace(problem(), noisy=True)
    if plateau:  # of the posterior mean too, as it is close to the values
        context.y[np.argsort(context.y)[:11]] = context.y.min()
        h = dataclasses.replace(context.posterior.hyperparameters, noise=1e-6)
        context = dataclasses.replace(context, process=GaussianProcess(context.X, context.y, h))
        assert on_plateau(auto.denoised(context))
    batch = law_auto(context, 6)
    for b, point in enumerate(batch):
        before, busy = batch[:b], {tuple(p) for p in [*context.X.tolist(), *batch[:b].tolist()]}
        free = np.array([p for p in everything(6) if tuple(p.tolist()) not in busy])
        found = values(context, Purpose.EXPLORE, before, point[None], beta=16.0)[0]
        assert found == pytest.approx(values(context, Purpose.EXPLORE, before, free, beta=16.0).max(), abs=1e-8)


def test_a_lucky_value_does_not_stay_the_incumbent():
    """One value far too low by chance: with its standard error known, the search goes on elsewhere."""
    context = problem(n_items=8, n=60, turn=1)
    unlucky = int(context.y.argmax())
    y = context.y.copy()
    y[unlucky] = y.min() - 2.0
    errors = np.where(np.arange(len(y)) == unlucky, 50.0 * y.std(), 1e-3)
    posterior = GaussianProcess(context.X, y, context.posterior.hyperparameters, errors)
    noisy = dataclasses.replace(context, y=y, process=posterior)
    assert noisy.y.argmin() == unlucky
    centre = auto.denoised(dataclasses.replace(noisy, noisy=True)).y.argmin()
    assert centre != unlucky
    design = dataclasses.replace(DESIGN, purposes=(Purpose.LOCAL,), purposes_if_noisy=(Purpose.LOCAL,))
    for known_as_noisy, inside, outside in ((True, 0, 1), (False, 1, 0)):
        (point,) = law_auto(dataclasses.replace(noisy, noisy=known_as_noisy), 1, design)
        around = [{tuple(p) for p in moved(context.X[i]).tolist()} for i in (centre, unlucky)]
        assert tuple(point.tolist()) in around[inside] - around[outside]
