"""GP-BUCB: a batch by lower confidence bounds that tighten around the points chosen so far."""

import numpy as np

from law_ray.acquisition.functions import ucb, ucb_beta
from law_ray.methods.context import BatchContext
from law_ray.methods.greedy import greedy
from law_ray.typing import FloatArray, IntArray


def gp_bucb(context: BatchContext, batch_size: int) -> IntArray:
    """Choose a batch by GP-BUCB.

    x_b = argmax -(mu(x) - sqrt(beta_t) sigma_b(x)). The mean mu is that given the data. The deviation sigma_b is that
    given the batch so far too, whose values are "hallucinated" at their means. beta_t is GP-UCB's for the first point
    of the round. It lacks the factor exp(2 C) by which the authors' theory widens it, where C bounds what a batch can
    tell about f(x) (Desautels, Krause and Burdick, "Parallelizing exploration-exploitation tradeoffs in Gaussian
    process bandit optimization", 2014).
    """
    beta = ucb_beta(context.X.shape[1], context.round, batch_size)

    def value(mean: FloatArray, variance: FloatArray, given_batch: FloatArray) -> FloatArray:
        return ucb(mean, given_batch, beta)

    return np.array(greedy(context, batch_size, context.posterior, lambda given_batch, batch: value))
