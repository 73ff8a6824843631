"""The fit of the weighted precedence kernel: which items matter, by evidence.

The parameters maximise the posterior density: the evidence, times a log-normal prior that keeps the items' weights near
each other. `law_ray.kernels.weighted_precedence` defines the notation.
"""

import numpy as np

from law_ray.kernels.distance import orders, positions_of
from law_ray.kernels.weighted_precedence import WeightedPrecedenceHyperparameters, pair_shares
from law_ray.models.evidence import N_FIT, NOISE, NOISE_DEVIATION, log_evidence, maximised
from law_ray.models.fit_additive import LEAST_NOISE
from law_ray.models.part import part
from law_ray.models.standardize import Standardization
from law_ray.typing import FloatArray, IntArray

DEVIATION = 1.0
"""The prior standard deviation of the logarithm of an item's weight.

Of 0.5, 1 and 2, tried on values of two linear orderings, 2 predicted worse where items matter alike (150 of N-p40), and
0.5 where they do not (150 and 400 of N-sgb75).
"""
START = np.log([1.0, 0.01])
"""The logarithms of w and the noise where a fresh fit starts (heuristic)."""
WARM_STEPS, FRESH_STEPS = 8, 20
"""Steps of L-BFGS from the previous fit, and from a fresh start (heuristic: after 15 little changes)."""
MAX_WORK, LEAST_STEPS = 6e10, 4
"""Steps are no more than so many floating-point operations allow, some 2 s, and at least so many (heuristic)."""


class WeightedPrecedenceEvidence:
    """The log posterior density of the parameters, and its gradient, given n points of standardized values (n,).

    The parameters (size,) are log w, the log of the noise, and the logs of the items' weights. The noise has the prior
    of `evidence.NOISE`.
    """

    def __init__(self, X: IntArray, y: FloatArray, known_noise: FloatArray) -> None:
        self._y, self._known_noise = y, known_noise
        self._orders = orders(positions_of(X))
        self._pairs = np.triu_indices(X.shape[1], 1)
        self.size = 2 + X.shape[1]
        box = np.log([[1e-6, 1e4], [LEAST_NOISE, 2.0]])
        self.bounds = np.concatenate([box, np.tile([-8.0, 8.0], (X.shape[1], 1))])

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray, float]:
        """Compute the log density, its gradient and the best constant mean; O(n^2 (n + n_items^2)).

        Raises:
            LinAlgError: The covariance is numerically singular.
        """
        (weight, noise), logs = np.exp(parameters[:2]), parameters[2:]
        shares = pair_shares(np.exp(logs))
        C = (self._orders * shares) @ self._orders.T
        A = weight * C
        A[np.diag_indices(len(A))] += noise + self._known_noise
        value, alpha, inverse, mean = log_evidence(A, self._y)
        weights = np.outer(alpha, alpha) - inverse
        # `of_` means "gradient with respect to".
        of_A = 0.5 * (np.tril(weights) + np.tril(weights, -1).T)
        of_C = weight * of_A
        of_shares = np.einsum("tp,tp->p", self._orders, of_C @ self._orders)
        of_products = np.zeros((len(logs), len(logs)))
        of_products[self._pairs] = shares * (of_shares - of_shares @ shares)  # with respect to log s_a + log s_b
        of_logs = of_products.sum(axis=0) + of_products.sum(axis=1)
        away = parameters[1] - np.log(NOISE)
        value -= 0.5 * (np.sum((logs / DEVIATION) ** 2) + (away / NOISE_DEVIATION) ** 2)
        of_noise = noise * np.trace(of_A) - away / NOISE_DEVIATION**2
        gradient = np.concatenate([[np.vdot(of_C, C), of_noise], of_logs - logs / DEVIATION**2])
        return float(value), gradient, mean

    def pack(self, hyperparameters: WeightedPrecedenceHyperparameters) -> FloatArray:
        """Return the parameters (size,) of some hyperparameters."""
        h = hyperparameters
        return np.log([h.weight, h.noise, *h.item_weights])

    def unpack(self, parameters: FloatArray) -> WeightedPrecedenceHyperparameters:
        """Return the hyperparameters of some parameters."""
        weight, noise, *item_weights = np.exp(parameters).tolist()
        return WeightedPrecedenceHyperparameters(weight, item_weights, noise, self(parameters)[2])


def fit(
    X: IntArray,
    y: FloatArray,
    previous: WeightedPrecedenceHyperparameters | None = None,
    standard_errors: FloatArray | None = None,
) -> WeightedPrecedenceHyperparameters:
    """Return the hyperparameters of largest posterior density given (X, y), by L-BFGS from the previous fit if any.

    Cost: WARM_STEPS or FRESH_STEPS evaluations of the evidence of at most N_FIT points, or fewer (`MAX_WORK`).

    Args:
        X: (n, n_items) permutations.
        y: (n,) raw values.
        previous: The last fit.
        standard_errors: (n,) of the values, 0 where unknown.
    """
    standardize = Standardization.of(y)
    known_noise = np.broadcast_to(standardize.known_noise(standard_errors), y.shape)
    given = part(y, N_FIT)
    evidence = WeightedPrecedenceEvidence(X[given], standardize(y)[given], known_noise[given])
    start = np.concatenate([START, np.zeros(X.shape[1])]) if previous is None else evidence.pack(previous)
    most = max(LEAST_STEPS, int(MAX_WORK / (2.0 * len(given) ** 2 * X.shape[1] ** 2)))
    steps = min(FRESH_STEPS if previous is None else WARM_STEPS, most)
    return evidence.unpack(maximised(evidence, len(given), evidence.bounds, [(start, steps)]))
