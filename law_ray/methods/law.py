"""LAW: a batch by greedy maximisation of a determinantal point process whose kernel the acquisition weights."""

import math
from functools import partial

import numpy as np

from law_ray.acquisition import est, optimum_estimate, sigmoid_weight
from law_ray.gp import GaussianProcess
from law_ray.kernels import FloatArray
from law_ray.permutations import IntArray, enumerate_all, sample
from law_ray.search import Taken, maximise

N_POINTS = 100_000  # permutations behind the optimum estimate, as in the paper: their number matters
N_SAMPLED = 20_000  # of them, each standing for five


def law_est(
    posterior: GaussianProcess, best: float, batch_size: int, taken: Taken, rng: np.random.Generator
) -> IntArray:
    """LAW-EST: the (batch_size, n_items) batch by Algorithm 1 of the paper, with EST and the sigmoid weight.

    x_1 = argmax a(x), and x_b = argmax log K_t(x, x | x_1..x_{b-1}) + 2 log w(a(x)): the greedy maximisation of
    log det [L^AW(x_i, x_j)], L^AW(x, x') = w(a(x)) K_t(x, x') w(a(x')) (Equations 1 and 2), where conditioning on the
    batch includes the observation noise. `posterior` is K_t, pending and failed points among those it is given; `best`
    is the least normalised value. Cost: batch_size multi-start searches.
    """
    optimum = estimate_optimum(posterior, best, rng)
    taken = taken.copy()
    given_batch = posterior
    batch: list[IntArray] = []
    for _ in range(batch_size):
        gain = partial(_gain, posterior=posterior, given_batch=given_batch, optimum_estimate=optimum)
        point = maximise(gain, posterior.X, taken, rng)
        taken.add(point)
        batch.append(point)
        given_batch = given_batch.condition(point[None])
    return np.array(batch)


def estimate_optimum(posterior: GaussianProcess, best: float, rng: np.random.Generator) -> float:
    """EST's m-hat over N_POINTS random permutations, or over all of them where there are fewer."""
    n_items = posterior.X.shape[1]
    if math.factorial(n_items) <= N_POINTS:
        return optimum_estimate(*posterior.predict(enumerate_all(n_items)), best)
    sampled = sample(n_items, N_SAMPLED, rng)
    return optimum_estimate(*posterior.predict(sampled), best, multiplicity=N_POINTS / N_SAMPLED)


def _gain(
    permutations: IntArray, posterior: GaussianProcess, given_batch: GaussianProcess, optimum_estimate: float
) -> FloatArray:
    """The greedy objective (m,) of the next point of a batch: `given_batch` is `posterior` given the batch so far."""
    V = given_batch.whiten(permutations)
    V_data = V[: len(posterior.X)]
    acquisition = est(posterior.mean_from(V_data), posterior.variance_from(V_data), optimum_estimate)
    if given_batch is posterior:
        return acquisition
    return np.log(given_batch.variance_from(V)) + 2.0 * np.log(sigmoid_weight(acquisition))
