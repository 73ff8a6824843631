"""Batches that are built one point at a time, each given the points before it.

The `gauge` is the process whose variance measures diversity (the paper's L): the posterior, or its prior.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from law_ray.acquisition.landscape import Landscape, Value
from law_ray.acquisition.local_search import maximise
from law_ray.methods.context import BatchContext
from law_ray.models.gp import GaussianProcess
from law_ray.space.exclusions import Exclusions
from law_ray.typing import IntArray

N_POOL = 2_000
"""Random permutations among which the climbs of a point start, beside the data.

The paper has 20,000; `experiments.paper.climb_starts` measured that they take 1.4 times as long for no sure gain.
"""
N_GOOD, N_RANDOM = 4, 2
"""Starts of climbs from each source: the best, and random others (heuristic)."""
N_SEARCHES = 6
"""The first points of a pooled batch, each found by a full search, as is every EVERY-th of the others (heuristic)."""
EVERY = 3

ValueOf = Callable[[GaussianProcess, list[IntArray]], Value]
"""(the gauge given the batch so far, that batch) -> the value that the next point maximises"""


class Step(NamedTuple):
    """What the next point of a batch is chosen from."""

    batch: list[IntArray]
    given_batch: GaussianProcess
    """the gauge given the batch so far"""
    pool: "Pool"
    excluded: Exclusions


def grow(
    context: BatchContext,
    batch_size: int,
    gauge: GaussianProcess,
    n_pool: int,
    next_point: Callable[[Step], list[IntArray]],
) -> list[IntArray]:
    """Build a batch one point at a time.

    Args:
        context: What the batch is chosen from.
        batch_size: The number of points.
        gauge: The posterior, or its prior, whose variance given the batch the points are chosen by.
        n_pool: Random permutations in the pool, beside the data.
        next_point: Returns the next point (n_items,), and further permutations that are worth adding to the pool.

    Returns:
        The points (n_items,) in the order in which they were chosen.
    """
    posterior, constraints, rng = context.posterior, context.constraints, context.rng
    pool = Pool(posterior, gauge, [posterior.X, constraints.sample(n_pool, rng)], batch_size)
    excluded = context.excluded.copy()
    given_batch = gauge
    batch: list[IntArray] = []
    while len(batch) < batch_size:
        point, *others = next_point(Step(batch, given_batch, pool, excluded))
        excluded.add(point)
        batch.append(point)
        if len(batch) < batch_size:
            pool.add(given_batch, others)
            pool.condition(given_batch, point)
            given_batch = given_batch.condition(point[None])
    return batch


def greedy(
    context: BatchContext, batch_size: int, gauge: GaussianProcess, value_of: ValueOf, pooled: bool = False
) -> list[IntArray]:
    """Build a batch whose every point is the argmax of a value that depends on the points before it.

    The climbs start, as in the paper (Section 4), at good and at random points among the data and among random
    permutations. In a `pooled` batch most points come from the pool instead, which then holds the other ends of those
    climbs: the point with the largest value, improved by a short climb. That is for batches whose points climb again
    later. A point costs a full search, or from the pool O(N_POOL (n + B)) and one climb.

    Args:
        context: What the batch is chosen from.
        batch_size: The number of points.
        gauge: The posterior, or its prior. Its variance given the batch, whose points are observed with noise, is the
            third argument of the value (see `Landscape`).
        value_of: Makes the value from the batch so far.
        pooled: Whether most points come from the pool.

    Returns:
        The points (n_items,) in the order in which they were chosen.
    """
    posterior, constraints, rng = context.posterior, context.constraints, context.rng

    def next_point(step: Step) -> list[IntArray]:
        b = len(step.batch)
        value = value_of(step.given_batch, step.batch)
        landscape = Landscape(posterior, step.given_batch, value, gauge is not posterior)
        searched = not pooled or b < N_SEARCHES or b % EVERY == 0
        starts = step.pool.starts(landscape, rng) if searched else step.pool.best(landscape)
        certify = b == 0 or not pooled  # the other points of a pooled batch climb again anyway
        point, *others = maximise(landscape, starts, step.excluded, constraints, rng, certify)
        return [point, *(others if searched and pooled else [])]

    return grow(context, batch_size, gauge, N_POOL, next_point)


class Pool:
    """Permutations from several sources, with their moments kept up to date while a batch grows.

    Mean and variance are those of `posterior`; the variance given the batch is that of `gauge` given it. Adding a point
    to the batch costs O(m (n + b)) for m permutations: a row of the Cholesky factor of all of them.
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
        """Add permutations to the last of the sources; `given_batch` is the gauge given the batch so far."""
        if not permutations:
            return
        rows = len(given_batch.X)
        V = np.empty((len(self._V), len(permutations)))
        V[:rows] = given_batch.whiten(np.array(permutations))
        mean, variance = self._posterior.predict(np.array(permutations))
        added = {
            "_permutations": np.array(permutations),
            "_sources": np.full(len(permutations), self._sources.max()),
            "_mean": mean,
            "_variance": variance,
            "_given_batch": given_batch.variance_from(V[:rows]),
        }
        for name, more in added.items():
            setattr(self, name, np.concatenate([getattr(self, name), more]))
        self._V = np.concatenate([self._V, V], axis=1)

    def condition(self, given_batch: GaussianProcess, point: IntArray) -> None:
        """Add `point` (n_items,) to the batch; `given_batch` is the gauge given the points before it."""
        rows = len(given_batch.X)
        v = given_batch.whiten(point[None])
        deviation = np.sqrt(given_batch.variance_from(v)[0] + given_batch.hyperparameters.noise)
        covariance = given_batch.kernel(point[None], self._permutations)[0] - v[:, 0] @ self._V[:rows]
        self._V[rows] = covariance / deviation
        self._given_batch = np.maximum(self._given_batch - self._V[rows] ** 2, given_batch.least_variance)

    def starts(self, landscape: Landscape, rng: np.random.Generator) -> IntArray:
        """Return the N_GOOD best permutations of each source, and N_RANDOM random ones: (k, n_items)."""
        values = landscape.value(self._mean, self._variance, self._given_batch)
        chosen = []
        for source in np.unique(self._sources):
            members = np.flatnonzero(self._sources == source)
            chosen.append(members[np.argsort(-values[members], kind="stable")[:N_GOOD]])
            chosen.append(rng.choice(members, min(N_RANDOM, len(members)), replace=False))
        return self._permutations[np.concatenate(chosen)]

    def best(self, landscape: Landscape, count: int = 1) -> IntArray:
        """Return the permutations of largest value, (count, n_items)."""
        values = landscape.value(self._mean, self._variance, self._given_batch)
        return self._permutations[np.argsort(-values, kind="stable")[:count]]
