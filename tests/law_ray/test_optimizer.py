import inspect
import itertools
import json
import math
import pickle
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest

import law_ray
from law_ray import InputError, Optimizer
from law_ray.cli import cli
from law_ray.errors import UsedUpError
from law_ray.kernels.distance import position_distances
from law_ray.methods import fitting, mace
from law_ray.methods.registry import METHODS, POSITION_MODEL, Method, Model
from law_ray.models.fit_distance import fit, log_marginal_likelihood
from law_ray.models.gp import GaussianProcess
from law_ray.runs.settings import Settings
from law_ray.space.constraints import Constraints
from law_ray.space.permutations import sample
from law_ray.tune import LAWSearch
from tests.oracles.gaussian_process import position_covariance, two_modes
from tests.oracles.orderings import allowed_orderings, first_item, known_of, up_to_reversal

GAINS = np.random.default_rng(0).normal(size=(12, 12))
BATCHES = (5, 3, 2, 4)  # with n_init=5: the initial design, then rounds 1 to 3


# These differ from "local-search" in their moves alone, and `methods/test_baselines.py` checks them too.
VARIANTS = ("local-search-swap", "local-search-insertion", "local-search-reversal")
methods = pytest.mark.parametrize(
    "method", [pytest.param(name, marks=[pytest.mark.slow] if name in VARIANTS else []) for name in METHODS]
)


@pytest.fixture(autouse=True)
def few_generations(monkeypatch):
    """Shorten MACE's evolution, on which nothing here depends; `methods/test_mace.py` has all of it."""
    monkeypatch.setattr(mace, "N_GENERATIONS", 5)


def objective(permutation):
    """Return the cost of a linear assignment plus that of some neighbours."""
    places = np.arange(len(permutation))
    return float(GAINS[places, permutation].sum() + 0.3 * np.abs(np.diff(permutation)).sum())


def rows(trials):
    return [tuple(trial.permutation.tolist()) for trial in trials]


def tell_all(optimizer, trials, value=objective):
    for trial in trials:
        optimizer.tell(trial.id, value(trial.permutation))


def run(optimizer, batches=BATCHES, value=objective, order=list):
    """Return the permutations asked, batch by batch; each batch is told, in some order, before the next ask."""
    asked = []
    for batch_size in batches:
        trials = optimizer.ask(batch_size)
        asked.append(rows(trials))
        tell_all(optimizer, order(trials), value)
    return asked


def state(optimizer):
    return [(t.id, t.round, *t.permutation.tolist(), t.state, repr(t.value), t.reason) for t in optimizer.trials]


def first_free(context, batch_size):
    everything = map(np.array, itertools.permutations(range(context.X.shape[1])))
    free = (p for p in everything if p not in context.excluded)
    return np.array(list(itertools.islice(free, batch_size)))


@pytest.fixture
def opt():
    return Optimizer(6, n_init=5)


@pytest.fixture
def posteriors(monkeypatch):
    """Return what the optimizer hands to the method named "spy", which then draws the first free permutations."""
    handed = []

    def spy(context, batch_size):
        handed.append((context.posterior, context.best, batch_size, context.excluded.copy()))
        return first_free(context, batch_size)

    monkeypatch.setitem(METHODS, "spy", Method(spy, "records what it is handed"))
    return handed


# ask


@methods
@pytest.mark.parametrize("n_items", [4, 9])
def test_every_ask_returns_that_many_new_permutations(method, n_items):
    asked = run(Optimizer(n_items, method=method, n_init=5), (1, 5, 3, 1))
    assert [len(batch) for batch in asked] == [1, 5, 3, 1]
    assert len(set(itertools.chain(*asked))) == 10
    assert all(sorted(row) == list(range(n_items)) for row in itertools.chain(*asked))


def test_asked_trials_are_pending_with_read_only_int64_permutations(opt):
    for _ in range(2):
        trials = opt.ask(5)
        for trial in trials:
            assert (trial.permutation.dtype, trial.permutation.shape) == (np.int64, (6,))
            assert (trial.state, math.isnan(trial.value)) == ("pending", True)
            with pytest.raises(ValueError, match="read-only"):
                trial.permutation[0] = 0
        tell_all(opt, trials)


def test_ids_count_up_from_zero_over_asks_and_additions(opt):
    first = opt.ask(3)
    opt.add([[5, 4, 3, 2, 1, 0]], [1.0])
    tell_all(opt, first)
    second = opt.ask(2)
    assert [trial.id for trial in (*first, *second)] == [0, 1, 2, 4, 5]
    assert [trial.id for trial in opt.trials] == [0, 1, 2, 3, 4, 5]


def test_rounds_are_zero_until_n_init_points_and_count_asks_from_then_on(opt):
    rounds = []
    for batch_size in (3, 3, 2, 1):
        trials = opt.ask(batch_size)
        rounds.append({trial.round for trial in trials})
        tell_all(opt, trials)
    assert rounds == [{0}, {0}, {1}, {2}]


def test_first_model_is_fitted_once_n_init_points_were_asked(opt):
    tell_all(opt, opt.ask(4))
    tell_all(opt, opt.ask(1))
    assert opt.model is None
    opt.ask(1)
    assert opt.model is not None


def test_added_points_count_towards_n_init():
    permutations = list(itertools.islice(itertools.permutations(range(6)), 100))
    values = [objective(np.array(p)) for p in permutations]
    enough, too_few = Optimizer(6, n_init=20), Optimizer(6, n_init=20)
    enough.add(permutations, values)
    too_few.add(permutations[:19], values[:19])
    assert ({trial.round for trial in enough.ask(2)}, enough.model is None) == ({1}, False)
    assert ({trial.round for trial in too_few.ask(2)}, too_few.model is None) == ({0}, True)


def test_added_points_are_not_proposed():
    opt = Optimizer(4, n_init=3)
    permutations = list(itertools.permutations(range(4)))
    opt.add(permutations[:20], [float(i) for i in range(20)])
    assert sorted(rows(opt.ask(4))) == permutations[20:]


def test_asking_while_nothing_is_told_gives_random_batches(opt):
    asked = [opt.ask(5) for _ in range(3)]
    assert [{trial.round for trial in trials} for trials in asked] == [{0}, {1}, {2}]
    assert opt.model is None
    assert len(set(itertools.chain(*map(rows, asked)))) == 15


def test_asking_while_everything_failed_gives_random_batches(opt):
    for trial in opt.ask(5):
        opt.fail(trial.id, "no licence")
    assert len(opt.ask(5)) == 5
    assert opt.model is None


@methods
def test_whole_space_can_be_asked_batch_by_batch(method):
    opt = Optimizer(4, method=method, n_init=5)
    asked = itertools.chain(*run(opt, (5, 5, 5, 5, 4)))
    assert sorted(asked) == list(itertools.permutations(range(4)))
    with pytest.raises(UsedUpError, match="0 permutations are left"):
        opt.ask(1)


@pytest.mark.parametrize("n_items", [2, 3])
def test_smallest_spaces_can_be_asked_one_by_one(n_items):
    asked = run(Optimizer(n_items, n_init=1), [1] * math.factorial(n_items))
    assert sorted(itertools.chain(*asked)) == list(itertools.permutations(range(n_items)))


@pytest.mark.parametrize("n_init", [3, 24])
def test_asking_for_more_than_is_left_changes_nothing(n_init):
    opt, unasked = Optimizer(4, n_init=n_init), Optimizer(4, n_init=n_init)
    run(opt, (5, 5, 5))
    run(unasked, (5, 5, 5))
    with pytest.raises(UsedUpError, match="batch size is 10, but only 9 permutations are left"):
        opt.ask(10)
    assert state(opt) == state(unasked)
    assert rows(opt.ask(3)) == rows(unasked.ask(3))


@pytest.mark.parametrize("batch_size", [0, -1, 2.0, "3", None])
def test_a_batch_size_that_is_no_positive_integer_is_refused(opt, batch_size):
    with pytest.raises(InputError, match="batch size"):
        opt.ask(batch_size)


@pytest.mark.parametrize("n_items", [5, 9])
@methods
def test_permutations_of_one_key_are_proposed_once_and_then_the_keys_are_used_up(method, n_items):
    opt = Optimizer(n_items, method=method, n_init=3, key=first_item)
    asked = run(opt, (3, 1, n_items - 4))
    assert sorted(row[0] for row in itertools.chain(*asked)) == list(range(n_items))
    with pytest.raises(UsedUpError, match="used up"):
        opt.ask(1)


def test_points_that_share_a_key_with_an_added_or_failed_one_are_not_proposed():
    opt = Optimizer(5, n_init=2, key=first_item)
    opt.add([[3, 0, 1, 2, 4]], [1.0])
    failed = opt.ask(1)[0]
    opt.fail(failed.id, "broken")
    assert sorted(row[0] for row in rows(opt.ask(3))) == sorted({0, 1, 2, 4} - {int(failed.permutation[0])})


def test_random_method_never_fits_a_model():
    opt = Optimizer(6, method="random", n_init=5)
    run(opt)
    assert opt.model is None
    assert sorted({trial.round for trial in opt.trials}) == [0, 1, 2, 3]


def test_random_method_needs_no_values():
    opt = Optimizer(6, method="random", n_init=2)
    assert len(set(rows([*opt.ask(4), *opt.ask(4), *opt.ask(4)]))) == 12


# what reaches the model


def test_method_is_given_the_posterior_of_what_is_told_conditioned_on_what_is_not(posteriors):
    opt = Optimizer(5, method="spy", n_init=8)
    trials = opt.ask(8)
    for trial in trials[:5]:
        opt.tell(trial.id, objective(trial.permutation), standard_error=0.2 * trial.id)
    opt.fail(trials[6].id, "crashed")
    opt.add([[4, 3, 2, 1, 0]], [2.5])
    opt.ask(3)
    (posterior, best, batch_size, excluded), h = posteriors[0], opt.model
    X = np.array([*rows(trials[:5]), (4, 3, 2, 1, 0)])
    y = np.array([objective(trial.permutation) for trial in trials[:5]] + [2.5])
    z, errors = (y - y.mean()) / y.std(), np.array([0.0, 0.2, 0.4, 0.6, 0.8, 0.0]) / y.std()
    busy, Z = np.array(rows(trials[5:])), np.array(list(itertools.permutations(range(5))))

    def prior(A, B):
        distances = np.abs(np.argsort(A, axis=1)[:, None] - np.argsort(B, axis=1)[None]).sum(axis=2)
        return h.signal_variance * np.exp(-h.decay / 5 * distances)

    mean = h.mean + prior(Z, X) @ np.linalg.solve(prior(X, X) + np.diag(h.noise + errors**2), z - h.mean)
    given = np.concatenate([X, busy])
    noise = np.diag(h.noise + np.concatenate([errors**2, np.zeros(3)]))
    covariance = prior(Z, Z) - prior(Z, given) @ np.linalg.solve(prior(given, given) + noise, prior(given, Z))
    found_mean, found_variance = posterior.predict(Z)
    np.testing.assert_allclose(found_mean, mean, atol=1e-8)
    np.testing.assert_allclose(found_variance, np.diag(covariance), atol=1e-8)
    assert best == pytest.approx(z.min(), abs=1e-12)
    assert batch_size == 3
    assert sorted(tuple(p) for p in Z.tolist() if np.array(p) in excluded) == sorted([*rows(trials), (4, 3, 2, 1, 0)])


def test_a_method_is_handed_the_values_and_their_standard_errors():
    handed = []

    def spy(context, batch_size):
        handed.append((context.y.tolist(), context.standard_errors.tolist()))
        return METHODS["random"].choose(context, batch_size)

    opt = Optimizer(6, Method(spy, "records what it is handed", None), n_init=4, maximize=True)
    for trial, error in zip(opt.ask(4), (0.5, None, 0.25, None), strict=True):
        if trial.id != 1:
            opt.tell(trial.id, float(trial.id), standard_error=error)
    opt.ask(1)
    assert handed == [([0.0, -2.0, -3.0], [0.5, 0.25, 0.0])]


def test_new_values_come_last_also_where_evaluations_overtake_each_other():
    """The models are judged by the values from `previous.n` on: none of them may be known to the last fit."""
    handed = []

    def spy(context, batch_size):
        handed.append(context.y.astype(int).tolist())
        return first_free(context, batch_size)

    def play(optimizer, replayed=()):
        optimizer.add([list(range(6))], [-1.0])
        for told in ((), (), (3, 1), (2, 0), (5, 4)):  # the values are the ids
            for i in told:
                optimizer.tell(i + 1, float(i))
            if len(optimizer.trials) < len(replayed):
                batch = replayed[len(optimizer.trials) :][:2]
                optimizer.replay([t.permutation for t in batch], batch[0].round, None)
            else:
                optimizer.ask(2)

    def new():
        return Optimizer(6, Method(spy, "records the values that it is handed", None), n_init=1)

    original, resumed = new(), new()
    play(original)
    assert handed == [[-1], [-1], [-1, 1, 3], [-1, 1, 3, 0, 2], [-1, 1, 3, 0, 2, 4, 5]]
    handed.clear()
    play(resumed, original.trials[:-2])
    assert handed == [[-1, 1, 3, 0, 2, 4, 5]]
    assert rows(resumed.trials) == rows(original.trials)


@pytest.mark.parametrize(("declared", "error"), [(False, None), (False, 0.5), (True, None)])
def test_a_method_knows_whether_values_are_noisy(declared, error):
    contexts = []

    def choose(context, batch_size):
        contexts.append(context)
        return context.constraints.sample(batch_size, context.rng)

    opt = Optimizer(9, Method(choose, ""), n_init=2, noisy=declared)
    for trial in opt.ask(2):
        opt.tell(trial.id, 1.0, error if trial.id else None)  # one standard error is enough
    opt.ask(1)
    assert contexts[0].noisy == (declared or error is not None)


def test_model_maximises_the_evidence_of_the_told_values_with_their_standard_errors():
    opt = Optimizer(6, "law-est", n_init=12)
    trials = opt.ask(12)
    rng = np.random.default_rng(0)
    for trial in trials[:10]:
        opt.tell(trial.id, objective(trial.permutation) + rng.normal(), standard_error=1.0)
    opt.fail(trials[10].id, "crashed")
    opt.ask(1)
    X = np.array(rows(trials[:10]))
    y = np.array([trial.value for trial in opt.trials[:10]])
    errors = np.ones(10)
    expected = fit(X, y, np.random.default_rng(1), None, errors)

    def evidence(h):
        logs = np.log([h.decay, h.signal_variance, h.noise])
        distances, z = position_distances(X, X), (y - y.mean()) / y.std()
        return log_marginal_likelihood(logs, distances, z, 6, (errors / y.std()) ** 2)[0]

    assert evidence(opt.model) == pytest.approx(evidence(expected), abs=1e-3)
    assert evidence(fit(X, y, np.random.default_rng(1))) < evidence(expected) - 1e-3  # the errors make a difference


def test_model_is_never_less_likely_than_the_one_before_on_the_same_values():
    X, y = two_modes()
    n_items = X.shape[1]

    def evidence(h):
        logs = np.log([h.decay, h.signal_variance, h.noise])
        return log_marginal_likelihood(logs, position_distances(X, X), (y - y.mean()) / y.std(), n_items)[0]

    before = max((fit(X, y, np.random.default_rng(seed)) for seed in range(8)), key=evidence)
    for seed in range(6):
        opt = Optimizer(n_items, "law-est", seed=seed)
        opt.add(X, y)
        opt.replay([np.roll(X[0], 1)], 1, before.to_record())
        opt.ask(1)
        assert evidence(opt.model) >= evidence(before) - 1e-6


def test_a_fitted_model_of_a_method_that_has_none_is_refused():
    opt = Optimizer(6, "law-est", n_init=4)
    for trial in opt.ask(4):
        opt.tell(trial.id, objective(trial.permutation))
    opt.ask(1)
    with pytest.raises(InputError, match="there is a fitted model, but random has none"):
        Optimizer(6, "random").replay([np.arange(6)], 1, opt.model.to_record())


def test_every_ask_draws_other_random_numbers_for_each_of_its_purposes():
    """An ask may draw what the same ask of another optimizer draws, but never what an earlier ask has drawn."""
    fitted, chosen = [], []

    def fit_spy(X, y, rng, previous, standard_errors):
        fitted.append(rng.random())
        return POSITION_MODEL.fit(X, y, rng, previous, standard_errors)

    def choose_spy(context, batch_size):
        chosen.append(context.rng.random())
        return first_free(context, batch_size)

    spies = Method(choose_spy, "draws a number", Model(fit_spy, POSITION_MODEL.read))
    for _ in range(2):
        opt = Optimizer(6, spies, n_init=20)
        designs = [rows(opt.ask(10)), rows(opt.ask(10))]
        tell_all(opt, opt.trials)
        for _ in range(4):
            opt.ask(1)
        assert len({*designs[0], *designs[1]}) == 20
    assert fitted[:4] == fitted[4:]
    assert chosen[:4] == chosen[4:]
    assert len({*fitted, *chosen}) == 8


def test_failed_points_are_treated_exactly_as_pending_ones():
    failed, pending = Optimizer(6, n_init=5), Optimizer(6, n_init=5)
    for opt in (failed, pending):
        run(opt, (5,))
        tell_all(opt, opt.ask(3)[:2])
    failed.fail(7, "out of memory")
    assert rows(failed.ask(4)) == rows(pending.ask(4))
    assert failed.model == pending.model


def test_failed_points_are_never_proposed_again():
    opt = Optimizer(4, n_init=4)
    failed = rows(opt.ask(4)[:2])
    for trial in opt.trials:
        opt.fail(trial.id, "broken") if trial.id < 2 else opt.tell(trial.id, 1.0 * trial.id)
    assert sorted([*rows(opt.ask(20)), *rows(opt.trials[:4])]) == list(itertools.permutations(range(4)))
    assert len(set(failed)) == 2


@pytest.mark.parametrize(("n_items", "fails"), [(7, False), (8, True)])  # with eight there is a pairwise model too
def test_order_of_tells_inside_a_round_changes_nothing(n_items, fails):
    def tell_round(opt, trials):
        for trial in trials:
            if fails and trial.id % 3 == 1:
                opt.fail(trial.id, "odd")
            else:
                opt.tell(trial.id, objective(trial.permutation))

    asked, models = [], []
    for arrange in (list, reversed, lambda trials: sorted(trials, key=lambda t: t.id * 7 % 5)):
        opt = Optimizer(n_items, n_init=5)
        for batch_size in BATCHES:
            trials = opt.ask(batch_size)
            tell_round(opt, arrange(trials))
        asked.append(state(opt))
        models.append(opt.model)
    assert asked[0] == asked[1] == asked[2]
    assert models[0] == models[1] == models[2]


@methods
def test_runs_with_one_seed_are_equal_bit_for_bit(method):
    first, second = Optimizer(9, method=method, seed=3, n_init=5), Optimizer(9, method=method, seed=3, n_init=5)
    assert run(first, BATCHES[:3]) == run(second, BATCHES[:3])
    assert first.model == second.model


@methods
def test_initial_designs_with_different_seeds_differ(method):
    first, second = (run(Optimizer(8, method=method, seed=seed, n_init=5), (5,)) for seed in (3, 4))
    assert not set(first[0]) & set(second[0])


@pytest.mark.parametrize("method", ["ga", "random", "local-search", "mace-est", "mace-ucb"])
def test_batches_of_random_methods_with_different_seeds_differ_given_the_same_values(method):
    X = sample(9, 100, np.random.default_rng(0))
    batches = []
    for seed in (3, 4):
        opt = Optimizer(9, method=method, seed=seed)
        opt.add(X, [objective(permutation) for permutation in X])
        batches.append(rows(opt.ask(3)))
    assert batches[0] != batches[1]


def test_global_random_state_has_no_say():
    asked = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        asked.append(run(Optimizer(8, n_init=5), BATCHES[:2]))
    assert asked[0] == asked[1]


@methods
def test_maximising_is_minimising_the_negated_values(method):
    low, high = Optimizer(6, method=method, n_init=5), Optimizer(6, method=method, n_init=5, maximize=True)
    assert run(low) == run(high, value=lambda p: -objective(p))
    assert (low.best.id, low.best.value) == (high.best.id, -high.best.value)
    assert low.model == high.model


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
@pytest.mark.parametrize(("method", "rounds"), [("law-est", 4), ("law-auto", 6)])
def test_optimum_of_a_smooth_objective_is_found_in_few_rounds(method, rounds, seed):
    goal = np.random.default_rng(seed).permutation(8)  # one of 40,320, among 30 or 40
    opt = Optimizer(8, method, seed=seed, n_init=10)
    run(opt, (10, *rounds * (5,)), value=lambda p: float(np.abs(np.argsort(p) - np.argsort(goal)).sum()))
    assert opt.best.value == 0.0


@pytest.mark.parametrize("constant", [0.0, 3.7, -1e9])
def test_constant_values_do_not_crash_an_ask(constant):
    asked = run(Optimizer(5, n_init=3), (3, 4, 4), value=lambda _: constant)
    assert len(set(itertools.chain(*asked))) == 11


def test_one_told_value_is_enough_for_a_model():
    opt = Optimizer(5, n_init=1)
    tell_all(opt, opt.ask(1))
    assert len(set(rows(opt.ask(4)))) == 4
    assert opt.model is not None


def test_a_permutation_added_twice_does_not_crash_an_ask():
    opt = Optimizer(5, n_init=3)
    opt.add([[0, 1, 2, 3, 4]] * 3, [1.0, 2.0, 1.5])
    assert len(opt.ask(3)) == 3


# pickle and replay


@pytest.mark.parametrize("key", [None, up_to_reversal])
def test_a_pickled_optimizer_continues_identically(key):
    original = Optimizer(7, n_init=3, key=key)  # with nine items: the test with constraints
    run(original, (3, 1))
    opened = original.ask(2)
    tell_all(original, opened[:1])
    copy = pickle.loads(pickle.dumps(original))
    for opt in (original, copy):
        opt.fail(opened[1].id, "late")
        run(opt, (1, 1))
    assert state(original) == state(copy)
    assert original.model == copy.model


def test_replaying_a_recorded_run_gives_the_next_ask_of_the_original():
    original, record = Optimizer(8, n_init=5), []

    def ask(batch_size):
        trials = original.ask(batch_size)
        model = None if original.model is None else original.model.to_record()
        record.append([[t.permutation.tolist() for t in trials], trials[0].round, model])
        return trials

    tell_all(original, ask(5))
    tell_all(original, ask(3))
    third = ask(4)
    tell_all(original, third[2:])
    original.fail(third[0].id, "lost")
    copy = Optimizer(8, n_init=5)
    for permutations, round, model in json.loads(json.dumps(record)):
        copy.replay(permutations, round, model)
    for trial in original.trials:
        if trial.state == "told":
            copy.tell(trial.id, trial.value)
        elif trial.state == "failed":
            copy.fail(trial.id, trial.reason)
    assert state(copy) == state(original)
    assert copy.model == original.model
    assert rows(copy.ask(4)) == rows(original.ask(4))
    assert copy.model == original.model
    assert state(copy) == state(original)


def test_replay_refuses_what_is_no_permutation(opt):
    with pytest.raises(InputError, match="does not hold each"):
        opt.replay([[0, 1, 2, 3, 4, 4]], 0, None)


# tell, fail, add


def test_tell_accepts_real_numbers_of_any_type(opt):
    for trial, value in zip(opt.ask(5), (1, np.float32(1), np.int64(1), Fraction(1), True), strict=True):
        opt.tell(trial.id, value)
    assert [(type(t.value), t.value) for t in opt.trials] == [(float, 1.0)] * 5


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan"), "1.0", None, 1j, [1.0]])
def test_a_value_that_is_no_finite_number_is_refused_and_the_trial_stays_pending(opt, value):
    trial = opt.ask(2)[1]
    with pytest.raises(InputError, match=r"value of trial 1 is .*finite number"):
        opt.tell(trial.id, value)
    assert opt.trials[1].state == "pending"
    opt.tell(trial.id, 1.0)
    assert opt.best.id == 1


@pytest.mark.parametrize("error", [-0.1, math.nan, math.inf, "0.1"])
def test_a_standard_error_that_is_no_finite_size_is_refused_and_the_trial_stays_pending(opt, error):
    opt.ask(1)
    with pytest.raises(InputError, match="standard error"):
        opt.tell(0, 1.0, standard_error=error)
    assert opt.trials[0].state == "pending"


@pytest.mark.parametrize("report", [lambda opt, i: opt.tell(i, 1.0), lambda opt, i: opt.fail(i, "broken")])
@pytest.mark.parametrize("trial_id", [-1, 3, 10**9, 1.0, "0", None])
def test_an_unknown_trial_is_refused_by_name(opt, report, trial_id):
    opt.ask(3)
    with pytest.raises(InputError, match=f"no trial {trial_id!r}"):
        report(opt, trial_id)


@pytest.mark.parametrize("second", [lambda opt, i: opt.tell(i, 1.0), lambda opt, i: opt.fail(i, "broken")])
def test_a_trial_is_reported_once(opt, second):
    opt.ask(3)
    opt.add([[5, 4, 3, 2, 1, 0]], [1.0])
    opt.tell(0, 2.0)
    opt.fail(1, "broken")
    before = state(opt)
    for trial_id, became in ((0, "told"), (1, "failed"), (3, "added")):
        with pytest.raises(InputError, match=f"trial {trial_id} is {became} already"):
            second(opt, trial_id)
    assert state(opt) == before


def test_trials_returned_earlier_are_snapshots(opt):
    trials = opt.ask(2)
    opt.tell(0, 3.0)
    assert (trials[0].state, opt.trials[0].state) == ("pending", "told")


@pytest.mark.parametrize(
    ("permutations", "values", "culprit"),
    [
        ([[0, 1, 2], [0, 1, 1]], [1.0, 2.0], r"\[0, 1, 1\]"),
        ([[0, 1, 2], [0, 1, 3]], [1.0, 2.0], r"\[0, 1, 3\]"),
        ([[0, 1]], [1.0], r"shape is \(2,\)"),
        ([0, 1, 2], [1.0], r"shape is \(\)"),
        ([[0.0, 1.0, 2.0]], [1.0], "float64"),
        ([[0, 1, 2], [2, 1, 0]], [1.0], "2 permutations .* 1 values"),
        ([[0, 1, 2]], [1.0, 2.0], "1 permutations .* 2 values"),
        ([[0, 1, 2]], [[1.0]], r"value 0 is \[1.0\]"),
        ([[0, 1, 2], [0, 1]], [1.0, 2.0], r"shape is \(2,\)"),
        (5, [1.0], "permutations is 5"),
        ([[0, 1, 2]], 5.0, "values is 5"),
        ([[0, 1, 2]], [10**400], "value 0 is 1000"),
        ([[0, 1, 2], [2, 1, 0]], [1.0, math.nan], "value 1 is nan"),
        ([[0, 1, 2], [2, 1, 0]], [math.inf, 1.0], "value 0 is inf"),
        ([[0, 1, 2], [2, 1, 0]], [1.0, None], "value 1 is None"),
        ([[0, 1, 2]], ["1.0"], "value 0 is '1.0'"),
    ],
)
def test_bad_additions_are_refused_whole(permutations, values, culprit):
    opt = Optimizer(3)
    with pytest.raises(InputError, match=culprit):
        opt.add(permutations, values)
    assert opt.trials == ()


@pytest.mark.parametrize(
    ("errors", "culprit"),
    [
        ([0.1], "2 permutations were added with 1 standard errors"),
        ([0.1, -0.5], r"standard error 1 is -0.5: give at least 0"),
        ([math.nan, 0.1], "standard error 0 is nan"),
        (0.1, "standard_errors is 0.1: give a list"),
    ],
)
def test_bad_standard_errors_of_additions_are_refused(errors, culprit):
    opt = Optimizer(3)
    with pytest.raises(InputError, match=culprit):
        opt.add([[0, 1, 2], [1, 0, 2]], [1.0, 2.0], errors)
    assert opt.trials == ()


def test_values_added_with_standard_errors_count_as_those_told_with_them():
    rng = np.random.default_rng(0)
    X = [rng.permutation(6) for _ in range(12)]
    y = [float(x @ range(6)) for x in X]
    errors = rng.uniform(1.0, 3.0, 12).tolist()
    told, added = Optimizer(6, n_init=12, start=X), Optimizer(6, n_init=12)
    for trial, value, error in zip(told.ask(12), y, errors, strict=True):
        told.tell(trial.id, value, error)
    added.add(X, y, [*errors[:11], np.float64(errors[11])])
    added.add([], [], [])
    assert added.history["standard_error"].tolist() == errors
    without = Optimizer(6, n_init=12)
    without.add(X, y, [None] * 12)
    assert without.history["standard_error"].tolist() == [0.0] * 12
    chosen = rows(told.ask(4))
    assert rows(added.ask(4)) == chosen
    assert rows(without.ask(4)) != chosen


def test_additions_are_copied(opt):
    permutations = np.array([[0, 1, 2, 3, 4, 5]])
    opt.add(permutations, [1.0])
    permutations[0] = [5, 4, 3, 2, 1, 0]
    assert rows(opt.trials) == [(0, 1, 2, 3, 4, 5)]


@pytest.mark.parametrize("n_items", [1, 0, -3, 2.0, "5", None, 10_001, 10**12])
def test_n_items_below_two_above_ten_thousand_or_no_integer_is_refused(n_items):
    with pytest.raises(InputError, match="n_items"):
        Optimizer(n_items)


def test_an_unknown_method_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match=r"unknown method 'law'.*law-est.*random"):
        Optimizer(5, method="law")


@pytest.mark.parametrize("argument", [{"seed": -1}, {"seed": 0.5}, {"seed": None}, {"n_init": -1}, {"n_init": "3"}])
def test_a_seed_or_n_init_that_is_no_count_is_refused(argument):
    with pytest.raises(InputError, match=next(iter(argument))):
        Optimizer(5, **argument)


# best and history


@pytest.mark.parametrize(("maximize", "expected"), [(False, 1), (True, 3)])
def test_best_is_the_earliest_of_equals(maximize, expected):
    opt = Optimizer(5, maximize=maximize)
    opt.ask(6)
    for trial_id, value in ((5, 9.0), (4, -2.0), (3, 9.0), (1, -2.0), (0, 4.0)):
        opt.tell(trial_id, value)
    assert opt.best.id == expected
    assert opt.best.value == (9.0 if maximize else -2.0)


def test_best_may_be_an_added_point(opt):
    opt.add([[5, 4, 3, 2, 1, 0]], [-100.0])
    tell_all(opt, opt.ask(3))
    assert (opt.best.state, opt.best.value) == ("added", -100.0)


def test_without_a_value_there_is_no_best(opt):
    opt.fail(opt.ask(2)[0].id, "broken")
    with pytest.raises(InputError, match="no value"):
        _ = opt.best


COLUMNS = ["id", "round", "permutation", "value", "state", "seconds", "standard_error"]


def test_history_has_one_row_a_trial_with_the_contracts_columns():
    opt = Optimizer(4, n_init=3)
    opt.add([[3, 2, 1, 0]], [7])
    trials = opt.ask(3)
    opt.tell(2, -1.5, 0.5, seconds=0.25)
    opt.fail(3, "broken", seconds=4.0)
    trials += opt.ask(1)
    history = opt.history
    assert list(history.columns) == COLUMNS
    assert history["id"].tolist() == [0, 1, 2, 3, 4]
    assert history["round"].tolist() == [-1, 0, 0, 0, 1]
    assert history["permutation"].tolist() == [(3, 2, 1, 0), *rows(trials)]
    assert history["state"].tolist() == ["added", "pending", "told", "failed", "pending"]
    np.testing.assert_array_equal(history["value"], [7.0, math.nan, -1.5, math.nan, math.nan])
    np.testing.assert_array_equal(history["seconds"], [math.nan, math.nan, 0.25, 4.0, math.nan])
    assert history["standard_error"].tolist() == [0, 0, 0.5, 0, 0]


def test_history_of_nothing_has_the_contracts_columns(opt):
    assert list(opt.history.columns) == COLUMNS
    assert len(opt.history) == 0
    opt.add([list(range(opt.n_items))], [1.0])
    assert opt.history.dtypes.equals(Optimizer(3).history.dtypes)


# the package


def test_importing_the_package_imports_neither_ray_nor_pgmpy_nor_torch_nor_pandas():
    code = "import sys, law_ray; law_ray.Optimizer(5).ask(3); print(sorted({m.partition('.')[0] for m in sys.modules}))"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "'law_ray'" in printed
    assert not [name for name in ("ray", "pgmpy", "torch", "pandas") if f"'{name}'" in printed]


def test_the_default_method_is_law_auto_everywhere():
    assert law_ray.Optimizer(5).method == "law-auto"
    for defaults in (law_ray.Optimizer, law_ray.minimize, Settings):
        assert inspect.signature(defaults).parameters["method"].default == "law-auto"
    assert "method" not in inspect.signature(LAWSearch).parameters  # it passes its options on to Optimizer
    (option,) = (parameter for parameter in cli.commands["run"].params if parameter.name == "method")
    assert option.default == "law-auto"
    assert {"law-auto", "law-est"} <= set(law_ray.METHODS)


def test_huge_finite_values_do_not_crash_an_ask():
    opt = Optimizer(5, n_init=2)
    opt.add([[0, 1, 2, 3, 4], [1, 0, 2, 3, 4]], [1e308, 1.1e308])
    opt.ask(2)


def test_huge_standard_error_does_not_crash_an_ask():
    opt = Optimizer(5, n_init=2)
    for t in opt.ask(2):
        opt.tell(t.id, float(t.id), 1e200)
    opt.ask(2)


@pytest.mark.parametrize("unit", [2.0**-30, 2.0**-60])
def test_proposals_do_not_depend_on_the_unit_of_the_values(unit):
    asked = []
    for u in (1.0, unit):
        opt = Optimizer(6, n_init=6)
        for batch in (6, 3):
            trials = opt.ask(batch)
            for t in trials:
                opt.tell(t.id, u * float(np.abs(np.diff(t.permutation)).sum() + t.permutation[0] ** 2))
        asked.append([t.permutation.tolist() for t in opt.trials])
    assert asked[0] == asked[1]


def test_a_refused_ask_leaves_the_model():
    opt = Optimizer(5, n_init=3, key=lambda p: int(p[0]))
    for t in opt.ask(3):
        opt.tell(t.id, float(t.permutation[1]))
    with pytest.raises(InputError):
        opt.ask(3)
    assert opt.model is None


# constraints

WITHIN = {
    **{name: known_of(9)[name] for name in ("a relation", "fixed")},
    "a small space": (9, [(i, i + 1) for i in range(7)], {}),
    "few items": (5, [(0, 1), (2, 1)], {}),
}


@methods
@pytest.mark.parametrize("known", WITHIN.values(), ids=WITHIN)
def test_every_proposal_within_constraints_keeps_them_and_is_new(method, known):
    constraints = Constraints(*known)
    asked = run(Optimizer(known[0], method=method, n_init=3, constraints=constraints), (2, 1, 4, 1))
    permutations = list(itertools.chain(*asked))
    assert len(set(permutations)) == 8
    assert constraints.allows(np.array(permutations)).all()


@methods
@pytest.mark.parametrize("known", [(5, [(0, 1), (2, 1)], {3: 2}), (9, [(i, i + 1) for i in range(7)], {})])
def test_a_constrained_space_can_be_asked_until_it_is_used_up(method, known):
    allowed = allowed_orderings(*known)
    opt = Optimizer(known[0], method=method, n_init=2, constraints=Constraints(*known))
    asked = run(opt, (2, 1, len(allowed) - 4))
    with pytest.raises(UsedUpError, match="used up"):
        opt.ask(2)
    asked += run(opt, (1,))
    assert sorted(itertools.chain(*asked)) == allowed
    with pytest.raises(UsedUpError, match="0 found"):
        opt.ask(1)


def test_the_one_ordering_that_constraints_leave_is_proposed_once():
    opt = Optimizer(12, constraints=Constraints(12, [(i, i + 1) for i in range(11)]))
    assert rows(opt.ask(1)) == [tuple(range(12))]
    with pytest.raises(UsedUpError, match="0 found"):
        opt.ask(1)


@pytest.mark.parametrize(
    ("row", "broken"),
    [
        ([1, 0, 2, 3], r"\[1, 0, 2, 3\] is not allowed: item 0 must come before item 1"),
        ([0, 1, 3, 2], r"\[0, 1, 3, 2\] is not allowed: item 2 must be at position 2"),
    ],
)
def test_orderings_that_break_the_constraints_are_refused_from_elsewhere(row, broken):
    opt = Optimizer(4, constraints=Constraints(4, [(0, 1)], {2: 2}))
    with pytest.raises(InputError, match=broken):
        opt.add([[0, 1, 2, 3], row], [1.0, 2.0])
    with pytest.raises(InputError, match=broken):
        opt.replay([[0, 1, 2, 3], row], 0, None)
    assert opt.trials == ()
    opt.add([[0, 1, 2, 3]], [1.0])
    opt.replay([[0, 3, 2, 1]], 0, None)
    assert rows(opt.trials) == [(0, 1, 2, 3), (0, 3, 2, 1)]


def test_constraints_on_another_number_of_items_are_refused():
    with pytest.raises(InputError, match="the constraints are on 4 items: give them for 5"):
        Optimizer(5, constraints=Constraints(4))


@methods
def test_empty_constraints_change_nothing(method):
    batches = (5, 3)
    constrained = run(Optimizer(9, method, n_init=5, constraints=Constraints(9)), batches)
    assert constrained == run(Optimizer(9, method, n_init=5), batches)


def test_a_pickled_constrained_optimizer_continues_identically():
    original = Optimizer(9, n_init=3, constraints=Constraints(*WITHIN["fixed"]))
    run(original, (3, 1))
    copy = pickle.loads(pickle.dumps(original))
    assert copy.constraints == original.constraints
    assert run(original, (2, 1)) == run(copy, (2, 1))


def test_the_initial_design_begins_with_the_starts_that_are_free():
    starts = [list(range(6)), [1, 0, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5], [2, 1, 0, 3, 4, 5], [5, 4, 3, 2, 1, 0]]
    optimizer = Optimizer(6, n_init=8, start=starts)
    optimizer.add([starts[1]], [1.0])
    first = [trial.permutation.tolist() for trial in optimizer.ask(2)]
    second = [trial.permutation.tolist() for trial in optimizer.ask(5)]
    assert first == [starts[0], starts[3]]
    assert second[0] == starts[4]
    asked = {tuple(p) for p in first + second}
    assert len(asked) == 7
    assert tuple(starts[1]) not in asked


def test_starts_of_one_key_are_one_point():
    optimizer = Optimizer(6, n_init=3, key=lambda p: int(p[0]), start=[[0, 1, 2, 3, 4, 5], [0, 2, 1, 3, 4, 5]])
    firsts = [int(trial.permutation[0]) for trial in optimizer.ask(3)]
    assert firsts[0] == 0
    assert len(set(firsts)) == 3


def test_starts_are_for_the_initial_design_alone():
    optimizer = Optimizer(6, method="random", n_init=2, start=[list(range(6)), [1, 0, 2, 3, 4, 5]])
    optimizer.add(sample(6, 2, np.random.default_rng(0)), [1.0, 2.0])
    drawn = {tuple(trial.permutation) for trial in optimizer.ask(5)}
    assert not drawn & {tuple(start) for start in optimizer.start}


def test_starts_must_be_allowed_orderings_that_fit():
    with pytest.raises(InputError, match=r"start has 2 orderings, more than .* \(n_init\) of 1: enlarge it"):
        Optimizer(3, n_init=1, start=[[0, 1, 2], [1, 0, 2]])
    with pytest.raises(InputError, match="not a permutation"):
        Optimizer(3, start=[[0, 1, 1]])
    with pytest.raises(InputError, match="item 1 must come before item 0"):
        Optimizer(3, constraints=Constraints(3, [(1, 0)]), start=[[0, 1, 2]])


def test_with_more_values_than_the_process_gets_models_are_still_compared_and_fitted_as_values_grow(monkeypatch):
    monkeypatch.setattr(fitting, "MAX_POINTS", 30)
    opt = Optimizer(8, n_init=60)
    tell_all(opt, opt.ask(60))
    fitted, errors = [], []
    for _ in range(4):
        tell_all(opt, opt.ask(2))
        fitted.append(opt.model.selection.n_fitted)
        errors.append(opt.model.prediction_errors)
    assert fitted[:2] == [60, 60] and len(set(fitted)) < 4
    assert errors[0] == (0.0, 0.0) and len(set(errors)) == 4


# a prior mean


def half(permutations):
    """Return the cost of the linear assignment alone, as a proxy."""
    return GAINS[np.arange(permutations.shape[1]), permutations].sum(axis=1)


def test_the_weight_of_a_proxy_is_that_given_the_last_fit_and_the_model_is_fitted_to_the_rest():
    """Generalised least squares with the covariance of the last fit: for the first one, with independent errors."""
    fits, processes, weights = [], [], []

    def fit_spy(X, y, rng, previous, standard_errors):
        fits.append((y, previous))
        return POSITION_MODEL.fit(X, y, rng, previous, standard_errors)

    def choose_spy(context, batch_size):
        processes.append(context.posterior)
        return first_free(context, batch_size)

    spies = Method(choose_spy, "records the process", Model(fit_spy, POSITION_MODEL.read))
    opt = Optimizer(6, spies, n_init=15, prior_mean=half)
    for size in (15, 5, 5):
        tell_all(opt, opt.ask(size), lambda p: float(half(p[None])[0] + np.abs(p - np.arange(6)).sum()))
    for (unexplained, previous), process in zip(fits, processes, strict=True):
        n = len(unexplained)
        X = np.array(rows(opt.trials[:n]))
        y = np.array([trial.value for trial in opt.trials[:n]])
        basis = np.column_stack([np.ones(n), half(X)])
        weight = uncorrelated = np.linalg.lstsq(basis, y)[0][1]
        if previous is not None:
            precision = np.linalg.inv(position_covariance(X, X, previous) + previous.noise * np.eye(n))
            weight = np.linalg.solve(basis.T @ precision @ basis, basis.T @ precision @ y)[1]
            assert abs(weight - uncorrelated) > 0.01
        weights.append(weight)
        known = half(X) - half(X).mean()
        np.testing.assert_allclose(unexplained, y - weight * known, atol=1e-8)
        mean = process.standardize.inverse(process.predict(X)[0])
        plain = GaussianProcess(X, unexplained, process.hyperparameters)
        expected = plain.standardize.inverse(plain.predict(X)[0]) + weight * known
        np.testing.assert_allclose(mean, expected, atol=1e-8)
    assert [previous is None for _, previous in fits] == [True, False]
    assert len(set(weights)) == 2


# items by name

JOBS = ("cut", "sew", "dye", "pack", "ship")


def test_constraints_and_starts_may_name_items():
    """By name, by number, or both, with the same proposals."""
    by_name = {"before": [("cut", "sew"), ("dye", 3)], "fixed": {"ship": 4}, "start": [["dye", "cut", "sew", 3, 4]]}
    by_number = {"before": [(0, 1), (2, 3)], "fixed": {4: 4}, "start": [[2, 0, 1, 3, 4]]}
    named = Optimizer(5, n_init=3, item_names=JOBS, **by_name)
    assert named.constraints == Constraints(5, [(0, 1), (2, 3)], {4: 4})
    assert named.start.tolist() == [[2, 0, 1, 3, 4]]
    assert run(named, (3, 2)) == run(Optimizer(5, n_init=3, **by_number), (3, 2))


def test_names_add_to_the_constraints_that_are_given():
    given = Constraints(5, [(0, 1)], {4: 4})
    optimizer = Optimizer(5, constraints=given, item_names=JOBS, before=[("sew", "dye")], fixed=[("pack", 3)])
    assert optimizer.constraints == Constraints(5, [(0, 1), (1, 2)], {3: 3, 4: 4})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"before": [("cut", "glue")]}, "there is no item 'glue': items are 0 to 4, or a name such as cut"),
        ({"fixed": {"glue": 0}}, "there is no item 'glue'"),
        ({"start": [["cut", "sew", "dye", "pack", "glue"]]}, "there is no item 'glue'"),
        ({"start": [["cut", "sew", "dye", "pack", "cut"]]}, "does not hold each of 0..4 once"),
        ({"before": [("cut", "sew"), ("sew", "cut")]}, "before has a cycle, (cut before sew|sew before cut)"),
    ],
)
def test_unknown_names_and_conflicts_are_refused_by_name(arguments, message):
    with pytest.raises(InputError, match=message):
        Optimizer(5, item_names=JOBS, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"start": [0, 1, 2, 3, 4]}, "start has 0, which is no ordering: give a list of orderings"),
        ({"item_names": ["a", "b"]}, "item_names has 2 names, 2 of them different: give 5"),
        ({"item_names": 5}, "item_names is 5: give a list of names"),
        ({"item_names": "abcde"}, "item_names is 'abcde': give a list of names"),
        ({"item_names": ["a", "a", "b", "c", "d"]}, "item_names has 5 names, 4 of them different: give 5"),
        ({"constraints": [(0, 1)]}, r"constraints is \[\(0, 1\)\]: give law_ray.Constraints"),
        ({"method": None}, "unknown method None"),
        ({"method": ["law-est"]}, "unknown method"),
        ({"item_names": [10, 20, 30, 40, 50], "fixed": {0: 2, 1: 2}}, "10 and 20 are both fixed at position 2"),
    ],
)
def test_arguments_of_a_wrong_kind_are_refused_by_name(arguments, message):
    with pytest.raises(InputError, match=message):
        Optimizer(5, **arguments)


def test_a_key_that_raises_enters_nothing():
    def key(permutation):
        if permutation[0] == 3:
            raise KeyError("no symmetry of this one")
        return tuple(permutation)

    opt = Optimizer(4, n_init=24, key=key)
    with pytest.raises(KeyError):
        opt.add([[0, 1, 2, 3], [3, 0, 1, 2]], [1.0, 2.0])
    with pytest.raises(KeyError):
        opt.replay([[0, 1, 2, 3], [3, 0, 1, 2]], 0, None)
    assert (len(opt.trials), opt.pending) == (0, [])


def test_a_key_cannot_change_the_orderings():
    def key(permutation):
        permutation[:] = np.sort(permutation)
        return 0 if permutation is None else permutation.tobytes()

    assert sorted(Optimizer(5, n_init=1, key=key).ask(1)[0].permutation.tolist()) == [0, 1, 2, 3, 4]


def test_names_are_refused_where_items_have_none():
    for arguments in ({"before": [("cut", "sew")]}, {"fixed": {"cut": 0}}, {"start": [["cut", 1, 2, 3, 4]]}):
        with pytest.raises(InputError, match=r"there is no item 'cut': items are 0 to 4$"):
            Optimizer(5, **arguments)


# a method of one's own


def test_a_method_of_ones_own_is_used_like_a_known_one():
    known, own = Optimizer(6, "law-est", n_init=5), Optimizer(6, METHODS["law-est"], n_init=5)
    assert run(known) == run(own)
    assert known.model == own.model


def test_a_method_of_ones_own_without_a_model_gets_no_process():
    contexts = []

    def choose(context, batch_size):
        contexts.append(context)
        return first_free(context, batch_size)

    optimizer = Optimizer(5, Method(choose, "the first free orderings", None), n_init=3)
    run(optimizer, (3, 2))
    assert contexts[0].process is None
    assert optimizer.model is None
    with pytest.raises(AssertionError, match="has no posterior"):
        _ = contexts[0].posterior


def test_a_method_of_ones_own_is_replayed_through_its_model():
    original = Optimizer(6, METHODS["law-auto"], n_init=5)
    run(original, (5, 3))
    copy = Optimizer(6, METHODS["law-auto"], n_init=5)
    copy.replay([trial.permutation for trial in original.trials[:5]], 0, None)
    copy.replay([trial.permutation for trial in original.trials[5:]], 1, original.model.to_record())
    for trial in original.trials:
        copy.tell(trial.id, trial.value)
    assert copy.model == original.model
    assert rows(copy.ask(2)) == rows(original.ask(2))


# rounds that continue, and asks within a budget


def test_points_may_continue_the_round_of_the_last_ask():
    continued = []

    def choose(context, batch_size):
        continued.append((context.round, context.continue_round))
        return first_free(context, batch_size)

    opt = Optimizer(5, Method(choose, "the first free orderings", None), n_init=3)
    tell_all(opt, opt.ask(3))
    rounds = []
    for continue_round in (True, False, True, True, False):  # the first has no round to continue
        trials = opt.ask(2, continue_round)
        rounds.append({trial.round for trial in trials})
        tell_all(opt, trials)
    assert rounds == [{1}, {2}, {2}, {2}, {3}]
    assert continued == [(1, False), (2, False), (2, True), (2, True), (3, False)]


def test_up_to_a_batch_is_asked_within_the_budget_and_the_initial_design_is_one_batch():
    opt, sizes = Optimizer(6, "random", n_init=5), []
    while trials := opt.ask_up_to(3, evals=12):
        sizes.append(len(trials))
        tell_all(opt, trials)
    assert sizes == [5, 3, 3, 1]
    assert opt.ask_up_to(3, evals=12) == []
    assert [len(opt.ask_up_to(3)) for _ in range(2)] == [3, 3]  # without a budget


def test_up_to_a_batch_is_asked_for_what_is_left_of_the_initial_design():
    opt = Optimizer(6, "random", n_init=5)
    opt.ask(2)
    assert len(opt.ask_up_to(9)) == 3
    assert len(Optimizer(6, "random", n_init=5).ask_up_to(9, evals=4)) == 4
    assert len(Optimizer(6, "random", n_init=0).ask_up_to(9, evals=4)) == 4


@pytest.mark.parametrize("method", ["random", "law-auto"])
def test_up_to_a_batch_is_asked_until_the_space_is_used_up(method):
    opt, asked = Optimizer(4, method, n_init=5), []
    while trials := opt.ask_up_to(7):
        asked += rows(trials)
        tell_all(opt, trials)
    assert sorted(asked) == list(itertools.permutations(range(4)))


def test_up_to_a_batch_is_asked_until_the_keys_are_used_up():
    opt, firsts = Optimizer(6, "random", n_init=2, key=first_item), []
    while trials := opt.ask_up_to(4):
        firsts += [int(trial.permutation[0]) for trial in trials]
        tell_all(opt, trials)
    assert sorted(firsts) == list(range(6))


def test_asks_up_to_a_batch_may_continue_the_round():
    opt = Optimizer(6, "random", n_init=5)
    tell_all(opt, opt.ask_up_to(5))
    rounds = [opt.ask_up_to(2, continue_round)[0].round for continue_round in (False, True, False)]
    assert rounds == [1, 1, 2]


@pytest.mark.parametrize(
    ("options", "refusal"),
    [({"before": "0<1"}, "^before is '0<1': give a list of pairs"), ({"fixed": 5}, "^fixed is 5: give a dictionary")],
)
def test_constraints_that_are_no_lists_are_refused(options, refusal):
    with pytest.raises(InputError, match=refusal):
        Optimizer(5, **options)
