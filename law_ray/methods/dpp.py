"""DPP-MAX and DPP-SAMPLE: batches of a determinantal point process without weights (Kathuria et al., 2016)."""

import numpy as np

from law_ray.methods.context import BatchContext
from law_ray.methods.law import est_of, law
from law_ray.models.gp import GaussianProcess
from law_ray.space.exclusions import Exclusions
from law_ray.typing import FloatArray, IntArray

N_STEPS = 100
"""Steps of the chain, as in the paper (supplement)."""


def dpp_max_est(context: BatchContext, batch_size: int) -> IntArray:
    """Choose a batch by DPP-MAX-EST: LAW-EST with the weight w = 1 (paper, Section 4).

    The first point maximises EST, and each other point the variance given the batch so far. This is the greedy maximum
    of the k-DPP of the posterior covariance.
    """
    return law(context, batch_size, est_of(context), np.ones_like)


def dpp_sample_est(context: BatchContext, batch_size: int) -> IntArray:
    """Choose a batch by DPP-SAMPLE-EST: the first point as DPP-MAX-EST, the others by a chain that starts at its batch.

    The limit of the chain is the k-DPP, k = B - 1, of the posterior covariance given the first point. Like the paper's
    (supplement), the chain has only N_STEPS steps. So the batch is the greedy maximum, perturbed, rather than a draw
    from the k-DPP. A batch that continues a round has no such first point: the chain replaces all of it.
    """
    batch = list(dpp_max_est(context, batch_size))
    first, others = ([], batch) if context.continue_round else (batch[:1], batch[1:])
    excluded, process = context.excluded.copy(), context.posterior
    for point in first:
        excluded.add(point)
        process = process.condition(point[None])
    proposals = context.constraints.sample(N_STEPS, context.rng)
    return np.array([*first, *sample_dpp(process, others, proposals, excluded, context.rng)])


def sample_dpp(
    process: GaussianProcess, start: list[IntArray], proposals: IntArray, excluded: Exclusions, rng: np.random.Generator
) -> list[IntArray]:
    """Run a Metropolis chain on sets S of k permutations, whose limit is the k-DPP P(S) ~ det(K_t(S, S) + noise I).

    S ranges over the sets of free permutations with distinct keys. Each step proposes to replace a random point of S by
    the next of the proposals. If that one is free and none of the other points has its key, it is accepted with
    probability min(1, det new / det old). This is the chain of Anari, Oveis Gharan and Rezaei (2016), without the coin
    that makes every other of their steps do nothing, so it needs half as many. Cost O(n^2 m + k^3 m) for m proposals.

    Args:
        process: The process with the covariance K_t.
        start: The k free permutations where the chain starts.
        proposals: (m, n_items) uniformly distributed permutations, one for each step.
        excluded: The permutations that are not free.
        rng: Drives the chain.

    Returns:
        The k permutations where the chain ends.
    """
    if not start:
        return []
    points = np.array([*start, *proposals])
    kernel = process.posterior(points, points) + process.hyperparameters.noise * np.eye(len(points))
    keys = [excluded.key(point) for point in points]
    free = [point not in excluded for point in points]
    chosen = list(range(len(start)))
    log_det = _log_det(kernel, chosen)
    for new in range(len(start), len(points)):
        replaced = int(rng.integers(len(chosen)))
        others = chosen[:replaced] + chosen[replaced + 1 :]
        if free[new] and keys[new] not in {keys[old] for old in others}:
            moved_log_det = _log_det(kernel, [*others, new])
            if rng.random() < np.exp(moved_log_det - log_det):
                chosen, log_det = [*others, new], moved_log_det
    return [points[b] for b in chosen]


def _log_det(kernel: FloatArray, chosen: list[int]) -> float:
    return float(np.linalg.slogdet(kernel[np.ix_(chosen, chosen)]).logabsdet)
