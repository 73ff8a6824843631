"""Where to search beside the best point so far: the best basin that was not searched enough.

A model says little of basins it has no points in, and improvement over the best value is expected next to that value
for ever, above all on a plateau. So what was searched for long without a gain has to make room for something else, and
that needs a yardstick of its own to improve on until it is better than the rest.
"""

from dataclasses import dataclass

import numpy as np

from law_ray.gp import GaussianProcess
from law_ray.methods.state import State
from law_ray.permutations import IntArray
from law_ray.taken import Avoided

N_SEARCHED = 3  # evaluations an item near a point without a gain, after which its basin was searched enough
N_RANDOM = 100  # permutations that say how much random ones have in common


@dataclass(frozen=True)
class Basin:
    """The permutations whose prior covariance with `centre` is `near` or more, and with each of `left` is less."""

    posterior: GaussianProcess
    near: float
    centre: IntArray
    """(n_items,) the best evaluated permutation of the basin"""
    best: float
    """its normalised value"""
    left: IntArray
    """(k, n_items) centres of the basins that were searched enough"""
    members: IntArray
    """(m, n_items) its evaluated permutations, the best first"""

    def __contains__(self, permutation: IntArray) -> bool:
        covariances = self.posterior.kernel(permutation[None], np.concatenate([self.centre[None], self.left]))[0]
        return bool(covariances[0] >= self.near and (covariances[1:] < self.near).all())


def basin_beside_the_best(state: State) -> Basin | None:
    """The best basin that was not searched enough; None if it is that of the best point, or there is none.

    Two permutations are near each other when their prior covariance is at least halfway from that of random ones to
    k(x, x). Of the evaluated points from the best on (of equals from the earliest), each that is not near a centre
    before it is the centre of a basin. A basin was searched enough when N_SEARCHED n_items points near its centre were
    evaluated after that. Cost O(n^2).
    """
    posterior, (n, n_items) = state.posterior, state.X.shape
    random = state.constraints.sample(N_RANDOM, state.rng)
    largest = posterior.hyperparameters.signal_variance
    near = 0.5 * (largest + float(posterior.kernel(random, state.X).mean()))
    close = posterior.kernel(state.X, state.X) >= near
    searched = np.triu(close, 1).sum(axis=1)  # near points evaluated after
    order = np.argsort(state.y, kind="stable")
    left: list[int] = []
    free = np.ones(n, dtype=bool)
    for centre in order:
        if not free[centre]:
            continue
        if searched[centre] < N_SEARCHED * n_items:
            members = order[(close[centre] & free)[order]]
            value = float(posterior.normalise(state.y[[centre]])[0])
            return Basin(posterior, near, state.X[centre], value, state.X[left], state.X[members]) if left else None
        left.append(centre)
        free &= ~close[centre]
    return None


class Outside:
    """Whatever is taken, or not in a basin."""

    def __init__(self, taken: Avoided, basin: Basin) -> None:
        self._taken, self._basin = taken, basin

    def __contains__(self, permutation: IntArray) -> bool:
        return permutation in self._taken or permutation not in self._basin
