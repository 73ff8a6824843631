"""DPP-MAX and DPP-SAMPLE: batches of a determinantal point process without weights (Kathuria et al., 2016)."""

import numpy as np

from law_ray.gp import GaussianProcess
from law_ray.kernels import FloatArray
from law_ray.methods.law import est_of, law
from law_ray.methods.state import State
from law_ray.permutations import IntArray
from law_ray.taken import Taken

N_STEPS = 100  # of the chain, as in the paper


def dpp_max_est(state: State, batch_size: int) -> IntArray:
    """DPP-MAX-EST: LAW-EST with the weight w = 1 (paper, Section 4).

    The first point maximises EST, the others the variance given the batch: the greedy maximum of the k-DPP of the
    posterior covariance.
    """
    return law(state, batch_size, est_of(state), np.ones_like)


def dpp_sample_est(state: State, batch_size: int) -> IntArray:
    """DPP-SAMPLE-EST: the first point of DPP-MAX-EST, and the others from a chain that starts at those of DPP-MAX-EST.

    They are a draw from the k-DPP, k = B - 1, of the posterior covariance given the first point, or rather N_STEPS
    on the way to it, as many as the paper takes (supplement): the greedy maximum, disturbed.
    """
    first, *others = dpp_max_est(state, batch_size)
    taken = state.taken.copy()
    taken.add(first)
    proposals = state.constraints.sample(N_STEPS, state.rng)
    given_first = state.posterior.condition(first[None])
    return np.array([first, *sample_dpp(given_first, others, proposals, taken, state.rng)])


def sample_dpp(
    process: GaussianProcess, start: list[IntArray], proposals: IntArray, taken: Taken, rng: np.random.Generator
) -> list[IntArray]:
    """k free points after a Metropolis chain whose stationary law is the k-DPP P(S) ~ det(K_t(S, S) + noise I).

    K_t is the covariance of `process`, and S any k free permutations of distinct keys. A step proposes to replace a
    random point of S by the next of `proposals`, drawn uniformly, and does so with probability min(1, det new / det
    old), where the new one is free and of another key than the others (Anari, Oveis Gharan and Rezaei, 2016; without
    the coin that lets every other step of theirs stay, which halves their number). Cost O(n^2 m + k^3 m) for m
    proposals.
    """
    if not start:
        return []
    points = np.array([*start, *proposals])
    kernel = process.posterior(points, points) + process.hyperparameters.noise * np.eye(len(points))
    keys = [taken.key(point) for point in points]
    free = [point not in taken for point in points]
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
