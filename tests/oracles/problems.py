"""Batch contexts together with the same by direct formulas, and the check of a greedy batch."""

import itertools
import math

import numpy as np
from scipy.stats import norm

from law_ray.acquisition.functions import optimum_estimate
from law_ray.kernels.distance import DistanceHyperparameters
from law_ray.models.gp import GaussianProcess
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import sample
from tests.oracles.contexts import context_of
from tests.oracles.plain_law import PlainLaw, neighbours


class Problem(PlainLaw):
    """A posterior that is also conditioned on pending points, and the same by direct formulas."""

    def __init__(self, n_items, seed, noise=None, n=7, decay=None):
        rng = np.random.default_rng(seed)
        everything = rng.permutation(np.array(list(itertools.permutations(range(n_items)))))
        X, pending, also_excluded = everything[:n], everything[n : n + 3], everything[n + 3 : n + 5]
        gains = rng.normal(size=(n_items, n_items))
        y = 5.0 + 3.0 * gains[np.arange(n_items), X].sum(axis=1)
        drawn = 0.01 * math.exp(rng.uniform(0, 2)) if noise is None else noise
        decay = math.exp(rng.uniform(-1, 1)) if decay is None else decay
        h = DistanceHyperparameters(decay, math.exp(rng.uniform(-1, 1)), drawn, rng.normal())
        super().__init__(X, (y - y.mean()) / y.std(), h, pending)
        self.posterior = GaussianProcess(self.X, y, self.h).condition(self.pending)
        self.best = float(self.z.min())
        self.busy = [tuple(p) for p in np.concatenate([X, pending, also_excluded]).tolist()]
        self.excluded = Exclusions(permutations=np.array(self.busy))
        self.candidates = everything

    def context(self, seed=0, round=1, continue_round=False):
        return context_of(
            self.posterior,
            self.best,
            self.excluded,
            seed=seed,
            round=round,
            without_value=self.pending,
            continue_round=continue_round,
        )

    def optimum(self, best=None, batch=()):
        """Return EST's estimate over all permutations, given the batch at its predicted mean."""
        mean, variance = self.posterior.predict(self.candidates)
        if len(batch):
            variance = self.posterior.condition(np.array(batch)).predict(self.candidates)[1]
        return optimum_estimate(mean, variance, self.best if best is None else best)

    def prior_variance(self, A, batch):
        return PlainLaw(self.X[:0], self.z[:0], self.h, self.pending).variance(A, batch)

    def est(self, A, optimum, batch=()):
        return (optimum - self.mean(A)) / np.sqrt(self.variance(A, batch))

    def ei(self, A, best, batch=()):
        sigma = np.sqrt(self.variance(A, batch))
        z = (best - self.mean(A)) / sigma
        return np.maximum(sigma * (z * norm.cdf(z) + norm.pdf(z)), 1e-300)  # so that its logarithm is finite

    def ucb(self, A, batch_size, round, batch=()):
        before = (round - 1) * batch_size + 1
        beta = 2 * math.log(math.factorial(self.n_items) * math.pi**2 * before**2 / (6 * 0.1))
        return -(self.mean(A) - math.sqrt(beta) * np.sqrt(self.variance(A, batch)))


def assert_greedy(problem, batch, objective):
    """Check that each point is free and has the largest objective(permutations, batch so far) of all free ones.

    With 7 items or more, it is compared only with the free permutations that a swap leads to.
    """
    for b, point in enumerate(batch):
        around = problem.candidates if problem.n_items < 7 else neighbours(point)
        busy = {*problem.busy, *(tuple(p) for p in batch[:b].tolist())}
        free = around[[tuple(p) not in busy for p in around.tolist()]]
        values = objective(np.concatenate([point[None], free]), batch[:b])
        assert tuple(point.tolist()) not in busy
        assert values[0] >= values.max() - 1e-8


def smooth_process(n_items, n, noise=1e-3):
    rng = np.random.default_rng(n)
    X = sample(n_items, n, rng)
    y = rng.normal(size=(n_items, n_items))[np.arange(n_items), X].sum(axis=1)
    return GaussianProcess(X, y, DistanceHyperparameters(1.0, 1.0, noise, 0.0))
