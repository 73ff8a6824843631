"""What an estimator of the NML regret returns, and the mean of weights on the logarithmic scale."""

import math
from dataclasses import dataclass

import numpy as np

from law_ray.typing import FloatArray


@dataclass(frozen=True)
class RegretEstimate:
    """An estimate of the NML regret from weighted draws."""

    value: float
    """nats"""
    standard_error: float
    """nats, by the delta method for the logarithm of the mean weight; far too small if few draws dominate the mean"""
    effective_samples: float
    """(sum w)^2 / sum w^2 over the weights w of the draws; infinite for an exact value"""


def log_mean(log_weights: FloatArray) -> RegretEstimate:
    """Return the log of the mean of the weights w = exp(log_weights).

    Its standard error is by the delta method, sd(w) / (mean(w) sqrt(S)) for S weights.
    """
    top = float(log_weights.max())
    weights = np.exp(log_weights - top)
    effective = float(weights.sum() ** 2 / (weights**2).sum())
    return RegretEstimate(
        value=top + math.log(float(weights.mean())),
        standard_error=math.sqrt(max(0.0, 1 / effective - 1 / len(weights))),
        effective_samples=effective,
    )
