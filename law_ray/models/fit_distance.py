"""The fit of a kernel of one distance, by evidence: the model of the paper's methods."""

import numpy as np

from law_ray.kernels.distance import POSITION_KERNEL, DistanceHyperparameters, DistanceKernel, positions_of
from law_ray.models.evidence import log_evidence, maximised
from law_ray.models.standardize import Standardization
from law_ray.typing import FloatArray, Int32Array, IntArray

# The box of the parameters (decay, signal_variance, noise), on the scale of their logarithms. It is wide (heuristic);
# the least noise keeps the Cholesky factor of near-duplicates accurate.
LOWER = np.log([1e-5, 1e-2, 1e-6])
UPPER = np.log([5e1, 1e4, 5e0])
STARTS = np.log([[0.5, 1.0, 1e-2], [0.02, 30.0, 1e-2]])
"""A rugged objective, and a smooth one (heuristic)."""
N_RANDOM_STARTS = 2
"""Further starts, at random points of the box (heuristic)."""
MAX_STEPS = 15_000
"""Steps of L-BFGS at most, which is as good as no limit."""
N_SCREENED = 160
"""With more points, a random part of this size decides which start leads to the best fit (heuristic)."""


def log_marginal_likelihood(
    log_parameters: FloatArray,
    distances: Int32Array,
    y: FloatArray,
    n_items: int,
    known_noise: FloatArray | float = 0.0,
    kernel: DistanceKernel = POSITION_KERNEL,
) -> tuple[float, FloatArray, float]:
    """Compute log p(y | X) in nats, its gradient, and the constant mean that maximises it.

    This is `evidence.log_evidence` with A = K + (noise + known_noise) I. A distance appears in many pairs, and dA
    depends on a pair only through its distance, so the gradient sums over distances. Cost O(n^3).

    Args:
        log_parameters: log (decay, signal_variance, noise).
        distances: (n, n) between the points.
        y: (n,) standardized values.
        n_items: The size of the permutations.
        known_noise: (n,) variances that come with the values.
        kernel: The kernel of the distances.

    Raises:
        LinAlgError: A is numerically singular.
    """
    decay, signal_variance, noise = np.exp(log_parameters)
    correlations = kernel.correlations(n_items, decay)
    A = signal_variance * correlations[distances]
    A[np.diag_indices(len(y))] += noise + known_noise
    value, alpha, inverse, mean = log_evidence(np.asfortranarray(A), y)
    # Counting the lower triangle twice gives the sum over all pairs, and the diagonal once too often.
    weights = np.outer(alpha, alpha) - 2.0 * np.tril(inverse)
    collected = np.bincount(distances.ravel(), weights=weights.ravel(), minlength=len(correlations))
    collected[0] += np.trace(inverse)
    trace = alpha @ alpha - np.trace(inverse)
    by_distance = signal_variance * correlations * collected
    d_decay = -kernel.rate(n_items, decay) * (np.arange(len(correlations)) @ by_distance)
    gradient = 0.5 * np.array([d_decay, by_distance.sum(), noise * trace])
    return value, gradient, mean


def fit(
    X: IntArray,
    y: FloatArray,
    rng: np.random.Generator,
    previous: DistanceHyperparameters | None = None,
    standard_errors: FloatArray | None = None,
    kernel: DistanceKernel = POSITION_KERNEL,
) -> DistanceHyperparameters:
    """Return the hyperparameters that maximise the evidence of (X, y), by L-BFGS from several starts.

    The starts are the previous fit if there is one, STARTS, and N_RANDOM_STARTS points of the box. Beyond N_SCREENED
    points they are the previous fit and the best fit of a random part of N_SCREENED points. Cost: per start some
    30 evaluations of the evidence, O(n^3) each.

    Args:
        X: (n, n_items) permutations.
        y: (n,) raw values.
        rng: Draws the random starts and the random part.
        previous: The last fit.
        standard_errors: (n,) of the values, 0 where unknown.
        kernel: The kernel to fit.
    """
    n_items = X.shape[1]
    standardize = Standardization.of(y)
    z = standardize(y)
    known_noise = np.broadcast_to(standardize.known_noise(standard_errors), y.shape)
    distances = kernel.distances(positions := positions_of(X), positions)

    starts = [*STARTS, *rng.uniform(LOWER, UPPER, size=(N_RANDOM_STARTS, 3))]
    if previous is not None:
        starts.insert(0, np.log([previous.decay, previous.signal_variance, previous.noise]))
    if len(y) > N_SCREENED:
        part = np.sort(rng.choice(len(y), N_SCREENED, replace=False))
        screened = _climb_evidence(starts, distances[np.ix_(part, part)], z[part], n_items, known_noise[part], kernel)
        starts = [screened, *starts[: previous is not None]]
    best = _climb_evidence(starts, distances, z, n_items, known_noise, kernel)
    mean = log_marginal_likelihood(best, distances, z, n_items, known_noise, kernel)[2]
    decay, signal_variance, noise = np.exp(best)
    return DistanceHyperparameters(float(decay), float(signal_variance), float(noise), mean, kernel)


def _climb_evidence(
    starts: list[FloatArray],
    distances: Int32Array,
    y: FloatArray,
    n_items: int,
    known_noise: FloatArray,
    kernel: DistanceKernel,
) -> FloatArray:
    """Return the best log parameters that L-BFGS reaches from the starts."""

    def density(log_parameters: FloatArray) -> tuple[float, FloatArray, float]:
        return log_marginal_likelihood(log_parameters, distances, y, n_items, known_noise, kernel)

    clipped = [(np.clip(start, LOWER, UPPER), MAX_STEPS) for start in starts]
    return maximised(density, len(y), np.column_stack([LOWER, UPPER]), clipped)
