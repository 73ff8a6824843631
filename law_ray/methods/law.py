"""LAW: a batch by greedy maximisation of a determinantal point process whose kernel the acquisition weights."""

import numpy as np

from law_ray.acquisition import est, optimum_estimate, sigmoid_weight
from law_ray.constraints import Constraints
from law_ray.gp import GaussianProcess
from law_ray.kernels import FloatArray
from law_ray.methods.state import State
from law_ray.permutations import IntArray
from law_ray.search import Landscape, Value, climb, maximise
from law_ray.taken import Taken

N_POINTS = 100_000  # permutations behind the optimum estimate, as in the paper: their number matters
N_SAMPLED = 10_000  # of them, each standing for ten: within 0.01 standard deviations
CHUNK = 4_000  # of them predicted at once: bounds the memory
N_POOL = 2_000  # random permutations among which the climbs of a point start, beside the data
N_GOOD, N_RANDOM = 4, 2  # starts from either: the best, and others at random
N_SEARCHES = 6  # points of a batch that are searched for so; of the further ones every third
EVERY = 3


def law_est(state: State, batch_size: int) -> IntArray:
    """LAW-EST: the (batch_size, n_items) batch by Algorithm 1 of the paper, with EST and the sigmoid weight.

    x_1 = argmax a(x), and x_b = argmax log K_t(x, x | x_1..x_{b-1}) + 2 log w(a(x)): the greedy maximisation of
    log det [L^AW(x_i, x_j)], L^AW(x, x') = w(a(x)) K_t(x, x') w(a(x')) (Equations 1 and 2), where conditioning on the
    batch includes the observation noise. The batch, and all that is sampled, keeps the constraints. The climbs
    start, as in the paper (Section 4), from good and random points among the data and among random permutations. In a
    batch of more than N_SEARCHES most points come from a pool instead, which holds the other ends of those climbs: the
    one with the largest gain, polished by a short climb. In the end each of them climbs once more, given all the
    others, which brings the determinant to that of a search for every point.
    """
    posterior, constraints, rng = state.posterior, state.constraints, state.rng
    optimum = estimate_optimum(posterior, state.best, constraints, rng)

    def first(mean: FloatArray, variance: FloatArray, given_batch: FloatArray) -> FloatArray:
        return est(mean, variance, optimum)

    def gain(mean: FloatArray, variance: FloatArray, given_batch: FloatArray) -> FloatArray:
        return np.log(given_batch) + 2.0 * np.log(sigmoid_weight(est(mean, variance, optimum)))

    taken = state.taken.copy()
    pool = Pool(posterior, [posterior.X, constraints.sample(N_POOL, rng)], batch_size)
    pooled = batch_size > N_SEARCHES
    given_batch = posterior
    batch: list[IntArray] = []
    for b in range(batch_size):
        landscape = Landscape(posterior, given_batch, gain if b else first)
        searched = b < N_SEARCHES or b % EVERY == 0
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
    if pooled:
        given_first = posterior.condition(batch[0][None])
        batch[1:] = _refined(batch[1:], posterior, given_first, gain, taken, constraints)
    return np.array(batch)


def _refined(
    points: list[IntArray],
    posterior: GaussianProcess,
    given_others: GaussianProcess,
    gain: Value,
    taken: Taken,
    constraints: Constraints,
) -> list[IntArray]:
    """Each point in turn moved uphill given all the others; `given_others` is given the batch without `points`.

    Halving shares the work of leaving one point out: O(B log B) points are conditioned on instead of O(B^2).
    """
    if len(points) == 1:
        taken.discard(points[0])
        landscape = Landscape(posterior, given_others, gain)
        ends, _ = climb(landscape, np.array(points), taken, constraints, proven=False)
        taken.add(ends[0])
        return [ends[0]]
    half = len(points) // 2
    left, right = points[:half], points[half:]
    left = _refined(left, posterior, given_others.condition(np.array(right)), gain, taken, constraints)
    right = _refined(right, posterior, given_others.condition(np.array(left)), gain, taken, constraints)
    return left + right


def estimate_optimum(
    posterior: GaussianProcess, best: float, constraints: Constraints, rng: np.random.Generator
) -> float:
    """EST's m-hat over N_POINTS random permutations of those allowed, or over all of them where there are fewer."""
    whole = constraints.enumerate(N_POINTS)
    points = constraints.sample(N_SAMPLED, rng) if whole is None else whole
    predicted = [posterior.predict(points[i : i + CHUNK]) for i in range(0, len(points), CHUNK)]
    mean, variance = (np.concatenate(parts) for parts in zip(*predicted, strict=True))
    return optimum_estimate(mean, variance, best, N_POINTS / N_SAMPLED if whole is None else 1.0)


class Pool:
    """Permutations from several sources, with their posterior moments kept up to date while a batch grows.

    A point of the batch costs O(m (n + b)) for m permutations: a row of the Cholesky factor of all of them.
    """

    def __init__(self, posterior: GaussianProcess, sources: list[IntArray], batch_size: int) -> None:
        self._permutations = np.concatenate(sources)
        self._sources = np.repeat(np.arange(len(sources)), [len(source) for source in sources])
        self._posterior = posterior
        n = len(posterior.X)
        self._V = np.empty((n + batch_size, len(self._permutations)))
        self._V[:n] = posterior.whiten(self._permutations)
        self._mean = posterior.mean_from(self._V[:n])
        self._variance = posterior.variance_from(self._V[:n])
        self._given_batch = self._variance.copy()

    def add(self, given_batch: GaussianProcess, permutations: list[IntArray]) -> None:
        """Add permutations, to the last of the sources, in a pool whose batch is that of `given_batch`."""
        if not permutations:
            return
        V = np.empty((len(self._V), len(permutations)))
        rows = len(given_batch.X)
        V[:rows] = given_batch.whiten(np.array(permutations))
        added = {
            "_permutations": np.array(permutations),
            "_sources": np.full(len(permutations), self._sources.max(), dtype=np.int64),
            "_mean": given_batch.mean_from(V[:rows]),
            "_variance": self._posterior.variance_from(V[: len(self._posterior.X)]),
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

    def best(self, landscape: Landscape) -> IntArray:
        """The best of all, (1, n_items)."""
        values = landscape.value(self._mean, self._variance, self._given_batch)
        return self._permutations[[np.argmax(values)]]
