"""The bounds of the paper as functions: eigenvalues of the position kernel, information gain, regret.

Theorems carry the numbers that LaTeX gives them. They take the hyperparameters to be known and the prior variance to be
1; here it is `signal_variance`, which scales regrets by its root and divides the noise. Throughout, N = `n_items`, the
search space X holds all N! permutations, rho = exp(-decay / N) and s = signal_variance / noise. Where the paper states
more than it proves, or less, the docstring says so.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy.linalg import cholesky

from law_ray.acquisition import ucb_beta
from law_ray.errors import InputError
from law_ray.gp import AnyHyperparameters, Hyperparameters
from law_ray.kernels import FloatArray, Form, max_position_distance, positions_of
from law_ray.permutations import IntArray

LARGEST_FACTORIAL = 170  # 171! is beyond the floats


def log_eigenvalue_bound(n_items: int, decay: float) -> float:
    """b = N log((1 + rho) / (1 - rho)): all eigenvalues of the position kernel are between e^-b and e^b (Theorem 3.11).

    That is, of the correlations of any distinct permutations. They are a principal submatrix of the N-fold Kronecker
    product of the Kac-Murdock-Szego matrix [rho^|i - j|], whose eigenvalues are within (1 + rho) / (1 - rho) and its
    inverse. Far from tight: for small decays e^b exceeds even the trace. Raises InputError for no item or a decay that
    is not positive. Cost O(1).
    """
    _require_space(n_items, decay)
    return -n_items * math.log(math.tanh(decay / n_items / 2))


def log_largest_eigenvalue(n_items: int, decay: float) -> float:
    """log lambda_max of the correlations of all permutations, exact: lambda_max = sum over pi of rho^d(pi, identity).

    Every row has this sum, so it is the eigenvalue of the constant vector, which a positive matrix has as its largest
    (Perron-Frobenius); the paper only bounds it. Of the items of the first i positions, pi moves k_i beyond them and
    k_i others in, and d = 2 sum_i k_i. From k, the next position and item leave k as it is in 2 k + 1 ways, raise it in
    1 and lower it in k^2; counting k + 1 and k instead gives the same products over closed paths and a symmetric matrix
    S of the steps. lambda_max = (S^N)_00 is then the inner product of two half paths, which do not underflow. Errors
    as `log_eigenvalue_bound`. Cost O(N^2).
    """
    _require_space(n_items, decay)
    k = np.arange(n_items // 2 + 1)
    half_step = np.exp(-decay / n_items * k)  # of the factor rho^(2 k), which the steps to and from k share
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


def finite_space_gain_bound(n_items: int, n_evaluations: int, hyperparameters: Hyperparameters) -> float:
    """An upper bound, in nats, on gamma_T, the largest `information_gain` of T = `n_evaluations` permutations.

    gamma_T <= 1/2 min{T log(1 + s), N! log(1 + s lambda_max T)} (Theorem 3.10), which holds for any kernel, here with
    the exact lambda_max of the position kernel. It holds for repeated permutations too, and only among those, T > N!,
    can the second term be the smaller: lambda_max >= 1. Raises InputError for no evaluation or item, and for a noise
    or decay that is not positive. Cost O(N^2).
    """
    ratio = _signal_to_noise(n_evaluations, hyperparameters)
    return 0.5 * min(n_evaluations * math.log1p(ratio), _spectral_term(n_items, n_evaluations, hyperparameters))


def position_gain_bound(n_items: int, n_evaluations: int, hyperparameters: Hyperparameters) -> float:
    """`finite_space_gain_bound` sharpened for the position kernel, in nats (Theorem 3.12).

    gamma_T <= 1/2 min{A(T), N! log(1 + s lambda_max T)} where r = rho^D_max is the least correlation and
    A(T) = log(1 + s (1 + (T - 1) r)) + (T - 1) log(1 + s (1 - r)): the largest eigenvalue of T permutations'
    correlations is at least 1 + (T - 1) r. Attained for T = 1, and for T = 2 by an ordering and its reverse. Errors
    and cost as there.
    """
    ratio = _signal_to_noise(n_evaluations, hyperparameters)
    spectral = _spectral_term(n_items, n_evaluations, hyperparameters)
    exponent = hyperparameters.decay / n_items * max_position_distance(n_items)
    least, others = math.exp(-exponent), n_evaluations - 1
    first = math.log1p(ratio * (1 + others * least))
    return 0.5 * min(first + others * math.log1p(ratio * -math.expm1(-exponent)), spectral)


def _spectral_term(n_items: int, n_evaluations: int, hyperparameters: Hyperparameters) -> float:
    """N! log(1 + s lambda_max T)."""
    log_largest = log_largest_eigenvalue(n_items, hyperparameters.decay)
    if n_items > LARGEST_FACTORIAL:
        return math.inf
    ratio = hyperparameters.signal_variance / hyperparameters.noise
    return math.factorial(n_items) * float(np.logaddexp(0.0, math.log(ratio * n_evaluations) + log_largest))


def information_gain(X: IntArray, hyperparameters: AnyHyperparameters) -> float:
    """What noisy values at X (n, n_items) tell of f: I(y; f) = 1/2 log det(I + K(X, X) / noise) nats (Definition 3.5).

    Raises InputError for no positive noise. Cost O(n^3 + n^2 n_items).
    """
    return float(information_gains(X, hyperparameters)[-1])


def information_gains(X: IntArray, hyperparameters: AnyHyperparameters) -> FloatArray:
    """The `information_gain` of the first 1, 2, ..., n of the permutations X, (n,); the same errors and cost."""
    ratio = _signal_to_noise(len(X), hyperparameters)
    kernel: Form = hyperparameters.kernel
    positions = positions_of(X)
    correlations = kernel.table(X.shape[1], hyperparameters)[kernel.distances(positions, positions)]
    correlations /= hyperparameters.signal_variance
    factor = cholesky(np.eye(len(X)) + ratio * correlations, lower=True)
    return np.cumsum(np.log(np.diag(factor)))


def pi_t(round: int) -> float:
    """pi_t = pi^2 t^2 / 6, for which sum_t 1 / pi_t = 1 (Theorem 3.6; its appendix misprints sum_t pi_t <= 1)."""
    return math.pi**2 * round**2 / 6


def beta_t(n_items: int, round: int, batch_size: int, delta: float) -> float:
    """GP-UCB's beta_t = 2 log(N! pi^2 ((t - 1) B + 1)^2 / (6 delta)) in round t = 1, 2, ... (Theorem 3.6).

    With probability 1 - delta, |f(x) - mu(x)| <= beta_t^(1/2) sigma(x) for all x in all rounds, with mu and sigma from
    before the batch. Raises InputError for delta outside (0, 1), or no item, round or batch. Cost O(1).
    """
    _require_counts(n_items=n_items, round=round, batch_size=batch_size)
    _require_delta(delta)
    return ucb_beta(n_items, round, batch_size, delta)


def zeta_t(round: int, delta: float) -> float:
    """EST's zeta_t = (2 log(pi_t^2 / (2 delta)))^(1/2) in round t (Theorem 3.6).

    With probability 1 - delta, |f(x_t) - mu(x_t)| <= zeta_t sigma(x_t) in all rounds, x_t the first of a batch. The
    paper claims this for any pi_t with sum_t 1 / pi_t <= 1, but the union bound needs 2 sum_t 1 / pi_t^2 <= 1. That sum
    is 0.8 with `pi_t`; with pi_1 = 1 and a single round the claim is false at delta = 0.4. Raises InputError for delta
    outside (0, 1) or no round. Cost O(1).
    """
    _require_counts(round=round)
    _require_delta(delta)
    return math.sqrt(2 * math.log(pi_t(round) ** 2 / (2 * delta)))


def nu_t(mean: FloatArray, variance: FloatArray, optimum_estimate: float) -> float:
    """EST's nu_t = min over x of (mu(x) - m-hat) / sigma(x), minus the largest `est` (Theorem 3.6).

    `mean` and `variance` (m,) are the posterior at all x, or at all that may still be proposed. Cost O(m).
    """
    return float(np.min((mean - optimum_estimate) / np.sqrt(variance)))


def ucb_eta_t(n_items: int, round: int, batch_size: int, delta: float) -> float:
    """eta_t = 2 beta_t^(1/2) for LAW-UCB (Theorem 3.6): the first regret of a batch is at most eta_t sigma(x_t).

    Errors and cost as `beta_t`.
    """
    return 2 * math.sqrt(beta_t(n_items, round, batch_size, delta))


def est_eta_t(nu: Sequence[float], delta: float) -> float:
    """eta_t = max_s nu_s + zeta_t for LAW-EST, from nu_1, ..., nu_t (Theorem 3.6).

    It bounds regrets as `ucb_eta_t` does while m-hat <= min f. The paper's lemma leaves this condition out and `delta`
    does not account for it: m-hat is an expected minimum, and is above min f in some round of half the runs or more on
    functions drawn from the process. Raises InputError for delta outside (0, 1) or no round. Cost O(t).
    """
    zeta = zeta_t(len(nu), delta)
    return max(nu) + zeta


def regret_bound(
    eta: float,
    n_rounds: int,
    batch_size: int,
    gain: float,
    weight_bounds: tuple[float, float],
    hyperparameters: Hyperparameters,
) -> float:
    """Theorem 3.6: with probability 1 - delta, the regret R_T / T of LAW is at most this, in normalised values.

    R_T / T <= signal_variance^(1/2) eta_T (1 / T + w_+ / w_- (C_1 gamma_TB / (T B))^(1/2)), C_1 = 2 / log(1 + s), where
    R_T = sum_t min_b f(x_tb) - min f; the simple regret has min_t for sum_t, and is at most R_T / T. C_1 is what the
    proof gives: the theorem has 36 for 2, 4.2 times the second term.

    `eta` is `ucb_eta_t` or `est_eta_t` of round T = `n_rounds`. `gain` is gamma_TB or a bound on it, in nats, or the
    `information_gain` of the run's own T B evaluations, which is all that the proof uses. `weight_bounds` (w_-, w_+)
    are the infimum and supremum of the weight: (0.01, 1) for the sigmoid. EI's weight 0.01 + a has (0.01, inf), and
    the theorem does not apply. It takes every choice to be the best of all permutations; where none is proposed twice,
    the proof bounds the simple regret alone, as it bounds the first point of a batch until the optimum is taken.

    Raises InputError for weights that are not bounded by positive numbers, no round, batch or noise. Cost O(1).
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


def _signal_to_noise(n_evaluations: int, hyperparameters: AnyHyperparameters) -> float:
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
