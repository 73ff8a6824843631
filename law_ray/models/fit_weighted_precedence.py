"""The fit of the weighted precedence kernel: which items and which pairs of items matter, by evidence.

The parameters maximise the posterior density: the evidence, times log-normal priors that keep the shares and the
weights of the items near each other, and those of the pairs near what their items say.
`law_ray.kernels.weighted_precedence` defines the notation.
"""

from dataclasses import replace

import numpy as np

from law_ray.kernels.distance import positions_of
from law_ray.kernels.weighted_precedence import WeightedPrecedenceHyperparameters, item_part, symmetric
from law_ray.models.evidence import N_FIT, NOISE, NOISE_DEVIATION, log_evidence, maximised
from law_ray.models.fit_additive import LEAST_NOISE
from law_ray.models.part import part
from law_ray.models.standardize import Standardization
from law_ray.typing import FloatArray, IntArray

UNIT_DEVIATION = 1.5
"""The prior standard deviation of log u (heuristic: 1 and 3 predicted equally well)."""
SHARE_DEVIATION, ITEM_DEVIATION, PAIR_DEVIATION = 1.0, 0.7, 1.5
"""The prior standard deviations of the logarithms of the items' shares and weights, and of the pairs' factors.

After 60, 120 and 250 values of four random networks, hailfinder, a linear ordering, weighted tardiness and a flow shop,
0.5 and 2 for the first, and 0.4 to 1 with 1 to 2 for the others, predicted equally well or worse on average.
"""
TOTAL = 1.0
"""The sum of an item's weights to all others where a fit starts, and at the median of the prior (heuristic: 5 predicted
equally well)."""
MOST_TOTAL = 200.0
"""With a larger sum an item's part is unrelated except in orderings that are near each other; it keeps products of
exp(D_a) finite (heuristic)."""
START = np.log([1.0, 0.001])
"""The logarithms of v and the noise where a fresh fit starts (heuristic)."""
WARM_STEPS, FRESH_STEPS = 20, 40
"""Steps of L-BFGS from the previous fit, and from a fresh start (heuristic: 30 and 100 predicted equally well)."""
MAX_WORK, LEAST_STEPS = 6e10, 4
"""Steps: as many as MAX_WORK floating-point operations allow (about 2 s), but at least LEAST_STEPS (heuristic)."""


class WeightedPrecedenceEvidence:
    """The log posterior density of the parameters, and its gradient, given n points of standardized values (n,).

    The parameters (size,) are the logarithms of v, the noise, u, n_items times the items' shares, the items' weights
    and the pairs' factors. The noise has the prior of `evidence.NOISE`.
    """

    def __init__(self, X: IntArray, y: FloatArray, known_noise: FloatArray) -> None:
        self._y, self._known_noise = y, known_noise
        self._positions = positions_of(X)
        self._n_items = n_items = X.shape[1]
        self._a, self._b = np.triu_indices(n_items, 1)
        self.size = 3 + 2 * n_items + len(self._a)
        self.shares, self.items = slice(3, 3 + n_items), slice(3 + n_items, 3 + 2 * n_items)
        self.pairs = slice(3 + 2 * n_items, self.size)
        self.centre = np.zeros(self.size)
        self.centre[1:3] = np.log([NOISE, TOTAL / n_items])
        self._precision = np.zeros(self.size)
        self._precision[1], self._precision[2] = NOISE_DEVIATION**-2, UNIT_DEVIATION**-2
        self._precision[self.shares] = SHARE_DEVIATION**-2
        self._precision[self.items], self._precision[self.pairs] = ITEM_DEVIATION**-2, PAIR_DEVIATION**-2
        self.bounds = np.tile([-8.0, 8.0], (self.size, 1))
        self.bounds[:3] = np.log([[1e-6, 1e4], [LEAST_NOISE, 2.0], [1e-9, 1e2]])

    def __call__(self, parameters: FloatArray) -> tuple[float, FloatArray, float]:
        """Compute the log density, its gradient and the best constant mean; O(n^2 (n + n_items^2)).

        It needs n_items matrices (n, n): 200 MB for 100 items and 500 points.

        Raises:
            LinAlgError: The covariance is numerically singular.
        """
        weight, noise, unit = np.exp(parameters[:3])
        shares, s = weight / self._n_items * np.exp(parameters[self.shares]), np.exp(parameters[self.items])
        pair_weights = symmetric(unit * np.exp(parameters[self.pairs]), self._n_items) * np.outer(s, s)
        P = self._positions
        of_items = enumerate(zip(shares, pair_weights, strict=True))
        parts = [item_part(item, share, weights, P, P) for item, (share, weights) in of_items]
        A = sum(parts[1:], start=parts[0].copy())
        A[np.diag_indices(len(A))] += noise + self._known_noise
        value, alpha, inverse, mean = log_evidence(A, self._y)
        twice = np.outer(alpha, alpha) - inverse
        # `of_` means "gradient with respect to".
        of_A = 0.5 * (np.tril(twice) + np.tril(twice, -1).T)
        of_shares, of_pairs = np.empty(self._n_items), np.empty((self._n_items, self._n_items))
        for item, covariance in enumerate(parts):
            of_log = np.multiply(of_A, covariance, out=covariance)
            signs = np.sign(P - P[:, [item]]).astype(float)
            of_shares[item] = of_log.sum()
            of_pairs[item] = 0.5 * (np.einsum("tb,tb->b", signs, of_log @ signs) - of_shares[item])
        of_pairs = (of_pairs + of_pairs.T) * pair_weights
        gradient = np.empty(self.size)
        gradient[0], gradient[1], gradient[2] = of_shares.sum(), noise * np.trace(of_A), 0.5 * of_pairs.sum()
        gradient[self.shares], gradient[self.items] = of_shares, of_pairs.sum(axis=1)
        gradient[self.pairs] = of_pairs[self._a, self._b]
        away = parameters - self.centre
        value -= 0.5 * float(self._precision @ away**2)
        return value, gradient - self._precision * away, mean

    def pack(self, hyperparameters: WeightedPrecedenceHyperparameters) -> FloatArray:
        """Return the parameters (size,) of some hyperparameters."""
        h = hyperparameters
        of_parts = self._n_items * np.array(h.item_shares)
        return np.log([h.weight, h.noise, h.unit, *of_parts, *h.item_weights, *h.pair_factors])

    def unpack(self, parameters: FloatArray) -> WeightedPrecedenceHyperparameters:
        """Return the hyperparameters of some parameters, with each item's sum of weights MOST_TOTAL at most."""
        weight, noise, unit = np.exp(parameters[:3]).tolist()
        of_parts = np.exp(parameters[self.shares])
        shares, items = tuple((of_parts / of_parts.sum()).tolist()), tuple(np.exp(parameters[self.items]).tolist())
        factors = tuple(np.exp(parameters[self.pairs]).astype(np.float32).astype(float).tolist())
        weight *= float(of_parts.mean())
        found = WeightedPrecedenceHyperparameters(weight, unit, shares, items, factors, noise, mean=0.0)
        largest = float(found.pair_weights.sum(axis=1).max())
        found = replace(found, unit=unit / max(1.0, largest / MOST_TOTAL))
        return replace(found, mean=self(self.pack(found))[2])


def fit(
    X: IntArray,
    y: FloatArray,
    previous: WeightedPrecedenceHyperparameters | None = None,
    standard_errors: FloatArray | None = None,
) -> WeightedPrecedenceHyperparameters:
    """Return the hyperparameters of largest posterior density given (X, y), by L-BFGS from the previous fit if any.

    Cost: WARM_STEPS or FRESH_STEPS steps, each one or a few evaluations of the evidence of at most N_FIT points, or
    fewer (`MAX_WORK`).

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
    most = max(LEAST_STEPS, int(MAX_WORK / (4.0 * len(given) ** 2 * X.shape[1] ** 2)))
    steps = min(FRESH_STEPS if previous is None else WARM_STEPS, most)
    return evidence.unpack(maximised(evidence, len(given), evidence.bounds, [(start, steps)]))
