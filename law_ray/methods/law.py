"""LAW: greedy maximisation of a determinantal point process whose kernel the acquisition weights."""

from collections.abc import Callable
from functools import partial

import numpy as np

from law_ray.acquisition.functions import ei_weight, est, log_ei, optimum_estimate, sigmoid_weight, ucb, ucb_beta
from law_ray.acquisition.landscape import Landscape, Value
from law_ray.acquisition.local_search import climb
from law_ray.methods.context import BatchContext
from law_ray.methods.greedy import N_SEARCHES, greedy
from law_ray.models.gp import GaussianProcess
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions
from law_ray.typing import FloatArray, IntArray

N_POINTS = 100_000
"""Permutations that the optimum estimate is for, as in the paper: the estimate depends on their number."""
N_SAMPLED = 10_000
"""Permutations that are sampled for it, each of which counts as ten.

The estimate then differs from that of N_POINTS by less than 0.01 standard deviations.
"""
CHUNK = 4_000
"""Permutations that are predicted at once, which bounds the memory (heuristic)."""

Acquisition = Callable[[FloatArray, FloatArray], FloatArray]
"""(mean, variance) -> acquisition, larger is better"""
Weight = Callable[[FloatArray], FloatArray]
"""acquisition -> weight"""


def law_est(context: BatchContext, batch_size: int) -> IntArray:
    """Choose a batch by LAW-EST, the paper's LAW2ORDER: `law` with EST and the sigmoid weight."""
    return law(context, batch_size, est_of(context), sigmoid_weight)


def law_prior_est(context: BatchContext, batch_size: int) -> IntArray:
    """Choose a batch by LAW-PRIOR-EST: LAW-EST with the prior covariance as its diversity gauge."""
    return law(context, batch_size, est_of(context), sigmoid_weight, prior=True)


def law_ei(context: BatchContext, batch_size: int) -> IntArray:
    """Choose a batch by LAW-EI: `law` with expected improvement, and its weight w = 0.01 + EI."""
    return law(context, batch_size, partial(log_ei, best=context.best), ei_weight)


def law_prior_ei(context: BatchContext, batch_size: int) -> IntArray:
    """Choose a batch by LAW-PRIOR-EI: LAW-EI with the prior covariance as its diversity gauge."""
    return law(context, batch_size, partial(log_ei, best=context.best), ei_weight, prior=True)


def law_ucb(context: BatchContext, batch_size: int) -> IntArray:
    """Choose a batch by LAW-UCB: `law` with GP-UCB, scaled to mean 0 and variance 1 over the orderings.

    The paper names no weight for GP-UCB. EST's sigmoid weight expects an acquisition in standard deviations. So GP-UCB
    is standardized by its mean and deviation over the orderings that EST's optimum estimate samples.
    """
    beta = ucb_beta(context.X.shape[1], context.round, batch_size)
    mean, variance, _ = sampled_moments(context.posterior, context.constraints, context.rng)
    sampled = ucb(mean, variance, beta)
    location, scale = sampled.mean(), sampled.std()
    scale = scale if scale > 1e-12 else 1.0  # all orderings have the same value, or there is a single one

    def standardized(mean: FloatArray, variance: FloatArray) -> FloatArray:
        return (ucb(mean, variance, beta) - location) / scale

    return law(context, batch_size, standardized, sigmoid_weight)


def law(
    context: BatchContext, batch_size: int, acquisition: Acquisition, weight: Weight, prior: bool = False
) -> IntArray:
    """Choose a batch by Algorithm 1 of the paper, with acquisition a, weight w and diversity gauge L.

    x_1 = argmax a(x), and x_b = argmax log L(x, x | x_1..x_{b-1}) + 2 log w(a(x)) for b > 1. This is the greedy
    maximisation of log det [L^AW(x_i, x_j)] with L^AW(x, x') = w(a(x)) L(x, x') w(a(x')) (Equations 1 and 2), where
    conditioning on the batch includes the observation noise. A batch that continues a round has no x_1, since the
    round began with one.

    The gauge L is the posterior covariance K_t or, with `prior`, the prior covariance K. The prior disregards the data,
    but is conditioned on pending and failed points (supplement, comparison with local penalisation).

    In a batch of more than N_SEARCHES points, most points come from a pool. At the end each point but the first climbs
    once more, given all the others. This makes up for the searches that were saved: the determinant is as large as with
    a search for every point. The batch, and all permutations sampled on the way, satisfy the constraints.

    Args:
        context: What the batch is chosen from.
        batch_size: The number of points B.
        acquisition: The acquisition a.
        weight: The weight w.
        prior: Whether the diversity gauge is the prior covariance.

    Returns:
        (batch_size, n_items) permutations, in the order in which they were chosen.
    """
    gauge = context.posterior
    if prior:
        gauge = gauge.prior().condition(context.without_value) if len(context.without_value) else gauge.prior()

    def first(mean: FloatArray, variance: FloatArray, given_batch: FloatArray) -> FloatArray:
        return acquisition(mean, variance)

    gain = gain_of(acquisition, weight)

    def gains(given_batch: GaussianProcess) -> Landscape:
        return Landscape(context.posterior, given_batch, gain, prior)

    pooled = batch_size > N_SEARCHES
    batch = greedy(
        context,
        batch_size,
        gauge,
        lambda given_batch, batch: gain if batch or context.continue_round else first,
        pooled,
    )
    if pooled:
        excluded = context.excluded.copy()
        for point in batch:
            excluded.add(point)
        batch[1:] = _refined(batch[1:], gauge.condition(batch[0][None]), gains, excluded, context.constraints)
    return np.array(batch)


def gain_of(acquisition: Acquisition, weight: Weight) -> Value:
    """Return what a point adds to the log determinant: log L(x, x | batch) + 2 log w(a(x)) (Equation 2)."""

    def gain(mean: FloatArray, variance: FloatArray, given_batch: FloatArray) -> FloatArray:
        return np.log(given_batch) + 2.0 * np.log(weight(acquisition(mean, variance)))

    return gain


def _refined(
    points: list[IntArray],
    given_others: GaussianProcess,
    gains: Callable[[GaussianProcess], Landscape],
    excluded: Exclusions,
    constraints: Constraints,
) -> list[IntArray]:
    """Let each point in turn climb given all the others; `given_others` is the gauge given the batch without `points`.

    Each half of the points is refined given the other half. So the halves share most of the work of leaving one point
    out: O(B log B) points are conditioned on instead of O(B^2).
    """
    if len(points) == 1:
        excluded.discard(points[0])
        ends, _ = climb(gains(given_others), np.array(points), excluded, constraints, certify=False)
        excluded.add(ends[0])
        return [ends[0]]
    half = len(points) // 2
    left, right = points[:half], points[half:]
    left = _refined(left, given_others.condition(np.array(right)), gains, excluded, constraints)
    right = _refined(right, given_others.condition(np.array(left)), gains, excluded, constraints)
    return left + right


def est_of(context: BatchContext) -> Acquisition:
    """Return EST with the optimum estimate of the context."""
    optimum = estimate_optimum(context.posterior, context.best, context.constraints, context.rng)
    return partial(est, optimum_estimate=optimum)


def estimate_optimum(
    posterior: GaussianProcess, best: float, constraints: Constraints, rng: np.random.Generator
) -> float:
    """Return EST's m-hat for N_POINTS random allowed permutations, or for all of them where there are no more.

    Args:
        posterior: The process that predicts them.
        best: The least standardized value.
        constraints: The permutations that are allowed.
        rng: Draws the permutations.
    """
    mean, variance, multiplicity = sampled_moments(posterior, constraints, rng)
    return optimum_estimate(mean, variance, best, multiplicity)


def sampled_moments(
    posterior: GaussianProcess, constraints: Constraints, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, float]:
    """Predict all allowed permutations if there are at most N_POINTS, else N_SAMPLED random ones.

    Returns:
        Mean and variance, each (m,), and how many permutations each of them represents.
    """
    whole = constraints.enumerate(N_POINTS)
    points = constraints.sample(N_SAMPLED, rng) if whole is None else whole
    predicted = [posterior.predict(points[i : i + CHUNK]) for i in range(0, len(points), CHUNK)]
    mean, variance = (np.concatenate(parts) for parts in zip(*predicted, strict=True))
    return mean, variance, N_POINTS / N_SAMPLED if whole is None else 1.0
