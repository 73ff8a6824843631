"""A prior mean: the values that a cheap proxy of the objective predicts, times a weight that is fitted to the data."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from law_ray.errors import InputError
from law_ray.models.standardize import scale_of
from law_ray.typing import FloatArray, IntArray

Proxy = Callable[[IntArray], FloatArray]
"""permutations (m, n_items) -> (m,) finite predictions of their raw values"""


@dataclass(frozen=True)
class PriorMean:
    """w (m(x) - c), in raw units: the proxy m about its mean c over the data, times its weight w.

    The constant mean is part of the process.
    """

    proxy: Proxy
    weight: float
    centre: float = 0.0

    def __call__(self, permutations: IntArray) -> FloatArray:
        """Return w (m - c), (m,), at (m, n_items) permutations."""
        return self.weight * (evaluate_proxy(self.proxy, permutations) - self.centre)


def fit(proxy: Proxy, X: IntArray, y: FloatArray, decorrelate: Callable[[FloatArray], FloatArray]) -> PriorMean | None:
    """Fit the weight of the proxy by generalised least squares, or return None if the proxy is of no use.

    The weight w is that of y = c + w m(X) + errors, as in universal kriging (Cressie, "Statistics for Spatial Data",
    1993, Section 3.4). It can have either sign. A proxy is of no use if it raises the log likelihood by less than
    log(n) / 2 nats, which is Schwarz's criterion (1978).

    Args:
        proxy: The proxy m.
        X: (n, n_items) permutations.
        y: (n,) raw values.
        decorrelate: A linear map of columns (n, k) to (n, k). It makes the errors independent, with one variance.
    """
    m = evaluate_proxy(proxy, X)
    # Centring and scaling keeps the digits of large values and of values far from 0. By powers of 2 nothing is rounded.
    scales = [scale_of(values) for values in (y, m)]
    y, m = y / scales[0], m / scales[1]
    units = [max(float(np.ptp(values)), np.finfo(float).tiny) for values in (y, m)]
    columns = [(values - values.mean()) / unit for values, unit in zip((y, m), units, strict=True)]
    ones, *columns = decorrelate(np.column_stack([np.ones(len(y)), *columns])).T
    y_left, m_left = (column - ones * (ones @ column) / (ones @ ones) for column in columns)
    explained, powers = m_left @ y_left, (m_left @ m_left, y_left @ y_left)
    if min(powers) < 1e-12 * len(y):  # one of them is constant
        return None
    unexplained = 1.0 - explained**2 / (powers[0] * powers[1])
    gain = -0.5 * len(y) * math.log(max(unexplained, 1e-15))
    if gain < 0.5 * math.log(len(y)):
        return None
    with np.errstate(over="ignore"):
        weight = float(explained / powers[0] * units[0] / units[1] * np.float64(scales[0]) / scales[1])
        spread = weight * scales[1] * units[1]
    return PriorMean(proxy, weight, float(m.mean()) * scales[1]) if np.isfinite([weight, spread]).all() else None


def evaluate_proxy(proxy: Proxy, permutations: IntArray) -> FloatArray:
    """Return proxy(permutations), (m,).

    Raises:
        InputError: The proxy fails, or does not return one finite number for each permutation.
    """
    try:
        values = np.asarray(proxy(permutations.copy()), dtype=float)
    except Exception as error:
        raise InputError(f"the prior mean failed ({type(error).__name__}: {error}): correct it") from error
    if values.shape != (len(permutations),) or not np.isfinite(values).all():
        what = "values that are not finite" if values.shape == (len(permutations),) else f"the shape {values.shape}"
        raise InputError(
            f"the prior mean returned {what} for {len(permutations)} permutations: return one finite number for each"
        )
    return values
