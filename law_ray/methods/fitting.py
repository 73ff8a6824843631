"""The process that a method chooses from: its model fitted to the known values, and a proxy weighted by them."""

import numpy as np

from law_ray.kernels.protocol import Hyperparameters
from law_ray.methods.registry import Model
from law_ray.models import prior_mean
from law_ray.models.gp import GaussianProcess
from law_ray.models.part import part
from law_ray.models.prior_mean import PriorMean, Proxy
from law_ray.typing import FloatArray, IntArray
from law_ray.utils import algebra

MAX_POINTS, MAX_POINTS_OF_GPU = 1_500, 5_000
"""The process gets at most this many values: half of them the best ones, the others a part of the rest.

Heuristic. With 20,000 on a GPU a choice took 29 to 39 seconds instead of 4 to 16 (experiments/ours/speed).
"""


def fitted(
    model: Model,
    X: IntArray,
    y: FloatArray,
    standard_errors: FloatArray,
    rng: np.random.Generator,
    previous: Hyperparameters | None = None,
    proxy: Proxy | None = None,
    device: str = "cpu",
) -> GaussianProcess:
    """Fit a model and return the process given the values; O(n^3) for at most MAX_POINTS of them.

    Args:
        model: How to fit.
        X: (n, n_items) permutations, the new ones since the last fit at the end.
        y: (n,) raw values, minimised.
        standard_errors: (n,) of the values, 0 where unknown.
        rng: Drives the fit.
        previous: The last fit.
        proxy: Predicts the values; the model learns the residuals.
        device: Where the matrices are, as for `Optimizer`.
    """
    rows = part(y, MAX_POINTS if algebra.device(device) is algebra.CPU else MAX_POINTS_OF_GPU)
    mean = weighted(proxy, X[rows], y[rows], standard_errors[rows], previous)
    unexplained = y if mean is None else y - mean(X)
    hyperparameters = model.fitted(X, unexplained, rng, previous, standard_errors, rows)
    return GaussianProcess(X[rows], y[rows], hyperparameters, standard_errors[rows], mean)


def weighted(
    proxy: Proxy | None, X: IntArray, y: FloatArray, standard_errors: FloatArray, previous: Hyperparameters | None
) -> PriorMean | None:
    """Return the weighted proxy, if there is one and it is of use.

    It depends only on the values and the last fit, which a journal stores, so a resumed run has it too.
    """
    if proxy is None:
        return None
    if previous is None:
        return prior_mean.fit(proxy, X, y, lambda errors: errors)
    return prior_mean.fit(proxy, X, y, GaussianProcess(X, y, previous, standard_errors).decorrelate)
