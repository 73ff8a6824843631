import functools
import re
import warnings

import numpy as np
import pytest

from law_ray import InputError, Optimizer
from law_ray.acquisition.landscape import Landscape
from law_ray.acquisition.local_search import climb
from law_ray.errors import UsedUpError
from law_ray.kernels.additive import AdditiveHyperparameters
from law_ray.kernels.distance import DistanceHyperparameters
from law_ray.methods import mace
from law_ray.methods.registry import METHODS
from law_ray.models import prior_mean
from law_ray.models.gp import GaussianProcess
from law_ray.models.prior_mean import PriorMean
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import invert, sample
from tests.oracles.orderings import everything, moved
from tests.oracles.plain_law import neighbours

N_ITEMS = 9
COSTS = np.random.default_rng(5).normal(50.0, 9.0, size=(N_ITEMS, N_ITEMS))
H = DistanceHyperparameters(decay=1.3, signal_variance=0.8, noise=0.05, mean=0.2)
ADDITIVE = AdditiveHyperparameters({"position": [0.5, 1.0], "adjacency": [0.3, 0.2, 0.1, 0.1]}, 0.05, 0.2)
each_model = pytest.mark.parametrize("model", [H, ADDITIVE], ids=["position", "additive"])


def proxy(permutations):
    """A linear assignment."""
    return COSTS[np.arange(permutations.shape[1]), permutations].sum(axis=1)


def objective(permutations):
    """What the proxy does not know is smooth in the positions."""
    return 3.0 * proxy(permutations) + 20.0 * np.sin(invert(permutations)[:, 0]) + 1_000.0


def problem(n=40, seed=0):
    X = sample(N_ITEMS, n, np.random.default_rng(seed))
    return X, objective(X)


@pytest.mark.parametrize("n", [5, 40])
def test_the_weight_is_that_of_generalised_least_squares(n):
    X, y = problem(n)
    process = GaussianProcess(X, y, H)
    A = process.kernel(X, X) + H.noise * np.eye(n)
    basis = np.column_stack([np.ones(n), proxy(X)])
    precision = np.linalg.inv(A)
    expected = np.linalg.solve(basis.T @ precision @ basis, basis.T @ precision @ y)[1]
    found = prior_mean.fit(proxy, X, y, process.decorrelate)
    assert found.weight == pytest.approx(expected, rel=1e-9)
    assert found.centre == pytest.approx(proxy(X).mean(), rel=1e-12)
    assert found(X).mean() == pytest.approx(0.0, abs=1e-9)


def test_a_proxy_counts_only_if_it_raises_the_likelihood_by_schwarzs_criterion():
    """By the maximal likelihoods of both models, with independent errors."""
    rng = np.random.default_rng(1)
    X = sample(N_ITEMS, 30, rng)
    used = set()
    for share in np.linspace(0.0, 1.5, 40):
        y = share * proxy(X) / proxy(X).std() + rng.normal(size=30)
        basis = np.column_stack([np.ones(30), proxy(X)])
        left = [np.sum((y - b @ np.linalg.lstsq(b, y, rcond=None)[0]) ** 2) for b in (basis[:, :1], basis)]
        gain = -0.5 * 30 * (np.log(left[1]) - np.log(left[0]))
        found = prior_mean.fit(proxy, X, y, lambda errors: errors)
        assert (found is not None) == (gain >= 0.5 * np.log(30))
        used.add(found is not None)
    assert used == {True, False}


def test_a_useless_proxy_is_mostly_left_out():
    """As often as Schwarz's criterion lets chance pass: where a standard normal exceeds sqrt(log n) in size."""
    rng = np.random.default_rng(2)
    X = sample(N_ITEMS, 100, rng)
    fits = [prior_mean.fit(proxy, X, rng.normal(size=100), lambda errors: errors) for _ in range(2000)]
    assert np.mean([found is not None for found in fits]) == pytest.approx(0.0318, abs=0.015)


@pytest.mark.parametrize("values", [lambda p: np.zeros(len(p)), lambda p: np.full(len(p), 1e9)])
def test_a_constant_proxy_or_constant_values_give_none(values):
    X, y = problem()
    assert prior_mean.fit(values, X, y, lambda errors: errors) is None
    assert prior_mean.fit(proxy, X, values(X), lambda errors: errors) is None


@each_model
def test_the_process_is_that_of_what_the_prior_mean_leaves(model):
    X, y = problem()
    Z = sample(N_ITEMS, 7, np.random.default_rng(9))
    mean = PriorMean(proxy, 2.5)
    process = GaussianProcess(X, y, model, prior_mean=mean)
    plain = GaussianProcess(X, y - 2.5 * proxy(X), model)
    predicted, variance = process.predict(Z)
    raw = (plain.predict(Z)[0] * np.std(y - 2.5 * proxy(X))) + np.mean(y - 2.5 * proxy(X)) + 2.5 * proxy(Z)
    in_units = process.standardize(raw)
    np.testing.assert_allclose(predicted, in_units, atol=1e-9)
    np.testing.assert_array_equal(variance, plain.predict(Z)[1])
    given, plain = process.condition(Z), plain.condition(Z)
    others = sample(N_ITEMS, 20, np.random.default_rng(10))
    raw = plain.standardize.inverse(plain.predict(others)[0]) + 2.5 * proxy(others)
    np.testing.assert_allclose(given.predict(others)[0], given.standardize(raw), atol=1e-9)
    np.testing.assert_array_equal(given.predict(others)[1], plain.predict(others)[1])
    assert np.all(given.predict(others)[1] < process.predict(others)[1])


@each_model
@pytest.mark.parametrize("before", [[], [(0, 1), (4, 2)]], ids=["free", "constrained"])
def test_a_climb_ends_where_no_neighbour_is_better_by_direct_prediction(model, before):
    X, y = problem()
    constraints = Constraints(N_ITEMS, before)
    process = GaussianProcess(X, y, model, prior_mean=PriorMean(proxy, 2.5))
    landscape = Landscape(process, process, lambda mean, variance, given: np.sqrt(variance) - mean)
    starts = constraints.sample(4, np.random.default_rng(3))
    ends, values = climb(landscape, starts, Exclusions(None, X), constraints)
    mean, variance = process.predict(ends)
    np.testing.assert_allclose(values, np.sqrt(variance) - mean, atol=1e-8)
    moves = neighbours(ends[0]) if model is H else moved(ends[0])
    moves = np.array([m for m in moves[constraints.allows(moves)] if m not in Exclusions(None, X)])
    mean, variance = process.predict(moves)
    assert (np.sqrt(variance) - mean).max() <= values[0] + 1e-8


def asked(method, size=5, n_init=15, **options):
    optimizer = Optimizer(N_ITEMS, method, seed=1, n_init=n_init, **options)
    sign = -1.0 if options.get("maximize") else 1.0
    for trial in optimizer.ask(n_init):
        optimizer.tell(trial.id, sign * objective(trial.permutation[None])[0])
    return optimizer, optimizer.ask(size)


@pytest.mark.parametrize(
    ("method", "maximize"),
    [("law-est", True), *((m, False) for m in METHODS if m not in ("ga", "random") and "local" not in m)],
)
def test_the_first_batch_of_every_model_reaches_a_value_near_the_optimum_as_it_does_not_without_the_proxy(
    method, maximize, monkeypatch
):
    """Of 15 values the weight is known well enough for one of the five best of 100,000 random permutations."""
    monkeypatch.setattr(mace, "N_GENERATIONS", 10)  # quick, and enough here
    sign = -1.0 if maximize else 1.0
    _, with_proxy = asked(method, maximize=maximize, prior_mean=lambda p: sign * proxy(p))
    _, without = asked(method, maximize=maximize)
    best = [min(objective(trial.permutation[None])[0] for trial in batch) for batch in (with_proxy, without)]
    assert best[0] < everywhere()[5]
    assert best[0] < best[1]


@functools.cache
def everywhere():
    """Return the values at 100,000 random permutations, the best first."""
    return np.sort(objective(sample(N_ITEMS, 100_000, np.random.default_rng(0))))


def test_a_proxy_of_another_unit_or_sign_makes_the_same_proposals():
    batches = [
        [tuple(t.permutation.tolist()) for t in asked("law-est", prior_mean=other)[1]]
        for other in (
            proxy,
            lambda p: 1e-6 * proxy(p) + 3.0,
            lambda p: -1e5 * proxy(p),
            lambda p: proxy(p) + 1e8,
            lambda p: 1e300 * proxy(p),
            lambda p: 1e-300 * proxy(p),
        )
    ]
    assert all(batch == batches[0] for batch in batches)


def test_a_proxy_whose_weight_or_differences_are_not_finite_is_of_no_use():
    X, y = problem()
    for other, values in (
        (lambda p: 1e-300 * proxy(p), 1e200 * y),
        (lambda p: 1e306 * (proxy(p) - 450.0), 1e5 * y),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = prior_mean.fit(other, X, values, lambda errors: errors)
        assert found is None or np.isfinite(found(X)).all()


def test_a_useless_proxy_makes_the_proposals_that_none_makes():
    def useless(permutations):
        return np.zeros(len(permutations))

    batches = [
        [tuple(t.permutation.tolist()) for t in asked("law-auto", **options)[1]]
        for options in ({}, {"prior_mean": useless})
    ]
    assert batches[0] == batches[1]


@pytest.mark.parametrize("method", ["law-est", "law-auto", "q-ei"])
def test_a_perfect_proxy_is_followed_to_the_optimum(method):
    optimizer = Optimizer(7, method, seed=1, n_init=10, prior_mean=perfect)
    for size in (10, 5, 5):
        for trial in optimizer.ask(size):
            optimizer.tell(trial.id, perfect(trial.permutation[None])[0])
    assert optimizer.best.value == perfect(everything(7)).min()


def perfect(permutations):
    return COSTS[np.arange(7), permutations].sum(axis=1)


@pytest.mark.parametrize("model", ["law-est", "law-auto"])
def test_the_space_can_be_used_up_with_a_proxy(model):
    optimizer = Optimizer(3, model, seed=0, n_init=2, prior_mean=lambda p: p[:, 0].astype(float))
    for size in (2, 2, 2):
        for trial in optimizer.ask(size):
            optimizer.tell(trial.id, float(trial.permutation[0]))
    with pytest.raises(UsedUpError):
        optimizer.ask(1)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (lambda p: p.sum(), r"the shape \(\) for 2 permutations: return one finite number for each"),
        (lambda p: np.zeros((len(p), 1)), r"the shape \(2, 1\)"),
        (lambda p: np.full(len(p), np.nan), "returned values that are not finite for 2"),
        (lambda p: p["a"], "the prior mean failed (IndexError"),
    ],
)
def test_a_proxy_that_returns_anything_else_is_refused_in_one_line_at_once(bad, message):
    with pytest.raises(InputError, match=message if message.startswith("the shape") else re.escape(message)) as caught:
        Optimizer(N_ITEMS, prior_mean=bad)
    assert "\n" not in str(caught.value)


def test_a_proxy_cannot_change_the_points():
    def vandal(permutations):
        values = proxy(permutations)
        permutations[:] = 0
        return values

    _, batch = asked("law-est", prior_mean=vandal)
    assert all(sorted(trial.permutation.tolist()) == list(range(N_ITEMS)) for trial in batch)
