import json
import math

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from law_ray.kernels.additive import COMPONENTS, AdditiveHyperparameters
from law_ray.kernels.distance import POSITION_KERNEL, positions_of
from law_ray.models import evidence, fit_additive
from law_ray.models.fit_additive import AdditiveEvidence, fit
from law_ray.models.fit_distance import log_marginal_likelihood
from law_ray.models.gp import GaussianProcess
from law_ray.models.standardize import Standardization
from law_ray.space.permutations import sample
from tests.oracles.additive import POLYNOMIAL, gram, plain, some_components

each_component = pytest.mark.parametrize("name", COMPONENTS)


def data(n=25, n_items=7, seed=0):
    rng = np.random.default_rng(seed)
    return sample(n_items, n, rng), rng.normal(size=n), rng.uniform(0, 0.1, n)


def without_prior(evidence, log_parameters):
    """Return the evidence without the prior, which at given parameters adds the same to any evidence, and its mean."""
    value, _, mean = evidence(log_parameters)
    zeros = AdditiveEvidence(*(part[:1] for part in (DATA[0], np.zeros(25), np.zeros(25))))
    prior = zeros(log_parameters)[0]
    signal = sum(np.exp(log_parameters[own]).sum() for own in evidence.own.values())
    decays = sum(math.exp(log_parameters[own.start + 1]) for own in evidence.own.values())
    variance = signal - decays + math.exp(log_parameters[-1])
    return value - (prior + 0.5 * math.log(2 * math.pi * variance)), mean


DATA = data()


def test_the_evidence_is_the_normal_density_at_its_best_mean():
    X, y, known_noise = DATA
    evidence = AdditiveEvidence(X, y, known_noise)
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


def test_the_evidence_of_the_position_component_alone_is_that_of_the_position_kernel():
    X, y, _ = DATA
    distances = POSITION_KERNEL.distances(positions_of(X), positions_of(X))
    evidence = AdditiveEvidence(X, y, np.zeros(len(y)))
    differences = []
    for decay in (0.1, 2.0):
        hyperparameters = AdditiveHyperparameters({"position": [0.8, decay]}, 0.1, 0.0)
        alone = log_marginal_likelihood(np.log([decay, 0.8, 0.1]), distances, y, X.shape[1])[0]
        packed = evidence.pack(hyperparameters)
        differences.append(without_prior(evidence, packed)[0] - alone)
    assert np.abs(differences).max() < 1e-2  # the other components have weights of 1e-6 each


def test_the_gradient_is_that_of_finite_differences():
    X, y, known_noise = DATA
    evidence = AdditiveEvidence(X, y, known_noise)
    rng = np.random.default_rng(2)
    for _ in range(3):
        log_parameters = rng.normal(-1.5, 1.0, evidence.size)
        gradient = evidence(log_parameters)[1]
        steps = 1e-5 * np.eye(evidence.size)
        numeric = [(evidence(log_parameters + e)[0] - evidence(log_parameters - e)[0]) / 2e-5 for e in steps]
        np.testing.assert_allclose(gradient, numeric, rtol=0, atol=1e-6)


def test_packing_and_unpacking_leave_hyperparameters_as_they_are():
    X, y, known_noise = DATA
    evidence = AdditiveEvidence(X, y, known_noise)
    hyperparameters = AdditiveHyperparameters(some_components(np.random.default_rng(0)), 0.03, 0.0)
    packed = evidence.pack(hyperparameters)
    in_order = [number for name in COMPONENTS for number in hyperparameters.components[name]]
    np.testing.assert_allclose(np.exp(packed), [*in_order, 0.03], rtol=1e-12)
    again = evidence.unpack(packed)
    for name, parameters in hyperparameters.components.items():
        assert again.components[name] == pytest.approx(parameters, rel=1e-12)
    assert again.noise == pytest.approx(0.03, rel=1e-12)


def test_the_noise_of_a_fit_is_not_less_than_the_least():
    evidence = AdditiveEvidence(*DATA)
    noiseless = AdditiveHyperparameters(some_components(np.random.default_rng(0)), 1e-12, 0.0)
    assert evidence.unpack(evidence.pack(noiseless)).noise == pytest.approx(1e-5, rel=1e-9)
    X, _, _ = DATA
    assert fit(X, X[:, 0].astype(float), np.random.default_rng(0), noiseless).noise >= 1e-5 * (1 - 1e-9)


@pytest.mark.parametrize("n_items", [2, 7, 100, 300])
def test_a_fresh_fit_starts_within_the_bounds(n_items, monkeypatch):
    starts = []

    def spy(density, n, bounds, given):
        starts.extend((bounds, start) for start, _ in given)
        return given[0][0]

    monkeypatch.setattr(fit_additive, "maximised", spy)
    fit(sample(n_items, 3, np.random.default_rng(0)), np.arange(3.0), np.random.default_rng(0))
    ((bounds, start),) = starts
    assert np.all((bounds[:, 0] < start) & (start < bounds[:, 1]))


def test_hyperparameters_survive_json_exactly():
    X, y, _ = DATA
    found = fit(X, y, np.random.default_rng(0))
    assert AdditiveHyperparameters.from_record(json.loads(json.dumps(found.to_record()))) == found


def drawn(name, n_items=9, n=150, seed=0):
    """Permutations, near and far from one another, with values drawn from one component of the kernel."""
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


@each_component
def test_a_fit_gives_the_most_weight_to_the_component_that_the_data_are_drawn_from(name):
    right = 0
    for seed in range(5):
        X, y = drawn(name, seed=seed)
        components = fit(X, y, np.random.default_rng(0)).components
        shares = {component: own[0] + sum(own[2:]) for component, own in components.items()}
        right += max(shares, key=shares.get) == name
    assert right >= 4


@each_component
def test_a_fitted_kernel_predicts_about_as_well_as_the_component_that_the_data_are_drawn_from(name):
    behind = []
    for seed in range(5):
        X, y = drawn(name, n=160, seed=seed)
        n = len(X) * 2 // 3
        found = fit(X[:n], y[:n], np.random.default_rng(0))
        process = GaussianProcess(X[:n], y[:n], found)
        parameters = [1.0, 0.5] if name not in POLYNOMIAL else [0.2, 0.3, 1.0, 1.0]
        scale = Standardization.of(y[:n]).scale * Standardization.of(y[:n]).unit
        true = [w if i == 1 else w / scale**2 for i, w in enumerate(parameters)]
        best = AdditiveHyperparameters({name: true}, 1e-3 / scale**2, found.mean)
        oracle = GaussianProcess(X[:n], y[:n], best)
        z = process.standardize(y[n:])
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


def test_a_fit_starts_from_the_previous_one_and_afresh(monkeypatch):
    X, y = drawn("adjacency", n=80)
    found = []

    def spy(density, n, bounds, starts, original=fit_additive.maximised):
        found.append([steps for _, steps in starts])
        return original(density, n, bounds, starts)

    monkeypatch.setattr(fit_additive, "maximised", spy)
    first = fit(X, y, np.random.default_rng(0))
    fit(X, y, np.random.default_rng(0), first)
    assert found == [[40], [40, 10]]


def test_a_fit_after_another_one_is_no_worse():
    X, y = drawn("adjacency", n=80)
    density = AdditiveEvidence(X, (y - y.mean()) / y.std(), np.zeros(80))
    first = fit(X, y, np.random.default_rng(0))
    again = fit(X, y, np.random.default_rng(1), first)
    assert density(density.pack(again))[0] >= density(density.pack(first))[0] - 1e-6


def test_a_component_without_weight_comes_back_where_the_data_ask_for_it():
    """From the previous fit alone it would not: there its weight does not change."""
    X, y = drawn("adjacency", n=80)
    previous = AdditiveHyperparameters({"position": [1.0, 0.3]}, 0.1, 0.0)
    found = fit(X, y, np.random.default_rng(0), previous)
    shares = {component: own[0] + sum(own[2:]) for component, own in found.components.items()}
    assert max(shares, key=shares.get) == "adjacency"


def test_more_points_than_n_fit_are_fitted_in_part(monkeypatch):
    monkeypatch.setattr(evidence, "N_FIT", 60)
    sizes = []

    def spy(evidence, X, y, known_noise, original=AdditiveEvidence.__init__):
        sizes.append((len(X), len(y), len(known_noise)))
        original(evidence, X, y, known_noise)

    monkeypatch.setattr(AdditiveEvidence, "__init__", spy)
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
    z = process.standardize(y)
    assert np.abs(mean - z)[:20].max() < np.abs(mean - z)[20:].max()


def test_standard_errors_are_noise_that_the_fit_need_not_find():
    """Half of the values have large errors. Without these the fit takes all that varies so for its own noise."""
    rng = np.random.default_rng(0)
    X = sample(8, 80, rng)
    truth = positions_of(X)[:, 0] - 0.5 * positions_of(X)[:, 1]
    errors = np.where(np.arange(80) % 2, 5.0, 0.0)
    y = truth + errors * rng.normal(size=80)
    told, untold = (fit(X, y, np.random.default_rng(1), None, given).noise for given in (errors, None))
    assert told < 0.02 < 0.1 < untold


def test_the_priors_and_the_bounds_are_those_of_the_table():
    """By parameter: centre and standard deviation of the log-normal prior (inf: none), and the bounds."""
    density = AdditiveEvidence(sample(6, 5, np.random.default_rng(0)), np.zeros(5), np.zeros(5))
    centre, deviation, lower, upper = (np.exp(density.prior_centre), density._precision, *np.exp(density.bounds.T))
    decays = [own.start + 1 for own in density.own.values()]
    assert len(decays) == 5
    weights = [k for k in range(density.size - 1) if k not in decays]
    np.testing.assert_allclose(centre[decays], 0.5)
    np.testing.assert_allclose(deviation[decays], 1.5**-2)
    np.testing.assert_allclose((centre[-1], deviation[-1]), (evidence.NOISE, evidence.NOISE_DEVIATION**-2))
    assert (deviation[weights] == 0).all()
    np.testing.assert_allclose(np.column_stack([lower, upper])[weights], [[1e-6, 100.0]] * len(weights))
    np.testing.assert_allclose(np.column_stack([lower, upper])[decays], [[1e-3 / 6, 20.0]] * 5)
    np.testing.assert_allclose((lower[-1], upper[-1]), (1e-5, 2.0))
