"""The fit of the weighted precedence kernel: which items and which pairs of items matter, by evidence.

The parameters maximise the posterior density: the evidence, times log-normal priors that keep the weights of the items
near each other, and those of the pairs near what their items say. `law_ray.kernels.weighted_precedence` defines the
notation.
"""

from dataclasses import replace

import numpy as np

from law_ray.kernels.distance import orders, positions_of
from law_ray.kernels.weighted_precedence import WeightedPrecedenceHyperparameters
from law_ray.models.evidence import N_FIT, NOISE, NOISE_DEVIATION, log_evidence, maximised
from law_ray.models.fit_additive import LEAST_NOISE
from law_ray.models.part import part
from law_ray.models.standardize import Standardization
from law_ray.typing import FloatArray, IntArray

UNIT_DEVIATION = 1.5
"""The prior standard deviation of log u (heuristic: 1 and 3 predicted as well)."""
ITEM_DEVIATION, PAIR_DEVIATION = 0.7, 1.5
"""The prior standard deviations of the logarithms of the items' weights and of the pairs' factors.

Of 0.7 to 2, tried on values of completion times, linear orderings, a network, a flow shop and a production line, 1 for
both predicted best on average, and these on the network. In runs on six random networks these ended lower than 1.
"""
MOST_ITEMS = 100
"""With more items the factors of the pairs are 1: they are too many for some hundred values (heuristic)."""
TOTAL = 1.0
"""The sum of all pairs' weights where a fit starts, and at the median of the prior (heuristic)."""
MOST_TOTAL = 200.0
"""With a larger sum, orderings that are not near each other are unrelated; it keeps exp(D) finite (heuristic)."""
START = np.log([1.0, 0.001])
"""The logarithms of v and the noise where a fresh fit starts (heuristic)."""
WARM_STEPS, FRESH_STEPS = 20, 40
"""Steps of L-BFGS from the previous fit, and from a fresh start (heuristic: 30 and 100 predicted as well)."""
MAX_WORK, LEAST_STEPS = 6e10, 4
"""Steps are no more than so many floating-point operations allow, some 2 s, and at least so many (heuristic)."""


class WeightedPrecedenceEvidence:
    """The log posterior density of the parameters, and its gradient, given n points of standardized values (n,).

    The parameters (size,) are the logarithms of v, the noise, u, the items' weights and the pairs' factors. The noise
    has the prior of `evidence.NOISE`.
    """

    def __init__(self, X: IntArray, y: FloatArray, known_noise: FloatArray) -> None:
        self._y, self._known_noise = y, known_noise
        self._orders = orders(positions_of(X))
        self._n_items = n_items = X.shape[1]
        self._a, self._b = np.triu_indices(n_items, 1)
        n_pairs = len(self._a)
        self.size = 3 + n_items + (n_pairs if n_items <= MOST_ITEMS else 0)
        self.items, self.pairs = slice(3, 3 + n_items), slice(3 + n_items, self.size)
        self.centre = np.zeros(self.size)
        self.centre[1:3] = np.log([NOISE, TOTAL / n_pairs])
        self._precision = np.zeros(self.size)
        self._precision[1], self._precision[2] = NOISE_DEVIATION**-2, UNIT_DEVIATION**-2
        self._precision[self.items], self._precision[self.pairs] = ITEM_DEVIATION**-2, PAIR_DEVIATION**-2
        self.bounds = np.tile([-8.0, 8.0], (self.size, 1))
        self.bounds[:3] = np.log([[1e-6, 1e4], [LEAST_NOISE, 2.0], [1e-9, 1e2]])

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray, float]:
        """Compute the log density, its gradient and the best constant mean; O(n^2 (n + n_items^2)).

        Raises:
            LinAlgError: The covariance is numerically singular.
        """
        weight, noise, unit = np.exp(parameters[:3])
        log_items, log_factors = parameters[self.items], parameters[self.pairs]
        log_pairs = log_items[self._a] + log_items[self._b]
        log_pairs[: len(log_factors)] += log_factors
        pair_weights = unit * np.exp(log_pairs)
        distances = 0.5 * (pair_weights.sum() - (self._orders * pair_weights) @ self._orders.T)
        K = weight * np.exp(-distances)
        A = K.copy()
        A[np.diag_indices(len(A))] += noise + self._known_noise
        value, alpha, inverse, mean = log_evidence(A, self._y)
        twice = np.outer(alpha, alpha) - inverse
        # `of_` means "gradient with respect to".
        of_A = 0.5 * (np.tril(twice) + np.tril(twice, -1).T)
        of_log_K = of_A * K
        gradient = np.empty(self.size)
        gradient[0], gradient[1] = of_log_K.sum(), noise * np.trace(of_A)
        agreements = np.einsum("tp,tp->p", self._orders, of_log_K @ self._orders)
        of_log_pairs = 0.5 * pair_weights * (agreements - gradient[0])
        gradient[2], gradient[self.pairs] = of_log_pairs.sum(), of_log_pairs[: len(log_factors)]
        gradient[self.items] = np.bincount(self._a, of_log_pairs, self._n_items)
        gradient[self.items] += np.bincount(self._b, of_log_pairs, self._n_items)
        away = parameters - self.centre
        value -= 0.5 * float(self._precision @ away**2)
        return value, gradient - self._precision * away, mean

    def pack(self, hyperparameters: WeightedPrecedenceHyperparameters) -> FloatArray:
        """Return the parameters (size,) of some hyperparameters."""
        h = hyperparameters
        return np.log([h.weight, h.noise, h.unit, *h.item_weights, *h.pair_factors])

    def unpack(self, parameters: FloatArray) -> WeightedPrecedenceHyperparameters:
        """Return the hyperparameters of some parameters, with the sum of the pairs' weights MOST_TOTAL at most."""
        weight, noise, unit = np.exp(parameters[:3]).tolist()
        items = tuple(np.exp(parameters[self.items]).tolist())
        factors = tuple(np.exp(parameters[self.pairs]).astype(np.float32).astype(float).tolist())
        found = WeightedPrecedenceHyperparameters(weight, unit, items, factors, noise, mean=0.0)
        found = replace(found, unit=unit / max(1.0, float(found.pair_weights.sum()) / MOST_TOTAL))
        return replace(found, mean=self(self.pack(found))[2])


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
    start = np.concatenate([START, evidence.centre[2:]]) if previous is None else evidence.pack(previous)
    most = max(LEAST_STEPS, int(MAX_WORK / (2.0 * len(given) ** 2 * X.shape[1] ** 2)))
    steps = min(FRESH_STEPS if previous is None else WARM_STEPS, most)
    return evidence.unpack(maximised(evidence, len(given), evidence.bounds, [(start, steps)]))
