import dataclasses
import json
import math

import numpy as np
import pytest
from mixtures import POLYNOMIAL, gram, plain, some_components
from scipy.stats import multivariate_normal

from law_ray import evidence, mixture_fit
from law_ray.gp import GaussianProcess, log_marginal_likelihood
from law_ray.kernels import POSITION, positions_of
from law_ray.mixture import KINDS, MixtureHyperparameters
from law_ray.mixture_fit import Evidence, fit
from law_ray.normalisation import Normalisation
from law_ray.permutations import sample

each_kind = pytest.mark.parametrize("name", KINDS)


def data(n=25, n_items=7, seed=0):
    rng = np.random.default_rng(seed)
    return sample(n_items, n, rng), rng.normal(size=n), rng.uniform(0, 0.1, n)


def without_prior(evidence, log_parameters):
    """The evidence alone: at any parameters the prior adds the same to it."""
    value, _, mean = evidence(log_parameters)
    zeros = Evidence(*(part[:1] for part in (DATA[0], np.zeros(25), np.zeros(25))))
    prior = zeros(log_parameters)[0]
    signal = sum(np.exp(log_parameters[own]).sum() for own in evidence.own.values())
    decays = sum(math.exp(log_parameters[own.start + 1]) for own in evidence.own.values())
    variance = signal - decays + math.exp(log_parameters[-1])
    return value - (prior + 0.5 * math.log(2 * math.pi * variance)), mean


DATA = data()


def test_the_evidence_is_the_normal_density_at_its_best_mean():
    X, y, known_noise = DATA
    evidence = Evidence(X, y, known_noise)
    rng = np.random.default_rng(1)
    for _ in range(5):
        log_parameters = rng.normal(-1.0, 1.0, evidence.size)
        found, mean = without_prior(evidence, log_parameters)
        components = {name: np.exp(log_parameters[own]).tolist() for name, own in evidence.own.items()}
        covariance = np.array([[plain(components, a, b) for b in X.tolist()] for a in X.tolist()])
        covariance += np.diag(known_noise + math.exp(log_parameters[-1]))
        densities = [
            multivariate_normal(np.full(len(y), mean + shift), covariance).logpdf(y) for shift in (-0.1, 0.0, 0.1)
        ]
        assert found == pytest.approx(densities[1], abs=1e-8)
        assert densities[1] > max(densities[0], densities[2])


def test_the_evidence_of_the_position_kind_alone_is_that_of_the_position_kernel():
    X, y, _ = DATA
    distances = POSITION.distances(positions_of(X), positions_of(X))
    evidence = Evidence(X, y, np.zeros(len(y)))
    differences = []
    for decay in (0.1, 2.0):
        hyperparameters = MixtureHyperparameters({"position": [0.8, decay]}, 0.1, 0.0)
        alone = log_marginal_likelihood(np.log([decay, 0.8, 0.1]), distances, y, X.shape[1])[0]
        packed = evidence.pack(hyperparameters)
        differences.append(without_prior(evidence, packed)[0] - alone)
    assert np.abs(differences).max() < 1e-2  # the other kinds have 1e-6 each


def test_the_gradient_is_that_of_finite_differences():
    X, y, known_noise = DATA
    evidence = Evidence(X, y, known_noise)
    rng = np.random.default_rng(2)
    for _ in range(3):
        log_parameters = rng.normal(-1.5, 1.0, evidence.size)
        gradient = evidence(log_parameters)[1]
        steps = 1e-5 * np.eye(evidence.size)
        numeric = [(evidence(log_parameters + e)[0] - evidence(log_parameters - e)[0]) / 2e-5 for e in steps]
        np.testing.assert_allclose(gradient, numeric, rtol=0, atol=1e-6)


def test_packing_and_unpacking_leaves_hyperparameters_as_they_are():
    X, y, known_noise = DATA
    evidence = Evidence(X, y, known_noise)
    hyperparameters = MixtureHyperparameters(some_components(np.random.default_rng(0)), 0.03, 0.0)
    again = evidence.unpack(evidence.pack(hyperparameters))
    for name, parameters in hyperparameters.components.items():
        assert again.components[name] == pytest.approx(parameters, rel=1e-12)
    assert again.noise == pytest.approx(0.03, rel=1e-12)


def test_hyperparameters_survive_json_exactly():
    X, y, _ = DATA
    found = fit(X, y, np.random.default_rng(0))
    assert MixtureHyperparameters(**json.loads(json.dumps(dataclasses.asdict(found)))) == found


def drawn(name, n_items=9, n=150, seed=0):
    """Permutations, near and far from one another, with values drawn from the kernel of one kind."""
    rng = np.random.default_rng(seed)
    X = sample(n_items, n, rng)
    for row in range(n // 3, n):
        X[row] = X[rng.integers(row)]
        for _ in range(rng.integers(1, 4)):
            i, j = rng.choice(n_items, 2, replace=False)
            X[row, [i, j]] = X[row, [j, i]]
    X = np.unique(X, axis=0)
    X = X[rng.permutation(len(X))]
    parameters = [1.0, 0.5] if name not in POLYNOMIAL else [0.2, 0.3, 1.0, 1.0]
    K = gram({name: parameters}, X, X) + 1e-3 * np.eye(len(X))
    return X, np.linalg.cholesky(K) @ rng.normal(size=len(X))


@each_kind
def test_a_fit_gives_the_most_weight_to_the_kind_the_data_are_drawn_from(name):
    right = 0
    for seed in range(5):
        X, y = drawn(name, seed=seed)
        components = fit(X, y, np.random.default_rng(0)).components
        shares = {kind: own[0] + sum(own[2:]) for kind, own in components.items()}
        right += max(shares, key=shares.get) == name
    assert right >= 4


@each_kind
def test_a_mixture_predicts_about_as_well_as_the_kind_the_data_are_drawn_from(name):
    behind = []
    for seed in range(5):
        X, y = drawn(name, n=160, seed=seed)
        n = len(X) * 2 // 3
        found = fit(X[:n], y[:n], np.random.default_rng(0))
        process = GaussianProcess(X[:n], y[:n], found)
        parameters = [1.0, 0.5] if name not in POLYNOMIAL else [0.2, 0.3, 1.0, 1.0]
        scale = Normalisation.of(y[:n]).scale * Normalisation.of(y[:n]).unit
        true = [w if i == 1 else w / scale**2 for i, w in enumerate(parameters)]
        best = MixtureHyperparameters({name: true}, 1e-3 / scale**2, found.mean)
        oracle = GaussianProcess(X[:n], y[:n], best)
        z = process.normalise(y[n:])
        errors = [np.mean((p.predict(X[n:])[0] - z) ** 2) for p in (process, oracle)]
        behind.append(errors[0] / errors[1])
    assert np.mean(behind) < 1.25


def test_values_that_are_constant_or_points_that_are_alike_do_not_stop_a_fit():
    X = np.concatenate([sample(6, 5, np.random.default_rng(0))] * 2)
    for y in (np.ones(10), np.arange(10.0)):
        found = fit(X, y, np.random.default_rng(0))
        mean, variance = GaussianProcess(X, y, found).predict(X)
        assert np.isfinite(mean).all()
        assert (variance > 0).all()


def test_a_fit_of_one_point():
    found = fit(np.array([[2, 0, 1]]), np.array([5.0]), np.random.default_rng(0))
    assert found.components


def test_a_fit_goes_on_from_the_previous_one_and_costs_fewer_evaluations(monkeypatch):
    X, y = drawn("adjacency", n=250)
    counts = []

    def count(evidence, log_parameters, original=Evidence.__call__):
        counts[-1] += 1
        return original(evidence, log_parameters)

    monkeypatch.setattr(Evidence, "__call__", count)
    counts.append(0)
    previous = fit(X, y, np.random.default_rng(0))
    assert len(X) > mixture_fit.N_ALWAYS
    counts.append(0)
    rng = np.random.default_rng(1)  # whose first number is above a fifth
    again = fit(X, y, rng, previous)
    assert counts[1] < counts[0]
    assert again.components.keys() == previous.components.keys()


def test_more_points_than_n_fit_are_fitted_in_part(monkeypatch):
    monkeypatch.setattr(evidence, "N_FIT", 60)
    sizes = []

    def spy(evidence, X, y, known_noise, original=Evidence.__init__):
        sizes.append((len(X), len(y), len(known_noise)))
        original(evidence, X, y, known_noise)

    monkeypatch.setattr(Evidence, "__init__", spy)
    X, y = drawn("precedence")
    fit(X, y, np.random.default_rng(0), None, np.full(len(y), 0.1))
    assert sizes == [(60, 60, 60)]


def test_uncertain_values_count_less():
    rng = np.random.default_rng(0)
    X = sample(8, 40, rng)
    y = np.arange(40.0)
    errors = np.where(np.arange(40) < 20, 0.0, 1e6)
    process = GaussianProcess(X, y, fit(X, y, rng, None, errors), errors)
    mean, _ = process.predict(X)
    z = process.normalise(y)
    assert np.abs(mean - z)[:20].max() < np.abs(mean - z)[20:].max()
