"""The fit of the tour kernel: the vectors of the items, by evidence.

The parameters maximise the posterior density: the evidence, times a normal prior that keeps the vectors near each
other. The gradient costs about as much as the evidence, however many parameters there are. `law_ray.kernels.tour`
defines the notation.
"""

from collections.abc import Callable

import numpy as np

from law_ray.kernels.distance import positions_of
from law_ray.kernels.loops import image_sums, weighted_products
from law_ray.kernels.tour import TourHyperparameters, alike, joins, neighbours
from law_ray.models.evidence import N_FIT, NOISE, NOISE_DEVIATION, log_evidence, maximised, standardized_part
from law_ray.models.fit_additive import LEAST_WEIGHT
from law_ray.typing import FloatArray, IntArray
from law_ray.utils import parallel

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
TOGETHER = 32
"""Points whose sums are computed by one thread, and added together first (heuristic)."""
WARM_STEPS, FRESH_STEPS = 15, 60
"""Steps of L-BFGS from the previous fit, and from a fresh start (heuristic)."""
FRESH_WORK = 1e8
"""A fresh start is tried as well as the previous fit while n n_items^3 is at most this (heuristic): up to 58 items with
500 points."""
MAX_WORK, LEAST_STEPS = 3e10, 5
"""Steps from the previous fit: at most MAX_WORK / (n n_items^3), but at least LEAST_STEPS (heuristic).

A fresh start may take twice as many. Steps of 200 items and 500 points take half a second each on one core.
"""


class TourEvidence:
    """The log posterior density of the parameters, and its gradient, given n points of standardized values (n,).

    The parameters (size,) are log w_1, log w_2, the log of the noise, and the vectors. The weights and the noise have
    the priors of `fit_additive`.
    """

    def __init__(self, X: IntArray, y: FloatArray, known_noise: FloatArray) -> None:
        self._y, self._known_noise = y, known_noise
        q = positions_of(X)
        self._joins = joins(q)
        self._neighbours = np.array(neighbours(q), dtype=np.int32)  # (2, n, n_items)
        self._parts = [slice(begin, begin + TOGETHER) for begin in range(0, len(y), TOGETHER)]
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
        lower = np.concatenate(
            parallel.each(lambda some: image_sums(T, *self._neighbours[:, some], self._joins, some.start), self._parts)
        )
        R = lower + np.tril(lower, -1).T
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
        """Return the gradient with respect to T from that with respect to R: 2 sum_ij of_R[i, j] M_i T M_j.

        Only the terms with j <= i are computed: as of_R is symmetric, the others are their transposes.
        """
        lower = np.tril(of_R)
        lower[np.diag_indices(len(lower))] *= 0.5
        products = parallel.each(
            lambda some: weighted_products(T, *self._neighbours[:, some], self._joins, some.start, lower[some]),
            self._parts,
        )
        half = np.sum(products, axis=0)
        return np.asarray(2.0 * (half + half.T))

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
    weights, vectors, away = np.exp(parameters[:2]), parameters[3:], parameters[2] - np.log(NOISE)
    of_vectors, of_noise = np.sum((vectors / DEVIATION) ** 2), (away / NOISE_DEVIATION) ** 2
    value -= 0.5 * (of_vectors + np.log(weights + LEAST_WEIGHT).sum() + of_noise)
    gradient[:2] -= 0.5 * weights / (weights + LEAST_WEIGHT)
    gradient[2] -= away / NOISE_DEVIATION**2
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

    It starts from the previous fit, and from random vectors where that is not too costly. Cost: WARM_STEPS +
    FRESH_STEPS steps, each one or a few evaluations of the evidence of at most N_FIT points (see `TourEvidence`), or
    fewer (`MAX_WORK`).

    Args:
        X: (n, n_items) permutations.
        y: (n,) raw values.
        rng: Draws the random vectors, and the part of the points that is fitted.
        previous: The last fit.
        standard_errors: (n,) of the values, 0 where unknown.
    """
    return prepared(X, y, rng, previous, standard_errors)()


def prepared(
    X: IntArray,
    y: FloatArray,
    rng: np.random.Generator,
    previous: TourHyperparameters | None = None,
    standard_errors: FloatArray | None = None,
) -> Callable[[], TourHyperparameters]:
    """Draw what `fit` draws, and return the rest of it, which may run while others draw from the generator."""
    part = standardized_part(X, y, standard_errors, rng)
    work = min(len(y), N_FIT) * X.shape[1] ** 3
    most = max(LEAST_STEPS, int(MAX_WORK / work))
    fresh = []
    if previous is None or work <= FRESH_WORK:
        vectors = rng.normal(size=X.shape[1] * N_DIMENSIONS) * SPREAD / np.sqrt(N_DIMENSIONS)
        fresh.append((np.concatenate([START, vectors]), min(FRESH_STEPS, 2 * most)))

    def rest() -> TourHyperparameters:
        evidence = TourEvidence(*part)
        warm = [] if previous is None else [(evidence.pack(previous), min(WARM_STEPS, most))]
        starts = fresh + warm
        return evidence.unpack(maximised(evidence, len(y), evidence.bounds, starts))

    return rest
