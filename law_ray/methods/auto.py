"""law-auto: LAW whose surrogate learns what kind of permutation problem it is in."""

import math
import os

import numpy as np

from law_ray.compiled import compiled
from law_ray.methods.sequential import Pool
from law_ray.methods.state import State
from law_ray.permutations import IntArray
from law_ray.search import Landscape, maximise

SLOPE = [float(v) for v in os.environ.get("AUTO_SLOPE", "1").split(",")]
N_POOL = 500
N_STARTS = int(os.environ.get("AUTO_STARTS", "4"))


def law_auto(state: State, batch_size: int) -> IntArray:
    posterior, constraints, rng = state.posterior, state.constraints, state.rng
    best = state.best

    def acquisition(mean, variance):
        sigma = np.sqrt(variance)
        return np.log(sigma) + _log_improvement((best - mean) / sigma)

    def value_of(b):
        if b == 0:
            return lambda mean, variance, given_batch: acquisition(mean, variance)
        slope = SLOPE[(b - 1) % len(SLOPE)]
        if slope < 0:
            return lambda mean, variance, given_batch: acquisition(mean, given_batch)
        return lambda mean, variance, given_batch: np.log(given_batch) + 2.0 * slope * acquisition(mean, variance)

    pool = Pool(posterior, posterior, [posterior.X, constraints.sample(N_POOL, rng)], batch_size)
    taken = state.taken.copy()
    given_batch = posterior
    batch = []
    for b in range(batch_size):
        landscape = Landscape(posterior, given_batch, value_of(b))
        starts = pool.starts(landscape, rng) if b == 0 else pool.top(landscape, N_STARTS)
        point, *others = maximise(landscape, starts, taken, constraints, rng, False)
        taken.add(point)
        batch.append(point)
        if b + 1 < batch_size:
            pool.add(given_batch, others)
            pool.condition(given_batch, point)
            given_batch = given_batch.condition(point[None])
    return np.array(batch)


def _log_improvement(z):
    return _log_h(np.ascontiguousarray(z).ravel()).reshape(z.shape)


@compiled(fastmath=False)
def _log_h(z):  # type: ignore[no-untyped-def]
    """log(z Phi(z) + phi(z))."""
    out = np.empty(len(z))
    c = 0.5 * math.log(2.0 * math.pi)
    for i in range(len(z)):
        u = z[i]
        if u > -3.0:
            out[i] = math.log(u * 0.5 * math.erfc(-u / math.sqrt(2.0)) + math.exp(-0.5 * u * u - c))
        else:
            # Phi(u) / phi(u) by its continued fraction 1 / (t + 1 / (t + 2 / (t + 3 / ...))), t = -u
            t = -u
            f = t
            for k in range(24, 0, -1):
                f = t + k / f
            # 1 - t / f, where f = t + 1 / g: 1 / (g f)
            g = t
            for k in range(24, 1, -1):
                g = t + k / g
            out[i] = -0.5 * u * u - c - math.log(g * f)
    return out
