import numpy as np
import pytest
from scipy.stats import multivariate_normal

from law_ray.kernels.distance import positions_of
from law_ray.models import evidence, fit_additive, fit_weighted_precedence
from law_ray.models.fit_weighted_precedence import MOST_TOTAL, WeightedPrecedenceEvidence
from law_ray.models.gp import GaussianProcess
from law_ray.space.permutations import sample
from tests.oracles.weighted_precedence import gram


def data(n=15, n_items=6, seed=0):
    rng = np.random.default_rng(seed)
    return sample(n_items, n, rng), rng.normal(size=n), rng.uniform(0, 0.1, n)


def parameters(evidence, seed=1):
    rng = np.random.default_rng(seed)
    return np.concatenate([np.log([0.5, 0.05, 0.02]), rng.normal(size=evidence.size - 3)])


def test_the_density_is_that_of_the_normal_at_its_best_mean_and_of_the_priors():
    X, y, known_noise = data()
    density = WeightedPrecedenceEvidence(X, y, known_noise)
    given = parameters(density)
    given[density.shares] -= np.log(np.mean(np.exp(given[density.shares])))  # so that the shares have sum 1
    value, _, mean = density(given)
    h = density.unpack(given)
    assert h.mean == pytest.approx(mean, abs=1e-6)
    covariance = gram(h, X, X) + np.diag(known_noise + h.noise)
    normal = [multivariate_normal(np.full(15, mean + shift), covariance).logpdf(y) for shift in (-0.1, 0.0, 0.1)]
    assert normal[1] > max(normal[0], normal[2])
    prior = -0.5 * (np.log(h.noise / 0.01) / 2) ** 2 - 0.5 * (np.log(h.unit * 6) / 1.5) ** 2
    prior -= 0.5 * np.sum(np.log(6 * np.array(h.item_shares)) ** 2)
    prior -= 0.5 * np.sum((np.log(h.item_weights) / 0.7) ** 2) + 0.5 * np.sum((np.log(h.pair_factors) / 1.5) ** 2)
    assert value == pytest.approx(normal[1] + prior, abs=1e-5)  # the factors have single precision


def test_the_gradient_is_that_of_finite_differences():
    density = WeightedPrecedenceEvidence(*data())
    for seed in range(3):
        given = parameters(density, seed)
        steps = 1e-5 * np.eye(density.size)
        numeric = [(density(given + e)[0] - density(given - e)[0]) / 2e-5 for e in steps]
        np.testing.assert_allclose(density(given)[1], numeric, rtol=0, atol=1e-6)


def test_packing_and_unpacking_are_inverse():
    density = WeightedPrecedenceEvidence(*data())
    h = density.unpack(parameters(density))
    again = density.unpack(density.pack(h))
    np.testing.assert_allclose(density.pack(again), density.pack(h), atol=1e-6)
    assert sum(h.item_shares) == pytest.approx(1)
    assert h == type(h).from_record(h.to_record())  # a resumed run goes on from the same numbers


def test_the_variances_of_the_items_parts_are_those_of_the_parameters():
    density = WeightedPrecedenceEvidence(*data())
    given = parameters(density)
    h = density.unpack(given)
    expected = np.exp(given[0] + given[density.shares]) / 6
    np.testing.assert_allclose(h.weight * np.array(h.item_shares), expected, rtol=1e-6)


def test_the_weights_of_each_item_are_bounded():
    density = WeightedPrecedenceEvidence(*data())
    given = parameters(density)
    given[2] = np.log(90.0)
    h = density.unpack(given)
    assert h.pair_weights.sum(axis=1).max() == pytest.approx(MOST_TOTAL)
    assert density.unpack(density.pack(h)).unit == pytest.approx(h.unit)


def completion_times(n=200, n_items=25, seed=0):
    """Sums of weighted completion times of jobs, a few of which are long and important."""
    rng = np.random.default_rng(seed)
    seconds, weights = rng.lognormal(0.0, 1.2, (2, n_items))
    X = sample(n_items, n, rng)
    return X, (weights[X] * np.cumsum(seconds[X], axis=1)).sum(axis=1), seconds, weights


def test_it_learns_which_items_matter_and_predicts_better_than_the_additive_kernel():
    for seed in range(2):
        X, y, seconds, weights = completion_times(seed=seed)
        additive = fit_additive.fit(X[:100], y[:100], np.random.default_rng(0))
        weighted = fit_weighted_precedence.fit(X[:100], y[:100])
        errors = []
        for h in (additive, weighted):
            process = GaussianProcess(X[:100], y[:100], h)
            errors.append(np.mean((process.predict(X[100:])[0] - process.standardize(y[100:])) ** 2))
        assert errors[1] < 0.7 * errors[0]
        # The cost is half the sum over pairs of (p_a w_b - p_b w_a) o(b, a), and a constant.
        sizes = np.abs(np.outer(seconds, weights) - np.outer(weights, seconds)).sum(axis=1)
        assert np.corrcoef(np.log(sizes), np.log(weighted.item_weights))[0, 1] > 0.8


def test_it_learns_which_pairs_matter_where_all_items_do():
    rng = np.random.default_rng(0)
    n_items, n = 16, 150
    X = sample(n_items, n + 100, rng)
    q = positions_of(X)
    pairs = rng.permutation(n_items).reshape(-1, 2)  # each item is in one pair that matters
    y = (q[:, pairs[:, 0]] < q[:, pairs[:, 1]]) @ rng.uniform(1, 2, len(pairs))
    models = (
        fit_additive.fit(X[:n], y[:n], np.random.default_rng(0)),
        fit_weighted_precedence.fit(X[:n], y[:n]),
    )
    errors = []
    for h in models:
        process = GaussianProcess(X[:n], y[:n], h)
        errors.append(np.mean((process.predict(X[n:])[0] - process.standardize(y[n:])) ** 2))
    assert errors[1] < 0.05 * errors[0]
    matrix = models[1].pair_weights
    largest = np.column_stack(np.unravel_index(np.argsort(-np.triu(matrix), axis=None)[: len(pairs)], matrix.shape))
    assert {frozenset(pair) for pair in largest.tolist()} == {frozenset(pair) for pair in pairs.tolist()}


def test_a_fit_after_another_one_is_no_worse_than_that():
    X, y, *_ = completion_times()
    first = fit_weighted_precedence.fit(X[:100], y[:100])
    standardize = GaussianProcess(X[:120], y[:120], first).standardize
    density = WeightedPrecedenceEvidence(X[:120], standardize(y[:120]), np.zeros(120))
    again = fit_weighted_precedence.fit(X[:120], y[:120], first)
    assert density(density.pack(again))[0] > density(density.pack(first))[0]


def test_standard_errors_are_noise():
    X, y, *_ = completion_times()
    noisy = y + np.where(np.arange(200) % 2, 3.0, 0.0) * y.std() * np.random.default_rng(0).normal(size=200)
    errors = np.where(np.arange(200) % 2, 3.0, 0.0) * y.std()
    X_new = sample(25, 50, np.random.default_rng(1))
    predicted = []
    for given in (None, errors):
        h = fit_weighted_precedence.fit(X, noisy, standard_errors=given)
        process = GaussianProcess(X, noisy, h, given)
        predicted.append(process.standardize.inverse(process.predict(X_new)[0]))
    truth = GaussianProcess(X, y, fit_weighted_precedence.fit(X, y))
    truth = truth.standardize.inverse(truth.predict(X_new)[0])
    without, with_errors = (np.mean((each - truth) ** 2) for each in predicted)
    assert with_errors < 0.5 * without


def test_repeats_whose_values_differ_are_noise():
    X = np.repeat(sample(11, 8, np.random.default_rng(0)), 10, axis=0)
    h = fit_weighted_precedence.fit(X, np.random.default_rng(1).normal(size=80))
    assert h.noise > 0.7
    assert h.weight < 0.5


@pytest.mark.parametrize(
    ("n", "n_items", "fresh", "warm"),
    [(50, 12, 40, 20), (500, 45, 29, 20), (500, 60, 16, 16)],  # 6e10 / (4 n^2 n_items^2) at most
)
def test_a_fit_starts_at_the_one_before_and_takes_as_many_steps_as_time_allows(monkeypatch, n, n_items, fresh, warm):
    asked = []

    def maximised(density, n, bounds, starts):
        asked.append((density, n, bounds, *starts[0]))
        return starts[0][0] + 0.1

    monkeypatch.setattr(fit_weighted_precedence, "maximised", maximised)
    X, errors = sample(n_items, n, np.random.default_rng(0)), np.linspace(0, 1, n)
    y = X[:, 0] + 0.1 * errors
    first = fit_weighted_precedence.fit(X, y, None, errors)
    fit_weighted_precedence.fit(X, y, first)
    density, n_given, bounds, start, steps = asked[0]
    assert (n_given, steps, asked[1][4]) == (n, fresh, warm)
    np.testing.assert_allclose(np.exp(start[:3]), [1.0, 0.001, 1.0 / n_items])
    assert not start[3:].any()
    np.testing.assert_allclose(density._known_noise, (errors / y.std()) ** 2)
    np.testing.assert_array_equal(asked[1][3], asked[1][0].pack(first))
    assert bounds is density.bounds
    assert np.isfinite(bounds).all()


def test_of_many_values_a_part_is_fitted_with_the_best(monkeypatch):
    X, y, *_ = completion_times()
    monkeypatch.setattr(fit_weighted_precedence, "N_FIT", 60)
    given = []
    of = WeightedPrecedenceEvidence.__init__

    def noted(self, X, y, known_noise):
        given.append(X)
        of(self, X, y, known_noise)

    monkeypatch.setattr(WeightedPrecedenceEvidence, "__init__", noted)
    fit_weighted_precedence.fit(X, y)
    kept = {tuple(row) for row in given[0].tolist()}
    assert len(kept) == 60
    assert kept >= {tuple(row) for row in X[np.argsort(y)[:30]].tolist()}
    assert evidence.N_FIT == 500
