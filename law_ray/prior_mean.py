"""A prior mean: what a cheap proxy of the objective foretells, times a weight that the values decide on."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from law_ray.errors import InputError
from law_ray.kernels import FloatArray
from law_ray.permutations import IntArray

Proxy = Callable[[IntArray], FloatArray]  # of permutations (m, n_items), their (m,) finite raw values


@dataclass(frozen=True)
class PriorMean:
    """w m(x), in raw units: the proxy m times its weight. The constant is the process's own."""

    proxy: Proxy
    weight: float

    def __call__(self, permutations: IntArray) -> FloatArray:
        """(m,) raw values at (m, n_items) permutations."""
        return self.weight * proxied(self.proxy, permutations)


def fit(proxy: Proxy, X: IntArray, y: FloatArray, decorrelate: Callable[[FloatArray], FloatArray]) -> PriorMean | None:
    """The prior mean of raw values y (n,) at X (n, n_items); None if the proxy is of no use.

    The weight is that of generalised least squares, y = c + w m(X) + errors, whose errors `decorrelate` (n, m) makes
    independent, as in universal kriging (Cressie, "Statistics for Spatial Data", 1993, Section 3.4). Its sign is free.
    Of no use is a proxy that raises the logarithm of the likelihood by less than log(n) / 2 nats, Schwarz's criterion
    (1978).
    """
    m = proxied(proxy, X)
    # Neither large values nor far ones lose digits so.
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
    return PriorMean(proxy, float(explained / powers[0] * units[0] / units[1]))


def proxied(proxy: Proxy, permutations: IntArray) -> FloatArray:
    """proxy(permutations), (m,); InputError unless it returns as many finite numbers."""
    try:
        values = np.asarray(proxy(permutations.copy()), dtype=float)
    except Exception as error:
        raise InputError(f"the prior mean failed ({type(error).__name__}: {error}): mend it") from error
    if values.shape != (len(permutations),) or not np.isfinite(values).all():
        what = "values that are not finite" if values.shape == (len(permutations),) else f"the shape {values.shape}"
        raise InputError(
            f"the prior mean returned {what} for {len(permutations)} permutations: return one finite number for each"
        )
    return values
