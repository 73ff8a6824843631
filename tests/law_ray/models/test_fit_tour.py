import numpy as np
import pytest
from scipy.stats import multivariate_normal

from law_ray.kernels.tour import TourHyperparameters
from law_ray.models import evidence, fit_additive, fit_tour
from law_ray.models.fit_tour import DEVIATION, LEAST_NOISE, LEAST_WEIGHT, TourEvidence
from law_ray.models.gp import GaussianProcess
from law_ray.space.permutations import sample
from tests.oracles.tour import gram


def data(n=15, n_items=6, seed=0):
    rng = np.random.default_rng(seed)
    return sample(n_items, n, rng), rng.normal(size=n), rng.uniform(0, 0.1, n)


def parameters(evidence, seed=1):
    rng = np.random.default_rng(seed)
    return np.concatenate([np.log([0.5, 0.7, 0.05]), rng.normal(size=evidence.size - 3)])


def test_the_density_is_that_of_the_normal_at_its_best_mean_and_of_the_priors():
    X, y, known_noise = data()
    evidence = TourEvidence(X, y, known_noise)
    given = parameters(evidence)
    value, _, mean = evidence(given)
    h = evidence.unpack(given)
    assert h.mean == mean
    covariance = gram(h, X, X) + np.diag(known_noise + h.noise)
    density = [multivariate_normal(np.full(15, mean + shift), covariance).logpdf(y) for shift in (-0.1, 0.0, 0.1)]
    assert density[1] > max(density[0], density[2])
    prior = -0.5 * np.sum((np.array(h.vectors) / DEVIATION) ** 2)
    prior -= 0.5 * np.log(np.array(h.weights) + LEAST_WEIGHT).sum() + 0.5 * (np.log(h.noise / 0.01) / 2) ** 2
    assert value == pytest.approx(density[1] + prior, abs=1e-8)


def test_the_gradient_is_that_of_finite_differences():
    X, y, known_noise = data()
    evidence = TourEvidence(X, y, known_noise)
    for seed in range(3):
        given = parameters(evidence, seed)
        steps = 1e-5 * np.eye(evidence.size)
        numeric = [(evidence(given + e)[0] - evidence(given - e)[0]) / 2e-5 for e in steps]
        np.testing.assert_allclose(evidence(given)[1], numeric, rtol=0, atol=1e-6)


def test_packing_and_unpacking_are_inverse():
    X, y, known_noise = data()
    evidence = TourEvidence(X, y, known_noise)
    given = parameters(evidence)
    np.testing.assert_allclose(evidence.pack(evidence.unpack(given)), given, atol=1e-12)


def tours(n_items=20, n=160, seed=0):
    """Tours through random cities, each some swaps from a short one, and their lengths."""
    rng = np.random.default_rng(seed)
    cities = rng.random((n_items, 2))
    D = np.linalg.norm(cities[:, None] - cities[None], axis=2)
    angles = np.argsort(np.arctan2(*(cities - 0.5).T))
    X = np.tile(angles, (n, 1))
    for row in X:
        for _ in range(rng.integers(1, 12)):
            i, j = rng.choice(n_items, 2, replace=False)
            row[[i, j]] = row[[j, i]]
    return X, D[X, np.roll(X, -1, axis=1)].sum(axis=1)


def test_it_learns_from_tours_what_the_additive_kernel_does_not():
    for seed in range(2):
        X, y = tours(seed=seed)
        errors = {}
        for fit in (fit_additive.fit, fit_tour.fit):
            process = GaussianProcess(X[:80], y[:80], fit(X[:80], y[:80], np.random.default_rng(0)))
            errors[fit] = np.mean((process.predict(X[80:])[0] - process.standardize(y[80:])) ** 2)
        assert errors[fit_tour.fit] < 0.5 * errors[fit_additive.fit]


def test_a_fit_after_another_one_is_no_worse_than_that_or_than_a_first_one():
    X, y = tours(n=60)
    first = fit_tour.fit(X, y, np.random.default_rng(0))
    again = fit_tour.fit(X, y, np.random.default_rng(1), first)
    alone = fit_tour.fit(X, y, np.random.default_rng(1))
    z = (y - y.mean()) / y.std()
    evidence = TourEvidence(X, z, np.zeros(60))
    reached = {name: evidence(evidence.pack(h))[0] for name, h in (("first", first), ("alone", alone))}
    assert evidence(evidence.pack(again))[0] >= max(reached.values()) - 1e-6
    assert again.noise >= LEAST_NOISE * (1 - 1e-9)


def test_a_fit_gets_away_from_a_previous_one_that_explains_nothing():
    X, y = tours(n_items=8, n=30)
    far = TourHyperparameters([1e-6, 1e-6], np.zeros((8, 3)).tolist(), 1.0, 0.0)  # where the gradient is zero
    found = fit_tour.fit(X, y, np.random.default_rng(1), far)
    density = TourEvidence(X, (y - y.mean()) / y.std(), np.zeros(30))
    assert density(density.pack(found))[0] > density(density.pack(far))[0] + 10.0


def test_steps_are_fewer_the_more_they_cost(monkeypatch):
    made = []

    def spy(density, n, bounds, starts):
        made.append([steps for _, steps in starts])
        assert all(np.all((bounds[:, 0] < start) & (start < bounds[:, 1])) for start, _ in starts)
        return starts[0][0]

    monkeypatch.setattr(fit_tour, "maximised", spy)
    for n, n_items in ((60, 20), (200, 60), (200, 100), (600, 100), (300, 200)):
        X, y = tours(n_items, n)
        first = fit_tour.fit(X, y, np.random.default_rng(0))
        fit_tour.fit(X, y, np.random.default_rng(0), first)
    assert made[0::2] == [[60], [60], [60], [60], [24]]
    assert made[1::2] == [[60, 15], [60, 15], [15], [15], [12]]


def test_a_fit_depends_on_its_seed_alone_and_uses_a_part_of_many_points(monkeypatch):
    X, y = tours(n=60)
    fits = [fit_tour.fit(X, y, np.random.default_rng(seed)) for seed in (0, 0, 1)]
    assert fits[0] == fits[1] != fits[2]
    monkeypatch.setattr(evidence, "N_FIT", 40)
    part = fit_tour.fit(X, y, np.random.default_rng(0))
    assert part != fits[0]


def test_values_with_large_standard_errors_have_no_influence():
    X, y = tours(n=80)
    wrong = y.copy()
    wrong[:10] += 50.0
    errors = np.where(np.arange(80) < 10, 1e6, 0.0)
    process = GaussianProcess(X, wrong, fit_tour.fit(X, wrong, np.random.default_rng(0), None, errors), errors)
    rest = process.predict(X[10:])[0] - process.standardize(wrong[10:])
    assert np.abs(rest).max() < 0.1


def test_a_fresh_start_has_vectors_of_the_given_length_and_lies_within_the_bounds(monkeypatch):
    seen = []
    monkeypatch.setattr(
        fit_tour, "maximised", lambda density, n, bounds, starts: seen.append((bounds, starts)) or starts[0][0]
    )
    X = sample(100, 20, np.random.default_rng(0))
    fit_tour.fit(X, np.arange(20.0), np.random.default_rng(1))
    ((bounds, ((start, _),)),) = seen
    np.testing.assert_allclose(np.exp(start[:3]), [0.1, 0.3, 0.01])
    assert np.sqrt((start[3:].reshape(100, 3) ** 2).sum(axis=1).mean()) == pytest.approx(1.5, rel=0.1)
    np.testing.assert_allclose(np.exp(bounds[:3]), [[1e-6, 100.0], [1e-6, 100.0], [1e-3, 2.0]])
    assert (bounds[3:] == [-30.0, 30.0]).all()
