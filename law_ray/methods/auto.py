"""law-auto: LAW whose surrogate learns what kind of permutation problem it is in."""

import math
import os

import numpy as np

from law_ray.compiled import compiled
from law_ray.methods.sequential import Pool
from law_ray.methods.state import State
from law_ray.permutations import IntArray
from law_ray.search import Landscape, climb, maximise

N_POOL = 500
N_STARTS = 4
SLOTS = os.environ.get("AUTO_SLOTS", "e,i,u2,i,i").split(",")
EXH = float(os.environ.get("AUTO_EXH", "3"))
RAD = float(os.environ.get("AUTO_RAD", "0.5"))
DEBUG = os.environ.get("AUTO_DEBUG")


class Zone:
    """Taken, or outside a region."""

    def __init__(self, taken, posterior, near, centre, excluded):
        self._taken, self._p, self._near, self._c, self._e = taken, posterior, near, centre, excluded

    def __contains__(self, x):
        if x in self._taken:
            return True
        k = self._p.kernel(x[None], np.concatenate([self._c[None], self._e]))[0]
        return bool(k[0] < self._near or (k[1:] >= self._near).any())


def law_auto(state: State, batch_size: int) -> IntArray:
    posterior, constraints, rng = state.posterior, state.constraints, state.rng
    best = state.best
    z = posterior.normalise(state.y)
    n, n_items = state.X.shape
    random = constraints.sample(N_POOL, rng)
    K = posterior.kernel(state.X, state.X)
    k0 = posterior.hyperparameters.signal_variance
    typical = float(posterior.kernel(random[:100], state.X).mean())
    near = k0 - RAD * (k0 - typical)
    close = K >= near
    rank = np.lexsort((np.arange(n), z))
    after = (close & (np.arange(n)[None] > np.arange(n)[:, None])).sum(axis=1)
    excluded = np.zeros(n, dtype=bool)
    heads, island = [], None
    for i in rank:
        if excluded[i]:
            continue
        if after[i] < EXH * n_items:
            island = i
            break
        heads.append(i)
        excluded |= close[i]
    exhausted = np.array(heads, dtype=int)
    main = island is None or z[island] <= best + 1e-12
    if DEBUG:
        print(n, "exhausted", [(float(state.y[i]), int(after[i])) for i in exhausted], "island", None if island is None else (float(state.y[island]), int(close[island].sum())), main)

    def log_improvement(mean, variance, best):
        sigma = np.sqrt(variance)
        return np.log(sigma) + _log_improvement((best - mean) / sigma)

    def value_of(slot, best=best):
        by = float(slot[1:] or 0)
        if slot[0] in "ei":
            return lambda mean, variance, given_batch: log_improvement(mean, given_batch, best)
        if slot[0] == "u":
            return lambda mean, variance, given_batch: by * np.sqrt(given_batch) - mean
        return lambda mean, variance, given_batch: np.log(given_batch) + 2.0 * by * log_improvement(mean, variance, best)

    pool = Pool(posterior, posterior, [posterior.X, random], batch_size)
    taken = state.taken.copy()
    given_batch = posterior
    batch = []
    for b in range(batch_size):
        slot = SLOTS[b % len(SLOTS)]
        found = None
        if slot == "i" and not main:
            landscape = Landscape(posterior, given_batch, value_of(slot, z[island]))
            members = np.flatnonzero(close[island] & ~excluded)
            members = members[np.argsort(z[members], kind="stable")[:N_STARTS]]
            zone = Zone(taken, posterior, near, state.X[island], state.X[exhausted])
            ends, values = climb(landscape, state.X[members], zone, constraints, False)
            if values[0] > -np.inf:
                found, others = ends[0], list(ends[1:][values[1:] > -np.inf])
        if found is None:
            landscape = Landscape(posterior, given_batch, value_of(slot))
            starts = pool.starts(landscape, rng) if b == 0 else pool.top(landscape, N_STARTS)
            found, *others = maximise(landscape, starts, taken, constraints, rng, False)
        point = found
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
