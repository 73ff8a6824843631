"""BUCB: a batch by lower bounds that tighten where a point was chosen already."""

import numpy as np

from law_ray.acquisition import ucb, ucb_beta
from law_ray.kernels import FloatArray
from law_ray.methods.sequential import greedy
from law_ray.methods.state import State
from law_ray.permutations import IntArray


def gp_bucb(state: State, batch_size: int) -> IntArray:
    """GP-BUCB of Desautels, Krause and Burdick ("Parallelizing exploration-exploitation tradeoffs", 2014).

    x_b = argmax -(mu(x) - sqrt(beta_t) sigma_b(x)): the mean is that of the data, and sigma_b the deviation given the
    batch so far, "hallucinated" at its mean. beta_t is GP-UCB's for the first point of the round, without the factor
    exp(2 C), C a bound of what a batch can tell of f(x), with which their theory widens it.
    """
    beta = ucb_beta(state.X.shape[1], state.round, batch_size)

    def value(mean: FloatArray, variance: FloatArray, given_batch: FloatArray) -> FloatArray:
        return ucb(mean, given_batch, beta)

    return np.array(greedy(state, batch_size, state.posterior, lambda given_batch, batch: value))
