"""Exact Gaussian process over permutations: fit by evidence, posterior, conditioning on points.

The notation of the whole library (paper symbol, name, shape and meaning):

| paper         | name                         | shape, meaning                                                      |
|---------------|------------------------------|---------------------------------------------------------------------|
| N             | `n_items`                    | size of the permutations                                            |
| pi            | `permutation`                | (n_items,) int64, `permutation[k]` = the item at position k         |
| pi^-1         | `positions`                  | (n_items,) int64, `positions[item]` = its position                  |
| D_t           | `X`, `y`                     | (n, n_items) permutations, (n,) values, minimised                   |
| K, K_t        | `kernel`, `posterior`        | prior and posterior covariance                                      |
| tau           | `decay`                      | exp(-decay * distance / n_items): the paper's tau = decay / n_items |
|               | `signal_variance`            | k(x, x)                                                             |
|               | `components`                 | of a mixture: by kind of distance, weights and decay (`mixture`)    |
|               | `vectors`                    | of the items, in the latent kernel (`latent`)                       |
| sigma^2       | `noise`                      | variance of the observation noise                                   |
| mu, sigma^2(x)| `mean`, `variance`           | of the posterior, without observation noise                         |
| a, w          | `acquisition`, `weight`      | larger is better                                                    |
| L, L^AW       | diversity gauge, acquisition | L^AW(x, x') = w(a(x)) L(x, x') w(a(x'))                             |
|               | weighted kernel              |                                                                     |
| B, t          | `batch_size`, `round`        |                                                                     |
| m-hat         | `optimum_estimate`           | EST's estimate of the minimum                                       |
|               | `prior_mean`                 | what a proxy of the objective adds to the mean, by its weight       |
| REG_NML       | `regret`                     | nats                                                                |

Everything in this module but the `y` it is given is in units of the normalised values (zero mean, unit variance).
"""

import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas, cho_solve, cholesky, lapack

from law_ray.choice import ChoiceHyperparameters
from law_ray.evidence import maximised
from law_ray.kernels import POSITION, FloatArray, Form, Kernel, positions_of
from law_ray.latent import LatentHyperparameters
from law_ray.mixture import MixtureHyperparameters
from law_ray.normalisation import Normalisation
from law_ray.permutations import IntArray
from law_ray.prior_mean import PriorMean

# (decay, signal_variance, noise): the box of the fit. The least noise keeps the Cholesky factor of near-duplicates
# sound.
LOWER = np.log([1e-5, 1e-2, 1e-6])
UPPER = np.log([5e1, 1e4, 5e0])
STARTS = np.log([[0.5, 1.0, 1e-2], [0.02, 30.0, 1e-2]])  # a rugged objective, and a smooth one
N_RANDOM_STARTS = 2
MAX_STEPS = 15_000  # of L-BFGS: as good as no limit
N_SCREENED = 160  # of more points than these, a random part tells which start leads to the best fit


@dataclass(frozen=True)
class Hyperparameters:
    """Of the position kernel and the likelihood, in units of the normalised values."""

    decay: float
    signal_variance: float
    noise: float
    mean: float

    @property
    def kernel(self) -> Kernel:
        return POSITION


AnyHyperparameters = Hyperparameters | MixtureHyperparameters | LatentHyperparameters | ChoiceHyperparameters


class GaussianProcess:
    """The posterior of f given y = f(X) + noise, f ~ GP(mean, signal_variance k), k the correlations of `kernel`.

    Where there is a prior mean, the process is of what it leaves of f, and predictions add it again.

    K_t(x, x') = K(x, x') - K(x, X) (K(X, X) + S)^-1 K(X, x') (paper, Definition 2), where S is diagonal and holds
    `noise` plus, for values that came with a standard error, its square. Held as the inverse of the Cholesky factor C
    of K(X, X) + S: a product with a triangle takes half as long as solving with it. Conditioning on m further points
    costs O(n^2 m), and predicting at m points O(n^2 m + n m n_items).
    """

    def __init__(
        self,
        X: IntArray,
        y: FloatArray,
        hyperparameters: AnyHyperparameters,
        standard_errors: FloatArray | None = None,
        kernel: Form | None = None,
        prior_mean: PriorMean | None = None,
    ) -> None:
        """`X` (n, n_items) permutations, `y` (n,) raw values and their `standard_errors` (n,), 0 where unknown.

        The kernel is that of the hyperparameters, or another with the same. What a prior mean leaves of the values is
        what gives the units, and what the hyperparameters are of.
        """
        self.hyperparameters = hyperparameters
        self._prior_mean = prior_mean
        unforeseen = y if prior_mean is None else y - prior_mean(X)
        self.normalise = Normalisation.of(unforeseen)
        self.form: Form = hyperparameters.kernel if kernel is None else kernel
        self.kernel_values: Any = self.form.table(X.shape[1], hyperparameters)  # by distance
        self.least_variance = 1e-12 * hyperparameters.signal_variance  # where rounding would make it 0 or less
        self.X = X
        self.positions = positions_of(X)
        covariance = self.kernel(X, X)
        covariance[np.diag_indices(len(X))] += hyperparameters.noise + self.normalise.known_noise(standard_errors)
        self._inverse_factor = _inverse(cholesky(covariance, lower=True))
        self._whitened_y = self._inverse_factor @ (self.normalise(unforeseen) - hyperparameters.mean)

    def kernel(self, X1: IntArray, X2: IntArray) -> FloatArray:
        """Prior covariance (n, m)."""
        return self.kernel_values[self.form.distances(positions_of(X1), positions_of(X2))]

    def whiten(self, permutations: IntArray) -> FloatArray:
        """V = C^-1 K(X, permutations), shape (n, m).

        Mean and variance given the first i rows of X are `mean + z[:i] @ V[:i]` and `signal_variance - sum(V[:i]**2)`,
        which is how the batch choice gets the variance before and after the batch from one triangular solve.
        """
        return self.whiten_distances(self.form.distances(positions_of(permutations), self.positions))

    def whiten_distances(self, distances: NDArray[np.int32]) -> FloatArray:
        """`whiten` (n, m) for points at these distances (m, n) to X."""
        return blas.dtrmm(1.0, self._inverse_factor, self.kernel_values[distances].T, lower=1, overwrite_b=1)

    def unwhiten(self, V: FloatArray) -> FloatArray:
        """C^-T V: the weights (K(X, X) + S)^-1 K(X, x) when V = `whiten` of x."""
        return blas.dtrmm(1.0, self._inverse_factor, V, lower=1, trans_a=1)

    @cached_property
    def mean_weights(self) -> FloatArray:
        """(n,) weights of the kernel values in the posterior mean: mu(x) = mean + weights @ K(X, x)."""
        return self._whitened_y @ self._inverse_factor

    def predict(self, permutations: IntArray) -> tuple[FloatArray, FloatArray]:
        """Posterior mean and variance, each (m,), at (m, n_items) permutations."""
        V = self.whiten(permutations)
        return self.mean_from(V) + self.prior_mean(permutations), self.variance_from(V)

    def mean_from(self, V: FloatArray) -> FloatArray:
        """Posterior mean (m,) at the points whose `whiten` is V, without their prior mean."""
        return self.hyperparameters.mean + self._whitened_y @ V

    def prior_mean(self, permutations: IntArray) -> FloatArray | float:
        """What a proxy of the objective adds to the mean (m,) at (m, n_items) permutations; 0 without one."""
        return 0.0 if self._prior_mean is None else self.normalise.difference(self._prior_mean(permutations))

    @property
    def has_prior_mean(self) -> bool:
        return self._prior_mean is not None

    def decorrelate(self, errors: FloatArray) -> FloatArray:
        """C^-1 errors, (n, m), which are independent if the errors are those of the values."""
        return self._inverse_factor @ errors

    def variance_from(self, V: FloatArray) -> FloatArray:
        """Posterior variance (m,) at the points whose `whiten` is V."""
        explained = np.einsum("ij,ij->j", V, V)
        return np.maximum(self.hyperparameters.signal_variance - explained, self.least_variance)

    def posterior(self, X1: IntArray, X2: IntArray) -> FloatArray:
        """Posterior covariance K_t(X1, X2), shape (n, m)."""
        return self.kernel(X1, X2) - self.whiten(X1).T @ self.whiten(X2)

    def prior(self) -> "GaussianProcess":
        """The process before its data: K in place of K_t."""
        prior = copy.copy(self)
        prior.__dict__.pop("mean_weights", None)
        prior.X, prior.positions = self.X[:0], self.positions[:0]
        prior._inverse_factor, prior._whitened_y = np.zeros((0, 0), order="F"), np.zeros(0)
        return prior

    def condition(self, permutations: IntArray, values: FloatArray | None = None) -> "GaussianProcess":
        """The process given further points, by adding rows to the Cholesky factor. This one stays as it is.

        With raw `values` it equals a process built on all points with the same normalisation. Without them the points
        enter with their predicted mean: the mean stays as it is everywhere and the variance shrinks, which is how
        pending points are conditioned on.
        """
        V = self.whiten(permutations)
        covariance = self.kernel(permutations, permutations) - V.T @ V
        covariance[np.diag_indices(len(permutations))] += self.hyperparameters.noise
        corner = _inverse(cholesky(covariance, lower=True))
        n, m = V.shape
        inverse_factor = np.zeros((n + m, n + m), order="F")
        inverse_factor[:n, :n], inverse_factor[n:, n:] = self._inverse_factor, corner
        inverse_factor[n:, :n] = -corner @ self.unwhiten(V).T
        whitened = np.zeros(m)
        if values is not None:
            whitened = corner @ (self.normalise(values) - self.prior_mean(permutations) - self.mean_from(V))
        conditioned = copy.copy(self)
        conditioned.__dict__.pop("mean_weights", None)
        conditioned.X = np.concatenate([self.X, permutations])
        conditioned.positions = np.concatenate([self.positions, positions_of(permutations)])
        conditioned._inverse_factor = inverse_factor
        conditioned._whitened_y = np.concatenate([self._whitened_y, whitened])
        return conditioned


def _inverse(factor: FloatArray) -> FloatArray:
    """The inverse of a lower triangular matrix."""
    inverse: FloatArray = lapack.dtrtri(np.asfortranarray(factor), lower=1)[0]
    return inverse


def log_marginal_likelihood(
    log_parameters: FloatArray,
    distances: NDArray[np.int32],
    y: FloatArray,
    n_items: int,
    known_noise: FloatArray | float = 0.0,
    kernel: Kernel = POSITION,
) -> tuple[float, FloatArray, float]:
    """log p(y | X) in nats, its gradient, and the constant mean that maximises it (in closed form).

    log p = -1/2 r^T A^-1 r - 1/2 log det A - n/2 log 2 pi, with r = y - mean, A = K + (noise + known_noise) I and
    mean = 1^T A^-1 y / 1^T A^-1 1. `log_parameters` = log (decay, signal_variance, noise), `distances` (n, n), `y`
    (n,) normalised. The gradient is 1/2 tr((alpha alpha^T - A^-1) dA), alpha = A^-1 r; the mean, being optimal, adds
    nothing. Cost O(n^3): one Cholesky factor and one inverse. Raises LinAlgError when A is numerically singular.
    """
    n = len(y)
    decay, signal_variance, noise = np.exp(log_parameters)
    correlations = kernel.correlations(n_items, decay)
    A = signal_variance * correlations[distances]
    A[np.diag_indices(n)] += noise + known_noise
    factor = cholesky(A, lower=True, overwrite_a=True, check_finite=False)
    solve_y, solve_1 = cho_solve((factor, True), np.column_stack([y, np.ones(n)])).T
    mean = float(solve_y.sum() / solve_1.sum())
    alpha = solve_y - mean * solve_1
    log_det = 2.0 * np.log(np.diag(factor)).sum()
    value = -0.5 * ((y - mean) @ alpha + log_det + n * np.log(2.0 * np.pi))

    inverse, _ = lapack.dpotri(factor, lower=True, overwrite_c=True)
    # The inverse fills the lower triangle alone, the upper is 0: counting it twice gives the sum over all pairs, and
    # the diagonal once too often. dA depends on the pair only through its distance, so what each distance collects
    # suffices.
    weights = np.outer(alpha, alpha) - 2.0 * inverse
    collected = np.bincount(distances.ravel(), weights=weights.ravel(), minlength=len(correlations))
    collected[0] += np.trace(inverse)
    trace = alpha @ alpha - np.trace(inverse)
    by_distance = signal_variance * correlations * collected
    d_decay = -kernel.rate(n_items, decay) * (np.arange(len(correlations)) @ by_distance)
    gradient = 0.5 * np.array([d_decay, by_distance.sum(), noise * trace])
    return float(value), gradient, mean


def fit(
    X: IntArray,
    y: FloatArray,
    rng: np.random.Generator,
    previous: Hyperparameters | None = None,
    standard_errors: FloatArray | None = None,
    kernel: Kernel = POSITION,
) -> Hyperparameters:
    """Hyperparameters that maximise the evidence of (X, y), by L-BFGS from several starts.

    The starts are the previous fit if there is one, STARTS, and N_RANDOM_STARTS points of the box; beyond N_SCREENED
    points, the previous fit and what a random N_SCREENED of the points lead to. Raw `y` (n,). Cost: some 30 evaluations
    of the evidence a start, O(n^3) each.
    """
    n_items = X.shape[1]
    normalise = Normalisation.of(y)
    normalised = normalise(y)
    known_noise = np.broadcast_to(normalise.known_noise(standard_errors), y.shape)
    distances = kernel.distances(positions := positions_of(X), positions)

    starts = [*STARTS, *rng.uniform(LOWER, UPPER, size=(N_RANDOM_STARTS, 3))]
    if previous is not None:
        starts.insert(0, np.log([previous.decay, previous.signal_variance, previous.noise]))
    if len(y) > N_SCREENED:
        part = np.sort(rng.choice(len(y), N_SCREENED, replace=False))
        screened = _climb_evidence(
            starts, distances[np.ix_(part, part)], normalised[part], n_items, known_noise[part], kernel
        )
        starts = [screened, *starts[: previous is not None]]
    best = _climb_evidence(starts, distances, normalised, n_items, known_noise, kernel)
    mean = log_marginal_likelihood(best, distances, normalised, n_items, known_noise, kernel)[2]
    decay, signal_variance, noise = np.exp(best)
    return Hyperparameters(float(decay), float(signal_variance), float(noise), mean)


def _climb_evidence(
    starts: list[FloatArray],
    distances: NDArray[np.int32],
    y: FloatArray,
    n_items: int,
    known_noise: FloatArray,
    kernel: Kernel,
) -> FloatArray:
    """The best log parameters that L-BFGS reaches from the starts."""

    def density(log_parameters: FloatArray) -> tuple[float, FloatArray, float]:
        return log_marginal_likelihood(log_parameters, distances, y, n_items, known_noise, kernel)

    clipped = [(np.clip(start, LOWER, UPPER), MAX_STEPS) for start in starts]
    return maximised(density, len(y), np.column_stack([LOWER, UPPER]), clipped)
