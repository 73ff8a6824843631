"""The bounds of the paper as functions: eigenvalues of the position kernel, information gain, regret.

Theorems are numbered as in the paper, with one counter for each section. The theorems assume that the hyperparameters
are known, and that the prior variance is 1. Here the prior variance is `signal_variance`: regrets are multiplied by its
square root, and the noise is divided by it. Throughout, N = `n_items`, the search space X holds all N! permutations,
rho = exp(-decay / N) and s = signal_variance / noise. Where the paper states more than it proves, or less, the
docstring says so.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.linalg import cholesky

from law_ray.acquisition.functions import ucb_beta
from law_ray.errors import InputError
from law_ray.kernels.distance import DistanceHyperparameters, largest_position_distance, positions_of
from law_ray.kernels.protocol import Hyperparameters
from law_ray.typing import FloatArray, IntArray

LARGEST_FACTORIAL = 170  # 171! is larger than any float


def log_eigenvalue_bound(n_items: int, decay: float) -> float:
    """Return b = N log((1 + rho) / (1 - rho)), which bounds the eigenvalues of the position kernel (Theorem 3.11).

    All eigenvalues of the correlations of any distinct permutations are between e^-b and e^b. For these correlations
    are a principal submatrix of the N-fold Kronecker product of the Kac-Murdock-Szego matrix [rho^|i - j|], whose
    eigenvalues are at most (1 + rho) / (1 - rho), and at least its inverse. The bound is far from tight: for small
    decays, e^b exceeds even the trace. Cost O(1).

    Raises:
        InputError: if there is no item, or the decay is not positive.
    """
    _require_space(n_items, decay)
    return -n_items * math.log(math.tanh(decay / n_items / 2))


def log_largest_eigenvalue(n_items: int, decay: float) -> float:
    """Return log lambda_max of the correlations of all permutations, exactly; the paper only bounds it.

    lambda_max = sum over pi of rho^d(pi, identity). Every row of the matrix has this sum, so it is the eigenvalue of
    the constant vector, and for a positive matrix this is the largest (Perron-Frobenius).

    The sum is computed by dynamic programming. Of the items at the first i positions of the identity, let pi have k_i
    at other positions than the first i; then pi also has k_i other items at the first i positions, and
    d = 2 sum_i k_i. The next position and item leave k as it is in 2 k + 1 ways, raise it by 1 in 1 way, and lower it
    by 1 in k^2 ways. Counting k + 1 ways for raising and k for lowering gives the same products over closed paths, and
    a symmetric matrix S of the steps. lambda_max = (S^N)_00 is then the inner product of two half paths, which do not
    underflow. Cost O(N^2).

    Raises:
        InputError: if there is no item, or the decay is not positive.
    """
    _require_space(n_items, decay)
    k = np.arange(n_items // 2 + 1)
    half_step = np.exp(-decay / n_items * k)  # the steps to and from k share the factor rho^(2 k)
    log_scale = 0.0

    def step(ways: FloatArray) -> FloatArray:
        ways = half_step * ways
        after = (2 * k + 1) * ways
        after[1:] += k[1:] * ways[:-1]
        after[:-1] += k[1:] * ways[1:]
        return half_step * after

    ways = np.where(k == 0, 1.0, 0.0)
    for _ in range(n_items // 2):
        ways = step(ways)
        total = float(ways.sum())
        ways /= total
        log_scale += math.log(total)
    return 2 * log_scale + math.log(ways @ (step(ways) if n_items % 2 else ways))


def finite_space_gain_bound(n_items: int, n_evaluations: int, hyperparameters: DistanceHyperparameters) -> float:
    """Return an upper bound on gamma_T, the largest `information_gain` of T = `n_evaluations` permutations, in nats.

    gamma_T <= 1/2 min{T log(1 + s), N! log(1 + s lambda_max T)} (Theorem 3.10). The theorem holds for any kernel; here
    lambda_max is the exact one of the position kernel. The bound also holds for repeated permutations. Only with them,
    for T > N!, can the second term be the smaller one, as lambda_max >= 1. Cost O(N^2).

    Raises:
        InputError: if there is no evaluation or item, or if the noise or the decay is not positive.
    """
    ratio = _signal_to_noise(n_evaluations, hyperparameters)
    return 0.5 * min(n_evaluations * math.log1p(ratio), _spectral_term(n_items, n_evaluations, hyperparameters))


def position_gain_bound(n_items: int, n_evaluations: int, hyperparameters: DistanceHyperparameters) -> float:
    """Return a tighter bound than `finite_space_gain_bound` for the position kernel, in nats (Theorem 3.12).

    gamma_T <= 1/2 min{A(T), N! log(1 + s lambda_max T)} where r = rho^D_max is the least correlation and
    A(T) = log(1 + s (1 + (T - 1) r)) + (T - 1) log(1 + s (1 - r)), since the largest eigenvalue of the correlations of
    T permutations is at least 1 + (T - 1) r. The bound is attained for T = 1, and for T = 2 by an ordering and its
    reverse. Cost O(N^2).

    Raises:
        InputError: as `finite_space_gain_bound`.
    """
    ratio = _signal_to_noise(n_evaluations, hyperparameters)
    spectral = _spectral_term(n_items, n_evaluations, hyperparameters)
    exponent = hyperparameters.decay / n_items * largest_position_distance(n_items)
    least, others = math.exp(-exponent), n_evaluations - 1
    first = math.log1p(ratio * (1 + others * least))
    return 0.5 * min(first + others * math.log1p(ratio * -math.expm1(-exponent)), spectral)


def _spectral_term(n_items: int, n_evaluations: int, hyperparameters: DistanceHyperparameters) -> float:
    """Return N! log(1 + s lambda_max T)."""
    log_largest = log_largest_eigenvalue(n_items, hyperparameters.decay)
    if n_items > LARGEST_FACTORIAL:
        return math.inf
    ratio = hyperparameters.signal_variance / hyperparameters.noise
    return math.factorial(n_items) * float(np.logaddexp(0.0, math.log(ratio * n_evaluations) + log_largest))


def information_gain(X: IntArray, hyperparameters: Hyperparameters) -> float:
    """Return the information about f in noisy values at the permutations X (n, n_items), in nats.

    I(y; f) = 1/2 log det(I + K(X, X) / noise) (Definition 3.5). Cost O(n^3 + n^2 n_items).

    Raises:
        InputError: if there is no permutation, or the noise is not positive.
    """
    return float(information_gains(X, hyperparameters)[-1])


def information_gains(
    X: IntArray, hyperparameters: Hyperparameters, known_noise: FloatArray | float = 0.0
) -> FloatArray:
    """Return the `information_gain` of the first 1, 2, ..., n of the permutations X, (n,), in nats.

    Cost and errors are those of `information_gain`.

    Args:
        X: (n, n_items) permutations.
        hyperparameters: Of the process.
        known_noise: (n,) variances that come with the values, in units of the standardized ones; they add to the noise.
    """
    ratio = _signal_to_noise(len(X), hyperparameters)
    precision = 1.0 / np.sqrt(1.0 + np.broadcast_to(known_noise, len(X)) / hyperparameters.noise)
    positions = positions_of(X)
    distances = hyperparameters.kernel.distances(positions, positions)
    correlations = hyperparameters.covariance(X.shape[1])[distances]
    correlations /= hyperparameters.signal_variance
    factor = cholesky(np.eye(len(X)) + ratio * np.outer(precision, precision) * correlations, lower=True)
    return np.cumsum(np.log(np.diag(factor)))


def pi_t(round: int) -> float:
    """Return pi_t = pi^2 t^2 / 6, for which sum_t 1 / pi_t = 1 (Theorem 3.6).

    The appendix of the paper misprints the condition as sum_t pi_t <= 1.
    """
    return math.pi**2 * round**2 / 6


def beta_t(n_items: int, round: int, batch_size: int, delta: float) -> float:
    """Return GP-UCB's beta_t = 2 log(N! pi^2 ((t - 1) B + 1)^2 / (6 delta)) in round t = 1, 2, ... (Theorem 3.6).

    With probability 1 - delta, |f(x) - mu(x)| <= beta_t^(1/2) sigma(x) for all x in all rounds, where mu and sigma are
    those before the batch. Cost O(1).

    Raises:
        InputError: if delta is not between 0 and 1, or if there is no item, round or batch.
    """
    _require_counts(n_items=n_items, round=round, batch_size=batch_size)
    _require_delta(delta)
    return ucb_beta(n_items, round, batch_size, delta)


def zeta_t(round: int, delta: float) -> float:
    """Return EST's zeta_t = (2 log(pi_t^2 / (2 delta)))^(1/2) in round t = 1, 2, ... (Theorem 3.6).

    With probability 1 - delta, |f(x_t) - mu(x_t)| <= zeta_t sigma(x_t) in all rounds, where x_t is the first point of
    the batch. The paper claims this for any pi_t with sum_t 1 / pi_t <= 1, but the union bound needs
    2 sum_t 1 / pi_t^2 <= 1. That sum is 0.8 with `pi_t`. With pi_1 = 1 and a single round, the claim is false at
    delta = 0.4. Cost O(1).

    Raises:
        InputError: if delta is not between 0 and 1, or if there is no round.
    """
    _require_counts(round=round)
    _require_delta(delta)
    return math.sqrt(2 * math.log(pi_t(round) ** 2 / (2 * delta)))


def nu_t(mean: FloatArray, variance: FloatArray, optimum_estimate: float) -> float:
    """Return EST's nu_t = min over x of (mu(x) - m-hat) / sigma(x), the negative of the largest `est` (Theorem 3.6).

    Cost O(m).

    Args:
        mean: (m,) posterior means at all x, or at all that may still be proposed.
        variance: (m,) posterior variances there.
        optimum_estimate: m-hat.
    """
    return float(np.min((mean - optimum_estimate) / np.sqrt(variance)))


def ucb_eta_t(n_items: int, round: int, batch_size: int, delta: float) -> float:
    """Return eta_t = 2 beta_t^(1/2) for LAW-UCB (Theorem 3.6).

    With probability 1 - delta, the regret of the first point x_t of a batch is at most eta_t sigma(x_t). Cost and
    errors are those of `beta_t`.
    """
    return 2 * math.sqrt(beta_t(n_items, round, batch_size, delta))


def est_eta_t(nu: Sequence[float], delta: float) -> float:
    """Return eta_t = max_s nu_s + zeta_t for LAW-EST, from nu_1, ..., nu_t (Theorem 3.6).

    It bounds regrets as `ucb_eta_t` does, provided that m-hat <= min f. The paper's lemma omits this condition, and
    `delta` does not account for it: m-hat is an expected minimum. On functions drawn from the process, m-hat exceeds
    min f in some round of half the runs or more. Cost O(t).

    Raises:
        InputError: if delta is not between 0 and 1, or if there is no round.
    """
    zeta = zeta_t(len(nu), delta)
    return max(nu) + zeta


def regret_bound(
    eta: float,
    n_rounds: int,
    batch_size: int,
    gain: float,
    weight_bounds: tuple[float, float],
    hyperparameters: DistanceHyperparameters,
) -> float:
    """Return an upper bound on the mean regret R_T / T of LAW that holds with probability 1 - delta (Theorem 3.6).

    R_T / T <= signal_variance^(1/2) eta_T (1 / T + w_+ / w_- (C_1 gamma_TB / (T B))^(1/2)) with C_1 = 2 / log(1 + s),
    in units of the standardized values. R_T = sum_t min_b f(x_tb) - min f. The simple regret has min_t in place of
    sum_t, and is at most R_T / T. C_1 is what the proof gives; the theorem states 36 instead of 2, which multiplies the
    second term by 4.2.

    The theorem assumes that every choice is the best of all permutations. If no permutation is proposed twice, the
    proof only bounds the simple regret, as it bounds the first point of a batch until the optimum has been proposed.
    Cost O(1).

    Args:
        eta: `ucb_eta_t` or `est_eta_t` of round T.
        n_rounds: T.
        batch_size: B.
        gain: gamma_TB or an upper bound on it, in nats; or the `information_gain` of the run's own T B evaluations,
            which is all that the proof uses.
        weight_bounds: w_- and w_+, the infimum and the supremum of the weight: (0.01, 1) for the sigmoid. EI's weight
            0.01 + a has (0.01, inf), to which the theorem does not apply.
        hyperparameters: those of the process.

    Raises:
        InputError: if positive numbers do not bound the weight, or if there is no round, batch or noise.
    """
    _require_counts(n_rounds=n_rounds, batch_size=batch_size)
    lowest, highest = weight_bounds
    if not 0 < lowest <= highest < math.inf:
        raise InputError(
            f"weight_bounds={weight_bounds}: the regret is bounded only for a weight between two positive numbers, "
            "choose the sigmoid weight instead of EI's 0.01 + a"
        )
    n_evaluations = n_rounds * batch_size
    c1 = 2 / math.log1p(_signal_to_noise(n_evaluations, hyperparameters))
    mean_deviation = 1 / n_rounds + highest / lowest * math.sqrt(c1 * gain / n_evaluations)
    return math.sqrt(hyperparameters.signal_variance) * eta * mean_deviation


def _signal_to_noise(n_evaluations: int, hyperparameters: Hyperparameters) -> float:
    _require_counts(n_evaluations=n_evaluations)
    if not hyperparameters.noise > 0:
        raise InputError(
            f"noise={hyperparameters.noise}: choose a positive variance, without noise the gain is infinite"
        )
    return hyperparameters.signal_variance / hyperparameters.noise


def _require_space(n_items: int, decay: float) -> None:
    _require_counts(n_items=n_items)
    if not 0 < decay < math.inf:
        raise InputError(f"decay={decay}: choose a positive number")


def _require_counts(**counts: int) -> None:
    for name, count in counts.items():
        if count < 1:
            raise InputError(f"{name}={count}: choose at least 1")


def _require_delta(delta: float) -> None:
    if not 0 < delta < 1:
        raise InputError(f"delta={delta} is no probability of failure: choose it between 0 and 1")
