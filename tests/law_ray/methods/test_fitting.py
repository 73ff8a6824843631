import numpy as np
import pytest

from law_ray.methods import fitting
from law_ray.methods.registry import POSITION_MODEL, Model
from law_ray.models.gp import GaussianProcess
from law_ray.space.permutations import sample
from law_ray.utils import algebra
from law_ray.utils.seeding import generator
from tests.oracles.plain_law import PlainLaw

X = sample(7, 50, generator(0, "X", 0))
Y = np.abs(X - np.arange(7)).sum(axis=1) + 0.1 * np.arange(50)
ERRORS = np.arange(50) / 10.0


def half(permutations):
    """Return a part of the values, as a proxy."""
    return np.abs(permutations - np.arange(7))[:, :4].sum(axis=1)


def useless(permutations):
    """Return a proxy that has nothing to do with the values."""
    return permutations[:, 0] % 2 + 0.01 * permutations[:, 3]


def plain_weight(last):
    """Return the weight of `half` by generalised least squares: the covariance is the last fit's, with all noise."""
    noise = np.diag(last.noise + (ERRORS / Y.std()) ** 2)
    precision = np.linalg.inv(PlainLaw(X, Y, last).prior(X, X) + noise)
    basis = np.column_stack([np.ones(len(X)), half(X)])
    return np.linalg.solve(basis.T @ precision @ basis, basis.T @ precision @ Y)[1]


def test_the_process_has_the_values_and_the_fit_of_the_model():
    process = fitting.fitted(POSITION_MODEL, X, Y, ERRORS, generator(0, "fit", 0))
    assert process.hyperparameters == POSITION_MODEL.fit(X, Y, generator(0, "fit", 0), None, ERRORS)
    np.testing.assert_array_equal(process.X, X)
    assert not process.has_prior_mean
    others, expected = sample(7, 9, generator(1, "X", 0)), GaussianProcess(X, Y, process.hyperparameters, ERRORS)
    np.testing.assert_array_equal(process.predict(others), expected.predict(others))


def test_of_many_values_the_model_gets_the_best_and_some_of_the_others(monkeypatch):
    given = {}

    def spy(X, y, rng, previous, standard_errors):
        given.update(X=X, y=y, standard_errors=standard_errors)
        return POSITION_MODEL.fit(X, y, rng, previous, standard_errors)

    monkeypatch.setattr(fitting, "MAX_POINTS", 30)
    process = fitting.fitted(Model(spy, POSITION_MODEL.read), X, Y, ERRORS, generator(0, "fit", 0))
    rows = np.rint(10.0 * given["standard_errors"]).astype(int)
    assert len(set(rows.tolist())) == 30
    assert set(np.argsort(Y, kind="stable")[:15].tolist()) <= set(rows.tolist())
    for got, whole in ((given["X"], X), (given["y"], Y), (process.X, X)):
        np.testing.assert_array_equal(got, whole[rows])


def test_on_a_gpu_the_process_gets_more_of_the_values(monkeypatch):
    devices = {"cpu": algebra.CPU, "cuda": algebra.Device(where="a GPU")}
    monkeypatch.setattr(algebra, "device", devices.__getitem__)
    monkeypatch.setattr(fitting, "MAX_POINTS", 30)
    monkeypatch.setattr(fitting, "MAX_POINTS_OF_GPU", 40)
    for device, size in (("cpu", 30), ("cuda", 40)):
        process = fitting.fitted(POSITION_MODEL, X, Y, ERRORS, generator(0, "fit", 0), device=device)
        assert len(process.X) == size


def test_the_model_is_fitted_to_what_a_useful_proxy_leaves():
    fits = []

    def spy(X, y, rng, previous, standard_errors):
        fits.append(y)
        return POSITION_MODEL.fit(X, y, rng, previous, standard_errors)

    process = fitting.fitted(Model(spy, POSITION_MODEL.read), X, Y, ERRORS, generator(0, "fit", 0), proxy=half)
    slope = np.polyfit(half(X), Y, 1)[0]
    np.testing.assert_allclose(fits[0], Y - slope * (half(X) - half(X).mean()), atol=1e-9)
    assert process.has_prior_mean
    plain = fitting.fitted(POSITION_MODEL, X, Y, ERRORS, generator(0, "fit", 0), proxy=useless)
    assert not plain.has_prior_mean


def test_after_the_first_fit_the_last_one_weights_the_proxy_and_is_where_the_next_fit_starts():
    given = []

    def spy(*arguments):
        given.extend(arguments)
        return POSITION_MODEL.fit(*arguments)

    last = POSITION_MODEL.fit(X, Y, generator(0, "fit", 0), None, ERRORS)
    fitting.fitted(Model(spy, POSITION_MODEL.read), X, Y, ERRORS, generator(0, "fit", 0), last, half)
    _, y, _, previous, errors = given
    assert previous is last
    np.testing.assert_array_equal(errors, ERRORS)
    np.testing.assert_allclose(y, Y - plain_weight(last) * (half(X) - half(X).mean()), atol=1e-8)


@pytest.mark.parametrize("proxy", [None, useless])
def test_no_proxy_or_one_of_no_use_has_no_weight(proxy):
    assert fitting.weighted(proxy, X, Y, ERRORS, None) is None


def test_the_weight_given_the_last_fit_is_that_for_correlated_values():
    first = fitting.weighted(half, X, Y, ERRORS, None)
    previous = POSITION_MODEL.fit(X, Y, generator(0, "fit", 0), None, ERRORS)
    second = fitting.weighted(half, X, Y, ERRORS, previous)
    assert first.weight == pytest.approx(np.polyfit(half(X), Y, 1)[0])
    assert second.weight == pytest.approx(plain_weight(previous), rel=1e-9)
    assert abs(second.weight - first.weight) > 1e-3
