"""The units of the model: values of zero mean and unit variance."""

from dataclasses import dataclass

import numpy as np

from law_ray.kernels import FloatArray

MAX_STANDARD_ERROR = 1e8  # normalised; a value this uncertain says nothing, and its square stays finite


@dataclass(frozen=True)
class Normalisation:
    """y -> (y / unit - location) / scale, which has zero mean and unit variance; the scale of constant values is 1.

    Dividing by the largest absolute value first keeps the squares of any finite values finite.
    """

    unit: float
    location: float
    scale: float

    @classmethod
    def of(cls, y: FloatArray) -> "Normalisation":
        unit = float(np.max(np.abs(y))) or 1.0
        scale = float(np.std(y / unit))
        return cls(unit, float(np.mean(y / unit)), scale if scale > 1e-12 else 1.0)

    def __call__(self, y: FloatArray) -> FloatArray:
        return (y / self.unit - self.location) / self.scale

    def difference(self, difference: FloatArray) -> FloatArray:
        """Of two raw values, or what is added to them."""
        return difference / self.unit / self.scale

    def known_noise(self, standard_errors: FloatArray | None) -> FloatArray | float:
        """The variances, (n,), of values with these raw standard errors."""
        if standard_errors is None:
            return 0.0
        return np.minimum(self.difference(standard_errors), MAX_STANDARD_ERROR) ** 2
