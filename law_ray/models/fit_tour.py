"""The fit of the tour kernel: the vectors of the items, by evidence.

The parameters maximise the posterior density: the evidence, times a normal prior that keeps the vectors near each
other. The gradient costs about as much as the evidence, however many parameters there are. `law_ray.kernels.tour`
defines the notation.
"""

import numpy as np

from law_ray.kernels.distance import positions_of
from law_ray.kernels.loops import gathered, scattered
from law_ray.kernels.tour import TourHyperparameters, alike, images, joins, neighbours
from law_ray.models.evidence import log_evidence, maximised, standardized_part
from law_ray.models.fit_additive import LEAST_WEIGHT
from law_ray.typing import FloatArray, IntArray

N_DIMENSIONS = 3
"""The numbers in an item's vector (heuristic)."""
SPREAD = 1.5
"""The root mean square length of the vectors where a fresh fit starts (heuristic)."""
START = np.log([0.1, 0.3, 0.01])
"""The logarithms of w_1, w_2 and the noise where a fresh fit starts (heuristic)."""
DEVIATION = 3.0
"""The prior standard deviation of each number (heuristic)."""
LEAST_NOISE = 1e-3
"""The least noise variance: with so many parameters, the evidence prefers too little noise (heuristic)."""
WARM_STEPS, FRESH_STEPS = 15, 60
"""Steps of L-BFGS from the previous fit, and from a fresh start (heuristic)."""


class TourEvidence:
    """The log posterior density of the parameters, and its gradient, given n points of standardized values (n,).

    The parameters (size,) are log w_1, log w_2, the log of the noise, and the vectors. The weights and the noise have
    the priors of `fit_additive`.
    """

    def __init__(self, X: IntArray, y: FloatArray, known_noise: FloatArray) -> None:
        self._y, self._known_noise = y, known_noise
        self._q = positions_of(X)
        self._joins = joins(self._q)
        self._shape = X.shape[1], N_DIMENSIONS
        self.size = 3 + X.shape[1] * N_DIMENSIONS
        box = np.log([[1e-6, 1e2], [1e-6, 1e2], [LEAST_NOISE, 2.0]])
        self.bounds = np.concatenate([box, np.tile([-30.0, 30.0], (self.size - 3, 1))])

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray, float]:
        """Compute the log density, its gradient and the best constant mean; O(n^2 (n + n_items) + n n_items^3).

        Raises:
            LinAlgError: The covariance is numerically singular.
        """
        (w1, w2, noise), vectors = np.exp(parameters[:3]), parameters[3:].reshape(self._shape)
        T = alike(vectors)
        flat = images(T, self._q).reshape(len(self._y), -1)
        R = gathered(np.ascontiguousarray(flat.T), self._joins)
        own = np.diag(R).copy()
        scale = np.sqrt(np.outer(own, own))
        C = R / scale
        A = C * (w1 + w2 * C)
        diagonal = np.diag_indices(len(A))
        A[diagonal] += noise + self._known_noise
        value, alpha, inverse, mean = log_evidence(A, self._y)
        weights = np.outer(alpha, alpha) - inverse
        # `of_` means "gradient with respect to".
        of_K = 0.5 * (np.tril(weights) + np.tril(weights, -1).T)
        of_C = of_K * (w1 + 2.0 * w2 * C)
        of_R = of_C / scale
        of_R[diagonal] -= np.einsum("ij,ij->i", of_C, C) / own
        gradient = np.concatenate(
            [
                [w1 * np.vdot(of_K, C), w2 * np.vdot(of_K, C * C), noise * np.trace(of_K)],
                _gradient_of_vectors(self._gradient_of_alike(of_R, T), T, vectors).ravel(),
            ]
        )
        return (*_with_prior(parameters, value, gradient), mean)

    def _gradient_of_alike(self, of_R: FloatArray, T: FloatArray) -> FloatArray:
        """Return the gradient with respect to T from that with respect to R: 2 sum_ij of_R[i, j] M_i T M_j."""
        n, n_items = self._q.shape
        Q = scattered(of_R, self._joins, n_items**2).reshape(n, n_items, n_items)
        before, after = neighbours(self._q)
        return 2.0 * np.tensordot(T[before] + T[after], Q, axes=([0, 2], [0, 2]))

    def pack(self, hyperparameters: TourHyperparameters) -> FloatArray:
        """Return the parameters (size,) of some hyperparameters."""
        known = np.log([*hyperparameters.weights, hyperparameters.noise])
        return np.concatenate([known, np.ravel(hyperparameters.vectors)])

    def unpack(self, parameters: FloatArray) -> TourHyperparameters:
        """Return the hyperparameters of some parameters."""
        *weights, noise = np.exp(parameters[:3]).tolist()
        vectors = parameters[3:].reshape(self._shape).tolist()
        return TourHyperparameters(weights, vectors, noise, self(parameters)[2])


def _gradient_of_vectors(of_T: FloatArray, T: FloatArray, vectors: FloatArray) -> FloatArray:
    """Return the gradient with respect to the vectors from that with respect to T."""
    pull = (of_T + of_T.T) * T
    return pull @ vectors - pull.sum(axis=1)[:, None] * vectors


def _with_prior(parameters: FloatArray, value: float, gradient: FloatArray) -> tuple[float, FloatArray]:
    """Add the log density of the priors to the log evidence, and its derivatives to the gradient."""
    weights, vectors, away = np.exp(parameters[:2]), parameters[3:], parameters[2] - np.log(0.01)
    value -= 0.5 * (np.sum((vectors / DEVIATION) ** 2) + np.log(weights + LEAST_WEIGHT).sum() + (away / 2.0) ** 2)
    gradient[:2] -= 0.5 * weights / (weights + LEAST_WEIGHT)
    gradient[2] -= away / 4.0
    gradient[3:] -= vectors / DEVIATION**2
    return float(value), gradient


def fit(
    X: IntArray,
    y: FloatArray,
    rng: np.random.Generator,
    previous: TourHyperparameters | None = None,
    standard_errors: FloatArray | None = None,
) -> TourHyperparameters:
    """Return the hyperparameters of largest posterior density given (X, y), by L-BFGS.

    It starts from the previous fit, and from random vectors. Cost: WARM_STEPS + FRESH_STEPS evaluations of the evidence
    of at most N_FIT points (see `TourEvidence`).

    Args:
        X: (n, n_items) permutations.
        y: (n,) raw values.
        rng: Draws the random vectors, and the part of the points that is fitted.
        previous: The last fit.
        standard_errors: (n,) of the values, 0 where unknown.
    """
    evidence = TourEvidence(*standardized_part(X, y, standard_errors, rng))
    vectors = rng.normal(size=evidence.size - 3) * SPREAD / np.sqrt(N_DIMENSIONS)
    starts = [(np.concatenate([START, vectors]), FRESH_STEPS)]
    if previous is not None:
        starts.append((evidence.pack(previous), WARM_STEPS))
    return evidence.unpack(maximised(evidence, len(y), evidence.bounds, starts))
