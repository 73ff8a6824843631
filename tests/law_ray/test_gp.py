import itertools

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import multivariate_normal

from law_ray.gp import LOWER, UPPER, GaussianProcess, Hyperparameters, fit, log_marginal_likelihood
from law_ray.kernels import KERNELS, position_distances, positions_of
from law_ray.normalisation import Normalisation

H = Hyperparameters(decay=1.3, signal_variance=0.8, noise=0.05, mean=0.2)


def shuffles(n_items, count, seed):
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(n_items) for _ in range(count)])


def assignment_values(X, seed=0):
    n_items = X.shape[1]
    return np.random.default_rng(seed).normal(100.0, 7.0, size=(n_items, n_items))[np.arange(n_items), X].sum(axis=1)


def prior(X1, X2, h):
    """signal_variance exp(-decay / n_items * sum over items of the difference in position), with loops."""
    n_items = X1.shape[1]
    distances = [[sum(abs(a.index(i) - b.index(i)) for i in range(n_items)) for b in X2.tolist()] for a in X1.tolist()]
    return h.signal_variance * np.exp(-h.decay / n_items * np.array(distances))


def direct_posterior(X, residuals, noise, Z, h):
    """Textbook posterior mean and covariance at Z, given residuals from the prior mean at X and noise variances."""
    A = prior(X, X, h) + np.diag(np.broadcast_to(noise, len(X)))
    K = prior(Z, X, h)
    return h.mean + K @ np.linalg.inv(A) @ residuals, prior(Z, Z, h) - K @ np.linalg.inv(A) @ K.T


def normalised(y):
    return (y - y.mean()) / y.std()


def evidence(h, X, y, standard_errors=0.0):
    """The log density of the normalised values, by scipy."""
    covariance = prior(X, X, h) + np.diag(np.broadcast_to(h.noise + (standard_errors / y.std()) ** 2, len(X)))
    return multivariate_normal(np.full(len(X), h.mean), covariance).logpdf(normalised(y))


def evidence_problem(seed, with_known_noise):
    X = shuffles(6, 12, seed)
    y = normalised(assignment_values(X, seed))
    rng = np.random.default_rng(seed)
    known_noise = rng.uniform(0.0, 0.5, size=12) if with_known_noise else 0.0
    return X, y, rng.uniform(np.log([0.1, 0.1, 1e-3]), np.log([5.0, 5.0, 1.0])), known_noise


problems = pytest.mark.parametrize("problem", [(seed, known) for seed in (0, 1, 2) for known in (False, True)])


@problems
def test_evidence_is_the_density_of_a_multivariate_normal(problem):
    X, y, log_parameters, known_noise = evidence_problem(*problem)
    value, _, mean = log_marginal_likelihood(log_parameters, position_distances(X, X), y, 6, known_noise)
    h = Hyperparameters(*np.exp(log_parameters), mean)
    covariance = prior(X, X, h) + np.diag(np.broadcast_to(h.noise + known_noise, 12))
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
    y = normalised(np.random.default_rng(0).normal(size=12))
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
    h = Hyperparameters(*np.exp(log_parameters), mean)
    covariance = prior(X, X, h) + np.diag(np.broadcast_to(h.noise + known_noise, 12))
    best = minimize_scalar(lambda m: -multivariate_normal(np.full(12, m), covariance).logpdf(y), bracket=(-1.0, 1.0)).x
    assert mean == pytest.approx(best, abs=1e-6)


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
        log_marginal_likelihood(parameters, distances, normalised(y), X.shape[1], known_noise)[0]
        for parameters in rng.uniform(LOWER, UPPER, size=(3000, 3))
    )
    assert evidence(found, X, y, 0.0 if standard_errors is None else standard_errors) >= best - 1e-3


@pytest.mark.parametrize("name", list(datasets()))
def test_fit_stays_within_the_box(name):
    X, y, standard_errors = datasets()[name]
    found = fit(X, y, np.random.default_rng(0), None, standard_errors)
    logs = np.log([found.decay, found.signal_variance, found.noise])
    assert np.all(logs >= LOWER - 1e-9)
    assert np.all(logs <= UPPER + 1e-9)


def test_fit_is_never_less_likely_than_the_previous_one():
    rng = np.random.default_rng(64)  # values whose evidence has two modes, of which random starts often miss the better
    n_items, count = int(rng.integers(4, 9)), int(rng.integers(3, 30))
    X = rng.permuted(np.tile(np.arange(n_items), (count, 1)), axis=1)
    y = rng.normal(size=(n_items, n_items))[np.arange(n_items), X].sum(axis=1)
    previous = max((fit(X, y, np.random.default_rng(seed)) for seed in range(8)), key=lambda h: evidence(h, X, y))
    for seed in range(12):
        found = fit(X, y, np.random.default_rng(seed), previous)
        assert evidence(found, X, y) >= evidence(previous, X, y) - 1e-6


def test_fit_does_not_depend_on_the_unit_of_the_values():
    X, y, standard_errors = datasets()["smooth with known noise"]
    found = fit(X, y, np.random.default_rng(0), None, standard_errors)
    scaled = fit(X, 8.0 * y - 256.0, np.random.default_rng(0), None, 8.0 * standard_errors)
    assert evidence(scaled, X, y, standard_errors) == pytest.approx(evidence(found, X, y, standard_errors), abs=1e-4)


@pytest.fixture
def data():
    X = shuffles(6, 15, 4)
    return X, assignment_values(X, 4), shuffles(6, 9, 5)


@pytest.mark.parametrize("errors", [False, True])
def test_posterior_is_that_of_the_direct_formulas(data, errors):
    X, y, Z = data
    standard_errors = np.random.default_rng(0).uniform(0.0, 5.0, size=15) if errors else None
    noise = H.noise + ((standard_errors / y.std()) ** 2 if errors else 0.0)
    mean, covariance = direct_posterior(X, normalised(y) - H.mean, noise, Z, H)
    process = GaussianProcess(X, y, H, standard_errors)
    found_mean, found_variance = process.predict(Z)
    np.testing.assert_allclose(found_mean, mean, atol=1e-11)
    np.testing.assert_allclose(found_variance, np.diag(covariance), atol=1e-11)
    np.testing.assert_allclose(process.posterior(Z, Z), covariance, atol=1e-11)
    np.testing.assert_allclose(process.posterior(Z[:2], Z), covariance[:2], atol=1e-11)


def test_prior_covariance_is_the_position_kernel(data):
    X, y, Z = data
    np.testing.assert_allclose(GaussianProcess(X, y, H).kernel(X, Z), prior(X, Z, H), rtol=1e-13)


@pytest.mark.parametrize("errors", [False, True])
def test_conditioning_on_values_equals_a_process_built_on_all_points(data, errors):
    X, y, Z = data
    new, new_values = shuffles(6, 3, 6), np.array([90.0, 120.0, 99.0])
    standard_errors = np.linspace(0.0, 4.0, 15) if errors else None
    known = (standard_errors / y.std()) ** 2 if errors else np.zeros(15)
    noise = H.noise + np.concatenate([known, np.zeros(3)])
    residuals = (np.concatenate([y, new_values]) - y.mean()) / y.std() - H.mean
    mean, covariance = direct_posterior(np.concatenate([X, new]), residuals, noise, Z, H)
    conditioned = GaussianProcess(X, y, H, standard_errors).condition(new, new_values)
    found_mean, found_variance = conditioned.predict(Z)
    np.testing.assert_allclose(found_mean, mean, atol=1e-10)
    np.testing.assert_allclose(found_variance, np.diag(covariance), atol=1e-11)
    np.testing.assert_allclose(conditioned.posterior(Z, Z), covariance, atol=1e-11)


def test_conditioning_without_values_keeps_the_mean_and_gives_the_variance_of_all_points(data):
    X, y, Z = data
    pending = shuffles(6, 4, 6)
    process = GaussianProcess(X, y, H)
    everywhere = np.concatenate([Z, X, pending])
    mean, variance = process.condition(pending).predict(everywhere)
    _, covariance = direct_posterior(np.concatenate([X, pending]), np.zeros(19), H.noise, everywhere, H)
    np.testing.assert_allclose(mean, process.predict(everywhere)[0], atol=1e-12)
    np.testing.assert_allclose(variance, np.diag(covariance), atol=1e-11)
    assert np.all(variance < process.predict(everywhere)[1])


@pytest.mark.parametrize("with_values", [False, True])
def test_a_chain_of_conditions_equals_one(data, with_values):
    X, y, Z = data
    new, values = shuffles(6, 5, 6), np.array([90.0, 120.0, 99.0, 101.0, 77.0])
    whole = GaussianProcess(X, y, H).condition(new, values if with_values else None)
    chained = GaussianProcess(X, y, H)
    for part in (slice(0, 1), slice(1, 3), slice(3, 5)):
        chained = chained.condition(new[part], values[part] if with_values else None)
    np.testing.assert_allclose(chained.predict(Z), whole.predict(Z), atol=1e-11)
    np.testing.assert_allclose(chained.posterior(Z, Z), whole.posterior(Z, Z), atol=1e-11)


def test_conditioning_leaves_the_original_as_it_was(data):
    X, y, Z = data
    process = GaussianProcess(X, y, H)
    before = process.predict(Z), process.posterior(Z, Z), process.X.copy()
    conditioned = process.condition(Z[:3], np.array([1.0, 2.0, 3.0])).condition(Z[3:5])
    assert len(conditioned.X) == 20
    np.testing.assert_equal((process.predict(Z), process.posterior(Z, Z), process.X), before)


def test_first_rows_of_the_whitened_points_give_the_posterior_before_conditioning(data):
    X, y, Z = data
    process = GaussianProcess(X, y, H)
    V = process.condition(shuffles(6, 4, 6)).whiten(Z)[: len(X)]
    np.testing.assert_allclose([process.mean_from(V), process.variance_from(V)], process.predict(Z), atol=1e-12)


def test_a_large_standard_error_takes_a_value_out(data):
    X, y, Z = data
    standard_errors = np.zeros(15)
    standard_errors[3] = 1e7 * y.std()
    others = np.arange(15) != 3
    mean, covariance = direct_posterior(X[others], normalised(y)[others] - H.mean, H.noise, Z, H)
    found_mean, found_variance = GaussianProcess(X, y, H, standard_errors).predict(Z)
    np.testing.assert_allclose(found_mean, mean, atol=1e-9)
    np.testing.assert_allclose(found_variance, np.diag(covariance), atol=1e-9)


def test_variance_is_positive_at_noiseless_data():
    X = np.array(list(itertools.permutations(range(5))))
    process = GaussianProcess(X, assignment_values(X), Hyperparameters(0.3, 2.0, 1e-16, 0.0))
    assert np.any(np.diag(process.posterior(X, X)) < 0)  # by rounding
    _, variance = process.predict(X)
    assert np.all(variance > 0)
    assert np.all(variance < 1e-9)


@pytest.mark.parametrize("count", [1, 2, 10])
def test_constant_values_are_predicted_everywhere(count):
    X = shuffles(5, count, 0)
    y = np.full(count, 12.5)
    process = GaussianProcess(X, y, fit(X, y, np.random.default_rng(0)))
    mean, variance = process.predict(shuffles(5, 20, 1))
    normalise = process.normalise
    np.testing.assert_allclose((mean * normalise.scale + normalise.location) * normalise.unit, 12.5)
    assert np.all(np.isfinite(variance))


@pytest.mark.parametrize("n_items", [1, 2])
def test_smallest_sizes_are_fitted_and_predicted(n_items):
    X = np.repeat(np.arange(n_items)[None], 3, axis=0)
    y = np.array([1.0, 2.0, 6.0])
    h = fit(X, y, np.random.default_rng(0))
    mean, covariance = direct_posterior(X, normalised(y) - h.mean, h.noise, X, h)
    found_mean, found_variance = GaussianProcess(X, y, h).predict(X)
    np.testing.assert_allclose(found_mean, mean, atol=1e-8)
    np.testing.assert_allclose(found_variance, np.diag(covariance), atol=1e-8)


def test_repeated_permutations_average_their_values():
    X = np.repeat(shuffles(5, 4, 0), 3, axis=0)
    y = assignment_values(X) + np.random.default_rng(0).normal(size=12)
    means = normalised(y).reshape(4, 3).mean(axis=1)
    mean, covariance = direct_posterior(X[::3], means - H.mean, H.noise / 3, X[::3], H)
    found_mean, found_variance = GaussianProcess(X, y, H).predict(X[::3])
    np.testing.assert_allclose(found_mean, mean, atol=1e-11)
    np.testing.assert_allclose(found_variance, np.diag(covariance), atol=1e-11)


def test_fit_finds_the_better_mode():
    rng = np.random.default_rng(64)
    n, m = int(rng.integers(4, 9)), int(rng.integers(3, 30))
    X = rng.permuted(np.tile(np.arange(n), (m, 1)), axis=1)
    y = rng.normal(size=(n, n))[np.arange(n), X].sum(axis=1)
    D, z = position_distances(X, X), Normalisation.of(y)(y)

    def ev(h):
        return log_marginal_likelihood(np.log([h.decay, h.signal_variance, h.noise]), D, z, n)[0]

    evs = np.array([ev(fit(X, y, np.random.default_rng(s))) for s in range(20)])
    assert evs.min() > evs.max() - 0.1, (evs > evs.max() - 0.1).mean()


each_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


def between(kernel, X1, X2):
    return kernel.distances(positions_of(X1), positions_of(X2))


def prior_of(kernel, X1, X2):
    return H.signal_variance * kernel.correlations(X1.shape[1], H.decay)[between(kernel, X1, X2)]


@each_kernel
def test_posterior_with_each_kernel_is_that_of_the_direct_formulas(kernel, data):
    X, y, Z = data
    new, new_values = shuffles(6, 3, 6), np.array([90.0, 120.0, 99.0])
    given = np.concatenate([X, new])
    residuals = (np.concatenate([y, new_values]) - y.mean()) / y.std() - H.mean
    for n in (15, 18):
        weights = prior_of(kernel, Z, given[:n]) @ np.linalg.inv(
            prior_of(kernel, given[:n], given[:n]) + H.noise * np.eye(n)
        )
        covariance = prior_of(kernel, Z, Z) - weights @ prior_of(kernel, given[:n], Z)
        process = GaussianProcess(X, y, H, kernel=kernel)
        process = process.condition(new, new_values) if n == 18 else process
        mean, variance = process.predict(Z)
        np.testing.assert_allclose(mean, H.mean + weights @ residuals[:n], atol=1e-10)
        np.testing.assert_allclose(variance, np.diag(covariance), atol=1e-11)
        np.testing.assert_allclose(process.posterior(Z[:2], Z), covariance[:2], atol=1e-11)


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
        value, _, mean = log_marginal_likelihood(log_parameters, between(kernel, X, X), normalised(y), 7, kernel=kernel)
        return value, mean

    value, mean = at(np.log([found.decay, found.signal_variance, found.noise]))
    assert (
        value >= max(at(p)[0] for p in np.random.default_rng(1).uniform(LOWER, UPPER, size=(7200 // count, 3))) - 1e-3
    )
    assert found.mean == pytest.approx(mean, abs=1e-9)
