"""The fit of the additive kernel: on which distances a problem's values depend, by evidence.

The weights maximise the posterior density under the prior p(w) ~ 1 / sqrt(w + LEAST_WEIGHT). This prior drops every
component that the data do not ask for: mostly one to three remain, and the others cost the search nothing. The
derivatives of a table are tables too, so an evaluation costs one Cholesky factor and one inverse, whatever the number
of parameters.
"""

from collections.abc import Callable

import numpy as np

from law_ray.kernels.additive import COMPONENTS, AdditiveHyperparameters, Tables
from law_ray.kernels.distance import positions_of
from law_ray.models.evidence import NOISE, NOISE_DEVIATION, log_evidence, maximised, standardized_part
from law_ray.typing import FloatArray, Int32Array, IntArray
from law_ray.utils.compiled import compiled

LEAST_WEIGHT = 1e-3
"""A smaller share of the standardized values' variance counts as nothing (heuristic)."""
LEAST_NOISE = 1e-5
"""Keeps the Cholesky factor of near-duplicates accurate (heuristic)."""
WARM_STEPS, FRESH_STEPS = 10, 40
"""Steps of L-BFGS from the previous fit, and from a fresh start (heuristic)."""


class AdditiveEvidence:
    """The log posterior density of log parameters, and its gradient, given n points of standardized values (n,).

    The parameters are those of all COMPONENTS in their order, and then the noise. The decays' priors are log-normal
    around 3 / n_items, with which a kernel falls to about exp(-1) or exp(-3) between random permutations. The noise's
    prior is log-normal around NOISE.
    """

    def __init__(self, X: IntArray, y: FloatArray, known_noise: FloatArray) -> None:
        self._n_items = X.shape[1]
        self._y, self._known_noise = y, known_noise
        positions = positions_of(X)
        self._distances = np.stack([each.distance.between(positions, positions) for each in COMPONENTS.values()])
        sizes = [2 + component.degree for component in COMPONENTS.values()]
        starts = np.cumsum([0, *sizes])
        self.own = dict(zip(COMPONENTS, map(slice, starts[:-1], starts[1:]), strict=True))
        self.size = int(starts[-1]) + 1
        self._decays = starts[:-1] + 1
        self._weights = np.setdiff1d(np.arange(self.size - 1), self._decays)
        self.prior_centre = np.full(self.size, np.log(0.1))  # of the priors of the log parameters
        self.prior_centre[self._decays] = np.log(3.0 / self._n_items)
        self.prior_centre[-1] = np.log(NOISE)
        deviation = np.full(self.size, np.inf)
        deviation[self._decays], deviation[-1] = 1.5, NOISE_DEVIATION
        self._precision = deviation**-2
        lower, upper = np.full(self.size, np.log(1e-3 * LEAST_WEIGHT)), np.full(self.size, np.log(1e2))
        lower[self._decays], upper[self._decays] = np.log(1e-3 / self._n_items), np.log(20.0)
        lower[-1], upper[-1] = np.log(LEAST_NOISE), np.log(2.0)
        self.bounds = np.column_stack([lower, upper])

    def __call__(self, log_parameters: FloatArray) -> tuple[float, FloatArray, float]:
        """Compute the log density, its gradient and the best constant mean.

        Raises:
            LinAlgError: The covariance is numerically singular.
        """
        parameters = np.exp(log_parameters)
        noise = parameters[-1]
        of_components = [each.terms(self._n_items, parameters[self.own[name]]) for name, each in COMPONENTS.items()]
        tables = Tables.of([np.sum(terms, axis=0) for terms in of_components])
        A = _covariance(self._distances, tables.values, tables.offsets)
        A[np.diag_indices(len(A))] += noise + self._known_noise
        value, alpha, inverse, mean = log_evidence(A, self._y)
        weights = np.outer(alpha, alpha) - inverse
        sums = _sum_by_distance(self._distances, weights, tables.offsets, len(tables.values))
        gradient = np.zeros(self.size)
        for (name, component), terms, of_distance in zip(
            COMPONENTS.items(), of_components, np.split(sums, tables.offsets[1:]), strict=True
        ):
            rate = component.distance.rate(self._n_items, parameters[self.own[name]][1])
            derivatives = [terms[0], -(rate * np.arange(len(of_distance))) * terms[0], *terms[1:]]
            gradient[self.own[name]] = [0.5 * of_distance @ derivative for derivative in derivatives]
        gradient[-1] = 0.5 * noise * np.trace(weights)
        return (*self._with_prior(log_parameters, value, gradient), mean)

    def _with_prior(self, log_parameters: FloatArray, value: float, gradient: FloatArray) -> tuple[float, FloatArray]:
        away = log_parameters - self.prior_centre
        weights = np.exp(log_parameters[self._weights])
        value -= 0.5 * away**2 @ self._precision + 0.5 * np.log(weights + LEAST_WEIGHT).sum()
        gradient = gradient - away * self._precision
        gradient[self._weights] -= 0.5 * weights / (weights + LEAST_WEIGHT)
        return float(value), gradient

    def pack(self, hyperparameters: AdditiveHyperparameters) -> FloatArray:
        """Return the log parameters (size,) of some hyperparameters."""
        log_parameters = self.prior_centre.copy()
        log_parameters[self._weights] = -np.inf
        for name, parameters in hyperparameters.components.items():
            log_parameters[self.own[name]] = np.log(parameters)
        log_parameters[-1] = np.log(hyperparameters.noise)
        return self.clip(log_parameters)

    def unpack(self, log_parameters: FloatArray) -> AdditiveHyperparameters:
        """Return the hyperparameters, without the components whose weights count as nothing."""
        parameters = np.exp(log_parameters)
        mean = self(log_parameters)[2]
        components = {name: parameters[own].tolist() for name, own in self.own.items()}
        sums = {name: sum(own) - own[1] for name, own in components.items()}
        least = min(LEAST_WEIGHT, max(sums.values()))
        kept = {name: own for name, own in components.items() if sums[name] >= least}
        return AdditiveHyperparameters(kept, float(parameters[-1]), mean)

    def clip(self, log_parameters: FloatArray) -> FloatArray:
        """Return the nearest log parameters within the bounds."""
        return np.clip(log_parameters, *self.bounds.T)


@compiled(fastmath=True)
def _covariance(distances: Int32Array, tables: FloatArray, offsets: IntArray) -> FloatArray:
    """Return the lower triangle (n, n) of the kernel at (n_components, n, n) distances, 0 above it."""
    n_components, n = distances.shape[0], distances.shape[1]
    A = np.zeros((n, n))
    for i in range(n):
        for c in range(n_components):
            for j in range(i + 1):
                A[i, j] += tables[np.uint64(offsets[c] + distances[c, i, j])]
    return A


@compiled(fastmath=True)
def _sum_by_distance(distances: Int32Array, weights: FloatArray, offsets: IntArray, size: int) -> FloatArray:
    """Sum a symmetric matrix of weights over the pairs at each distance of each component: (size,).

    Only its lower triangle is read.
    """
    n_components, n = distances.shape[0], distances.shape[1]
    sums = np.zeros(size)
    for i in range(n):
        for c in range(n_components):
            for j in range(i):
                sums[np.uint64(offsets[c] + distances[c, i, j])] += 2.0 * weights[i, j]
            sums[np.uint64(offsets[c] + distances[c, i, i])] += weights[i, i]
    return sums


def fit(
    X: IntArray,
    y: FloatArray,
    rng: np.random.Generator,
    previous: AdditiveHyperparameters | None = None,
    standard_errors: FloatArray | None = None,
) -> AdditiveHyperparameters:
    """Return the hyperparameters of largest posterior density given (X, y), by L-BFGS.

    It starts from the previous fit, and afresh with equal weights, because a component without a weight in the previous
    fit would not come back. Cost: WARM_STEPS + FRESH_STEPS steps, each one or a few evaluations of the evidence of at
    most N_FIT points, O(N_FIT^3).

    Args:
        X: (n, n_items) permutations.
        y: (n,) raw values.
        rng: Draws the part of the points that is fitted.
        previous: The last fit.
        standard_errors: (n,) of the values, 0 where unknown.
    """
    return prepared(X, y, rng, previous, standard_errors)()


def prepared(
    X: IntArray,
    y: FloatArray,
    rng: np.random.Generator,
    previous: AdditiveHyperparameters | None = None,
    standard_errors: FloatArray | None = None,
) -> Callable[[], AdditiveHyperparameters]:
    """Draw what `fit` draws, and return the rest of it, which may run while others draw from the generator."""
    part = standardized_part(X, y, standard_errors, rng)

    def rest() -> AdditiveHyperparameters:
        evidence = AdditiveEvidence(*part)
        starts = [(evidence.prior_centre, FRESH_STEPS)]
        if previous is not None:
            starts.append((evidence.pack(previous), WARM_STEPS))
        return evidence.unpack(maximised(evidence, len(y), evidence.bounds, starts))

    return rest
