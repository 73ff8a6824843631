"""The fit of the mixture: which kinds of distance a problem's values hang on, by evidence.

The weights maximise the posterior density under the prior p(w) ~ 1 / sqrt(w + LEAST_WEIGHT), which lets go of all that
the data do not ask for: mostly one to three kinds remain, and the others cost the search nothing. The derivatives of a
table are tables too, so an evaluation costs one Cholesky factor and one inverse, whatever the number of parameters.
"""

import numpy as np

from law_ray.compiled import compiled
from law_ray.evidence import log_evidence, maximised, normalised_part
from law_ray.kernels import FloatArray, positions_of
from law_ray.mixture import KINDS, MixtureHyperparameters, offsets_of, terms
from law_ray.permutations import IntArray
from law_ray.scan import Int32Array

LEAST_WEIGHT = 1e-3  # of the normalised values' variance: what is below it is as good as nothing
LEAST_NOISE = 1e-5
N_ALWAYS = 150  # points up to which each fit begins afresh too; later every fifth does
WARM_STEPS, FRESH_STEPS = 10, 40  # of L-BFGS


class Evidence:
    """The log posterior density of log parameters, and its gradient; given n points of normalised values (n,).

    The parameters are those of all KINDS in their order, and then the noise. The evidence is that of
    `gp.log_marginal_likelihood`; the decays' priors are log-normal about 3 / n_items, with which a kernel falls to
    about exp(-1) or exp(-3) between random permutations, and so is the noise's about 0.01.
    """

    def __init__(self, X: IntArray, y: FloatArray, known_noise: FloatArray) -> None:
        self._n_items = X.shape[1]
        self._y, self._known_noise = y, known_noise
        positions = positions_of(X)
        self._distances = np.stack([kind.distances(positions, positions) for kind in KINDS.values()])
        sizes = [2 + kind.degrees for kind in KINDS.values()]
        starts = np.cumsum([0, *sizes])
        self.own = dict(zip(KINDS, map(slice, starts[:-1], starts[1:]), strict=True))
        self.size = int(starts[-1]) + 1
        self._decays = starts[:-1] + 1
        self._weights = np.setdiff1d(np.arange(self.size - 1), self._decays)
        self.prior_mean = np.full(self.size, np.log(0.1))
        self.prior_mean[self._decays] = np.log(3.0 / self._n_items)
        self.prior_mean[-1] = np.log(0.01)
        deviation = np.full(self.size, np.inf)
        deviation[self._decays], deviation[-1] = 1.5, 2.0
        self._precision = deviation**-2
        lower, upper = np.full(self.size, np.log(1e-3 * LEAST_WEIGHT)), np.full(self.size, np.log(1e2))
        lower[self._decays], upper[self._decays] = np.log(1e-3 / self._n_items), np.log(20.0)
        lower[-1], upper[-1] = np.log(LEAST_NOISE), np.log(2.0)
        self.bounds = np.column_stack([lower, upper])

    def __call__(self, log_parameters: FloatArray) -> tuple[float, FloatArray, float]:
        """The density, its gradient and the best constant mean. Raises LinAlgError when K is numerically singular."""
        parameters = np.exp(log_parameters)
        noise = parameters[-1]
        of_kinds = [terms(kind, self._n_items, parameters[self.own[name]]) for name, kind in KINDS.items()]
        tables = [np.sum(of_kind, axis=0) for of_kind in of_kinds]
        values, offsets = np.concatenate(tables), offsets_of(tables)
        A = _covariance(self._distances, values, offsets)
        A[np.diag_indices(len(A))] += noise + self._known_noise
        value, weights, mean = log_evidence(A, self._y)
        collected = np.split(_collected(self._distances, weights, offsets, len(values)), offsets[1:])
        gradient = np.zeros(self.size)
        for (name, kind), of_kind, of_distance in zip(KINDS.items(), of_kinds, collected, strict=True):
            rates = parameters[self.own[name]][1] / self._n_items**kind.order * np.arange(len(of_distance))
            derivatives = [of_kind[0], -rates * of_kind[0], *of_kind[1:]]
            gradient[self.own[name]] = [0.5 * of_distance @ derivative for derivative in derivatives]
        gradient[-1] = 0.5 * noise * np.trace(weights)
        return (*self._with_prior(log_parameters, value, gradient), mean)

    def _with_prior(self, log_parameters: FloatArray, value: float, gradient: FloatArray) -> tuple[float, FloatArray]:
        away = log_parameters - self.prior_mean
        weights = np.exp(log_parameters[self._weights])
        value -= 0.5 * away**2 @ self._precision + 0.5 * np.log(weights + LEAST_WEIGHT).sum()
        gradient = gradient - away * self._precision
        gradient[self._weights] -= 0.5 * weights / (weights + LEAST_WEIGHT)
        return float(value), gradient

    def pack(self, hyperparameters: MixtureHyperparameters) -> FloatArray:
        """The log parameters (size,) of some hyperparameters."""
        log_parameters = self.prior_mean.copy()
        log_parameters[self._weights] = -np.inf
        for name, parameters in hyperparameters.components.items():
            log_parameters[self.own[name]] = np.log(parameters)
        log_parameters[-1] = np.log(hyperparameters.noise)
        return self.clip(log_parameters)

    def unpack(self, log_parameters: FloatArray) -> MixtureHyperparameters:
        """The hyperparameters without the kinds whose weights the prior calls nothing."""
        parameters = np.exp(log_parameters)
        mean = self(log_parameters)[2]
        components = {name: parameters[own].tolist() for name, own in self.own.items()}
        sums = {name: sum(own) - own[1] for name, own in components.items()}
        least = min(LEAST_WEIGHT, max(sums.values()))
        kept = {name: own for name, own in components.items() if sums[name] >= least}
        return MixtureHyperparameters(kept, float(parameters[-1]), mean)

    def clip(self, log_parameters: FloatArray) -> FloatArray:
        """The nearest within the bounds."""
        return np.clip(log_parameters, *self.bounds.T)


@compiled(fastmath=True)
def _covariance(distances: Int32Array, tables: FloatArray, offsets: IntArray) -> FloatArray:
    """The lower triangle (n, n) of the kernel at (n_kinds, n, n) distances, 0 above it."""
    n_kinds, n = distances.shape[0], distances.shape[1]
    A = np.zeros((n, n))
    for i in range(n):
        for c in range(n_kinds):
            for j in range(i + 1):
                A[i, j] += tables[np.uint64(offsets[c] + distances[c, i, j])]
    return A


@compiled(fastmath=True)
def _collected(distances: Int32Array, weights: FloatArray, offsets: IntArray, size: int) -> FloatArray:
    """The sum of a symmetric matrix of weights over the pairs at each distance of each kind, (size,).

    Only its lower triangle is read.
    """
    n_kinds, n = distances.shape[0], distances.shape[1]
    collected = np.zeros(size)
    for i in range(n):
        for c in range(n_kinds):
            for j in range(i):
                collected[np.uint64(offsets[c] + distances[c, i, j])] += 2.0 * weights[i, j]
            collected[np.uint64(offsets[c] + distances[c, i, i])] += weights[i, i]
    return collected


def fit(
    X: IntArray,
    y: FloatArray,
    rng: np.random.Generator,
    previous: MixtureHyperparameters | None = None,
    standard_errors: FloatArray | None = None,
) -> MixtureHyperparameters:
    """The hyperparameters of largest posterior density given (X, y), by L-BFGS from the previous fit or afresh.

    Raw `y` (n,). Afresh means from equal weights: what has no weight in the previous fit would not come back. Cost:
    WARM_STEPS or FRESH_STEPS evaluations of the evidence of N_FIT points, O(N_FIT^3) each.
    """
    fresh = previous is None or len(y) <= N_ALWAYS or rng.random() < 0.2
    evidence = Evidence(*normalised_part(X, y, standard_errors, rng))
    starts = [(evidence.prior_mean, FRESH_STEPS)] if fresh else []
    if previous is not None:
        starts.append((evidence.pack(previous), WARM_STEPS))
    return evidence.unpack(maximised(evidence, len(y), evidence.bounds, starts))
