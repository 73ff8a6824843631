import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import invgamma, ks_1samp, ks_2samp

from law_ray.kernels.weighted_precedence import symmetric as symmetric_of
from law_ray.models.pairwise import gibbs
from law_ray.models.pairwise.chain import FIRST_NOISE, Chain, Kind, LowRank
from law_ray.models.pairwise.ensemble import Ensemble
from law_ray.models.pairwise.gibbs import LEAST_NOISE, N_ANNEALED, N_DENSE, N_FLAT, Data
from law_ray.models.pairwise.regression import Regression
from law_ray.models.pairwise.templates import Template
from law_ray.space.permutations import invert, sample
from tests.oracles.pairwise import low_rank_of, symmetric, value


def data(n_items, n, seed=0, known_noise=0.0, deviation=0.0):
    """Return data of a random F and D, and a function that gives their standardized values elsewhere."""
    rng = np.random.default_rng(seed)
    F, D, X = symmetric(rng, n_items), symmetric(rng, n_items), sample(n_items, n, rng)
    y = np.array([value(F, D, 0.0, x) for x in X])
    location, scale = y.mean(), y.std()
    z = (y - location) / scale + deviation * rng.normal(size=n)
    known = np.broadcast_to(known_noise, n)
    return Data.of(X, z, known), lambda others: (np.array([value(F, D, 0.0, x) for x in others]) - location) / scale


def some_chain(n_items, sweeps=N_FLAT, kind=Kind.ANY):
    rng = np.random.default_rng(0)
    start = Chain.start(n_items, kind, rng)
    if kind.sparse:
        scales = rng.uniform(0.1, 10.0, len(start.places))
        start = replace(start, items_prior=replace(start.items_prior, local_scales=scales))
    return replace(start, noise=0.2, sweeps=sweeps)


# the chains


@pytest.mark.parametrize("kind", Kind)
def test_a_chain_survives_json_and_continues_with_the_same_numbers(kind):
    given, _ = data(8, 40)
    chain, _ = gibbs.advance(Chain.start(8, kind, np.random.default_rng(1)), given, 3, np.random.default_rng(2))
    again = Chain.from_record(json.loads(json.dumps(chain.to_record())))
    assert again == chain
    ends = [gibbs.advance(each, given, 8, np.random.default_rng(3)) for each in (chain, again)]
    assert ends[0][0] == ends[1][0] != chain
    for first, second in zip(ends[0][1], ends[1][1], strict=True):
        np.testing.assert_array_equal(first.items, second.items)


@pytest.mark.parametrize("kind", Kind)
def test_places_have_mean_square_one_and_draws_are_symmetric_with_zero_diagonals(kind):
    given, _ = data(9, 50)
    rng = np.random.default_rng(0)
    template = Template.of("", symmetric(rng, 9), False, 50) if kind.knows_places else None
    chain, draws = gibbs.advance(Chain.start(9, kind, rng, 50, template), given, 12, rng)
    assert np.mean(chain.places**2) == pytest.approx(1.0, rel=1e-6)
    for matrix in (draws[-1].items, draws[-1].places):
        np.testing.assert_array_equal(matrix, matrix.T)
        np.testing.assert_array_equal(np.diag(matrix), 0.0)


def test_the_annealed_noise_falls_from_its_first_level_to_its_floor():
    levels = [gibbs.annealed(sweeps) for sweeps in range(N_ANNEALED + 50)]
    assert levels[0] < FIRST_NOISE
    assert np.all(np.diff(levels[:N_ANNEALED]) < 0)
    np.testing.assert_allclose(levels[N_ANNEALED - 1 :], LEAST_NOISE)


# one matrix given the other


@pytest.mark.parametrize("n", [9, 40], ids=["fewer values than pairs", "more values than pairs"])
@pytest.mark.parametrize("sweeps", [0, N_FLAT], ids=["flat", "low rank"])
@pytest.mark.parametrize("kind", Kind)
def test_the_mean_of_the_items_is_that_of_the_regression_solved_directly(n, sweeps, kind):
    """Directly: the normal equations of weights and constant, with values of different noise."""
    known_noise = np.random.default_rng(1).uniform(0.1, 2.0, n)
    given, _ = data(7, n, known_noise=known_noise)
    chain = some_chain(7, sweeps, kind)
    i, j = np.triu_indices(7, 1)
    D = symmetric_of(chain.places, 7)
    A = np.column_stack([D[given.q[:, i], given.q[:, j]] / np.sqrt(21), np.ones(n)])
    prior = chain.items_prior
    low_rank = np.array(low_rank_of(prior)) * (sweeps >= N_FLAT)
    scales = np.ones(21) if prior.local_scales is None else prior.local_scales
    precision = np.diag([*(1 / (prior.residual * scales)), 0.0])
    weights = 1.0 / (chain.noise + known_noise)
    right = A.T @ (weights * given.z) + precision @ [*low_rank, 0.0]
    expected = np.linalg.solve(A.T @ (weights[:, None] * A) + precision, right)
    found = gibbs.mean_items(chain, given)
    np.testing.assert_allclose(found.items[i, j] * np.sqrt(21), expected[:-1], rtol=1e-5, atol=1e-7)
    assert found.constant == pytest.approx(expected[-1], rel=1e-5)


@pytest.mark.parametrize("n", [6, 30])
def test_drawn_matrices_have_the_posterior_mean_and_covariance(n):
    given, _ = data(5, n)
    chain = some_chain(5, 0)
    noise = 0.2 + given.known_noise
    regression = Regression.of(chain.places, given.q, given.z, noise)
    rng = np.random.default_rng(0)
    draws = np.array([gibbs._draw_matrix(regression, chain.items_prior, 0, rng)[0] for _ in range(4000)])
    A, z = regression.A, regression.z
    covariance = np.linalg.inv(A.T @ A + np.eye(10) / chain.items_prior.residual)
    mean, deviation = covariance @ A.T @ z, np.sqrt(np.diag(covariance))
    assert np.abs((draws.mean(axis=0) - mean) / deviation).max() < 4.5 / np.sqrt(4000)
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.1 * covariance.diagonal().max())


@pytest.mark.parametrize(
    ("signs", "sparse"),
    [((1, -1, 1, -1, 1, -1), False), ((0, 1, 1), False), ((0,), True)],
    ids=["any", "distances", "sums and sparse"],
)
def test_steps_of_the_sampler_leave_the_joint_distribution_of_matrix_prior_and_values_unchanged(signs, sparse):
    """From a draw of the joint distribution, steps lead to another draw of it (Geweke, "Getting it right", 2004).

    Residual and widths are 1 / gamma(0.5, rate 0.5) and 1 / gamma(0.5, rate 0.5 / rank), and local scales squares of
    half-Cauchy variables. The noise has variance 1.
    """
    n_items, n, n_runs, n_steps, rank = 4, 5, 2000, 4, len(signs)
    rng = np.random.default_rng(0)
    A = rng.normal(size=(n, 6))

    def joint():
        widths = (0.5 / max(rank, 1)) / rng.gamma(0.5, size=rank)
        scales = rng.standard_cauchy(6) ** 2 if sparse else None
        columns = rng.normal(size=(n_items, rank)) * np.sqrt(widths)
        prior = LowRank(columns, widths, 0.5 / rng.gamma(0.5), signs, scales)
        return prior, prior.mean() + prior.times_deviations(rng.normal(size=6)) * np.sqrt(prior.residual)

    def summary(prior, entries):
        low_rank = prior.mean()
        sizes = [prior.residual, *prior.widths[:2], np.mean(entries**2)]
        sizes += [np.mean((entries - low_rank) ** 2) / prior.residual]
        sizes += [np.mean(low_rank**2)] if signs else []
        sizes += [*prior.local_scales[:2]] if sparse else []
        return np.log(sizes)

    before, after = [], []
    for _ in range(n_runs):
        prior, entries = joint()
        before.append(summary(prior, entries))
        y = A @ entries + rng.normal(size=n)
        regression = Regression(A, y, np.ones(n), np.zeros(6), 0.0)
        for _ in range(n_steps):
            entries, prior = gibbs._draw_matrix(regression, prior, N_DENSE, rng)
        after.append(summary(prior, entries))
    for first, second in zip(np.transpose(before), np.transpose(after), strict=True):
        assert ks_2samp(first, second).pvalue > 1e-4


@pytest.mark.parametrize("kind", Kind)
def test_a_sweep_draws_all_that_is_unknown(kind):
    given, _ = data(8, 30)
    template = Template.of("", symmetric(np.random.default_rng(3), 8), False, 30) if kind.knows_places else None
    chain = replace(Chain.start(8, kind, np.random.default_rng(0), 30, template), sweeps=N_DENSE)
    after, _ = gibbs.sweep(chain, given, np.random.default_rng(1))
    assert after.sweeps == N_DENSE + 1
    assert after.noise != chain.noise
    assert np.array_equal(after.places, chain.places) is kind.knows_places
    drawn = [(chain.items_prior, after.items_prior)]
    drawn += [] if kind.knows_places else [(chain.places_prior, after.places_prior)]
    for before, prior in drawn:
        assert prior.residual != before.residual
        assert np.all(prior.columns != before.columns)
        assert np.all(prior.widths != before.widths)
        assert (prior.local_scales is None) is (not kind.sparse)
        if kind.sparse:
            assert np.all(prior.local_scales != before.local_scales)


def test_the_noise_is_drawn_from_its_posterior_given_the_matrices(monkeypatch):
    """With F hardly different from 0, the residuals are what differs from the weighted mean.

    A value says nothing where it deviates by less than its own error. NOISE_SCALE counts as the square of a residual.
    """
    monkeypatch.setattr(gibbs, "NOISE_SCALE", 1.0)
    given, _ = data(7, 4, known_noise=np.array([0.0, 0.5, 0.0, 9.0]))
    template = Template.of("", symmetric(np.random.default_rng(3), 7), False, 4)
    chain = Chain.start(7, Kind.SPARSE_TEMPLATE, np.random.default_rng(0), 4, template)
    prior = replace(chain.items_prior, residual=1e-12)
    chain = replace(chain, items_prior=prior, noise=0.2, sweeps=N_ANNEALED)
    weights = 1.0 / (0.2 + given.known_noise)
    residuals = given.z - weights @ given.z / weights.sum()
    squares = np.maximum(residuals**2 - given.known_noise, 0.0).sum()
    rng = np.random.default_rng(1)
    drawn = [gibbs.sweep(chain, given, rng)[0].noise for _ in range(2000)]
    assert ks_1samp(drawn, invgamma(4 / 2 + 1, scale=(squares + 1.0) / 2).cdf).pvalue > 1e-3


def test_a_draw_goes_through_values_that_have_hardly_any_noise():
    """Of values fewer than pairs, whatever the scales of both matrices; so F and D belong together."""
    given, _ = data(8, 20)
    for kind in Kind:
        chain = replace(some_chain(8, kind=kind), noise=1e-10)
        _, draw = gibbs.sweep(replace(chain, places=3.0 * chain.places), given, np.random.default_rng(1))
        predicted = [value(draw.items, draw.places, draw.constant, x) for x in given.X]
        np.testing.assert_allclose(predicted, given.z, atol=1e-3)


def test_local_scales_stay_between_their_limits():
    squares = np.repeat([0.0, 1e30], 50)
    scales = gibbs._draw_scales(np.repeat([1e-6, 1e6], 50), squares, np.random.default_rng(0))
    assert np.all(scales[50:] == 1e6)
    assert scales[:50].min() == 1e-6


@pytest.mark.parametrize("kind", [Kind.TEMPLATE, Kind.SPARSE_TEMPLATE])
def test_a_chain_that_knows_the_distances_keeps_them_and_may_have_them_for_the_items(kind):
    given, _ = data(8, 40)
    template = Template("", symmetric(np.random.default_rng(7), 8)[np.triu_indices(8, 1)], False, 40)
    ends = []
    for of_items in (False, True):
        chain = Chain.start(8, kind, np.random.default_rng(1), 40, template._replace(of_items=of_items))
        assert chain.swapped is of_items
        seen = given.swapped() if of_items else given
        end, draws = gibbs.advance(chain, seen, N_DENSE + 5, np.random.default_rng(2))
        draw, mean = draws[-1], gibbs.mean_items(end, seen)
        ends.append([each.swapped() if of_items else each for each in (draw, mean)])
        _, draws = gibbs.advance(chain, given, 3, np.random.default_rng(3))
        exactly = symmetric_of(chain.known.entries, 8)
        assert all(np.array_equal(each.items if of_items else each.places, exactly) for each in draws)
    for first, second in zip(*ends, strict=True):
        np.testing.assert_array_equal(first.items, second.items)
        np.testing.assert_array_equal(first.places, second.places)
        known = first.places[np.triu_indices(8, 1)]
        np.testing.assert_allclose(known / known.max(), template.entries / template.entries.max(), rtol=1e-5)


# what the sampler learns


def ensemble_of(given, n_items, n_sweeps, kind, n_chains=2, template=None):
    draws = []
    for seed in range(n_chains):
        rng = np.random.default_rng(seed)
        chain = Chain.start(n_items, kind, rng, len(given.z), template)
        draws += gibbs.advance(chain, given, n_sweeps, rng)[1][-20:]
    items, places, constants = (np.array(each) for each in zip(*draws, strict=True))
    return Ensemble.of(items, places, constants, 1e-4)


def error(given, truth, n_items, kind=Kind.ANY, n_sweeps=250):
    others = sample(n_items, 200, np.random.default_rng(99))
    predicted = ensemble_of(given, n_items, n_sweeps, kind).values(invert(others)).mean(axis=1)
    return np.sqrt(np.mean((predicted - truth(others)) ** 2))


@pytest.mark.parametrize("kind", [kind for kind in Kind if not kind.knows_places])
def test_with_more_values_than_unknowns_everything_is_known(kind):
    given, truth = data(9, 130)
    assert error(given, truth, 9, kind) < 0.05


@pytest.mark.slow
def test_distances_are_learned_from_fewer_values_by_chains_that_expect_them():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(14, 2))
    D = np.linalg.norm(points[:, None] - points, axis=-1)
    F, X, others = symmetric(rng, 14), sample(14, 120, rng), sample(14, 200, rng)  # 182 unknowns
    y, truth = (np.array([value(F, D, 0.0, x) for x in each]) for each in (X, others))
    given = Data.of(X, (y - y.mean()) / y.std(), np.zeros(120))
    kinds = Kind.ANY, Kind.DISTANT_PLACES, Kind.DISTANT_ITEMS
    predicted = [ensemble_of(given, 14, 250, kind).values(invert(others)).mean(axis=1) for kind in kinds]
    errors = [np.sqrt(np.mean((each - (truth - y.mean()) / y.std()) ** 2)) for each in predicted]
    assert errors[1] == min(errors)


def sparse_problem(n_items, n, n_entries=12):
    """Return data of known distances on a line and of few interactions, the template, and other values."""
    rng = np.random.default_rng(0)
    D = np.abs(np.arange(n_items)[:, None] - np.arange(n_items)).astype(float)
    i, j = np.triu_indices(n_items, 1)
    F, few = np.zeros((n_items, n_items)), rng.choice(len(i), n_entries, replace=False)
    F[i[few], j[few]] = F[j[few], i[few]] = rng.integers(1, 9, n_entries)
    X, others = sample(n_items, n, rng), sample(n_items, 200, rng)
    y, truth = (np.array([value(F, D, 0.0, x) for x in each]) for each in (X, others))
    given = Data.of(X, (y - y.mean()) / y.std(), np.zeros(n))
    return (
        given,
        Template("line", D[i, j] / np.sqrt(np.mean(D[i, j] ** 2)), False, len(given.z)),
        others,
        (truth - y.mean()) / y.std(),
    )


def test_known_distances_leave_half_as_many_unknowns_and_few_interactions_fewer_still():
    given, template, others, truth = sparse_problem(14, 70)  # 91 unknowns, of which 12 are not zero
    errors = {}
    for kind in (Kind.ANY, Kind.TEMPLATE, Kind.SPARSE_TEMPLATE):
        known = template if kind.knows_places else None
        predicted = ensemble_of(given, 14, 150, kind, template=known).values(invert(others)).mean(axis=1)
        errors[kind] = np.sqrt(np.mean((predicted - truth) ** 2))
    assert errors[Kind.SPARSE_TEMPLATE] < 0.05
    assert 2 * errors[Kind.SPARSE_TEMPLATE] < errors[Kind.TEMPLATE] < 0.7 * errors[Kind.ANY]


def test_noisy_values_are_not_interpolated():
    given, truth = data(9, 130, deviation=0.3)
    assert 0.05 < error(given, truth, 9) < 0.3


def test_values_without_any_pattern_are_not_predicted_better_than_by_their_mean():
    given, truth = data(9, 60)
    shuffled = given._replace(z=np.random.default_rng(0).permutation(given.z))
    assert error(shuffled, truth, 9) > 0.8
