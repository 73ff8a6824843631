"""law-auto: LAW with a model that learns what kind of problem it is, and batches that serve several purposes."""

from dataclasses import dataclass, replace
from enum import Enum
from functools import partial

import numpy as np

from law_ray.acquisition.functions import est, log_ei, sigmoid_weight, ucb
from law_ray.acquisition.landscape import Landscape, Value
from law_ray.acquisition.local_search import best_neighbour, maximise
from law_ray.methods import pairwise
from law_ray.methods.context import BatchContext
from law_ray.methods.greedy import Step, grow
from law_ray.methods.incumbent import incumbent, on_plateau
from law_ray.methods.law import gain_of
from law_ray.models.standardize import MAX_STANDARD_ERROR, scale_of
from law_ray.typing import FloatArray, IntArray


class Purpose(Enum):
    """What a point of a batch is for."""

    IMPROVE = "improve on the best value"
    LOCAL = "improve on the incumbent, among its neighbours"
    EXPLORE = "explore"
    SPREAD = "spread, by LAW's gain"


@dataclass(frozen=True)
class Design:
    """The constants of law-auto. `experiments.ours.ablation` varies them; those without a line there are heuristics."""

    purposes: tuple[Purpose, ...] = (
        Purpose.IMPROVE,
        Purpose.LOCAL,
        Purpose.EXPLORE,
        Purpose.LOCAL,
        Purpose.EXPLORE,
    )
    """of the points, in turn"""
    purposes_on_plateau: tuple[Purpose, ...] = (Purpose.IMPROVE, *(4 * (Purpose.SPREAD,)))
    """of the points where the best value was found many times"""
    purposes_if_noisy: tuple[Purpose, ...] = (Purpose.EXPLORE,)
    """of the points where the values are noisy; `experiments.ours.imperfect` compares"""
    beta: float = pairwise.BETA
    """of the confidence bound that explores"""
    beta_if_noisy: float = 16.0
    """of the same where the values are noisy, chosen with `purposes_if_noisy`"""
    n_pool: int = 500
    """random permutations, beside the data, among which climbs start"""
    n_starts: int = 4
    """climbs of every point but the first"""
    leaves_searched: bool = True
    """whether the local search leaves a point whose surroundings were searched enough"""


DESIGN = Design()
NEGLIGIBLE = 0.05
"""Standard errors below this share of the values' standard deviation do not count as noise (heuristic).

Of NML totals they are at most 0.01 of it; of the noisy problems that `purposes_if_noisy` was compared on, 0.09 and
more. With this rule, 100 evaluations on 200 rows of hepar2 ended 5 nats lower than with all points exploring; on four
other tables the two ended equally low.
"""


def law_auto(context: BatchContext, batch_size: int, design: Design = DESIGN) -> IntArray:
    """Choose a (batch_size, n_items) batch greedily, each point for one of several purposes.

    Once the pairwise model predicts better than the process (`law_ray.models.pairwise.fit_pairwise`), it chooses some
    or all of the points (`law_ray.methods.pairwise`). The process chooses the others:

    - To improve: x_b = argmax EI with the variance given the batch. That is log L(x, x | x_1..x_b-1) + 2 log w(x) with
      the posterior covariance as the gauge L and w = z Phi(z) + phi(z), z = (best - mu(x)) / sqrt(L(x, x | ..)). It is
      the paper's Equation 2 with a weight that depends on the batch, and falls as fast as the chance to improve does.
    - To improve locally: the same with the value of the incumbent in place of the best, among its neighbours. So a
      batch holds some steps of a local search, which moves on where it has searched enough (`incumbent`).
    - To explore: GP-UCB given the batch. A model that can learn the whole objective does so by these points.
    - To spread: LAW's gain with PI's (best - mu(x)) / sigma(x) as the acquisition and LAW-EST's weight, which is so
      flat that the variance given the batch decides. Where the best value was found many times, the other purposes
      would stay on its plateau, since the model goes on expecting an improvement there. On a plateau all points but
      those that improve therefore spread.

    Noisy values are replaced by the posterior mean at their points (`denoised`). All points of the process explore
    then: by noisy values the other purposes stay too long where a good value is not certain.

    The kernel of the process is the additive, the tour or the weighted precedence kernel, whichever has predicted
    better (`law_ray.models.selection`). The search makes swaps, insertions and reversals. Cost beside the climbs: O(n
    n_items^2) for the neighbours.
    """
    if not noise_matters(context):
        context = replace(context, noisy=False)
    if context.noisy:
        everywhere = design.purposes_if_noisy
        design = replace(design, purposes=everywhere, purposes_on_plateau=everywhere, beta=design.beta_if_noisy)
    context = denoised(context)
    purposes = pairwise.planned(context, batch_size)
    batch = _by_process(context, batch_size - len(purposes), design)
    return np.array(batch + pairwise.choose(context, purposes, batch))


def noise_matters(context: BatchContext) -> bool:
    """Say whether the values are noisy, and not by standard errors that are small beside their deviation.

    NML totals have errors of half a nat at most, and deviate by tens to thousands: they are as good as exact. Values
    whose error is unknown are taken to have such errors as the others.
    """
    scale = scale_of(context.y)
    known = context.standard_errors[context.standard_errors > 0]
    errors = np.minimum(known / scale, MAX_STANDARD_ERROR)
    small = len(errors) and np.sqrt(np.mean(errors**2)) < NEGLIGIBLE * np.std(context.y / scale)
    return context.noisy and not small


def denoised(context: BatchContext) -> BatchContext:
    """Return the context with the posterior mean in place of noisy values.

    The least of many noisy values is too low. Every point around it seems worse, and only uncertain ones far away can
    still improve on it, so that a search around it explores at random.
    """
    if not context.noisy:
        return context
    y = context.posterior.standardize.inverse(context.posterior.predict(context.X)[0])
    return replace(context, y=y, noisy=False)


def _by_process(context: BatchContext, batch_size: int, design: Design) -> list[IntArray]:
    """Return the points that the process chooses."""
    if batch_size == 0:
        return []
    posterior, constraints, rng = context.posterior, context.constraints, context.rng
    centre = incumbent(context) if design.leaves_searched else int(np.argmin(context.y))
    best_there = float(posterior.standardize(context.y[[centre]])[0])
    values: dict[Purpose, Value] = {
        Purpose.IMPROVE: _improvement(context.best),
        Purpose.LOCAL: _improvement(context.best),  # where every neighbour is excluded
        Purpose.EXPLORE: partial(_confidence, beta=design.beta),
        Purpose.SPREAD: gain_of(partial(est, optimum_estimate=context.best), sigmoid_weight),
    }
    purposes = design.purposes_on_plateau if on_plateau(context) else design.purposes

    def next_point(step: Step) -> list[IntArray]:
        # Counted from the first evaluation, so that batches of one serve all purposes too.
        purpose = purposes[(len(context.X) + len(step.batch)) % len(purposes)]
        if purpose is Purpose.LOCAL:
            landscape = Landscape(posterior, step.given_batch, _improvement(best_there))
            found = best_neighbour(landscape, context.X[centre], step.excluded, constraints)
            if found is not None:
                return [found]
        landscape = Landscape(posterior, step.given_batch, values[purpose])
        pool = step.pool
        starts = pool.best(landscape, design.n_starts) if step.batch else pool.starts(landscape, rng)
        return list(maximise(landscape, starts, step.excluded, constraints, rng, certify=False))

    return grow(context, batch_size, posterior, design.n_pool, next_point)


def _improvement(best: float) -> Value:
    """Return log EI over a standardized value, with the variance given the batch."""
    return lambda mean, variance, given_batch: log_ei(mean, given_batch, best)


def _confidence(mean: FloatArray, variance: FloatArray, given_batch: FloatArray, beta: float) -> FloatArray:
    """Compute GP-UCB with the variance given the batch."""
    return ucb(mean, given_batch, beta)
