import numpy as np
import pytest
from latents import some_latent

from law_ray import choice_fit, latent_fit, mixture_fit
from law_ray.choice import ChoiceHyperparameters
from law_ray.choice_fit import MEMORY, N_ALWAYS
from law_ray.gp import GaussianProcess
from law_ray.mixture import MixtureHyperparameters
from law_ray.permutations import sample


def problem(kind, n=90, n_items=15, seed=0):
    rng = np.random.default_rng(seed)
    X = sample(n_items, n, rng)
    if kind == "tour":
        cities = rng.random((n_items, 2))
        return X, np.linalg.norm(cities[X] - cities[np.roll(X, -1, axis=1)], axis=2).sum(axis=1)
    return X, rng.normal(size=(n_items, n_items))[np.arange(n_items), X].sum(axis=1)


def fitted(X, y, steps, seed=0):
    h = None
    for number, n in enumerate(steps):
        h = choice_fit.fit(X[:n], y[:n], np.random.default_rng([seed, number]), h)
    return h


@pytest.mark.parametrize("kind", ["tour", "assignment"])
def test_tours_are_left_to_the_latent_kernel_and_assignments_to_the_mixture(kind):
    for seed in range(2):
        h = fitted(*problem(kind, seed=seed), steps=range(30, 91, 10), seed=seed)
        assert (h.chosen is h.latent) == (kind == "tour")


def test_the_first_fit_has_foretold_nothing_and_uses_the_mixture():
    X, y = problem("tour", 40)
    h = fitted(X, y, [40])
    assert (h.misses, h.n, h.chosen) == ((0.0, 0.0), 40, h.mixture)


def test_misses_are_the_errors_at_what_came_in_since_relative_to_each_other():
    X, y = problem("tour", 60)
    first = fitted(X, y, [40])
    second = choice_fit.fit(X[:50], y[:50], np.random.default_rng(1), first)
    errors = []
    for model in (first.mixture, first.latent):
        process = GaussianProcess(X[:40], y[:40], model)
        errors.append(np.mean((process.predict(X[40:50])[0] - process.normalise(y[40:50])) ** 2))
    latest = np.array(errors) / np.mean(errors)
    assert second.misses == pytest.approx((1 - MEMORY) * latest)
    third = choice_fit.fit(X[:50], y[:50], np.random.default_rng(2), second)
    assert third.misses == second.misses  # nothing came in


def test_constant_values_tell_nothing():
    X, _ = problem("tour", 50)
    for values in (np.ones(50), np.zeros(50)):
        assert fitted(X, values, [20, 30, 50]).misses == (0.0, 0.0)


def test_a_value_beyond_all_before_it_is_an_error_like_others():
    X, _ = problem("tour", 30)
    y = np.where(np.arange(30) < 20, 0.0, 1e300)
    assert sum(fitted(X, y, [20, 30]).misses) == pytest.approx(2 * (1 - MEMORY))


def test_of_many_points_a_latent_kernel_that_is_not_used_is_mostly_left_as_it_is(monkeypatch):
    X, y = problem("assignment", N_ALWAYS + 1)
    mixture = MixtureHyperparameters({"hamming": [1.0, 0.1, 0.1, 0.1]}, 0.1, 0.0)
    unused = ChoiceHyperparameters(mixture, some_latent(np.random.default_rng(0), 15), (0.5, 1.5), len(y))
    begun = []

    def spy(X, y, rng, previous, standard_errors, fresh):
        begun.append(fresh)
        return previous

    monkeypatch.setattr(mixture_fit, "fit", lambda X, y, rng, previous, standard_errors: previous)
    monkeypatch.setattr(latent_fit, "fit", spy)
    for seed in range(60):
        choice_fit.fit(X, y, np.random.default_rng(seed), unused)
    assert 0 < len(begun) < 20
    assert all(begun)
