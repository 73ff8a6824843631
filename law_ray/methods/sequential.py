"""A batch one point at a time: each maximises a value that hangs on the points before it."""

from collections.abc import Callable

import numpy as np

from law_ray.gp import GaussianProcess
from law_ray.methods.state import State
from law_ray.permutations import IntArray
from law_ray.search import Landscape, Value, maximise

N_POOL = 2_000  # random permutations among which the climbs of a point start, beside the data
N_GOOD, N_RANDOM = 4, 2  # starts from either: the best, and others at random
N_SEARCHES = 6  # points of a pooled batch that are searched for so; of the further ones every third
EVERY = 3

ValueOf = Callable[[GaussianProcess, list[IntArray]], Value]  # of the gauge given the batch so far, and that batch


def greedy(
    state: State, batch_size: int, gauge: GaussianProcess, value_of: ValueOf, pooled: bool = False
) -> list[IntArray]:
    """B free permutations (n_items,), each the argmax of the value that `value_of` makes of those before it.

    It is a value of `Landscape`, whose third argument is the variance of `gauge`, the posterior or its prior, given
    the batch so far, observation noise included. The climbs start, as in the paper (Section 4), from good and random
    points among the data and among random permutations. In a `pooled` batch most points come from a pool instead,
    which holds the other ends of those climbs: the one with the largest value, polished by a short climb. That is for
    batches whose points climb again later. A point costs a search, or one from the pool O(N_POOL (n + B)) and a climb.
    """
    posterior, constraints, rng = state.posterior, state.constraints, state.rng
    pool = Pool(posterior, gauge, [posterior.X, constraints.sample(N_POOL, rng)], batch_size)
    taken = state.taken.copy()
    given_batch = gauge
    batch: list[IntArray] = []
    for b in range(batch_size):
        landscape = Landscape(posterior, given_batch, value_of(given_batch, batch), gauge is not posterior)
        searched = not pooled or b < N_SEARCHES or b % EVERY == 0
        starts = pool.starts(landscape, rng) if searched else pool.best(landscape)
        proven = b == 0 or not pooled  # the other points of a pooled batch climb again anyway
        point, *others = maximise(landscape, starts, taken, constraints, rng, proven)
        taken.add(point)
        batch.append(point)
        if b + 1 < batch_size:
            if searched and pooled:
                pool.add(given_batch, others)
            pool.condition(given_batch, point)
            given_batch = given_batch.condition(point[None])
    return batch


class Pool:
    """Permutations from several sources, with their moments kept up to date while a batch grows.

    Mean and variance are those of `posterior`, the variance given the batch is that of `gauge` given it. A point of the
    batch costs O(m (n + b)) for m permutations: a row of the Cholesky factor of all of them.
    """

    def __init__(
        self, posterior: GaussianProcess, gauge: GaussianProcess, sources: list[IntArray], batch_size: int
    ) -> None:
        self._permutations = np.concatenate(sources)
        self._sources = np.repeat(np.arange(len(sources)), [len(source) for source in sources])
        self._posterior = posterior
        V_data = posterior.whiten(self._permutations)
        self._mean = posterior.mean_from(V_data) + posterior.prior_mean(self._permutations)
        self._variance = posterior.variance_from(V_data)
        V = V_data if gauge is posterior else gauge.whiten(self._permutations)
        self._V = np.empty((len(V) + batch_size, len(self._permutations)))
        self._V[: len(V)] = V
        self._given_batch = gauge.variance_from(V)

    def add(self, given_batch: GaussianProcess, permutations: list[IntArray]) -> None:
        """Add permutations, to the last of the sources, in a pool whose batch is that of `given_batch`."""
        if not permutations:
            return
        rows = len(given_batch.X)
        V = np.empty((len(self._V), len(permutations)))
        V[:rows] = given_batch.whiten(np.array(permutations))
        mean, variance = self._posterior.predict(np.array(permutations))
        added = {
            "_permutations": np.array(permutations),
            "_sources": np.full(len(permutations), self._sources.max(), dtype=np.int64),
            "_mean": mean,
            "_variance": variance,
            "_given_batch": given_batch.variance_from(V[:rows]),
        }
        for name, more in added.items():
            setattr(self, name, np.concatenate([getattr(self, name), more]))
        self._V = np.concatenate([self._V, V], axis=1)

    def condition(self, given_batch: GaussianProcess, point: IntArray) -> None:
        """Add `point` (n_items,) to the batch that `given_batch` is given."""
        rows = len(given_batch.X)
        v = given_batch.whiten(point[None])
        deviation = np.sqrt(given_batch.variance_from(v)[0] + given_batch.hyperparameters.noise)
        covariance = given_batch.kernel(point[None], self._permutations)[0] - v[:, 0] @ self._V[:rows]
        self._V[rows] = covariance / deviation
        self._given_batch = np.maximum(self._given_batch - self._V[rows] ** 2, given_batch.least_variance)

    def starts(self, landscape: Landscape, rng: np.random.Generator) -> IntArray:
        """The N_GOOD best of each source, and N_RANDOM others."""
        values = landscape.value(self._mean, self._variance, self._given_batch)
        chosen = []
        for source in np.unique(self._sources):
            members = np.flatnonzero(self._sources == source)
            chosen.append(members[np.argsort(-values[members], kind="stable")[:N_GOOD]])
            chosen.append(rng.choice(members, min(N_RANDOM, len(members)), replace=False))
        return self._permutations[np.concatenate(chosen)]

    def best(self, landscape: Landscape, count: int = 1) -> IntArray:
        """The best of all, (count, n_items)."""
        values = landscape.value(self._mean, self._variance, self._given_batch)
        return self._permutations[np.argsort(-values, kind="stable")[:count]]
