"""The units of the model: values of zero mean and unit variance."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from law_ray.typing import FloatArray

MAX_STANDARD_ERROR = 1e8
"""In standardized units. A value this uncertain carries no information, and its square stays finite."""


CONSTANT = 1e-14
"""Deviations below this share of the largest value are rounding errors, as of sums of a hundred terms (heuristic)."""


def scale_of(y: FloatArray) -> float:
    """Return the power of two by which values (n,) are divided so that their squares are finite: without rounding."""
    return float(np.ldexp(1.0, int(np.frexp(np.max(np.abs(y)))[1]) - 1))


@dataclass(frozen=True)
class Standardization:
    """y -> (y / unit - location) / scale, which has zero mean and unit variance.

    The scale of constant values is 1. Dividing by the largest absolute value first keeps the squares of all finite
    values finite.
    """

    unit: float
    location: float
    scale: float

    @classmethod
    def of(cls, y: FloatArray) -> Self:
        """Return the standardization of raw values y (n,)."""
        unit = float(np.max(np.abs(y))) or 1.0
        scale = float(np.std(y / unit))
        return cls(unit, float(np.mean(y / unit)), scale if scale > CONSTANT else 1.0)

    def __call__(self, y: FloatArray) -> FloatArray:
        """Return the standardized values."""
        return (y / self.unit - self.location) / self.scale

    def inverse(self, z: FloatArray) -> FloatArray:
        """Return the raw values of standardized ones."""
        return (z * self.scale + self.location) * self.unit

    def difference(self, difference: FloatArray) -> FloatArray:
        """Return a difference of two raw values in standardized units."""
        return difference / self.unit / self.scale

    def known_noise(self, standard_errors: FloatArray | None) -> FloatArray | float:
        """Return the noise variances (n,) of values with these raw standard errors; 0 without any."""
        if standard_errors is None:
            return 0.0
        return np.minimum(self.difference(standard_errors), MAX_STANDARD_ERROR) ** 2
