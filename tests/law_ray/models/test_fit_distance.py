import json

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal

from law_ray.kernels.distance import KERNELS, DistanceHyperparameters, position_distances
from law_ray.models import fit_distance
from law_ray.models.fit_distance import LOWER, UPPER, fit, log_marginal_likelihood
from law_ray.models.standardize import Standardization
from tests.oracles.gaussian_process import (
    assignment_values,
    between,
    log_density,
    position_covariance,
    shuffles,
    standardized,
    two_modes,
)


def evidence_problem(seed, with_known_noise):
    X = shuffles(6, 12, seed)
    y = standardized(assignment_values(X, seed))
    rng = np.random.default_rng(seed)
    known_noise = rng.uniform(0.0, 0.5, size=12) if with_known_noise else 0.0
    return X, y, rng.uniform(np.log([0.1, 0.1, 1e-3]), np.log([5.0, 5.0, 1.0])), known_noise


problems = pytest.mark.parametrize("problem", [(seed, known) for seed in (0, 1, 2) for known in (False, True)])


@problems
def test_evidence_is_the_density_of_a_multivariate_normal(problem):
    X, y, log_parameters, known_noise = evidence_problem(*problem)
    value, _, mean = log_marginal_likelihood(log_parameters, position_distances(X, X), y, 6, known_noise)
    h = DistanceHyperparameters(*np.exp(log_parameters), mean)
    covariance = position_covariance(X, X, h) + np.diag(np.broadcast_to(h.noise + known_noise, 12))
    assert value == pytest.approx(multivariate_normal(np.full(12, mean), covariance).logpdf(y), rel=1e-10)


@problems
def test_evidence_gradient_matches_central_differences(problem):
    X, y, log_parameters, known_noise = evidence_problem(*problem)
    distances = position_distances(X, X)

    def value(parameters):
        return log_marginal_likelihood(parameters, distances, y, 6, known_noise)[0]

    steps = 1e-5 * np.eye(3)
    differences = [(value(log_parameters + step) - value(log_parameters - step)) / 2e-5 for step in steps]
    _, gradient, _ = log_marginal_likelihood(log_parameters, distances, y, 6, known_noise)
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-7)


def test_evidence_gradient_holds_with_repeated_permutations():
    X = np.repeat(shuffles(5, 6, 0), 2, axis=0)
    y = standardized(np.random.default_rng(0).normal(size=12))
    distances, at = position_distances(X, X), np.log([0.7, 1.2, 0.3])
    steps = 1e-5 * np.eye(3)
    differences = [
        (log_marginal_likelihood(at + s, distances, y, 5)[0] - log_marginal_likelihood(at - s, distances, y, 5)[0])
        / 2e-5
        for s in steps
    ]
    np.testing.assert_allclose(log_marginal_likelihood(at, distances, y, 5)[1], differences, rtol=1e-6, atol=1e-7)


@problems
def test_closed_form_mean_maximises_the_evidence(problem):
    X, y, log_parameters, known_noise = evidence_problem(*problem)
    _, _, mean = log_marginal_likelihood(log_parameters, position_distances(X, X), y, 6, known_noise)
    h = DistanceHyperparameters(*np.exp(log_parameters), mean)
    covariance = position_covariance(X, X, h) + np.diag(np.broadcast_to(h.noise + known_noise, 12))
    best = minimize_scalar(lambda m: -multivariate_normal(np.full(12, m), covariance).logpdf(y), bracket=(-1.0, 1.0)).x
    assert mean == pytest.approx(best, abs=1e-6)


@pytest.mark.oracles
@problems
def test_evidence_matches_gpytorch(problem):
    gpytorch, torch = pytest.importorskip("gpytorch"), pytest.importorskip("torch")
    X, y, log_parameters, known_noise = evidence_problem(*problem)
    value, gradient, mean = log_marginal_likelihood(log_parameters, position_distances(X, X), y, 6, known_noise)
    logs = torch.tensor(log_parameters, requires_grad=True)

    class PositionKernel(gpytorch.kernels.Kernel):
        def forward(self, x1, x2, **_):
            distances = (x1.argsort(-1).unsqueeze(-2) - x2.argsort(-1).unsqueeze(-3)).abs().sum(-1)
            return logs[1].exp() * torch.exp(-logs[0].exp() / 6 * distances)

    class Model(gpytorch.models.ExactGP):
        def __init__(self, x, targets, likelihood):
            super().__init__(x, targets, likelihood)
            self.mean_module, self.covariance = gpytorch.means.ConstantMean(), PositionKernel()

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covariance(x))

    noises = torch.tensor(np.broadcast_to(np.exp(log_parameters[2]) + known_noise, 12).copy())
    likelihood = gpytorch.likelihoods.FixedNoiseGaussianLikelihood(noises)
    x, targets = torch.tensor(X, dtype=torch.float64), torch.tensor(y)
    model = Model(x, targets, likelihood).double()
    model.mean_module.constant.data.fill_(mean)
    log_likelihood = 12 * gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)(model(x), targets)
    log_likelihood.backward()
    assert value == pytest.approx(log_likelihood.item(), rel=1e-10)
    np.testing.assert_allclose(gradient[:2], logs.grad[:2], rtol=1e-8, atol=1e-10)
    assert model.mean_module.constant.grad.item() == pytest.approx(0.0, abs=1e-9)


def datasets():
    rng = np.random.default_rng(0)
    X = shuffles(7, 24, 1)
    few, repeated = shuffles(6, 4, 2), np.repeat(shuffles(5, 8, 3), 3, axis=0)
    return {
        "smooth": (X, assignment_values(X, 1), None),
        "white noise": (X, rng.normal(size=24), None),
        "smooth with noise": (X, assignment_values(X, 2) + 10 * rng.normal(size=24), None),
        "smooth with known noise": (X, assignment_values(X, 2) + 10 * rng.normal(size=24), np.full(24, 10.0)),
        "few points": (few, assignment_values(few), None),
        "repeated permutations": (repeated, assignment_values(repeated) + rng.normal(size=24), None),
    }


@pytest.mark.parametrize("name", list(datasets()))
def test_fit_is_as_likely_as_the_best_of_a_dense_random_search_of_the_box(name):
    X, y, standard_errors = datasets()[name]
    found = fit(X, y, np.random.default_rng(0), None, standard_errors)
    rng, distances = np.random.default_rng(1), position_distances(X, X)
    known_noise = 0.0 if standard_errors is None else (standard_errors / y.std()) ** 2
    best = max(
        log_marginal_likelihood(parameters, distances, standardized(y), X.shape[1], known_noise)[0]
        for parameters in rng.uniform(LOWER, UPPER, size=(3000, 3))
    )
    assert log_density(found, X, y, 0.0 if standard_errors is None else standard_errors) >= best - 1e-3


@pytest.mark.parametrize("name", list(datasets()))
def test_fit_stays_within_the_box(name):
    X, y, standard_errors = datasets()[name]
    found = fit(X, y, np.random.default_rng(0), None, standard_errors)
    logs = np.log([found.decay, found.signal_variance, found.noise])
    assert np.all(logs >= LOWER - 1e-9)
    assert np.all(logs <= UPPER + 1e-9)


def test_fit_is_never_less_likely_than_the_previous_one():
    X, y = two_modes()
    previous = max((fit(X, y, np.random.default_rng(seed)) for seed in range(8)), key=lambda h: log_density(h, X, y))
    for seed in range(12):
        found = fit(X, y, np.random.default_rng(seed), previous)
        assert log_density(found, X, y) >= log_density(previous, X, y) - 1e-6


def test_many_points_are_screened_by_a_random_part_whose_noise_is_its_own(monkeypatch):
    """The part's distances, values and known noise belong to the same points: the noise is made of the values."""
    monkeypatch.setattr(fit_distance, "N_SCREENED", 10)
    X, screened = shuffles(7, 25, 1), []
    y = assignment_values(X, 2)
    errors = np.exp((y - y.mean()) / 20.0)

    def spy(parameters, distances, y, n_items, known_noise, kernel, original=log_marginal_likelihood):
        if len(y) == 10:
            screened.append((distances, y, known_noise))
        return original(parameters, distances, y, n_items, known_noise, kernel)

    monkeypatch.setattr(fit_distance, "log_marginal_likelihood", spy)
    parts = []
    for seed in range(4):
        fit(X, y, np.random.default_rng(seed), None, errors)
        distances, z, known_noise = screened[-1]
        ids = [int(np.flatnonzero(np.isclose(standardized(y), each))[0]) for each in z]
        np.testing.assert_allclose(known_noise, (errors[ids] / y.std()) ** 2)
        np.testing.assert_array_equal(distances, position_distances(X[ids], X[ids]))
        parts.append(tuple(ids))
    assert len(set(parts)) == 4


@pytest.mark.parametrize("n_screened", [4, 160])
def test_fit_starts_from_the_previous_one_too(n_screened, monkeypatch):
    """Also when the other starts are screened; 160 is the number of points up to which none are."""
    starts = []

    def spy(density, n, bounds, given, original=fit_distance.maximised):
        starts.append(np.exp([start for start, _ in given]))
        return original(density, n, bounds, given)

    assert fit_distance.N_SCREENED == 160
    monkeypatch.setattr(fit_distance, "N_SCREENED", n_screened)
    monkeypatch.setattr(fit_distance, "maximised", spy)
    X, y = shuffles(7, 20, 1), assignment_values(shuffles(7, 20, 1), 2)
    previous = DistanceHyperparameters(0.123, 4.56, 0.0789, 0.0)
    fit(X, y, np.random.default_rng(0), previous)
    np.testing.assert_allclose(starts[-1][-1 if n_screened == 4 else 0], [0.123, 4.56, 0.0789])
    assert [len(each) for each in starts] == ([5, 2] if n_screened == 4 else [5])
    fit(X, y, np.random.default_rng(0))
    assert len(starts[-1]) == (1 if n_screened == 4 else 4)


def test_fit_does_not_depend_on_the_unit_of_the_values():
    X, y, standard_errors = datasets()["smooth with known noise"]
    found = fit(X, y, np.random.default_rng(0), None, standard_errors)
    scaled = fit(X, 8.0 * y - 256.0, np.random.default_rng(0), None, 8.0 * standard_errors)
    assert log_density(scaled, X, y, standard_errors) == pytest.approx(
        log_density(found, X, y, standard_errors), abs=1e-4
    )


def test_fit_finds_the_better_mode():
    X, y = two_modes()
    distances, z = position_distances(X, X), Standardization.of(y)(y)

    def evidence(h):
        logs = np.log([h.decay, h.signal_variance, h.noise])
        return log_marginal_likelihood(logs, distances, z, X.shape[1])[0]

    found = np.array([evidence(fit(X, y, np.random.default_rng(seed))) for seed in range(20)])
    assert found.min() > found.max() - 0.1, (found > found.max() - 0.1).mean()


each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


@each_kernel
def test_evidence_gradient_with_each_kernel_matches_central_differences(kernel):
    X, y, log_parameters, known_noise = evidence_problem(1, True)
    log_parameters[0] = np.log(0.4)

    def value(parameters):
        return log_marginal_likelihood(parameters, between(kernel, X, X), y, 6, known_noise, kernel)[0]

    steps = 1e-5 * np.eye(3)
    differences = [(value(log_parameters + step) - value(log_parameters - step)) / 2e-5 for step in steps]
    _, gradient, _ = log_marginal_likelihood(log_parameters, between(kernel, X, X), y, 6, known_noise, kernel)
    np.testing.assert_allclose(gradient, differences, rtol=1e-6, atol=1e-7)
    assert (abs(gradient[0]) > 1e-3) == (kernel.name != "kendall")


@each_kernel
@pytest.mark.parametrize("count", [24, 170])
def test_fit_with_each_kernel_is_as_likely_as_the_best_of_a_random_search(kernel, count):
    X = shuffles(7, count, 1)
    y = assignment_values(X, 2) + 5 * np.random.default_rng(0).normal(size=count)
    found = fit(X, y, np.random.default_rng(0), kernel=kernel)

    def at(log_parameters):
        value, _, mean = log_marginal_likelihood(
            log_parameters, between(kernel, X, X), standardized(y), 7, kernel=kernel
        )
        return value, mean

    value, mean = at(np.log([found.decay, found.signal_variance, found.noise]))
    assert (
        value >= max(at(p)[0] for p in np.random.default_rng(1).uniform(LOWER, UPPER, size=(7200 // count, 3))) - 1e-3
    )
    assert found.mean == pytest.approx(mean, abs=1e-9)
    assert found.kernel is kernel


def test_hyperparameters_of_the_position_kernel_survive_json():
    X, y, standard_errors = datasets()["smooth"]
    found = fit(X, y, np.random.default_rng(0), None, standard_errors)
    assert DistanceHyperparameters.from_record(json.loads(json.dumps(found.to_record()))) == found
