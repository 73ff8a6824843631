import numpy as np
import pytest

from law_ray.runs import durations
from law_ray.runs.durations import LEAST_VALUES, Durations, number_ending
from law_ray.space.permutations import sample
from law_ray.trial import Trial


def trials(X, seconds):
    """Trials that were told after so many seconds."""
    return [
        Trial(i, 1, x.copy(), state="told", value=0.0, standard_error=0.0, seconds=float(each))
        for i, (x, each) in enumerate(zip(X, seconds, strict=True))
    ]


def by_first_item(X):
    """Ten times as long where item 0 is in the first half."""
    return np.where((X[:, : X.shape[1] // 2] == 0).any(axis=1), 50.0, 5.0)


def test_orderings_that_take_long_are_told_from_those_that_do_not():
    X = sample(10, 120, np.random.default_rng(0))
    expected = Durations(0).expected(trials(X[:80], by_first_item(X[:80])), X[80:])
    truth = by_first_item(X[80:])
    assert expected[truth == 50].min() > expected[truth == 5].max()
    np.testing.assert_allclose(np.log(expected), np.log(truth), atol=1.0)
    assert np.mean(np.abs(np.log(expected) - np.log(truth))) < 0.3


def test_times_that_do_not_depend_on_the_ordering_are_expected_to_be_their_mean():
    rng = np.random.default_rng(1)
    X, seconds = sample(10, 220, rng), rng.lognormal(3.0, 0.5, 220)
    expected = Durations(0).expected(trials(X[:200], seconds[:200]), X[200:])
    np.testing.assert_allclose(expected, seconds.mean(), rtol=0.25)


def test_times_that_do_not_depend_on_the_ordering_are_expected_to_be_the_mean_of_their_lognormal():
    rng = np.random.default_rng(1)
    X, logs = sample(10, 220, rng), rng.normal(3.0, 1.5, 220)
    expected = Durations(0).expected(trials(X[:200], np.exp(logs[:200])), X[200:])
    np.testing.assert_allclose(expected, np.exp(logs[:200].mean() + logs[:200].var() / 2), rtol=0.35)


def test_repeats_of_one_ordering_are_expected_to_take_the_mean_of_what_it_took():
    rng = np.random.default_rng(1)
    X, logs = np.repeat(sample(10, 10, rng), 30, axis=0), rng.normal(3.0, 1.5, 300)
    expected = Durations(0).expected(trials(X, np.exp(logs)), X[::30])
    np.testing.assert_allclose(expected, np.exp(logs.mean() + logs.var() / 2), rtol=0.35)


@pytest.mark.parametrize(
    "seconds",
    [
        np.where(np.arange(LEAST_VALUES - 1) % 2, 10.0, 30.0),
        np.where(np.arange(60) % 2, 0.1, 0.3),
        np.where(np.arange(60) % 2, 10.0, 10.1),
    ],
    ids=["few", "short", "even"],
)
def test_nothing_is_learned_where_it_does_not_pay(seconds, monkeypatch):
    monkeypatch.setattr(durations.fit_additive, "fit", None)
    X = sample(10, len(seconds), np.random.default_rng(0))
    expected = Durations(0).expected(trials(X, seconds), X[:3])
    np.testing.assert_allclose(expected, seconds.mean())


def test_before_any_evaluation_nothing_is_known_and_times_that_are_missing_say_nothing():
    X = sample(10, 8, np.random.default_rng(0))
    assert np.isnan(Durations(0).expected([], X)).all()
    assert np.isnan(Durations(0).expected(trials(X, 8 * [np.nan]), X)).all()
    assert Durations(0).expected(trials(X, [*(7 * [np.nan]), 4.0]), X[:1]) == [4.0]


def test_it_is_fitted_again_only_when_there_is_a_quarter_more(monkeypatch):
    fits = []
    fit = durations.fit_additive.fit
    monkeypatch.setattr(durations.fit_additive, "fit", lambda X, *rest: fits.append(len(X)) or fit(X, *rest))
    X = sample(10, 60, np.random.default_rng(0))
    learned = Durations(0)
    for n in range(40, 60):
        learned.expected(trials(X[:n], by_first_item(X[:n])), X[:2])
    assert fits == [40, 50]


def test_a_fit_begins_at_the_one_before_and_sees_the_latest_evaluations_alone(monkeypatch):
    monkeypatch.setattr(durations, "MAX_VALUES", LEAST_VALUES)
    fits, fit = [], durations.fit_additive.fit
    monkeypatch.setattr(durations.fit_additive, "fit", lambda *arguments: fits.append(arguments) or fit(*arguments))
    X = sample(10, 40, np.random.default_rng(0))
    learned = Durations(0)
    for n in (LEAST_VALUES, 40):
        learned.expected(trials(X[:n], by_first_item(X[:n])), X[:2])
    (before, _, _, nothing), (now, _, _, previous) = fits
    np.testing.assert_array_equal(before[::-1], X[:LEAST_VALUES])
    np.testing.assert_array_equal(now[::-1], X[20:])
    assert nothing is None
    assert previous == fit(*fits[0])


def test_how_many_end_soon_is_the_share_of_what_may_still_be():
    ratios = np.array([0.5, 1.0, 1.0, 2.0])
    expected = np.array([10.0, 10.0, 10.0, 20.0, 10.0])
    ages = np.array([0.0, 7.0, 12.0, 0.0, 30.0])
    # Within 5 seconds end: one of four; two of three; none of one; none of four; and the last one has outlived all.
    assert number_ending(5.0, ages, expected, ratios) == pytest.approx(1 / 4 + 2 / 3 + 0 + 0 + 1)
    assert number_ending(100.0, ages, expected, ratios) == 5.0
    assert number_ending(5.0, np.array([10.0]), expected[:1], ratios) == 0.0  # it has outlived those of 10 seconds
    assert number_ending(5.0, ages[:0], expected[:0], ratios) == 0.0


def test_how_many_end_soon_is_what_a_simulation_says():
    rng = np.random.default_rng(0)
    ratios, ages = rng.lognormal(sigma=0.4, size=2_000), rng.uniform(0.0, 80.0, size=30)
    ended = []
    for age in ages:
        seconds = 60.0 * rng.lognormal(sigma=0.4, size=20_000)
        ended.append(np.mean(seconds[seconds > age] <= age + 15.0))
    assert number_ending(15.0, ages, np.full(30, 60.0), ratios) == pytest.approx(sum(ended), rel=0.05)
