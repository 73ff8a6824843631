"""law-auto: LAW with a model that learns what kind of problem it is in, and batches of several purposes."""

from functools import partial
from itertools import cycle, islice

import numpy as np

from law_ray.acquisition import est, log_ei, sigmoid_weight, ucb
from law_ray.constraints import Constraints
from law_ray.kernels import FloatArray
from law_ray.methods.baselines import ALL_NEIGHBOURS
from law_ray.methods.basins import incumbent, on_plateau
from law_ray.methods.law import gain_of
from law_ray.methods.sequential import Pool
from law_ray.methods.state import State
from law_ray.permutations import IntArray
from law_ray.search import Landscape, Value, maximise
from law_ray.taken import Avoided

# What the points of a batch are for, in turn.
IMPROVE, LOCALLY, EXPLORE, SPREAD = "improve", "locally", "explore", "spread"
PURPOSES = (IMPROVE, LOCALLY, EXPLORE, LOCALLY, EXPLORE)
ON_A_PLATEAU = (IMPROVE, SPREAD, SPREAD, SPREAD, SPREAD)
BETA = 9.0  # of the confidence bound that explores
N_POOL = 500  # random permutations beside the data, among which climbs start
N_STARTS = 4  # climbs of all points but the first


def law_auto(state: State, batch_size: int) -> IntArray:
    """The (batch_size, n_items) batch by greedy maximisation, each point given those before it, for several purposes.

    To improve: x_b = argmax EI with the variance given the batch, which is log L(x, x | x_1..x_b-1) + 2 log w(x) with
    the posterior covariance as the gauge L and w = z Phi(z) + phi(z), z = (best - mu(x)) / sqrt(L(x, x | ..)): the
    paper's Equation 2 with a weight that hangs on the batch, and falls as fast as chances do. To improve locally: the
    same over the value of the incumbent, among its neighbours. So a batch holds some steps of a local search, which
    leaves a basin that was searched enough for the next (`basins`). To explore: GP-UCB given the batch; a model that
    can learn the whole objective does so by it. Where the best value was found again and again, all of these would stay
    on its plateau, of which the model expects improvement for ever. There all points but those that improve spread: by
    LAW's gain with PI's (best - mu(x)) / sigma(x) as the acquisition and LAW-EST's weight, which is so flat that the
    variance given the batch decides.

    The model is a mixture, or the latent kernel of tours (`choice`). The search walks swaps, insertions and reversals.
    Cost beside the climbs: O(n^2 n_items^2) for the neighbours.
    """
    posterior, constraints, rng = state.posterior, state.constraints, state.rng
    centre = incumbent(state)
    best_there = float(posterior.normalise(state.y[[centre]])[0])
    pool = Pool(posterior, posterior, [posterior.X, constraints.sample(N_POOL, rng)], batch_size)
    taken = state.taken.copy()
    given_batch = posterior
    batch: list[IntArray] = []
    improvement = _improvement(state.best)
    values: dict[str, Value] = {
        IMPROVE: improvement,
        LOCALLY: improvement,  # where every neighbour is taken
        EXPLORE: _confidence,
        SPREAD: gain_of(partial(est, optimum_estimate=state.best), sigmoid_weight),
    }
    purposes = ON_A_PLATEAU if on_plateau(state) else PURPOSES
    # Counted from the first evaluation, so that batches of one serve all purposes too.
    turn = len(state.X) % len(purposes)
    for purpose in islice(cycle(purposes), turn, turn + batch_size):
        found: list[IntArray] = []
        if purpose == LOCALLY:
            landscape = Landscape(posterior, given_batch, _improvement(best_there))
            found = _best_neighbour(landscape, state.X[centre], taken, constraints)
        if not found:
            landscape = Landscape(posterior, given_batch, values[purpose])
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


def _best_neighbour(landscape: Landscape, centre: IntArray, taken: Avoided, constraints: Constraints) -> list[IntArray]:
    """The free and allowed neighbour of the centre with the largest value; none if there is none."""
    around = np.concatenate([kind(centre[None])[0] for kind in ALL_NEIGHBOURS])
    around = around[constraints.allows(around)]
    order = np.argsort(-landscape(around), kind="stable")
    return next(([neighbour] for neighbour in around[order] if neighbour not in taken), [])
