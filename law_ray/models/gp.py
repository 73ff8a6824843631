"""The exact Gaussian process over permutations: its posterior, and conditioning on further points.

The notation of the whole library (paper symbol, name, shape and meaning):

| paper         | name                         | shape, meaning                                                      |
|---------------|------------------------------|---------------------------------------------------------------------|
| N             | `n_items`                    | size of the permutations                                            |
| pi            | `permutation`                | (n_items,) int64, `permutation[k]` = the item at position k         |
| pi^-1         | `positions`                  | (n_items,) `positions[item]` = its position, int32 in the loops     |
|               | `q`, `P`                     | (m, n_items) positions of orderings, (n, n_items) of the data       |
| D_t           | `X`, `y`                     | (n, n_items) permutations, (n,) values, minimised                   |
| K, K_t        | `kernel`, `posterior`        | prior and posterior covariance, functions of two sets of orderings  |
|               | `distances`                  | (m, n) distances or similarities, or (m, n_components, n)           |
|               | `covariance`                 | the prior covariance as a function of `distances`                   |
| tau           | `decay`                      | exp(-decay * distance / n_items): the paper's tau = decay / n_items |
|               | `signal_variance`            | K(x, x)                                                             |
|               | `components`                 | of the additive kernel: the weights and decay of each distance      |
|               | `vectors`, `alike`           | of the tour kernel: the items' vectors, and T, how alike they are   |
|               | `item_shares`,               | of the weighted precedence kernel: how much of the variance depends |
|               | `item_weights`,              | on what comes before each item, and how much items and pairs matter |
|               | `pair_factors`               |                                                                     |
| sigma^2       | `noise`                      | variance of the observation noise                                   |
|               | `known_noise`                | (n,) variances that come with the values, as standard errors        |
| mu, sigma^2(x)| `mean`, `variance`           | of the posterior, without observation noise                         |
|               | `proxy`, `prior_mean`        | a cheap prediction of the values, and what it adds to the mean      |
| a, w          | `acquisition`, `weight`      | larger is better                                                    |
| L, L^AW       | diversity gauge, acquisition | L^AW(x, x') = w(a(x)) L(x, x') w(a(x'))                             |
|               | weighted kernel              |                                                                     |
|               | `given_batch`                | L given the batch so far: the process, or its variance              |
| B, t          | `batch_size`, `round`        |                                                                     |
| m-hat         | `optimum_estimate`           | EST's estimate of the minimum                                       |
| REG_NML       | `regret`                     | nats                                                                |

Everything in this module is in units of the standardized values (zero mean, unit variance), with three exceptions that
are in raw units: `y`, `standard_errors`, and what the `PriorMean` returns.
"""

import copy
from functools import cached_property
from typing import Any

import numpy as np

from law_ray.kernels.distance import positions_of
from law_ray.kernels.protocol import Hyperparameters
from law_ray.models.prior_mean import PriorMean
from law_ray.models.standardize import Standardization
from law_ray.typing import FloatArray, IntArray
from law_ray.utils import algebra


class GaussianProcess:
    """The posterior of f given y = f(X) + noise, where f ~ GP(mean, K).

    K_t(x, x') = K(x, x') - K(x, X) (K(X, X) + S)^-1 K(X, x') (paper, Definition 3.2), where S is diagonal and holds
    `noise` plus, for values with a standard error, its square. With a prior mean, the process models the difference
    between f and the prior mean, and predictions add the prior mean again.

    The inverse of the Cholesky factor C of K(X, X) + S is stored: a product with a triangle takes half as long as
    solving with it. It is on the device that was current then (`law_ray.utils.algebra`). Conditioning on m further
    points costs O(n^2 m), predicting at m points O(n^2 m + n m n_items).
    """

    def __init__(
        self,
        X: IntArray,
        y: FloatArray,
        hyperparameters: Hyperparameters,
        standard_errors: FloatArray | None = None,
        prior_mean: PriorMean | None = None,
    ) -> None:
        """Condition the prior on the data; O(n^3).

        Args:
            X: (n, n_items) permutations.
            y: (n,) raw values.
            hyperparameters: Those of the kernel and the likelihood. With a prior mean, they are for the values less it.
            standard_errors: (n,) of the values, 0 where unknown.
            prior_mean: What a proxy adds to the mean.
        """
        self.hyperparameters = hyperparameters
        self._prior_mean = prior_mean
        unexplained = y if prior_mean is None else y - prior_mean(X)
        self.standardize = Standardization.of(unexplained)
        self.prior_kernel = hyperparameters.kernel  # once: a kernel may cache what it computed for the points
        self.covariance = hyperparameters.covariance(X.shape[1])
        self.least_variance = 1e-12 * hyperparameters.signal_variance  # where rounding would make it 0 or less
        self.X = X
        self.positions = positions_of(X)
        covariance = self.kernel(X, X)
        covariance[np.diag_indices(len(X))] += hyperparameters.noise + self.standardize.known_noise(standard_errors)
        self._inverse_factor = algebra.inverse(algebra.cholesky(algebra.put(covariance)))
        self._whitened_y = self.decorrelate(self.standardize(unexplained) - hyperparameters.mean)

    def kernel(self, X1: IntArray, X2: IntArray) -> FloatArray:
        """Return the prior covariance (n, m)."""
        return self.covariance[self.prior_kernel.distances(positions_of(X1), positions_of(X2))]

    def whiten(self, permutations: IntArray) -> FloatArray:
        """Return V = C^-1 K(X, permutations), (n, m).

        Mean and variance given the first i rows of X are `mean + z[:i] @ V[:i]` and `signal_variance - sum(V[:i]**2)`,
        where z = C^-1 (y - mean). So one triangular product gives the variance both without and with the batch.
        """
        return self.whiten_distances(self.prior_kernel.distances(positions_of(permutations), self.positions))

    def whiten_distances(self, distances: Any) -> FloatArray:
        """Return `whiten` (n, m) of permutations at these distances (m, n) to X."""
        return algebra.triangle_product(self._inverse_factor, self.covariance[distances].T, overwrite_b=True)

    def unwhiten(self, V: FloatArray) -> FloatArray:
        """Return C^-T V: the weights (K(X, X) + S)^-1 K(X, x) when V = `whiten` of x."""
        return algebra.triangle_product(self._inverse_factor, V, transposed=True)

    @cached_property
    def mean_weights(self) -> FloatArray:
        """Return the weights (n,) of the kernel values in the posterior mean: mu(x) = mean + weights @ K(X, x)."""
        return algebra.product(self._whitened_y, self._inverse_factor)

    def predict(self, permutations: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the posterior mean and variance, each (m,), at (m, n_items) permutations."""
        V = self.whiten(permutations)
        return self.mean_from(V) + self.prior_mean(permutations), self.variance_from(V)

    def mean_from(self, V: FloatArray) -> FloatArray:
        """Return the posterior mean (m,) of permutations whose `whiten` is V, without their prior mean."""
        return self.hyperparameters.mean + self._whitened_y @ V

    def prior_mean(self, permutations: IntArray) -> FloatArray | float:
        """Return what a proxy adds to the mean at (m, n_items) permutations, (m,); 0 without a proxy."""
        return 0.0 if self._prior_mean is None else self.standardize.difference(self._prior_mean(permutations))

    @property
    def has_prior_mean(self) -> bool:
        """Whether a proxy adds to the mean."""
        return self._prior_mean is not None

    def decorrelate(self, errors: FloatArray) -> FloatArray:
        """Return C^-1 errors, (n,) or (n, m), which are independent if they have the covariance of the values."""
        return algebra.product(self._inverse_factor, errors)

    def variance_from(self, V: FloatArray) -> FloatArray:
        """Return the posterior variance (m,) of permutations whose `whiten` is V."""
        explained = np.einsum("ij,ij->j", V, V)
        return np.maximum(self.hyperparameters.signal_variance - explained, self.least_variance)

    def posterior(self, X1: IntArray, X2: IntArray) -> FloatArray:
        """Return the posterior covariance K_t(X1, X2), (n, m)."""
        return self.kernel(X1, X2) - self.whiten(X1).T @ self.whiten(X2)

    def prior(self) -> "GaussianProcess":
        """Return the process without its data: K in place of K_t."""
        prior = copy.copy(self)
        prior.__dict__.pop("mean_weights", None)
        prior.X, prior.positions = self.X[:0], self.positions[:0]
        prior._inverse_factor, prior._whitened_y = np.zeros((0, 0), order="F"), np.zeros(0)
        return prior

    def condition(self, permutations: IntArray) -> "GaussianProcess":
        """Return the process given further points, by adding rows to the Cholesky factor. This one does not change.

        The points are assumed to have their predicted mean. Then the mean stays the same everywhere and the variance
        shrinks. Pending points are conditioned on in this way. Cost O(n^2 m).

        Args:
            permutations: (m, n_items) further points.
        """
        V = self.whiten(permutations)
        covariance = self.kernel(permutations, permutations) - V.T @ V
        covariance[np.diag_indices(len(permutations))] += self.hyperparameters.noise
        corner = algebra.inverse(algebra.cholesky(covariance))
        conditioned = copy.copy(self)
        conditioned.__dict__.pop("mean_weights", None)
        conditioned.X = np.concatenate([self.X, permutations])
        conditioned.positions = np.concatenate([self.positions, positions_of(permutations)])
        conditioned._inverse_factor = algebra.extended(self._inverse_factor, -corner @ self.unwhiten(V).T, corner)
        conditioned._whitened_y = np.concatenate([self._whitened_y, np.zeros(len(permutations))])
        return conditioned
