"""How long will an evaluation take? Learned from those that ran, by their orderings where it depends on these."""

import itertools
import math
from collections.abc import Sequence

import numpy as np

from law_ray.kernels.additive import AdditiveHyperparameters
from law_ray.models import fit_additive
from law_ray.models.gp import GaussianProcess
from law_ray.trial import Trial
from law_ray.typing import FloatArray, IntArray
from law_ray.utils.seeding import generator

LEAST_VALUES = 20
"""Evaluations that must have ended before their seconds are predicted from the ordering (heuristic)."""
MAX_VALUES = 300
"""Of more evaluations the latest are used (heuristic): a fit takes a fraction of a second."""
LEAST_SECONDS = 1.0
"""Where evaluations take less than this on average, nothing is worth learning (heuristic)."""
LEAST_SPREAD = 0.1
"""The same where the standard deviation of the logarithms is less: all take as long, within 10 % (heuristic)."""
GROWTH = 1.25
"""The model is fitted again when there are this many times the evaluations (heuristic)."""


def number_ending(within: float, ages: FloatArray, expected: FloatArray, ratios: FloatArray) -> float:
    """Return the expected number of m running evaluations that end `within` some seconds from now; O(m k).

    An evaluation takes its expected seconds times one of the ratios. All ratios are equally likely, except those that
    it has already outlived. An evaluation that has outlived all of them is taken to end now.

    Args:
        within: Seconds from now.
        ages: (m,) seconds that the evaluations have run.
        expected: (m,) seconds that they were expected to take.
        ratios: (k,) seconds that earlier evaluations took, divided by those expected.
    """
    seconds = np.sort(ratios) * expected[:, None]
    outlived = np.array([np.searchsorted(row, age, "right") for row, age in zip(seconds, ages, strict=True)])
    ended = np.array([np.searchsorted(row, age + within, "right") for row, age in zip(seconds, ages, strict=True)])
    possible = len(ratios) - outlived
    return float(np.where(possible, (ended - outlived) / np.maximum(possible, 1), 1.0).sum())


class Durations:
    """A Gaussian process of the logarithm of the seconds, with the additive kernel.

    Where the seconds do not depend on the ordering, its noise explains all, and it predicts the same everywhere.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._hyperparameters: AdditiveHyperparameters | None = None
        self._fitted_to = 0

    def expected(self, ended: Sequence[Trial], permutations: IntArray) -> FloatArray:
        """Return the seconds (m,) that evaluations of permutations (m, n_items) are expected to take; NaN if unknown.

        Cost: O(n^3) with at most MAX_VALUES, and sometimes a fit.

        Args:
            ended: The trials that have ended; those whose `seconds` are not finite say nothing.
            permutations: The orderings to come.
        """
        timed = list(itertools.islice((trial for trial in reversed(ended) if math.isfinite(trial.seconds)), MAX_VALUES))
        seconds = np.maximum([trial.seconds for trial in timed], 1e-9)
        if not timed:
            return np.full(len(permutations), np.nan)
        logs = np.log(seconds)
        if len(timed) < LEAST_VALUES or seconds.mean() < LEAST_SECONDS or logs.std() < LEAST_SPREAD:
            return np.full(len(permutations), seconds.mean())
        X = np.array([trial.permutation for trial in timed])
        if self._hyperparameters is None or len(ended) >= GROWTH * self._fitted_to:
            rng = generator(self._seed, "durations", len(ended))
            self._hyperparameters = fit_additive.fit(X, logs, rng, self._hyperparameters)
            self._fitted_to = len(ended)
        process = GaussianProcess(X, logs, self._hyperparameters)
        mean, variance = process.predict(permutations)
        standardize = process.standardize
        of_logs = (variance + process.hyperparameters.noise) * (standardize.scale * standardize.unit) ** 2
        found: FloatArray = np.exp(standardize.inverse(mean) + 0.5 * of_logs)  # the mean of a lognormal
        return found
