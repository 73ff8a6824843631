import dataclasses
import json

import numpy as np
import pytest

from law_ray.kernels.additive import AdditiveHyperparameters
from law_ray.models import fit_additive, fit_tour, fit_weighted_precedence, selection
from law_ray.models.gp import GaussianProcess
from law_ray.models.selection import ALIKE, MEMORY, MEMORY_OF, SelectionHyperparameters
from law_ray.space.permutations import sample
from tests.oracles.additive import some_components
from tests.oracles.tour import some_tour
from tests.oracles.weighted_precedence import some_weighted


def both(prediction_errors, seed=0):
    rng = np.random.default_rng(seed)
    additive = AdditiveHyperparameters(some_components(rng), 0.2, 0.3)
    return SelectionHyperparameters(additive, some_tour(rng), prediction_errors, 20, 19, 2.5)


@pytest.mark.parametrize(
    ("prediction_errors", "tour"), [((0.0, 0.0), False), ((0.9, 1.1), False), ((1.1, 0.9), True), ((1.0, 1.0), False)]
)
def test_a_process_is_that_of_the_model_with_the_smaller_prediction_errors(prediction_errors, tour):
    h = both(prediction_errors)
    expected = h.tour if tour else h.additive
    assert h.selected is expected
    rng = np.random.default_rng(1)
    X, y, others = sample(9, 20, rng), rng.normal(size=20), sample(9, 5, rng)
    np.testing.assert_array_equal(*(GaussianProcess(X, y, model).predict(others) for model in (h, expected)))
    assert (h.noise, h.mean, h.signal_variance) == (expected.noise, expected.mean, expected.signal_variance)


@pytest.mark.parametrize(
    ("errors", "weighted_errors", "number"),
    [
        *(((0.0, 0.0), (0.0, 0.0), 0), ((0.9, 1.1), (1.2, 0.8), 2), ((0.9, 1.1), (1.15, 0.85), 0)),
        *(((1.1, 0.9), (1.9, 0.1), 2), ((1.1, 0.9), (1.25, 0.75), 1), ((0.9, 1.1), (0.5, 1.5), 0)),
    ],
)
def test_the_weighted_precedence_kernel_is_selected_where_it_predicts_clearly_better(errors, weighted_errors, number):
    weighted = some_weighted(np.random.default_rng(0))
    h = dataclasses.replace(both(errors), weighted=weighted, weighted_errors=weighted_errors)
    assert h.models == (h.additive, h.tour, weighted)
    assert h.number_selected == number
    assert h.selected is h.models[number]
    without = dataclasses.replace(h, weighted=None)
    assert without.selected is h.models[int(errors[1] < errors[0])]
    record = json.loads(json.dumps(h.to_record()))
    assert SelectionHyperparameters.from_record(record) == h


@pytest.mark.parametrize("absent", [("item_shares", "pair_factors", "unit"), ("item_shares",)])
def test_the_weighted_precedence_kernel_of_an_older_journal_is_fitted_again(absent):
    weighted = some_weighted(np.random.default_rng(0))
    record = dataclasses.replace(both((0.9, 1.1)), weighted=weighted, weighted_errors=(1.2, 0.8)).to_record()
    for name in absent:
        del record["weighted"][name]
    h = SelectionHyperparameters.from_record(record)
    assert (h.weighted, h.weighted_errors, h.n_fitted, h.selected) == (None, ALIKE, 0, h.additive)
    assert SelectionHyperparameters.from_record(h.to_record()) == h


def test_hyperparameters_survive_json_under_the_names_of_the_first_journals():
    h = both((0.5, 1.5))
    record = json.loads(json.dumps(h.to_record()))
    assert list(record) == ["mixture", "latent", "misses", "n", "n_fitted", "deviation"]
    assert SelectionHyperparameters.from_record(record) == h
    del record["n_fitted"], record["deviation"]  # as in the first journals, whose models were fitted at every ask
    assert SelectionHyperparameters.from_record(record) == dataclasses.replace(h, n_fitted=0, deviation=0.0)


# the fit


def problem(objective, n=90, n_items=15, seed=0):
    rng = np.random.default_rng(seed)
    X = sample(n_items, n, rng)
    if objective == "tour":
        cities = rng.random((n_items, 2))
        return X, np.linalg.norm(cities[X] - cities[np.roll(X, -1, axis=1)], axis=2).sum(axis=1)
    if objective == "completion times":  # weighted, of jobs some of which are long and important
        seconds, weights = rng.lognormal(0.0, 1.2, (2, n_items))
        return X, (weights[X] * np.cumsum(seconds[X], axis=1)).sum(axis=1)
    if objective == "a few pairs":  # a value that depends on which items of these come first
        a, b = rng.permutation(n_items).reshape(2, -1)
        q = np.argsort(X, axis=1)
        return X, (q[:, a] < q[:, b]) @ rng.uniform(1, 2, len(a))
    return X, rng.normal(size=(n_items, n_items))[np.arange(n_items), X].sum(axis=1)


def fitted(X, y, steps, seed=0):
    h = None
    for number, n in enumerate(steps):
        h = selection.fit(X[:n], y[:n], np.random.default_rng([seed, number]), h)
    return h


@pytest.mark.parametrize("objective", ["tour", "assignment"])
def test_the_tour_kernel_is_selected_for_tours_and_the_additive_kernel_for_assignments(objective):
    for seed in range(2):
        h = fitted(*problem(objective, seed=seed), steps=range(30, 91, 10), seed=seed)
        assert (h.selected is h.tour) == (objective == "tour")


@pytest.mark.parametrize(("objective", "n_items"), [("completion times", 60), ("a few pairs", 20)])
def test_the_weighted_precedence_kernel_is_selected_where_some_items_or_pairs_matter_more(objective, n_items):
    h = fitted(*problem(objective, 110, n_items), steps=range(60, 111, 10))
    assert h.selected is h.weighted
    first = fitted(*problem(objective, 110, n_items), steps=[60])
    assert first.selected is first.additive  # it has predicted nothing


@pytest.mark.parametrize("objective", ["tour", "assignment"])
def test_the_weighted_precedence_kernel_is_not_fitted_where_the_order_of_items_does_not_matter(objective):
    assert fitted(*problem(objective, 110, 15), steps=[110]).weighted is None


@pytest.mark.parametrize(("n_items", "is_fitted"), [(10, False), (12, True)])
def test_the_weighted_precedence_kernel_is_fitted_from_eleven_items_on(n_items, is_fitted):
    assert (fitted(*problem("a few pairs", 60, n_items), steps=[60]).weighted is not None) == is_fitted


def test_the_errors_of_the_weighted_precedence_kernel_are_relative_to_those_of_the_additive_kernel():
    X, y = problem("completion times", 90, 60)
    first = fitted(X, y, [70])
    assert first.weighted_errors == ALIKE == (1.0, 1.0)
    second = selection.fit(X[:90], y[:90], np.random.default_rng(1), first)
    errors = []
    for model in (first.additive, first.weighted):
        process = GaussianProcess(X[:70], y[:70], model)
        errors.append(np.mean((process.predict(X[70:])[0] - process.standardize(y[70:])) ** 2))
    kept = MEMORY ** (20 / MEMORY_OF)
    expected = kept + (1 - kept) * np.array(errors) / np.mean(errors)
    assert second.weighted_errors == pytest.approx(expected)
    third = selection.fit(X, y, np.random.default_rng(2), second)
    assert third.weighted_errors == second.weighted_errors  # no value came in


def test_the_weighted_precedence_kernel_is_fitted_from_its_last_fit(monkeypatch):
    X, y = problem("completion times", 90, 60)
    first = fitted(X, y, [70])
    starts = []
    fit = fit_weighted_precedence.fit
    monkeypatch.setattr(
        fit_weighted_precedence, "fit", lambda X, y, previous, *rest: starts.append(previous) or fit(X, y, previous)
    )
    selection.fit(X[:71], y[:71], np.random.default_rng(1), first)  # too few are new
    selection.fit(X[:90], y[:90], np.random.default_rng(1), first)
    assert starts == [first.weighted]


def test_the_first_fit_has_predicted_nothing_and_selects_the_additive_kernel():
    X, y = problem("tour", 40)
    h = fitted(X, y, [40])
    assert (h.prediction_errors, h.n, h.selected) == ((0.0, 0.0), 40, h.additive)


def test_prediction_errors_are_those_at_the_values_since_the_last_fit_relative_to_each_other():
    X, y = problem("tour", 60)
    first = fitted(X, y, [40])
    second = selection.fit(X[:50], y[:50], np.random.default_rng(1), first)
    errors = []
    for model in (first.additive, first.tour):
        process = GaussianProcess(X[:40], y[:40], model)
        errors.append(np.mean((process.predict(X[40:50])[0] - process.standardize(y[40:50])) ** 2))
    latest = np.array(errors) / np.mean(errors)
    assert second.prediction_errors == pytest.approx((1 - MEMORY) * latest)
    third = selection.fit(X[:50], y[:50], np.random.default_rng(2), second)
    assert third.prediction_errors == second.prediction_errors  # no value came in


def test_constant_values_leave_the_prediction_errors_at_zero():
    X, _ = problem("tour", 50)
    for values in (np.ones(50), np.zeros(50)):
        assert fitted(X, values, [20, 30, 50]).prediction_errors == (0.0, 0.0)


def test_a_value_beyond_all_before_it_is_an_error_like_others():
    X, _ = problem("tour", 30)
    y = np.where(np.arange(30) < 20, 0.0, 1e300)
    assert sum(fitted(X, y, [20, 30]).prediction_errors) == pytest.approx(2 * (1 - MEMORY))


@pytest.mark.parametrize(
    ("n", "deviation", "is_fitted"),
    [
        *((109, 1.0, False), (111, 1.0, True), (103, 1.12, True), (103, 0.9, True), (109, 0.92, False)),
        *((108, 1.05, False), (103, 0.0, True), (103, 1e300, True)),
    ],
)
def test_hyperparameters_are_fitted_again_when_values_or_their_deviation_have_grown_by_a_tenth(
    n, deviation, is_fitted, monkeypatch
):
    rng = np.random.default_rng(0)
    X, y = sample(15, n, rng), np.resize([3.0 - deviation, 3.0 + deviation], n)
    y -= y.mean()
    tour = some_tour(rng, 15)
    earlier = dataclasses.replace(both((0.5, 1.5)), tour=tour, n=n - 1, n_fitted=100, deviation=1.0)
    monkeypatch.setattr(selection, "latest_errors", lambda *arguments: (1.0, 2.0))
    fits = []
    for kernel, previous in ((fit_additive, earlier.additive), (fit_tour, earlier.tour)):
        fit = lambda *arguments, previous=previous: fits.append(arguments[3]) or (lambda: previous)  # noqa: E731
        monkeypatch.setattr(kernel, "prepared", fit)
    h = selection.fit(X, y, rng, earlier)
    assert fits == ([earlier.additive, earlier.tour] if is_fitted else [])  # each goes on from its previous fit
    assert (h.n, h.n_fitted) == (n, n if is_fitted else 100)
    assert h.deviation == (pytest.approx(deviation, rel=0.01) if is_fitted else 1.0)
    assert h.prediction_errors != earlier.prediction_errors  # they are always brought up to date


def test_where_the_values_are_a_part_of_all_hyperparameters_are_fitted_each_time(monkeypatch):
    """Then there are as many values each time, but others."""
    X, y = problem("assignment", 100)
    earlier = fitted(X, y, [100])
    fits = []
    fit = lambda *arguments: fits.append("additive") or (lambda: earlier.additive)  # noqa: E731
    monkeypatch.setattr(fit_additive, "prepared", fit)
    for _ in range(3):
        earlier = selection.fit(X, y, np.random.default_rng(0), earlier)
    assert len(fits) == 3


def test_what_is_prepared_draws_nothing_more():
    """So it may run in a thread beside others that draw from the same generator."""
    X, y = problem("tour", 600)  # more than a fit takes: a part is drawn
    rng, untouched = np.random.default_rng(0), np.random.default_rng(0).bit_generator.state
    rest = selection.prepared(X, y, rng, None, None, np.arange(600), None)
    drawn = rng.bit_generator.state
    assert drawn != untouched
    assert rest() == selection.fit(X, y, np.random.default_rng(0))
    assert rng.bit_generator.state == drawn


@pytest.fixture
def fits(monkeypatch):
    """The arguments of the three fits, which return hyperparameters of 15 items at once."""
    found = {}
    rng = np.random.default_rng(0)
    additive, tour, weighted = both((0.0, 0.0)).additive, some_tour(rng, 15), some_weighted(rng)
    for kernel, own in ((fit_additive, additive), (fit_tour, tour)):
        prepared = lambda *given, kernel=kernel, own=own: found.update({kernel: given}) or (lambda: own)  # noqa: E731
        monkeypatch.setattr(kernel, "prepared", prepared)
    fit = lambda *given: found.update({fit_weighted_precedence: given}) or weighted  # noqa: E731
    monkeypatch.setattr(fit_weighted_precedence, "fit", fit)
    monkeypatch.setattr(selection, "_share_of_order", lambda additive: 1.0)
    return found


def test_each_fit_gets_the_standard_errors_of_its_values(fits):
    rng = np.random.default_rng(0)
    X, y, errors, rows = sample(15, 30, rng), rng.normal(size=30), np.arange(30.0), np.arange(0, 30, 3)
    selection.prepared(X, y, rng, None, errors, rows, None)()
    assert len(fits) == 3
    for X_given, y_given, *_, given in fits.values():
        np.testing.assert_array_equal(X_given, X[rows])
        np.testing.assert_array_equal(y_given, y[rows])
        np.testing.assert_array_equal(given, errors[rows])


def test_recent_errors_are_those_of_processes_that_know_the_standard_errors():
    rng = np.random.default_rng(0)
    X, y = problem("tour", 40)
    first = fitted(X, y, [30])
    errors = np.where(np.arange(40) % 2, 10.0 * y.std(), 0.0)
    without, known = (selection.fit(X, y, rng, first, given).prediction_errors for given in (None, errors))
    assert known == pytest.approx(
        selection.remembered((0.0, 0.0), selection.latest_errors(X, y, first, errors, np.arange(40))[:2])
    )
    assert known != pytest.approx(without)


@pytest.mark.parametrize(("n_items", "is_fitted"), [(10, False), (11, True), (100, True), (101, False)])
def test_the_weighted_precedence_kernel_is_fitted_for_11_to_100_items(fits, n_items, is_fitted):
    rng = np.random.default_rng(0)
    h = selection.fit(sample(n_items, 5, rng), rng.normal(size=5), rng)
    assert (h.weighted is not None) == (fit_weighted_precedence in fits) == is_fitted


@pytest.mark.parametrize(("weighted_errors", "is_fitted"), [((1.9, 0.1), True), ((1.0, 1.0), False)])
def test_the_weighted_precedence_kernel_is_fitted_while_it_leads_whatever_the_additive_kernel_says(
    fits, monkeypatch, weighted_errors, is_fitted
):
    monkeypatch.setattr(selection, "_share_of_order", lambda additive: 0.0)
    rng = np.random.default_rng(0)
    X, y = sample(15, 30, rng), rng.normal(size=30)
    earlier = dataclasses.replace(both((1.0, 1.0)), weighted=some_weighted(rng), weighted_errors=weighted_errors)
    h = selection.prepared(X, y, rng, earlier, None, np.arange(30), None)()
    assert (h.weighted is not None) == is_fitted


def test_the_share_of_order_is_that_of_positions_and_precedences_in_the_variance():
    rng = np.random.default_rng(0)
    X = sample(12, 80, rng)
    additive = fit_additive.fit(X, X[:, 0] + 0.5 * (X[:, 1] == X[:, 2] + 1), rng)
    assert 0.0 <= selection._share_of_order(additive) <= 1.0
    own = [name for name in additive.components if name in ("position", "precedence")]
    assert own
    only = dataclasses.replace(additive, components={name: additive.components[name] for name in own})
    assert selection._share_of_order(only) == pytest.approx(1.0)
    assert selection._share_of_order(additive) * additive.signal_variance == pytest.approx(only.signal_variance)


def test_where_nothing_is_fitted_again_the_errors_of_all_three_kernels_are_brought_up_to_date(monkeypatch):
    monkeypatch.setattr(selection, "is_due", lambda *arguments: False)
    rng = np.random.default_rng(0)
    earlier = dataclasses.replace(both((0.5, 1.5)), weighted=some_weighted(rng))
    n = earlier.n + MEMORY_OF
    h = selection.prepared(sample(15, n, rng), rng.normal(size=n), rng, earlier, None, np.arange(n), (1.0, 2.0, 3.0))()
    assert h.prediction_errors == pytest.approx(MEMORY * np.array([0.5, 1.5]) + (1 - MEMORY) * np.array([2 / 3, 4 / 3]))
    assert h.weighted_errors == pytest.approx(MEMORY * np.ones(2) + (1 - MEMORY) * np.array([0.5, 1.5]))
    assert (h.n, h.weighted) == (n, earlier.weighted)


def test_the_deviation_that_counts_is_that_of_the_values_of_the_process():
    earlier = dataclasses.replace(both((1.0, 1.0)), n=20, n_fitted=20, deviation=1.0)
    y = np.resize([1.0, -1.0], 21)
    y[20] = 100.0
    assert not selection.is_due(y, np.arange(20), earlier)
    assert selection.is_due(y, np.arange(21), earlier)


def test_rows_of_which_none_was_there_at_the_last_fit_predict_nothing():
    X, y = problem("tour", 10)
    assert selection.latest_errors(X, y, fitted(X, y, [4]), None, np.arange(4, 10)) is None


def test_two_values_are_enough_to_predict_from_and_one_is_not():
    X, y = problem("tour", 10)
    first = fitted(X, y, [8])
    of_two, of_one = (dataclasses.replace(first, n=n) for n in (2, 1))
    assert selection.latest_errors(X, y, of_one, None, np.arange(10)) is None
    expected = []
    for model in first.models:
        process = GaussianProcess(X[:2], y[:2], model)
        expected.append(selection.mean_square(process.predict(X[2:])[0] - process.standardize(y[2:])))
    assert selection.latest_errors(X, y, of_two, None, np.arange(10)) == pytest.approx(expected)
