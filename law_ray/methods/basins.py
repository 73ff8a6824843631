"""Where a local search goes on: from the incumbent, unless that was searched enough; nowhere on a plateau."""

import numpy as np

from law_ray.methods.state import State

N_SEARCHED = 8  # evaluations an item near a point without a gain, after which its basin was searched enough
N_RANDOM = 100  # permutations that say how much random ones have in common
N_EQUAL = 10  # values as good as the best, beyond which it lies on a plateau


def incumbent(state: State) -> int:
    """The number of the point of `state.X` around which to search: the last of the best ones not searched enough.

    Two permutations are near each other when their prior covariance is at least halfway from that of random ones to
    k(x, x). Of the evaluated points from the best on (of equals from the earliest), each that is not near a centre
    before it is the centre of a basin. A basin was searched enough when N_SEARCHED n_items points near its centre were
    evaluated after that; what is near its centre then does not count. Where all were searched enough, the best point.
    Cost O(n^2).
    """
    posterior, (n, n_items) = state.posterior, state.X.shape
    random = state.constraints.sample(N_RANDOM, state.rng)
    covariance = posterior.kernel(state.X, state.X)
    near = 0.5 * (covariance[0, 0] + posterior.kernel(random, state.X).mean())
    close = covariance >= near
    searched = np.triu(close, 1).sum(axis=1)  # near points evaluated after
    order = np.argsort(state.y, kind="stable")
    free = np.ones(n, dtype=bool)
    for centre in order:
        if free[centre]:
            if searched[centre] < N_SEARCHED * n_items:
                return int(np.flatnonzero(free & (state.y == state.y[centre]))[-1])
            free &= ~close[centre]
    return int(order[0])


def on_plateau(state: State) -> bool:
    """Whether more than N_EQUAL values, the best one included, are as good as it.

    That is, no further from it than three standard errors of the difference; equal to it where these are unknown.
    Cost O(n).
    """
    best, error = state.y.argmin(), state.standard_errors
    equal = state.y - state.y[best] <= 3.0 * np.hypot(error, error[best])
    return int(equal.sum()) > N_EQUAL
