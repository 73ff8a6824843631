"""q-EI and q-EST: each point maximises the acquisition of a posterior that takes those before it for evaluated."""

from functools import partial

import numpy as np

from law_ray.acquisition import est, log_ei
from law_ray.gp import GaussianProcess
from law_ray.kernels import FloatArray
from law_ray.methods.law import Acquisition, estimate_optimum
from law_ray.methods.sequential import greedy
from law_ray.methods.state import State
from law_ray.permutations import IntArray
from law_ray.search import Value


def q_ei(state: State, batch_size: int) -> IntArray:
    """q-EI: the kriging believer of Ginsbourger, Le Riche and Carraro ("Multi-points criterion", 2008).

    x_b = argmax EI given that each x_i, i < b, was observed at its predicted mean: the mean stays as it is, the
    variance shrinks, and the least value so far falls to the least of those means if one is below it.
    """

    def value_of(given_batch: GaussianProcess, batch: list[IntArray]) -> Value:
        return _given_batch(partial(log_ei, best=_believed_best(state, batch)))

    return np.array(greedy(state, batch_size, state.posterior, value_of))


def q_est(state: State, batch_size: int) -> IntArray:
    """q-EST: the same with EST, whose optimum estimate is made anew for each point.

    It is that of the posterior given the points before, and of the least value after them as for q-EI. It costs
    O(N_SAMPLED (n + B)^2) a point.
    """

    def value_of(given_batch: GaussianProcess, batch: list[IntArray]) -> Value:
        best = _believed_best(state, batch)
        optimum = estimate_optimum(given_batch, best, state.constraints, state.rng)
        return _given_batch(partial(est, optimum_estimate=optimum))

    return np.array(greedy(state, batch_size, state.posterior, value_of))


def _given_batch(acquisition: Acquisition) -> Value:
    """The acquisition at the variance given the batch: the mean is the same."""

    def value(mean: FloatArray, variance: FloatArray, given_batch: FloatArray) -> FloatArray:
        return acquisition(mean, given_batch)

    return value


def _believed_best(state: State, batch: list[IntArray]) -> float:
    """The least normalised value once each point of the batch has its predicted mean."""
    if not batch:
        return state.best
    return min(state.best, float(state.posterior.predict(np.array(batch))[0].min()))
