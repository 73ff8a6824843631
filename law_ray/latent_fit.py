"""The fit of the latent kernel: the vectors of the items that the values speak for, by evidence.

The parameters maximise the posterior density: the evidence, and a normal prior that keeps the vectors near each other.
The gradient costs about as much as the evidence, however many parameters there are.
"""

import numpy as np

from law_ray.evidence import log_evidence, maximised, normalised_part
from law_ray.kernels import FloatArray, positions_of
from law_ray.latent import LatentHyperparameters, alike, images, joins, neighbours
from law_ray.latent_moves import gathered, scattered
from law_ray.mixture_fit import LEAST_WEIGHT
from law_ray.permutations import IntArray

N_LATENT = 3  # numbers in a vector
SPREAD = 1.5  # root mean square length of the vectors where a fresh fit starts
DEVIATION = 3.0  # of each number, a priori
LEAST_NOISE = 1e-3  # evidence that chooses so many parameters believes in too little noise
WARM_STEPS, FRESH_STEPS = 15, 60  # of L-BFGS


class LatentEvidence:
    """The log posterior density of the parameters, and its gradient; given n points of normalised values (n,).

    The parameters (size,) are log w_1, log w_2, the log of the noise, and the vectors. The evidence is that of
    `gp.log_marginal_likelihood`, the priors of the weights and the noise are those of `mixture_fit`.
    """

    def __init__(self, X: IntArray, y: FloatArray, known_noise: FloatArray) -> None:
        self._y, self._known_noise = y, known_noise
        self._q = positions_of(X)
        self._joins = joins(self._q)
        self._shape = X.shape[1], N_LATENT
        self.size = 3 + X.shape[1] * N_LATENT
        box = np.log([[1e-6, 1e2], [1e-6, 1e2], [LEAST_NOISE, 2.0]])
        self.bounds = np.concatenate([box, np.tile([-30.0, 30.0], (self.size - 3, 1))])

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray, float]:
        """The density, its gradient and the best constant mean; O(n^2 (n + n_items) + n n_items^3).

        Raises LinAlgError when K is numerically singular.
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
        value, weights, mean = log_evidence(A, self._y)
        of_K = 0.5 * (np.tril(weights) + np.tril(weights, -1).T)
        of_C = of_K * (w1 + 2.0 * w2 * C)
        of_R = of_C / scale
        of_R[diagonal] -= np.einsum("ij,ij->i", of_C, C) / own
        gradient = np.concatenate(
            [
                [w1 * np.vdot(of_K, C), w2 * np.vdot(of_K, C * C), noise * np.trace(of_K)],
                _of_vectors(self._of_similarities(of_R, T), T, vectors).ravel(),
            ]
        )
        return (*_with_prior(parameters, value, gradient), mean)

    def _of_similarities(self, of_R: FloatArray, T: FloatArray) -> FloatArray:
        """The gradient with respect to T, of that with respect to R: 2 sum_ij of_R[i, j] M_i T M_j."""
        n, n_items = self._q.shape
        Q = scattered(of_R, self._joins, n_items**2).reshape(n, n_items, n_items)
        before, after = neighbours(self._q)
        return 2.0 * np.tensordot(T[before] + T[after], Q, axes=([0, 2], [0, 2]))

    def pack(self, hyperparameters: LatentHyperparameters) -> FloatArray:
        """The parameters (size,) of some hyperparameters."""
        known = np.log([*hyperparameters.weights, hyperparameters.noise])
        return np.concatenate([known, np.ravel(hyperparameters.vectors)])

    def unpack(self, parameters: FloatArray) -> LatentHyperparameters:
        """The hyperparameters of some parameters."""
        *weights, noise = np.exp(parameters[:3]).tolist()
        vectors = parameters[3:].reshape(self._shape).tolist()
        return LatentHyperparameters(weights, vectors, noise, self(parameters)[2])


def _of_vectors(of_similarities: FloatArray, T: FloatArray, vectors: FloatArray) -> FloatArray:
    """The gradient with respect to the vectors, of that with respect to their similarities."""
    pull = (of_similarities + of_similarities.T) * T
    return pull @ vectors - pull.sum(axis=1)[:, None] * vectors


def _with_prior(parameters: FloatArray, value: float, gradient: FloatArray) -> tuple[float, FloatArray]:
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
    previous: LatentHyperparameters | None = None,
    standard_errors: FloatArray | None = None,
    fresh: bool = True,
) -> LatentHyperparameters:
    """The hyperparameters of largest posterior density given (X, y), by L-BFGS from the previous fit or afresh.

    Raw `y` (n,). Afresh means from random vectors, if `fresh` or there is no previous fit. Cost: WARM_STEPS or
    FRESH_STEPS evaluations of the evidence of N_FIT points.
    """
    evidence = LatentEvidence(*normalised_part(X, y, standard_errors, rng))
    starts = []
    if fresh or previous is None:
        vectors = rng.normal(size=evidence.size - 3) * SPREAD / np.sqrt(N_LATENT)
        starts.append((np.concatenate([np.log([0.1, 0.3, 0.01]), vectors]), FRESH_STEPS))
    if previous is not None:
        starts.append((evidence.pack(previous), WARM_STEPS))
    return evidence.unpack(maximised(evidence, len(y), evidence.bounds, starts))
