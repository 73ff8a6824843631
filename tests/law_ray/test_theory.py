import itertools
import math

import numpy as np
import pytest

from law_ray.acquisition.functions import est, optimum_estimate, sigmoid_weight
from law_ray.errors import InputError
from law_ray.kernels.distance import DistanceHyperparameters
from law_ray.space.permutations import enumerate_all
from law_ray.theory import (
    beta_t,
    est_eta_t,
    finite_space_gain_bound,
    information_gain,
    information_gains,
    log_eigenvalue_bound,
    log_largest_eigenvalue,
    nu_t,
    pi_t,
    position_gain_bound,
    regret_bound,
    ucb_eta_t,
    zeta_t,
)

DELTA = 0.1
SMOOTH = DistanceHyperparameters(decay=0.05, signal_variance=1.0, noise=0.01, mean=0.0)
ROUGH = DistanceHyperparameters(decay=0.5, signal_variance=2.0, noise=0.1, mean=0.0)
NOISY = DistanceHyperparameters(decay=3.0, signal_variance=0.5, noise=1.0, mean=0.0)
each_model = pytest.mark.parametrize("h", [SMOOTH, ROUGH, NOISY], ids=["smooth", "rough", "noisy"])


def correlations(X, decay):
    positions = np.argsort(X, axis=1)
    return np.exp(-decay / X.shape[1] * np.abs(positions[:, None] - positions[None]).sum(axis=2))


def gain_of(K, noise):
    """Return 1/2 log det(I + K / noise) by eigenvalues, for any number of leading axes."""
    return 0.5 * np.log1p(np.linalg.eigvalsh(K) / noise).sum(axis=-1)


def permanent(matrix):
    """Compute the permanent by dynamic programming over the subsets of columns."""
    sums = {0: 1.0}
    for row in matrix:
        grown = {}
        for used, value in sums.items():
            for column, entry in enumerate(row):
                if not used >> column & 1:
                    key = used | 1 << column
                    grown[key] = grown.get(key, 0.0) + value * entry
        sums = grown
    return sums[2 ** len(matrix) - 1]


@pytest.mark.parametrize("decay", [0.01, 0.5, 2.0, 10.0])
@pytest.mark.parametrize("n_items", [1, 2, 3, 4, 5, 6])
def test_eigenvalues_of_all_permutations_are_within_the_bounds_and_the_largest_is_exact(n_items, decay):
    eigenvalues = np.linalg.eigvalsh(correlations(enumerate_all(n_items), decay))
    bound = log_eigenvalue_bound(n_items, decay)
    rounding = 1e-14 * len(eigenvalues)
    assert eigenvalues[-1] <= math.exp(bound)
    assert eigenvalues[0] >= math.exp(-bound) - rounding
    assert math.exp(log_largest_eigenvalue(n_items, decay)) == pytest.approx(eigenvalues[-1], rel=1e-12)


@pytest.mark.parametrize(("n_items", "decay"), [(1, 0.7), (5, 1.0), (20, 30.0)])
def test_eigenvalue_bound_is_the_limit_of_the_product_kernel_on_ever_longer_axes(n_items, decay):
    lengths = np.arange(1500)
    axis = np.linalg.eigvalsh(np.exp(-decay / n_items * np.abs(lengths[:, None] - lengths)))
    assert log_eigenvalue_bound(n_items, decay) == pytest.approx(n_items * math.log(axis[-1]), rel=1e-3)
    assert log_eigenvalue_bound(n_items, decay) == pytest.approx(-n_items * math.log(axis[0]), rel=1e-3)


@pytest.mark.parametrize(("n_items", "decay"), [(9, 0.3), (12, 4.0), (13, 1.0)])
def test_largest_eigenvalue_is_the_permanent_of_the_correlations_of_one_item(n_items, decay):
    k = np.arange(n_items)
    expected = permanent(np.exp(-decay / n_items * np.abs(k[:, None] - k)).tolist())
    assert log_largest_eigenvalue(n_items, decay) == pytest.approx(math.log(expected), rel=1e-12)


@pytest.mark.parametrize("n_items", [7, 100, 501])
def test_largest_eigenvalue_goes_from_the_number_of_permutations_to_one_as_the_decay_grows(n_items):
    assert log_largest_eigenvalue(n_items, 1e-12) == pytest.approx(math.lgamma(n_items + 1), rel=1e-9)
    assert log_largest_eigenvalue(n_items, 1e4 * n_items) == pytest.approx(0.0, abs=1e-12)


@each_model
def test_information_gain_is_the_sum_of_what_each_value_adds(h):
    """1/2 log(1 + posterior variance / noise), given the permutations before; by direct formulas."""
    X = enumerate_all(4)[::3]
    K = h.signal_variance * correlations(X, h.decay)
    added = []
    for i in range(len(X)):
        known = np.linalg.solve(K[:i, :i] + h.noise * np.eye(i), K[:i, i])
        added.append(0.5 * math.log1p((K[i, i] - K[i, :i] @ known) / h.noise))
    assert information_gain(X, h) == pytest.approx(sum(added), rel=1e-10)
    assert information_gains(X, h) == pytest.approx(np.cumsum(added), rel=1e-10)


@each_model
def test_noise_that_comes_with_the_values_lowers_the_gain_as_a_determinant_says(h):
    X = enumerate_all(4)[::3]
    K = h.signal_variance * correlations(X, h.decay)
    known = np.linspace(0.0, 2.0, len(X))
    whole = np.linalg.slogdet(np.eye(len(X)) + K / (h.noise + known)[:, None])[1] / 2
    assert information_gains(X, h, known)[-1] == pytest.approx(whole, rel=1e-10)


@each_model
@pytest.mark.parametrize(("n_items", "most"), [(2, 6), (3, 7), (4, 3)])
def test_gain_bounds_hold_for_every_choice_of_permutations_repeated_or_not(h, n_items, most):
    X = enumerate_all(n_items)
    K = h.signal_variance * correlations(X, h.decay)
    for T in range(1, most + 1):
        choices = np.array(list(itertools.combinations_with_replacement(range(len(X)), T)))
        largest = gain_of(K[choices[:, :, None], choices[:, None]], h.noise).max()
        sharper = position_gain_bound(n_items, T, h)
        assert largest <= sharper + 1e-9
        assert sharper <= finite_space_gain_bound(n_items, T, h) + 1e-9


@each_model
@pytest.mark.parametrize("n_items", [2, 3, 4, 9])
def test_position_gain_bound_is_attained_by_one_permutation_and_by_one_and_its_reverse(h, n_items):
    ordering = np.arange(n_items)
    for X in (ordering[None], np.array([ordering, ordering[::-1]])):
        assert position_gain_bound(n_items, len(X), h) == pytest.approx(information_gain(X, h), rel=1e-12)
    assert finite_space_gain_bound(n_items, 1, h) == pytest.approx(information_gain(ordering[None], h), rel=1e-12)
    assert finite_space_gain_bound(n_items, 2, h) > position_gain_bound(n_items, 2, h)


@each_model
def test_position_gain_bound_is_the_largest_gain_of_any_eigenvalues_with_that_leading_one(h):
    """T eigenvalues with sum T: the least leading one that the smallest correlation allows, and random others."""
    n_items, T = 4, 7
    leading = 1 + (T - 1) * math.exp(-h.decay / n_items * 8)
    others = np.random.default_rng(0).dirichlet(np.full(T - 1, 50.0), size=2000) * (T - leading)
    others[0] = (T - leading) / (T - 1)
    ratio = h.signal_variance / h.noise
    gains = 0.5 * (math.log1p(ratio * leading) + np.log1p(ratio * others).sum(axis=1))
    assert position_gain_bound(n_items, T, h) == pytest.approx(gains[0], rel=1e-12)
    assert gains[0] > gains[1:].max()


@each_model
@pytest.mark.parametrize("n_items", [4, 5])
def test_gain_bounds_hold_for_the_greedy_choice_of_any_number_of_permutations(h, n_items):
    """The greedy gain is within 1 - 1/e of gamma_T (Nemhauser et al., 1978)."""
    X = enumerate_all(n_items)
    posterior = h.signal_variance * correlations(X, h.decay)
    chosen = []
    for T in range(1, len(X) + 1):
        variance = np.diag(posterior).copy()
        variance[chosen] = -np.inf
        x = int(np.argmax(variance))
        chosen.append(x)
        posterior = posterior - np.outer(posterior[x], posterior[x]) / (posterior[x, x] + h.noise)
        gain = information_gain(X[chosen], h)
        bound = position_gain_bound(n_items, T, h)
        assert gain <= bound + 1e-9
        assert bound <= finite_space_gain_bound(n_items, T, h) + 1e-9
    # The bound is not trivial: half of it is too small.
    assert 0.5 * position_gain_bound(n_items, 10, h) < information_gain(X[chosen[:10]], h)


@each_model
def test_spectral_term_is_the_smaller_only_where_permutations_repeat(h):
    X = enumerate_all(3)
    K = h.signal_variance * correlations(X, h.decay)
    for T in (1, 2, 6, 7, 50, 1000):
        hadamard = 0.5 * T * math.log1p(h.signal_variance / h.noise)
        spectral = 0.5 * len(X) * math.log1p(np.linalg.eigvalsh(K)[-1] * T / h.noise)
        assert finite_space_gain_bound(3, T, h) == pytest.approx(min(hadamard, spectral), rel=1e-10)
        assert hadamard <= spectral or len(X) < T
    repeated = np.tile(X, (200, 1))[:1000]
    gain = gain_of(K, h.noise / (1000 / 6))
    assert information_gain(repeated, h) == pytest.approx(gain, rel=1e-3)
    assert gain <= finite_space_gain_bound(3, 1000, h) == position_gain_bound(3, 1000, h) < hadamard


def test_gain_bounds_lack_the_spectral_term_if_the_number_of_permutations_overflows():
    for n_items in (170, 171, 400):
        assert finite_space_gain_bound(n_items, 50, SMOOTH) == pytest.approx(25 * math.log(101), rel=1e-12)
        assert position_gain_bound(n_items, 50, SMOOTH) < finite_space_gain_bound(n_items, 50, SMOOTH)


def test_beta_and_zeta_spend_no_more_than_delta_on_all_rounds():
    """A normal variable exceeds c standard deviations with probability at most exp(-c^2 / 2)."""
    rounds = range(1, 20_001)
    assert sum(1 / pi_t(t) for t in rounds) == pytest.approx(1.0, abs=1e-4)
    assert sum(120 * math.exp(-beta_t(5, t, 1, DELTA) / 2) for t in rounds) == pytest.approx(DELTA, rel=1e-4)
    assert sum(math.exp(-(zeta_t(t, DELTA) ** 2) / 2) for t in rounds) == pytest.approx(0.8 * DELTA, rel=1e-4)


def test_beta_in_batches_is_that_of_the_first_evaluation_of_the_round():
    for t in (1, 2, 9):
        assert beta_t(6, t, 7, DELTA) == pytest.approx(beta_t(6, 7 * (t - 1) + 1, 1, DELTA), rel=1e-12)


def test_other_pi_t_that_the_paper_allows_break_the_confidence_of_zeta():
    """The paper allows pi_1 = 1 in a single round, as sum 1 / pi_t <= 1."""
    delta = 0.4
    zeta = math.sqrt(2 * math.log(1**2 / (2 * delta)))
    assert math.erfc(zeta / math.sqrt(2)) > delta
    assert math.erfc(zeta_t(1, delta) / math.sqrt(2)) < delta


def test_nu_counts_the_standard_deviations_down_to_the_optimum_estimate():
    assert nu_t(np.array([1.0, 3.0, -1.0]), np.array([0.25, 4.0, 0.01]), -2.0) == pytest.approx(2.5)


def test_eta_is_twice_the_width_for_ucb_and_the_largest_nu_plus_zeta_for_est():
    assert ucb_eta_t(5, 3, 4, DELTA) ** 2 == pytest.approx(4 * beta_t(5, 3, 4, DELTA))
    assert est_eta_t([0.5, 2.0, 1.0], DELTA) == pytest.approx(2.0 + zeta_t(3, DELTA))


def draws(n_items, h, count, seed=0):
    """Return the prior covariance of all permutations, and functions (count, n_items!) from the Gaussian process."""
    K = h.signal_variance * correlations(enumerate_all(n_items), h.decay)
    factor = np.linalg.cholesky(K + 1e-10 * np.eye(len(K)))
    return K, np.random.default_rng(seed).normal(size=(count, len(K))) @ factor.T


class Law:
    """Algorithm 1 on an enumerated space by direct formulas, as the theorem assumes it.

    `acquisition(mean, variance, y, round)` returns the values of all x. After `run`, `evaluated` holds the points in
    order, and `first` a row per round: the first point of the batch, its mean, standard deviation and acquisition.
    """

    def __init__(self, K, f, h, acquisition, weight, repeats=True):
        self.K, self.f, self.h, self.acquisition, self.weight, self.repeats = K, f, h, acquisition, weight, repeats
        self.evaluated, self.first = [], []

    def posterior(self, given, y):
        across = self.K[given]
        known = np.linalg.solve(self.K[np.ix_(given, given)] + self.h.noise * np.eye(len(given)), across)
        return known.T @ y, np.maximum(np.diag(self.K) - np.einsum("ij,ij->j", across, known), 1e-14)

    def run(self, n_rounds, batch_size, rng=None):
        rng = rng or np.random.default_rng(0)
        y = np.zeros(0)
        for t in range(1, n_rounds + 1):
            mean, variance = self.posterior(self.evaluated, y)
            acquisition = self.acquisition(mean, variance, y, t)
            batch = []
            for b in range(batch_size):
                given = self.evaluated + batch
                gain = np.log(self.posterior(given, np.zeros(len(given)))[1]) + 2 * np.log(self.weight(acquisition))
                value = gain if b else acquisition.copy()
                if not self.repeats:
                    value[given] = -np.inf
                batch.append(int(np.argmax(value)))
            x = batch[0]
            self.first.append((x, mean[x], math.sqrt(variance[x]), acquisition[x]))
            self.evaluated += batch
            y = np.append(y, self.f[batch] + rng.normal(0.0, math.sqrt(self.h.noise), size=batch_size))
        self.regrets = (self.f[self.evaluated] - self.f.min()).reshape(n_rounds, batch_size).min(axis=1)
        return self


def ucb(n_items, batch_size):
    def acquisition(mean, variance, y, t):
        return np.sqrt(beta_t(n_items, t, batch_size, DELTA) * variance) - mean

    return acquisition


def steep_weight(acquisition):
    """Between 0.5 and 1."""
    return 0.5 + 0.5 * (acquisition > np.median(acquisition))


def equal_weight(acquisition):
    return np.ones_like(acquisition)


WEIGHTS = {sigmoid_weight: (0.01, 1.0), steep_weight: (0.5, 1.0), equal_weight: (1.0, 1.0)}


@each_model
@pytest.mark.parametrize("weight", WEIGHTS, ids=lambda weight: weight.__name__)
@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize(("n_rounds", "batch_size"), [(24, 1), (8, 3), (1, 4)])
def test_bound_without_eta_limits_the_mean_deviation_of_first_points(h, weight, repeats, n_rounds, batch_size):
    """This is the second half of the proof, which holds with certainty: eta = 1, and the gain of the run itself."""
    K, functions = draws(4, h, 3)
    for f in functions:
        law = Law(K, f, h, ucb(4, batch_size), weight, repeats).run(n_rounds, batch_size)
        gain = information_gain(enumerate_all(4)[law.evaluated], h)
        bound = regret_bound(1.0, n_rounds, batch_size, gain, WEIGHTS[weight], h)
        deviations = [deviation for _, _, deviation, _ in law.first]
        assert np.mean(deviations) <= bound
        n_evaluations = n_rounds * batch_size
        assert bound <= regret_bound(
            1.0, n_rounds, batch_size, position_gain_bound(4, n_evaluations, h), WEIGHTS[weight], h
        )


def test_bound_without_eta_is_tight_up_to_its_constant_for_independent_values():
    h = DistanceHyperparameters(decay=1e4, signal_variance=2.25, noise=0.3, mean=0.0)
    gain = information_gain(enumerate_all(4)[:20], h)
    assert regret_bound(1.0, 20, 1, gain, (0.3, 0.3), h) == pytest.approx(1.5 * (1 + 1 / 20), rel=1e-10)


def test_the_bound_needs_the_ratio_of_the_weight_bounds():
    """A weight that repeats the first point throughout the batch learns little: first points stay uncertain."""
    h = DistanceHyperparameters(decay=1e4, signal_variance=1.0, noise=0.01, mean=0.0)

    def fresh(mean, variance, y, t):
        return np.where(np.arange(24) == t, 1.0, 0.0)

    def locking(acquisition):
        return np.where(acquisition > 0, 1.0, 0.01)

    law = Law(np.eye(24), np.zeros(24), h, fresh, locking).run(5, 10)
    assert len(set(law.evaluated)) == 5
    gain = information_gain(enumerate_all(4)[law.evaluated], h)
    deviation = np.mean([deviation for _, _, deviation, _ in law.first])
    assert regret_bound(1.0, 5, 10, gain, (1.0, 1.0), h) < 0.7 * deviation
    assert regret_bound(1.0, 5, 10, gain, (0.01, 1.0), h) > deviation


@each_model
@pytest.mark.parametrize("weight", WEIGHTS, ids=lambda weight: weight.__name__)
@pytest.mark.parametrize(("n_items", "n_rounds", "batch_size"), [(4, 8, 3), (5, 6, 4)])
def test_regret_of_law_ucb_is_below_the_bound_and_the_bound_is_not_trivial(h, weight, n_items, n_rounds, batch_size):
    """The bound is loose by the ratio of the weights and a further factor of 10 to 100, but not by more."""
    K, functions = draws(n_items, h, 40, seed=n_items)
    laws = [
        Law(K, f, h, ucb(n_items, batch_size), weight).run(n_rounds, batch_size, np.random.default_rng(i))
        for i, f in enumerate(functions)
    ]
    regrets = np.array([law.regrets.mean() for law in laws])
    eta, gain = ucb_eta_t(n_items, n_rounds, batch_size, DELTA), position_gain_bound(n_items, n_rounds * batch_size, h)
    bound = regret_bound(eta, n_rounds, batch_size, gain, WEIGHTS[weight], h)
    lowest, highest = WEIGHTS[weight]
    assert np.mean(regrets <= bound) >= 1 - DELTA
    assert np.mean(regrets <= bound / (60 * highest / lowest)) < 1 - DELTA


def test_simple_regret_is_below_the_bound_where_no_permutation_is_proposed_twice():
    K, functions = draws(4, SMOOTH, 40)
    for n_rounds in (1, 2, 4, 8):
        eta, gain = ucb_eta_t(4, n_rounds, 3, DELTA), position_gain_bound(4, 3 * n_rounds, SMOOTH)
        bound = regret_bound(eta, n_rounds, 3, gain, WEIGHTS[sigmoid_weight], SMOOTH)
        laws = [Law(K, f, SMOOTH, ucb(4, 3), sigmoid_weight, repeats=False).run(n_rounds, 3) for f in functions]
        assert np.mean([law.regrets.min() <= bound for law in laws]) >= 1 - DELTA


def test_first_regrets_of_law_ucb_are_within_eta_until_the_optimum_is_proposed():
    """The bound on the simple regret needs no more if no permutation is proposed twice."""
    K, functions = draws(4, ROUGH, 40)
    within = []
    for f in functions:
        law = Law(K, f, ROUGH, ucb(4, 3), steep_weight, repeats=False).run(8, 3)
        until = law.evaluated.index(int(np.argmin(f))) // 3 + 1
        rounds = enumerate(law.first[:until], 1)
        within.append(all(f[x] - f.min() <= ucb_eta_t(4, t, 3, DELTA) * sd for t, (x, _, sd, _) in rounds))
    assert np.mean(within) >= 1 - DELTA


def test_first_regrets_of_law_est_are_within_eta_only_where_the_optimum_estimate_is_low_enough():
    """If f(x) is within zeta of its mean, the regret is at most (nu + zeta) sigma whenever m-hat <= min f."""
    h = DistanceHyperparameters(decay=3.0, signal_variance=1.0, noise=0.01, mean=0.0)
    K, functions = draws(4, h, 30)
    held, failed, too_high = [], [], []
    for i, f in enumerate(functions):
        estimates = []

        def acquisition(mean, variance, y, t, estimates=estimates):
            estimates.append(optimum_estimate(mean, variance, min(y, default=8.0)))
            return est(mean, variance, estimates[-1])

        law = Law(K, f, h, acquisition, sigmoid_weight).run(30, 2, np.random.default_rng(i))
        for t, (estimate, (x, mean, deviation, value)) in enumerate(zip(estimates, law.first, strict=True), 1):
            zeta = zeta_t(t, DELTA)
            if abs(f[x] - mean) <= zeta * deviation:
                (held if estimate <= f.min() else failed).append(f[x] - f.min() <= (zeta - value) * deviation)
        too_high.append(max(estimates) > f.min())
    assert len(held) > 50
    assert all(held)
    assert not all(failed)
    assert np.mean(too_high) > 0.4


@each_model
def test_bounds_do_not_depend_on_the_units_of_the_values(h):
    scaled = DistanceHyperparameters(h.decay, 9 * h.signal_variance, 9 * h.noise, h.mean)
    assert position_gain_bound(5, 30, scaled) == pytest.approx(position_gain_bound(5, 30, h), rel=1e-12)
    assert information_gain(enumerate_all(3), scaled) == pytest.approx(information_gain(enumerate_all(3), h), rel=1e-12)
    bounds = [regret_bound(5.0, 10, 3, 12.0, (0.5, 1.0), model) for model in (scaled, h)]
    assert bounds[0] == pytest.approx(3 * bounds[1], rel=1e-12)


@pytest.mark.parametrize(
    "weight_bounds", [(0.01, math.inf), (0.0, 1.0), (-1.0, 1.0), (1.0, 0.5), (0.01, math.nan), (math.nan, 1.0)]
)
def test_weights_without_positive_bounds_are_refused(weight_bounds):
    with pytest.raises(InputError, match=r"weight_bounds=.*choose the sigmoid"):
        regret_bound(5.0, 10, 3, 12.0, weight_bounds, ROUGH)


@pytest.mark.parametrize(
    ("call", "culprit"),
    [
        (lambda: regret_bound(5.0, 0, 3, 1.0, (1.0, 1.0), ROUGH), "n_rounds=0"),
        (lambda: regret_bound(5.0, 2, 0, 1.0, (1.0, 1.0), ROUGH), "batch_size=0"),
        (lambda: regret_bound(5.0, 2, 1, 1.0, (1.0, 1.0), DistanceHyperparameters(1.0, 1.0, 0.0, 0.0)), "noise=0.0"),
        (lambda: information_gain(enumerate_all(3), DistanceHyperparameters(1.0, 1.0, -1.0, 0.0)), "noise=-1.0"),
        (lambda: position_gain_bound(3, 0, ROUGH), "n_evaluations=0"),
        (lambda: finite_space_gain_bound(0, 3, ROUGH), "n_items=0"),
        (lambda: log_eigenvalue_bound(3, 0.0), "decay=0.0"),
        (lambda: log_largest_eigenvalue(3, math.inf), "decay=inf"),
        (lambda: beta_t(3, 0, 1, DELTA), "round=0"),
        (lambda: beta_t(3, 1, 1, 0.0), "delta=0.0"),
        (lambda: zeta_t(1, 1.0), "delta=1.0"),
        (lambda: est_eta_t([], DELTA), "round=0"),
    ],
)
def test_arguments_that_the_bounds_do_not_cover_are_refused_with_the_culprit(call, culprit):
    with pytest.raises(InputError, match=culprit) as refusal:
        call()
    assert "\n" not in str(refusal.value)
