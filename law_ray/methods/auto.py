"""law-auto: LAW with a model that learns what kind of problem it is in, and batches of several purposes."""

from itertools import cycle, islice

import numpy as np

from law_ray.acquisition import log_ei, ucb
from law_ray.kernels import FloatArray
from law_ray.methods.basins import Outside, basin_beside_the_best
from law_ray.methods.sequential import Pool
from law_ray.methods.state import State
from law_ray.permutations import IntArray
from law_ray.search import Landscape, Value, climb, maximise

# What the points of a batch are for, in turn.
IMPROVE, EXPLORE, ELSEWHERE = "improve", "explore", "elsewhere"
PURPOSES = (IMPROVE, ELSEWHERE, EXPLORE, ELSEWHERE, ELSEWHERE)
BETA = 4.0  # of the confidence bound that explores
N_POOL = 500  # random permutations beside the data, among which climbs start
N_STARTS = 4  # climbs of all points but the first


def law_auto(state: State, batch_size: int) -> IntArray:
    """The (batch_size, n_items) batch by greedy maximisation, each point given those before it, for several purposes.

    To improve: x_b = argmax EI with the variance given the batch, which is log L(x, x | x_1..x_b-1) + 2 log w(x) with
    the posterior covariance as the gauge L and w = z Phi(z) + phi(z), z = (best - mu(x)) / sqrt(L(x, x | ..)): the
    paper's Equation 2 with a weight that hangs on the batch, and falls as fast as chances do. To explore: GP-UCB given
    the batch. Elsewhere: to improve the best point of another basin within it, once that of the best point was searched
    enough (`basin_beside_the_best`); until then, to improve. The model is the mixture, and the search walks swaps,
    insertions and reversals.
    """
    posterior, constraints, rng = state.posterior, state.constraints, state.rng
    pool = Pool(posterior, posterior, [posterior.X, constraints.sample(N_POOL, rng)], batch_size)
    basin = basin_beside_the_best(state)
    taken = state.taken.copy()
    given_batch = posterior
    batch: list[IntArray] = []
    # Counted from the first evaluation, so that batches of one serve all purposes too.
    first = len(state.X) % len(PURPOSES)
    for purpose in islice(cycle(PURPOSES), first, first + batch_size):
        found: list[IntArray] = []
        if purpose == ELSEWHERE and basin is not None:
            landscape = Landscape(posterior, given_batch, _improvement(basin.best))
            ends, values = climb(landscape, basin.members[:N_STARTS], Outside(taken, basin), constraints, proven=False)
            found = list(ends[values > -np.inf])
        if not found:
            landscape = Landscape(
                posterior, given_batch, _confidence if purpose == EXPLORE else _improvement(state.best)
            )
            starts = pool.best(landscape, N_STARTS) if batch else pool.starts(landscape, rng)
            found = list(maximise(landscape, starts, taken, constraints, rng, proven=False))
        point, *others = found
        taken.add(point)
        batch.append(point)
        if len(batch) < batch_size:
            pool.add(given_batch, others)
            pool.condition(given_batch, point)
            given_batch = given_batch.condition(point[None])
    return np.array(batch)


def _improvement(best: float) -> Value:
    """log EI over a normalised value, with the variance given the batch."""
    return lambda mean, variance, given_batch: log_ei(mean, given_batch, best)


def _confidence(mean: FloatArray, variance: FloatArray, given_batch: FloatArray) -> FloatArray:
    """GP-UCB with the variance given the batch."""
    return ucb(mean, given_batch, BETA)
