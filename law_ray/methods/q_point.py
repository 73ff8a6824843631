"""q-EI and q-EST: each point maximises the acquisition as if the points before it had been evaluated."""

from functools import partial

import numpy as np

from law_ray.acquisition.functions import est, log_ei
from law_ray.acquisition.landscape import Value
from law_ray.methods.context import BatchContext
from law_ray.methods.greedy import greedy
from law_ray.methods.law import Acquisition, estimate_optimum
from law_ray.models.gp import GaussianProcess
from law_ray.typing import FloatArray, IntArray


def q_ei(context: BatchContext, batch_size: int) -> IntArray:
    """Choose a batch by q-EI: expected improvement, as if earlier points had been observed at their predicted means.

    x_b = argmax EI, given that each x_i, i < b, was observed at its predicted mean. The mean does not change by this,
    and the variance shrinks. The least value so far becomes the least of those means if one of them is below it. The
    method is also called kriging believer (Ginsbourger, Le Riche and Carraro, "A multi-points criterion for
    deterministic parallel global optimization based on Gaussian processes", 2008).
    """

    def value_of(given_batch: GaussianProcess, batch: list[IntArray]) -> Value:
        return _given_batch(partial(log_ei, best=_believed_best(context, batch)))

    return np.array(greedy(context, batch_size, context.posterior, value_of))


def q_est(context: BatchContext, batch_size: int) -> IntArray:
    """Choose a batch by q-EST: as q-EI, but with EST.

    The optimum estimate is recomputed for each point, from the posterior given the points before it and from their
    least value as in q-EI. Cost O(N_SAMPLED (n + B)^2) for each point.
    """

    def value_of(given_batch: GaussianProcess, batch: list[IntArray]) -> Value:
        best = _believed_best(context, batch)
        optimum = estimate_optimum(given_batch, best, context.constraints, context.rng)
        return _given_batch(partial(est, optimum_estimate=optimum))

    return np.array(greedy(context, batch_size, context.posterior, value_of))


def _given_batch(acquisition: Acquisition) -> Value:
    """Return the acquisition with the variance given the batch; the mean is the same."""

    def value(mean: FloatArray, variance: FloatArray, given_batch: FloatArray) -> FloatArray:
        return acquisition(mean, given_batch)

    return value


def _believed_best(context: BatchContext, batch: list[IntArray]) -> float:
    """Return the least standardized value, if each point of the batch has its predicted mean."""
    if not batch:
        return context.best
    return min(context.best, float(context.posterior.predict(np.array(batch))[0].min()))
