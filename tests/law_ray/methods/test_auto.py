import itertools
import json
from dataclasses import asdict

import numba
import numpy as np
import pytest
from mixtures import some_components
from orderings import everything
from states import state_of

from law_ray import Optimizer
from law_ray.acquisition import est, log_ei, sigmoid_weight
from law_ray.constraints import Constraints
from law_ray.gp import GaussianProcess
from law_ray.methods import auto
from law_ray.methods.auto import BETA, EXPLORE, IMPROVE, LOCALLY, ON_A_PLATEAU, PURPOSES, SPREAD, law_auto
from law_ray.methods.baselines import ALL_NEIGHBOURS
from law_ray.methods.basins import N_EQUAL
from law_ray.mixture import MixtureHyperparameters
from law_ray.permutations import sample
from law_ray.taken import Taken

GAINS = np.random.default_rng(0).normal(size=(12, 12))


def problem(n_items=6, n=20, seed=0, constraints=None, turn=0):
    """A state whose model is a mixture; n is such that the first point of a batch is for PURPOSES[turn]."""
    rng = np.random.default_rng(seed)
    n += (turn - n) % len(PURPOSES)
    X = np.unique(sample(n_items, 3 * n, rng) if constraints is None else constraints.sample(9 * n, rng), axis=0)
    X = X[rng.permutation(len(X))[:n]]
    assert len(X) == n
    y = GAINS[np.arange(n_items), X].sum(axis=1)
    h = MixtureHyperparameters(some_components(rng), 0.05, 0.1)
    state = state_of(GaussianProcess(X, y, h), taken=Taken(permutations=X), constraints=constraints, seed=seed)
    object.__setattr__(state, "y", y)
    return state


def neighbours(permutation):
    return np.concatenate([kind(permutation[None])[0] for kind in ALL_NEIGHBOURS])


def expected(state, purpose, before, candidates):
    """The largest value of the purpose among the free candidates, by prediction in full."""
    busy = {tuple(p) for p in [*state.X.tolist(), *before.tolist()]}
    free = np.array([p for p in candidates if tuple(p.tolist()) not in busy])
    return values(state, purpose, before, free).max()


def values(state, purpose, before, permutations):
    posterior = state.posterior
    mean, variance = posterior.predict(permutations)
    if len(before):
        variance = posterior.condition(before).predict(permutations)[1]
    if purpose == EXPLORE:
        return np.sqrt(BETA * variance) - mean
    if purpose == SPREAD:
        given_data = posterior.predict(permutations)[1]
        return np.log(variance) + 2.0 * np.log(sigmoid_weight(est(mean, given_data, state.best)))
    return log_ei(mean, variance, state.best)


@pytest.mark.parametrize("plateau", [False, True])
@pytest.mark.parametrize("turn", range(len(PURPOSES)))
@pytest.mark.parametrize("seed", range(4))
def test_each_point_is_the_best_of_its_purpose_given_those_before_it(turn, seed, plateau):
    state = problem(seed=seed, turn=turn)  # a space small enough to be searched whole
    if plateau:
        state.y[np.argsort(state.y)[: N_EQUAL + 1]] = state.y.min()
    purposes = ON_A_PLATEAU if plateau else PURPOSES
    batch = law_auto(state, 6)
    for b, point in enumerate(batch):
        purpose = purposes[(turn + b) % len(purposes)]
        best = state.X[state.y.argmin()]
        candidates = neighbours(best) if purpose == LOCALLY else everything(6)
        found = values(state, purpose, batch[:b], point[None])[0]
        assert found == pytest.approx(expected(state, purpose, batch[:b], candidates), abs=1e-8)


def test_the_incumbent_is_the_last_of_equals():
    state = problem(turn=PURPOSES.index(LOCALLY), n=30)
    state.y[[3, 17]] = state.y.min() - 1.0
    point = law_auto(state, 1)[0]
    around = {tuple(p) for p in neighbours(state.X[17]).tolist()}
    assert tuple(point.tolist()) in around


def test_batches_of_one_serve_all_purposes(monkeypatch):
    asked = []

    def spy(landscape, centre, taken, constraints, original=auto._best_neighbour):
        asked.append(turn)
        return original(landscape, centre, taken, constraints)

    monkeypatch.setattr(auto, "_best_neighbour", spy)
    for turn in range(len(PURPOSES)):
        law_auto(problem(turn=turn), 1)
    assert asked == [turn for turn, purpose in enumerate(PURPOSES) if purpose == LOCALLY]
    assert {IMPROVE, LOCALLY, EXPLORE} == set(PURPOSES)


def test_where_every_neighbour_of_the_incumbent_is_taken_a_batch_goes_elsewhere():
    state = problem(n_items=9, n=30)
    best = state.X[state.y.argmin()]
    for permutation in neighbours(best):
        state.taken.add(permutation)
    batch = law_auto(state, 5)
    assert not {tuple(p) for p in batch.tolist()} & {tuple(p) for p in neighbours(best).tolist()}


@pytest.mark.parametrize("known", [(8, [(0, 1), (2, 1), (2, 3)], {5: 4}), (8, [(7, i) for i in range(7)], {})])
@pytest.mark.parametrize("batch_size", [1, 7])
def test_a_batch_is_free_distinct_and_allowed(known, batch_size):
    constraints = Constraints(*known)
    for seed in range(3):
        state = problem(8, 15, seed, constraints, turn=seed)
        before = len(state.taken)
        batch = law_auto(state, batch_size)
        assert constraints.allows(batch).all()
        assert not any(p in state.taken for p in batch)
        assert len({tuple(p) for p in batch.tolist()}) == batch_size
        assert len(state.taken) == before


def test_no_two_points_of_a_batch_have_one_key():
    def first_item(permutation):
        return int(permutation[0])

    for seed in range(3):
        state = problem(9, 15, seed)
        object.__setattr__(state, "taken", Taken(first_item, state.X[:1]))
        batch = law_auto(state, 8)
        assert sorted([*batch[:, 0].tolist(), state.X[0, 0]]) == list(range(9))


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


def test_a_run_goes_on_from_its_journal_as_if_it_had_not_stopped():
    whole = Optimizer(9, "law-auto", n_init=8)
    history(whole, rounds=4, batch_size=8)
    again = Optimizer(9, "law-auto", n_init=8)
    part = Optimizer(9, "law-auto", n_init=8)
    history(part, rounds=3, batch_size=8)
    record = None if part.model is None else json.loads(json.dumps(asdict(part.model)))
    for number, trials in itertools.groupby(part.trials, lambda trial: trial.round):
        rows = list(trials)
        again.replay([trial.permutation for trial in rows], number, record if number == 3 else None)
        for trial in rows:
            again.tell(trial.id, trial.value)
    assert again.model == part.model
    asked = [trial.permutation.tolist() for trial in again.ask(8)]
    assert asked == [trial.permutation.tolist() for trial in whole.trials[-8:]]


@pytest.mark.parametrize("kind", ["tour", "assignment", "order"])
def test_few_evaluations_find_a_top_solution_of_a_problem_of_each_family(kind):
    """One of the best ten values of 5040, or the best tour of 360."""
    rng = np.random.default_rng(1)
    A, B = rng.random((7, 7)), rng.random((7, 7))
    A += A.T

    def value(x):
        if kind == "tour":
            return float(A[x, np.roll(x, -1)].sum())
        if kind == "assignment":
            return float((A * B[np.ix_(x, x)]).sum())
        return float(np.sum(np.triu(B[np.ix_(x, x)], 1)))

    good = np.unique([value(x) for x in everything(7)])[9 if kind != "tour" else 0]
    found = []
    for seed in range(3):
        optimizer = Optimizer(7, "law-auto", seed=seed, n_init=15)
        for batch_size in (15, *[10] * 8):
            for trial in optimizer.ask(batch_size):
                optimizer.tell(trial.id, value(trial.permutation))
        found.append(optimizer.best.value <= good + 1e-9)
    assert sum(found) >= 2
