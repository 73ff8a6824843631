"""LAW: a batch by greedy maximisation of a determinantal point process whose kernel the acquisition weights."""

from collections.abc import Callable
from functools import partial

import numpy as np

from law_ray.acquisition import ei_weight, est, log_ei, optimum_estimate, sigmoid_weight, ucb, ucb_beta
from law_ray.constraints import Constraints
from law_ray.gp import GaussianProcess
from law_ray.kernels import FloatArray
from law_ray.methods.sequential import N_SEARCHES, greedy
from law_ray.methods.state import State
from law_ray.permutations import IntArray
from law_ray.search import Landscape, Value, climb
from law_ray.taken import Taken

N_POINTS = 100_000  # permutations behind the optimum estimate, as in the paper: their number matters
N_SAMPLED = 10_000  # of them, each standing for ten: within 0.01 standard deviations
CHUNK = 4_000  # of them predicted at once: bounds the memory

Acquisition = Callable[[FloatArray, FloatArray], FloatArray]  # of mean and variance
Weight = Callable[[FloatArray], FloatArray]  # of the acquisition


def law_est(state: State, batch_size: int) -> IntArray:
    """LAW-EST, the paper's LAW2ORDER: `law` with EST and the sigmoid weight."""
    return law(state, batch_size, est_of(state), sigmoid_weight)


def law_prior_est(state: State, batch_size: int) -> IntArray:
    """LAW-PRIOR-EST: LAW-EST with the prior covariance as its diversity gauge."""
    return law(state, batch_size, est_of(state), sigmoid_weight, prior=True)


def law_ei(state: State, batch_size: int) -> IntArray:
    """LAW-EI: `law` with expected improvement, and its weight w = 0.01 + EI."""
    return law(state, batch_size, partial(log_ei, best=state.best), ei_weight)


def law_prior_ei(state: State, batch_size: int) -> IntArray:
    """LAW-PRIOR-EI: LAW-EI with the prior covariance as its diversity gauge."""
    return law(state, batch_size, partial(log_ei, best=state.best), ei_weight, prior=True)


def law_ucb(state: State, batch_size: int) -> IntArray:
    """LAW-UCB: `law` with GP-UCB, in the units in which it has mean 0 and variance 1 over all orderings.

    The paper names no weight for it. EST's sigmoid expects standard deviations, so the negative lower bound is
    standardised by its mean and deviation over the orderings that EST's optimum estimate samples.
    """
    beta = ucb_beta(state.X.shape[1], state.round, batch_size)
    mean, variance, _ = sampled_moments(state.posterior, state.constraints, state.rng)
    sampled = ucb(mean, variance, beta)
    location, scale = sampled.mean(), sampled.std()
    scale = scale if scale > 1e-12 else 1.0  # all orderings alike, or a single one

    def standardised(mean: FloatArray, variance: FloatArray) -> FloatArray:
        return (ucb(mean, variance, beta) - location) / scale

    return law(state, batch_size, standardised, sigmoid_weight)


def law(state: State, batch_size: int, acquisition: Acquisition, weight: Weight, prior: bool = False) -> IntArray:
    """The (batch_size, n_items) batch by Algorithm 1 of the paper, with acquisition a, weight w and gauge L.

    x_1 = argmax a(x), and x_b = argmax log L(x, x | x_1..x_{b-1}) + 2 log w(a(x)): the greedy maximisation of
    log det [L^AW(x_i, x_j)], L^AW(x, x') = w(a(x)) L(x, x') w(a(x')) (Equations 1 and 2), where conditioning on the
    batch includes the observation noise. A batch that joins a round has no x_1: the round began with one. The gauge L
    is the posterior covariance K_t or, if `prior`, the prior K: then the data have no part in the diversity, except for
    pending and failed points (supplement, comparison with local penalisation). The batch, and all that is sampled,
    keeps the constraints. In a batch of more than N_SEARCHES most points come from a pool. In the end each of them
    climbs once more, given all the others, which brings the determinant to that of a search for every point.
    """
    gauge = state.posterior
    if prior:
        gauge = gauge.prior().condition(state.busy) if len(state.busy) else gauge.prior()

    def first(mean: FloatArray, variance: FloatArray, given_batch: FloatArray) -> FloatArray:
        return acquisition(mean, variance)

    gain = gain_of(acquisition, weight)

    def gains(given_batch: GaussianProcess) -> Landscape:
        return Landscape(state.posterior, given_batch, gain, prior)

    pooled = batch_size > N_SEARCHES
    batch = greedy(
        state, batch_size, gauge, lambda given_batch, batch: gain if batch or state.joining else first, pooled
    )
    if pooled:
        taken = state.taken.copy()
        for point in batch:
            taken.add(point)
        batch[1:] = _refined(batch[1:], gauge.condition(batch[0][None]), gains, taken, state.constraints)
    return np.array(batch)


def gain_of(acquisition: Acquisition, weight: Weight) -> Value:
    """By how much a point raises the log determinant: log L(x, x | batch) + 2 log w(a(x)) (Equation 2)."""

    def gain(mean: FloatArray, variance: FloatArray, given_batch: FloatArray) -> FloatArray:
        return np.log(given_batch) + 2.0 * np.log(weight(acquisition(mean, variance)))

    return gain


def _refined(
    points: list[IntArray],
    given_others: GaussianProcess,
    gains: Callable[[GaussianProcess], Landscape],
    taken: Taken,
    constraints: Constraints,
) -> list[IntArray]:
    """Each point in turn moved uphill given all the others; `given_others` is given the batch without `points`.

    Halving shares the work of leaving one point out: O(B log B) points are conditioned on instead of O(B^2).
    """
    if len(points) == 1:
        taken.discard(points[0])
        ends, _ = climb(gains(given_others), np.array(points), taken, constraints, proven=False)
        taken.add(ends[0])
        return [ends[0]]
    half = len(points) // 2
    left, right = points[:half], points[half:]
    left = _refined(left, given_others.condition(np.array(right)), gains, taken, constraints)
    right = _refined(right, given_others.condition(np.array(left)), gains, taken, constraints)
    return left + right


def est_of(state: State) -> Acquisition:
    """EST with the optimum estimate of the state."""
    optimum = estimate_optimum(state.posterior, state.best, state.constraints, state.rng)
    return partial(est, optimum_estimate=optimum)


def estimate_optimum(
    posterior: GaussianProcess, best: float, constraints: Constraints, rng: np.random.Generator
) -> float:
    """EST's m-hat over N_POINTS random permutations of those allowed, or over all of them where there are fewer."""
    mean, variance, multiplicity = sampled_moments(posterior, constraints, rng)
    return optimum_estimate(mean, variance, best, multiplicity)


def sampled_moments(
    posterior: GaussianProcess, constraints: Constraints, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray, float]:
    """Mean and variance at N_SAMPLED allowed permutations, or all of up to N_POINTS, and how many each stands for."""
    whole = constraints.enumerate(N_POINTS)
    points = constraints.sample(N_SAMPLED, rng) if whole is None else whole
    predicted = [posterior.predict(points[i : i + CHUNK]) for i in range(0, len(points), CHUNK)]
    mean, variance = (np.concatenate(parts) for parts in zip(*predicted, strict=True))
    return mean, variance, N_POINTS / N_SAMPLED if whole is None else 1.0
