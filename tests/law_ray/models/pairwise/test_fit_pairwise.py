import json
from dataclasses import replace

import numpy as np
import pytest

from law_ray.models import selection
from law_ray.models.gp import GaussianProcess
from law_ray.models.pairwise import fit_pairwise, gibbs, templates
from law_ray.models.pairwise.chain import Kind
from law_ray.models.pairwise.fit_pairwise import (
    KINDS,
    MIN_SWEEPS,
    N_KEPT,
    N_KEPT_KNOWN,
    RESTING,
    SIZES,
    USUAL_SWEEPS,
    max_values,
    n_sweeps,
)
from law_ray.models.pairwise.gibbs import N_ANNEALED
from law_ray.models.pairwise.hyperparameters import MAX_ERROR_RATIO, PairwiseHyperparameters
from law_ray.models.part import part
from law_ray.models.selection import MEMORY
from law_ray.models.standardize import Standardization
from law_ray.space.permutations import invert, sample
from law_ray.utils import parallel
from tests.law_ray.models.pairwise.fits import fitted, problem
from tests.oracles.pairwise import symmetric, value


def test_a_record_of_an_older_version_has_no_chains_and_the_next_fit_starts_them(two_fits):
    X, y, first, _ = two_fits
    old = PairwiseHyperparameters.from_record(json.loads(json.dumps(first.selection.to_record())))
    assert (old.selection, old.chains, old.advantage) == (first.selection, (), 0.0)
    h = fitted(X, y, [38], first=old)
    assert [chain.kind for chain in h.chains] == list(KINDS)
    assert h.advantage == 0.0  # nothing was predicted yet


def test_a_fit_from_what_a_journal_stores_is_the_same(two_fits):
    X, y, first, second = two_fits
    again = fitted(X, y, [38], first=PairwiseHyperparameters.from_record(json.loads(json.dumps(first.to_record()))))
    assert again == second
    np.testing.assert_array_equal(again.ensemble.items, second.ensemble.items)


def test_the_selection_and_its_random_numbers_do_not_depend_on_the_chains(two_fits):
    X, y, first, _ = two_fits
    alone = selection.fit(X[:30], y[:30], np.random.default_rng([0, 30]))
    assert alone == first.selection
    second = fitted(X, y, [38], first=first)
    assert second.selection == selection.fit(X, y, np.random.default_rng([0, 38]), alone)
    assert second.selection.prediction_errors != (0.0, 0.0)


def test_prediction_errors_are_those_of_both_models_before_they_learn_the_values(two_fits):
    X, y, first, second = two_fits
    standardize = Standardization.of(y[:30])
    z, later = standardize(y[:30]), standardize(y[30:])
    process = GaussianProcess(X[:30], y[:30], first.selection).predict(X[30:])[0]
    data = gibbs.Data.of(X[:30], z, np.zeros(30))
    draws = [gibbs.mean_items(chain, data) for chain in first.chains]
    pairs = [np.mean([value(d.items, d.places, d.constant, x) for d in draws]) for x in X[30:]]
    errors = np.array([np.mean((process - later) ** 2), np.mean((pairs - later) ** 2)])
    expected = (1 - MEMORY) * errors / errors.mean()
    np.testing.assert_allclose(second.prediction_errors, expected, rtol=1e-6)
    alone = np.array([[value(d.items, d.places, d.constant, x) for x in X[30:]] for d in draws])
    of_chains = np.mean((alone - later) ** 2, axis=1)
    np.testing.assert_allclose(second.chain_errors, (1 - MEMORY) * of_chains / of_chains.mean(), rtol=1e-6)
    assert second.advantage == pytest.approx(errors[0] / errors[1], rel=1e-6)


def test_an_ensemble_has_the_last_draws_of_the_chains_that_are_used(two_fits):
    h = two_fits[-1]
    used = [chain for chain, error in zip(h.chains, h.chain_errors, strict=True) if error <= 1.5 * min(h.chain_errors)]
    assert 0 < len(used) < len(KINDS)
    i, j = h.ensemble.pairs
    kept = [N_KEPT_KNOWN if chain.kind.knows_places else N_KEPT for chain in used]
    assert len(h.ensemble.items) == sum(kept)
    last = np.cumsum(kept) - 1
    for chain, items, places in zip(used, h.ensemble.items[last], h.ensemble.places[last], strict=True):
        np.testing.assert_allclose((items if chain.swapped else places)[i, j], chain.places, rtol=1e-6)
    assert h.ensemble.noise == pytest.approx(np.mean([chain.noise for chain in used]))


def test_an_ensemble_of_all_chains_has_more_draws_of_those_that_know_a_matrix(two_fits):
    X, y, _, second = two_fits
    data = fit_pairwise._data(X, y, None, np.arange(len(y)))
    all_used = replace(second, chain_errors=len(KINDS) * (0.1,), prediction_errors=(2.0, 1.0))
    h = fit_pairwise._swept(all_used, data, True, np.random.default_rng(0), lambda: second.selection)
    assert len(h.ensemble.items) == sum(20 if chain.kind.knows_places else 6 for chain in h.chains)


def test_the_chain_with_the_most_sweeps_to_make_begins_first_and_in_threads_if_that_pays(two_fits, monkeypatch):
    X, y, _, second = two_fits
    data = fit_pairwise._data(X, y, None, np.arange(len(y)))
    chains = tuple(replace(chain, sweeps=0 if k == 3 else 500) for k, chain in enumerate(second.chains))
    calls = []
    beside = parallel.beside
    monkeypatch.setattr(parallel, "beside", lambda *arguments: calls.append(arguments[2:]) or beside(*arguments))
    for work, pays in ((0.0, True), (np.inf, False)):
        monkeypatch.setattr(fit_pairwise, "THREADED_WORK", work)
        h = replace(second, chains=chains, chain_errors=len(KINDS) * (0.1,))
        fit_pairwise._swept(h, data, True, np.random.default_rng(0), lambda: second.selection)
        (first, *others), threaded = calls.pop()
        assert (first, sorted(others), threaded) == (3, [0, 1, 2, 4, 5, 6, 7], pays)


def test_chains_that_predict_badly_are_left_out_of_what_was_learned_and_of_predictions(two_fits):
    X, y, first, _ = two_fits
    limit = MAX_ERROR_RATIO * 0.5
    h = replace(first, chain_errors=(limit, limit + 1e-9, 0.5, 9.0, 0.7, 9.0, 9.0, 9.0))
    data = fit_pairwise._data(X[:30], y[:30], None, np.arange(30))
    draws = [gibbs.mean_items(h.chains[c], data) for c in (0, 2, 4)]
    learned = fit_pairwise.learned(h, X[:30], y[:30])
    np.testing.assert_array_equal(learned.items, [draw.items for draw in draws])
    errors = np.linspace(0.1, 3.0, 30)
    noisy = fit_pairwise._data(X[:30], y[:30], errors, np.arange(30))
    learned = fit_pairwise.learned(h, X[:30], y[:30], errors)
    np.testing.assert_array_equal(learned.items, [gibbs.mean_items(h.chains[c], noisy).items for c in (0, 2, 4)])
    assert learned.noise == pytest.approx(np.mean([h.chains[c].noise for c in (0, 2, 4)]))
    pairs = np.array([np.mean([value(d.items, d.places, d.constant, x) for d in draws]) for x in X[30:]])
    error, of_chains = fit_pairwise._latest_errors(X, y, h, None, np.arange(len(y)))
    z = Standardization.of(y[:30])(y[30:])
    assert error == pytest.approx(np.mean((pairs - z) ** 2), rel=1e-6)
    for c, d in zip((0, 2, 4), draws, strict=True):
        alone = np.array([value(d.items, d.places, d.constant, x) for x in X[30:]])
        assert of_chains[c] == pytest.approx(np.mean((alone - z) ** 2), rel=1e-6)


@pytest.mark.slow
def test_interactions_are_found_and_other_objectives_left_to_the_process():
    X, y = problem(130)
    assert fitted(X, y, range(30, 131, 20)).advantage > 3.0
    slopes = np.random.default_rng(0).normal(size=(8, 8))
    y = slopes[np.arange(8), X].sum(axis=1)  # of the assignment of items to positions, without any pairs
    assert fitted(X, y, range(30, 131, 20)).advantage < 1.0


def test_the_process_is_fitted_to_some_values_and_the_chains_to_all():
    X, y = problem(70)
    errors = np.full(70, 0.1)
    rows = np.arange(0, 60, 2)
    h = fit_pairwise.fit(X[:60], y[:60], np.random.default_rng(0), None, errors[:60], rows)
    alone = selection.fit(X[rows], y[rows], np.random.default_rng(0), None, errors[rows])
    assert (h.selection.additive, h.selection.tour) == (alone.additive, alone.tour)
    assert h.n == h.selection.n == 60
    assert {chain.began for chain in h.chains} == {60}
    later = fit_pairwise.fit(X, y, np.random.default_rng(1), h, errors, np.arange(0, 70, 2))
    process = GaussianProcess(X[rows], y[rows], h.selection.additive, errors[rows])
    z = process.standardize(y[60:])
    of_process = np.mean((process.predict(X[60:])[0] - z) ** 2)
    data = fit_pairwise._data(X[:60], y[:60], errors[:60], rows)  # in the units of the process
    draws = [gibbs.mean_items(chain, data) for chain in h.chains]
    predicted = np.array([np.mean([value(d.items, d.places, d.constant, x) for d in draws]) for x in X[60:]])
    of_pairs = np.mean((predicted - z) ** 2)
    assert later.prediction_errors[0] / later.prediction_errors[1] == pytest.approx(of_process / of_pairs, rel=1e-6)


def test_the_chains_are_given_the_errors_and_the_units_of_the_process(monkeypatch):
    X, y = problem(40)
    errors, rows = np.linspace(0.1, 2.0, 40), np.arange(0, 40, 3)
    given, due = [], []
    advance, is_due = gibbs.advance, selection.is_due
    monkeypatch.setattr(gibbs, "advance", lambda *arguments: given.append(arguments[1]) or advance(*arguments))
    monkeypatch.setattr(selection, "is_due", lambda *arguments: due.append(arguments) or is_due(*arguments))
    first = fit_pairwise.fit(X[:30], y[:30], np.random.default_rng(0), None, errors[:30], rows[:10])
    assert first.chain_errors == len(KINDS) * (0.0,)  # nothing was predicted yet
    due.clear()
    second = fit_pairwise.fit(X, y, np.random.default_rng(1), first, errors, rows)
    assert (first.n, second.n) == (30, 40)
    for data, n, of_process in ((given[0], 30, rows[:10]), (given[-1], 40, rows)):
        scale = y[of_process].std()
        np.testing.assert_allclose(data.z, (y[:n] - y[of_process].mean()) / scale)
        np.testing.assert_allclose(data.known_noise, (errors[:n] / scale) ** 2)
    assert len(due) == 2  # the chains and the process ask the same
    for values, some, previous in due:
        np.testing.assert_array_equal(values, y)
        np.testing.assert_array_equal(some, rows)
        assert previous == first.selection


def test_values_are_as_many_as_a_sweep_of_bounded_cost_allows(monkeypatch):
    assert max_values(30) > 100_000 and 18_000 < max_values(48) < 19_000 and 1_500 < max_values(100) < 1_700
    assert all(max_values(n) > max_values(n + 1) for n in SIZES)
    X, y = problem(40)
    monkeypatch.setattr(fit_pairwise, "max_values", lambda n_items: 20)
    data = fit_pairwise._data(X, y, np.arange(40.0), np.arange(10))
    given = part(y, 20)
    np.testing.assert_array_equal(data.X, X[given])
    np.testing.assert_allclose(data.z, (y[given] - y[:10].mean()) / y[:10].std())
    np.testing.assert_allclose(data.known_noise, (given / y[:10].std()) ** 2)


def test_values_with_standard_errors_are_taken_for_noisy():
    X, y = problem(90)
    errors = np.where(np.arange(90) < 45, 0.0, 10.0 * y.std())  # the later values say nothing
    noisy = np.where(errors > 0, y + errors * np.random.default_rng(0).normal(size=90), y)
    h = fit_pairwise.fit(X, noisy, np.random.default_rng(0), None, errors)
    data = fit_pairwise._data(X, noisy, errors, np.arange(90))
    predicted = [gibbs.mean_items(chain, data) for chain in h.chains]
    residuals = (
        np.array([[value(d.items, d.places, d.constant, x) for d in predicted] for x in X]).mean(axis=1) - data.z
    )
    assert np.abs(residuals[:45]).mean() < 0.2 * np.abs(residuals[45:]).mean()


@pytest.mark.parametrize("n_items", [SIZES.start - 1, SIZES.stop])
def test_outside_its_sizes_the_pairwise_model_is_not_used(n_items, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = sample(n_items, 12, rng), rng.normal(size=12)
    h = fitted(X, y, [10, 12])
    assert (h.chains, h.ensemble, h.advantage) == ((), None, 0.0)
    assert (h.chain_errors, h.n) == ((), 12)


def test_constant_values_are_fitted():
    X = sample(8, 20, np.random.default_rng(0))
    h = fitted(X, np.full(20, 3.0), [10, 20])
    assert np.isfinite(h.ensemble.items).all()
    assert h.advantage == 0.0


def test_chains_make_fewer_sweeps_the_more_they_cost():
    counts = [n_sweeps(400, n_items) for n_items in SIZES]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > 5 * MIN_SWEEPS
    assert counts[-1] == MIN_SWEEPS
    assert n_sweeps(100, 22) > n_sweeps(1500, 22)
    assert n_sweeps(400, 22, 0) == N_ANNEALED
    assert n_sweeps(400, 22, N_ANNEALED - 50) == 50
    assert n_sweeps(400, 22, N_ANNEALED) == n_sweeps(400, 22, 10 * N_ANNEALED) < 50
    assert MIN_SWEEPS < n_sweeps(600, 48, 0) < N_ANNEALED
    assert [n_sweeps(n, 48) for n in (400, 550, 600, 800)] == [4, 4, 3, 2]


@pytest.mark.parametrize(("n", "rows"), [(100, 100), (231, 231), (1000, 231)])
def test_the_work_of_a_sweep_is_that_of_the_products_of_both_matrices(n, rows):
    """Of 22 items with 231 pairs: for each matrix A A' of at most 231 rows, and A' A where the values are more."""
    assert fit_pairwise.sweep_work(n, 22) == 4 * rows * 231 * (n + rows) + 22 * 4e6


def test_chains_with_two_unknown_matrices_are_left_out_where_there_are_too_many_unknowns():
    X, y = problem(20, n_items=65)
    assert {chain.kind for chain in fitted(X, y, [20]).chains} == {Kind.TEMPLATE, Kind.SPARSE_TEMPLATE}
    X, y = problem(20, n_items=101)
    assert fitted(X, y, [20]).chains == ()


def test_a_fit_does_not_depend_on_the_number_of_threads(monkeypatch):
    X, y = problem(40)
    alone = fitted(X, y, [30, 40])
    monkeypatch.setattr(fit_pairwise, "THREADED_WORK", 0.0)
    monkeypatch.setattr(parallel, "get_num_threads", lambda: 3)
    in_threads = fitted(X, y, [30, 40])
    assert in_threads == alone
    np.testing.assert_array_equal(in_threads.ensemble.items, alone.ensemble.items)
    np.testing.assert_array_equal(in_threads.ensemble.places, alone.ensemble.places)


def test_the_process_is_fitted_beside_the_sweeps_of_the_chains(two_fits, monkeypatch):
    X, y, first, second = two_fits
    beside, calls = parallel.beside, []
    monkeypatch.setattr(parallel, "beside", lambda *arguments: calls.append(arguments) or beside(*arguments))
    assert fitted(X, y, [38], first=first) == second
    ((fit_process, _, numbers, _),) = calls
    assert fit_process() == second.selection
    assert sorted(numbers) == list(range(len(second.chains)))


def test_at_a_fit_the_worst_of_the_chains_that_began_with_few_values_begins_afresh(two_fits):
    X, y = problem(40)
    second = two_fits[-1]
    assert [chain.began for chain in second.chains] == len(KINDS) * [30]
    third = fitted(X, y, [40], first=second)
    new = [k for k in range(len(KINDS)) if third.chains[k].began == 40]
    assert len(new) == 1
    assert third.chains[new[0]].sweeps == N_ANNEALED
    assert third.chain_errors[new[0]] == min(third.chain_errors)


def test_chains_of_templates_begin_with_the_best_one_whichever_matrix_it_is():
    rng = np.random.default_rng(0)
    F, D, X = symmetric(rng, 12), np.abs(np.arange(12)[:, None] - np.arange(12)), sample(12, 60, rng)
    y = np.array([value(F, D, 0.0, x) for x in X])
    for of_items, orderings in ((False, X), (True, invert(X))):
        known = [chain for chain in fitted(orderings, y, [60]).chains if chain.kind.knows_places]
        assert [chain.kind for chain in known] == [Kind.TEMPLATE, Kind.SPARSE_TEMPLATE]
        for chain in known:
            assert chain.swapped is of_items
            entries = D[np.triu_indices(12, 1)]
            np.testing.assert_allclose(chain.places, entries / np.sqrt(np.mean(entries**2)), rtol=1e-6)


@pytest.fixture
def costly(monkeypatch):
    """Let a chain make only USUAL_SWEEPS at a fit, as where they are costly."""
    monkeypatch.setattr(fit_pairwise, "MAX_WORK", 0.0)
    monkeypatch.setattr(selection, "latest_errors", lambda *arguments: None)


def sweeps_made(earlier, X, y, n):
    """Return the next fit to n values, and how many sweeps each of its chains made."""
    later = fitted(X, y, [n], first=replace(earlier, n=n, selection=replace(earlier.selection, n=n - 1)))
    pairs = zip(earlier.chains, later.chains, strict=True)
    return later, [after.sweeps - (before.sweeps if after.began == before.began else 0) for before, after in pairs]


@pytest.mark.parametrize("is_due", [False, True])
@pytest.mark.parametrize("leads", [False, True])
def test_costly_chains_rest_unless_they_are_used_or_the_process_is_fitted_again(
    two_fits, is_due, leads, costly, monkeypatch
):
    X, y = problem(40)
    second = two_fits[-1]
    errors = (0.1, 0.1 * RESTING * 0.9, 0.1 * RESTING * 1.3, 0.1, 0.16, 0.1, 0.1, 9.0)
    chains = tuple(replace(chain, began=40) for chain in second.chains)  # none is to begin afresh
    monkeypatch.setattr(selection, "is_due", lambda *arguments: is_due)
    earlier = replace(second, chains=chains, chain_errors=errors, prediction_errors=(1.0, 0.5 if leads else 2.0))
    later, made = sweeps_made(earlier, X, y, 40)
    known = N_KEPT_KNOWN if leads else USUAL_SWEEPS
    if is_due:
        assert made == [4, 4, 0, 4, 4, 4, known, 0]
    else:
        assert made == (np.array([4, 0, 0, 4, 0, 4, known, 0]) * leads).tolist()
    assert (later.ensemble is None) == (not is_due and not leads)
    assert (later.selection.n_fitted == 40) is is_due


def test_a_chain_makes_its_first_sweeps_in_any_case(two_fits, costly, monkeypatch):
    X, y = problem(40)
    monkeypatch.setattr(selection, "is_due", lambda *arguments: False)
    chains = [replace(chain, began=40) for chain in two_fits[-1].chains]
    chains[1], chains[2] = replace(chains[1], sweeps=N_ANNEALED - 1), replace(chains[2], sweeps=3)
    chains[3] = replace(chains[3], sweeps=N_ANNEALED)
    errors = (0.1, 0.2, *(6 * [0.1]))
    earlier = replace(two_fits[-1], chains=tuple(chains), chain_errors=errors, prediction_errors=(1.0, 2.0))
    _, made = sweeps_made(earlier, X, y, 40)
    assert made == [0, USUAL_SWEEPS, N_ANNEALED - 3, 0, 0, 0, 0, 0]


def test_a_chain_that_knows_a_matrix_makes_as_many_sweeps_as_are_kept_unless_they_cost_too_much(two_fits):
    h = replace(two_fits[-1], chain_errors=len(KINDS) * (0.1,), prediction_errors=(2.0, 1.0))
    made = []
    for n in (350, 600, 1600):
        data = gibbs.Data(*(2 * [np.zeros((n, 100), dtype=int)]), np.zeros(n), np.zeros(n))
        made.append(fit_pairwise._n_sweeps_of(h, KINDS.index(Kind.TEMPLATE), data, False))
    assert made[0] == N_KEPT_KNOWN > made[1] > made[2] == MIN_SWEEPS
    work = fit_pairwise.sweep_work(600, 100)
    assert made[1] * work <= 2e11 < (made[1] + 1) * work


def test_cheap_chains_do_not_rest(two_fits, monkeypatch):
    X, y = problem(40)
    monkeypatch.setattr(selection, "is_due", lambda *arguments: False)
    monkeypatch.setattr(selection, "latest_errors", lambda *arguments: None)
    chains = tuple(replace(chain, began=40) for chain in two_fits[-1].chains)
    earlier = replace(two_fits[-1], chains=chains, chain_errors=(0.1, *(7 * [0.5])), prediction_errors=(1.0, 2.0))
    _, made = sweeps_made(earlier, X, y, 40)
    assert made == 8 * [n_sweeps(40, 8)]


def test_costly_chains_begin_afresh_only_when_the_process_is_fitted_again_or_they_lead(two_fits, costly, monkeypatch):
    X, y = problem(40)
    for is_due, of_pairs, expected in ((False, 2.0, 0), (True, 2.0, 1), (False, 0.5, 1)):
        monkeypatch.setattr(selection, "is_due", lambda *arguments, is_due=is_due: is_due)
        earlier = replace(two_fits[-1], prediction_errors=(1.0, of_pairs))
        later, _ = sweeps_made(earlier, X, y, 40)
        assert sum(chain.began == 40 for chain in later.chains) == expected


@pytest.mark.parametrize(("n", "is_searched"), [(51, False), (52, True), (90, True)])
def test_a_template_is_searched_again_when_the_values_have_grown_by_a_third(two_fits, n, is_searched, monkeypatch):
    *others, last = two_fits[-1].chains
    others.append(replace(last, known=last.known._replace(name="latest", n=40)))
    calls = []

    def best(X, z, earlier):
        calls.append([template.n for template in earlier])
        return earlier[0]._replace(name="found", n=len(z))

    monkeypatch.setattr(templates, "best", best)
    data = fit_pairwise._data(*problem(n), None, np.arange(n))
    for kind in KINDS:
        chain = fit_pairwise._new_chain(kind, data, np.random.default_rng(0), others)
        if kind.knows_places:
            expected = ("found", n) if is_searched else ("latest", 40)
            assert (chain.known.name, chain.known.n, chain.began) == (*expected, n)
    assert calls == (2 * [[30, 40]] if is_searched else [])


@pytest.mark.parametrize(("n", "replaced"), [(38, None), (39, 2), (300, 2)])
def test_a_chain_begins_afresh_when_its_values_have_grown_by_a_third(two_fits, n, replaced):
    first = two_fits[2]
    chains, errors = list(first.chains), (0.5, 0.9, 1.2, 0.4, 1.0, 2.0, 0.6, 0.7)
    chains[5] = replace(chains[5], began=n)  # the worst, but young
    data = fit_pairwise._data(*problem(n), None, np.arange(n))
    left = fit_pairwise._begin_afresh(list(chains), errors, data, np.random.default_rng(0))
    after = list(chains)
    assert fit_pairwise._begin_afresh(after, errors, data, np.random.default_rng(0)) == left
    assert [k for k in range(len(KINDS)) if after[k] != chains[k]] == ([] if replaced is None else [replaced])
    if replaced is not None:
        assert (after[2].kind, after[2].sweeps, after[2].began) == (chains[2].kind, 0, n)
        assert left == (0.5, 0.9, 0.4, 0.4, 1.0, 2.0, 0.6, 0.7)  # as good as the best until it is judged


def test_the_first_fit_searches_for_a_template_once(monkeypatch):
    calls = []
    real = templates.best
    monkeypatch.setattr(templates, "best", lambda *arguments: calls.append(len(arguments[2])) or real(*arguments))
    X, y = problem(30)
    first = fitted(X, y, [30])
    assert calls == [0]
    worst = tuple(9.0 if chain.known is not None else 1.0 for chain in first.chains)
    fitted(X, y, [30], first=replace(first, n=30, chain_errors=worst))
    assert calls == [0]  # too few new values
    X, y = problem(60)
    earlier = replace(first, n=60, selection=replace(first.selection, n=60), chain_errors=worst)
    fit_pairwise.fit(X, y, np.random.default_rng(0), earlier)
    assert calls == [0, 2]  # given what both chains took for known
