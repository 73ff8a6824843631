import dataclasses

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from law_ray.optimizer import Trial
from law_ray.runs.reevaluation import Repeat, contenders, probabilities_of_the_least, reevaluated

N_FINALISTS = 5
"""As docs/how-to/noisy.md says."""
CONFIDENCE = 0.95


def told(values, errors):
    pairs = enumerate(zip(values, errors, strict=True))
    trials = [Trial(i, 1, np.arange(3), "told", float(value), float(error)) for i, (value, error) in pairs]
    return [*trials, Trial(len(trials), 1, np.arange(3)), Trial(len(trials) + 1, 1, np.arange(3), "failed")]


def test_probabilities_are_those_of_a_simulation():
    values, errors = np.array([0.0, 0.3, 1.0, -0.5]), np.array([1.0, 0.5, 0.2, 2.0])
    draws = np.random.default_rng(0).normal(values, errors, size=(400_000, 4))
    simulated = np.bincount(draws.argmin(axis=1), minlength=4) / len(draws)
    np.testing.assert_allclose(probabilities_of_the_least(values, errors), simulated, atol=0.004)


def test_probabilities_of_two_are_in_closed_form():
    expected = ndtr(1.0 / np.hypot(0.3, 0.4))
    np.testing.assert_allclose(
        probabilities_of_the_least(np.array([0.0, 1.0]), np.array([0.3, 0.4]))[0], expected, atol=1e-8
    )


@pytest.mark.parametrize("unit", [1e-200, 1e-14, 1.0, 1e200])
def test_exact_values_leave_no_doubt(unit):
    exact = probabilities_of_the_least(unit * np.array([2.0, 1.0, 3.0]), np.zeros(3))
    np.testing.assert_allclose(exact, [0, 1, 0], atol=1e-12)
    np.testing.assert_allclose(probabilities_of_the_least(np.zeros(4), np.zeros(4)), np.full(4, 0.25), atol=1e-12)


def test_without_standard_errors_there_is_nothing_to_evaluate_again():
    trials = told([3, 1, 2], [0, 0, 0])
    assert reevaluated(trials, {}, False) is None
    assert contenders(trials, {}, False) == []


@pytest.mark.parametrize("maximize", [False, True])
def test_a_clear_winner_needs_no_repeat(maximize):
    values = np.array([3.0, 1.0, 2.0])
    trials = told(-values if maximize else values, [0.1] * 3)
    assert contenders(trials, {}, maximize) == []
    best = reevaluated(trials, {}, maximize)
    assert best.trial_id == 1
    assert best.repeats == 0
    assert best.confidence > 0.999
    assert best.finalists == 3


def test_how_sure_a_winner_is_is_said_unless_it_is_alone():
    assert reevaluated(told([3, 1], [0.1, 0.1]), {}, False).sure == "the best of 2 finalists with probability 1.00"
    assert reevaluated(told([3], [0.1]), {}, False).sure == ""


def test_only_finalists_that_could_win_are_evaluated_again():
    trials = told([1.0, 1.05, 1.1, 9.0, *[20.0] * 10], [0.1] * 14)
    assert contenders(trials, {}, False) == [0, 1, 2]
    many = told(np.zeros(14), [1.0] * 14)
    assert len(contenders(many, {}, False)) == N_FINALISTS


@pytest.mark.parametrize("maximize", [False, True])
def test_the_finalists_are_the_best_by_their_first_values(maximize):
    values = np.random.default_rng(0).permutation(14) / 10.0
    trials = told(-values if maximize else values, [1.0] * 14)
    best = np.argsort(values)[:N_FINALISTS].tolist()
    assert contenders(trials, {}, maximize) == best
    assert reevaluated(trials, {}, maximize).trial_id == best[0]
    unseen = {int(values.argmax()): [Repeat(100.0 if maximize else -100.0, 0.1)]}  # of no finalist, so it cannot win
    assert reevaluated(trials, unseen, maximize).trial_id == best[0]


def test_the_winner_is_clear_at_a_confidence_of_95_percent():
    """Of two trials with one error s the better is the best with probability Phi(difference / (s sqrt 2))."""
    for probability, again in ((0.949, [0, 1]), (0.951, [])):
        trials = told([0.0, np.sqrt(2.0) * ndtri(probability)], [1.0, 1.0])
        assert contenders(trials, {}, False) == again
        assert reevaluated(trials, {}, False).confidence == pytest.approx(probability, abs=1e-6)


def test_repeats_alone_count_and_failed_ones_do_not():
    trials = told([1.0, 1.05], [0.1, 0.1])
    repeats = {0: [Repeat(2.0, 0.1), Repeat(2.2, 0.1), Repeat(float("nan"), 0.0)], 1: [Repeat(1.06, 0.1)]}
    best = reevaluated(trials, repeats, False)
    assert (best.trial_id, best.value, best.repeats) == (1, 1.06, 4)
    assert best.confidence == pytest.approx(1.0, abs=1e-6)
    other = reevaluated(trials, {0: repeats[0]}, True)
    assert other.trial_id == 0
    assert other.value == pytest.approx(2.1)
    assert other.standard_error == pytest.approx(0.1 / np.sqrt(2))


def test_the_race_finds_the_best_as_often_as_it_says():
    """Told values are noisy and the least of them is too low; the winner of the race is right with the confidence."""
    rng = np.random.default_rng(1)
    right, confidences = [], []
    for _ in range(60):
        truth = rng.normal(size=6)
        trials = told(truth + rng.normal(size=6), [1.0] * 6)
        finalists = sorted(trials[:6], key=lambda t: t.value)[:N_FINALISTS]
        repeats = {t.id: [] for t in trials}
        while (again := contenders(trials, repeats, False)) and sum(map(len, repeats.values())) < 400:
            for i in again:
                repeats[i].append(Repeat(truth[i] + rng.normal(), 1.0))
        best = reevaluated(trials, repeats, False)
        right.append(best.trial_id == min(finalists, key=lambda t: truth[t.id]).id)
        confidences.append(best.confidence)
    assert np.mean(np.array(confidences) >= CONFIDENCE) > 0.7
    assert np.mean(right) > 0.9


def test_the_trials_are_left_as_they_are():
    trials = told([1.0, 1.05], [0.1, 0.1])
    before = [dataclasses.astuple(t)[3:6] for t in trials]
    reevaluated(trials, {0: [Repeat(2.0, 0.1)]}, False)
    assert [dataclasses.astuple(t)[3:6] for t in trials] == before
