"""Which trial is the best where values are noisy: the best few are evaluated again until the winner is clear.

The smallest of many noisy values is too small. So the first value of a trial only makes it a finalist, and once a
finalist is evaluated again, only its repeats count.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from law_ray.acquisition.functions import gauss_legendre
from law_ray.trial import Trial
from law_ray.typing import FloatArray

N_FINALISTS = 5
"""The best trials by their first values (heuristic)."""
CONFIDENCE = 0.95
"""The probability at which the winner is clear (convention)."""


class Repeat(NamedTuple):
    """One more evaluation of a trial; a failed one has the value NaN."""

    value: float
    standard_error: float


class Reevaluated(NamedTuple):
    """The winner of the finalists."""

    trial_id: int
    value: float
    """the mean of its repeats, or its first value if it needed none"""
    standard_error: float
    confidence: float
    """the probability that it is the best of the finalists, if their errors are normal"""
    finalists: int
    repeats: int
    """of all finalists"""

    @property
    def sure(self) -> str:
        """How sure it is that this is the best, in words; empty if there is no other finalist."""
        if self.finalists == 1:
            return ""
        return f"the best of {self.finalists} finalists with probability {self.confidence:.2f}"


def reevaluated(trials: Sequence[Trial], repeats: Mapping[int, Sequence[Repeat]], maximize: bool) -> Reevaluated | None:
    """Return the winner given the `repeats` by trial id; None if no finalist has a standard error."""
    ids, values, errors, chances = _standings(trials, repeats, maximize)
    if not errors.any():
        return None
    winner = int(np.argmax(chances))
    value, error, chance = (float(numbers[winner]) for numbers in (values, errors, chances))
    return Reevaluated(ids[winner], value, error, chance, len(ids), sum(map(len, repeats.values())))


def contenders(trials: Sequence[Trial], repeats: Mapping[int, Sequence[Repeat]], maximize: bool) -> list[int]:
    """Return the ids of the trials to evaluate once more; none once the winner is clear."""
    ids, _, errors, chances = _standings(trials, repeats, maximize)
    if not errors.any() or chances.max() >= CONFIDENCE:
        return []
    return [ids[i] for i in np.flatnonzero(chances > (1 - CONFIDENCE) / len(ids))]


def _standings(
    trials: Sequence[Trial], repeats: Mapping[int, Sequence[Repeat]], maximize: bool
) -> tuple[list[int], FloatArray, FloatArray, FloatArray]:
    """Return the finalists' ids, values, standard errors, and probabilities to be the best."""
    told = [trial for trial in trials if trial.state == "told"]
    sign = -1.0 if maximize else 1.0
    finalists = sorted(told, key=lambda trial: sign * trial.value)[:N_FINALISTS]
    scores = [score(trial, repeats.get(trial.id, ())) for trial in finalists]
    values, errors = np.array(scores).reshape(-1, 2).T
    return [trial.id for trial in finalists], values, errors, probabilities_of_the_least(sign * values, errors)


def score(trial: Trial, repeats: Sequence[Repeat]) -> tuple[float, float]:
    """Return the mean of a trial's repeats with its standard error, or its first value where no repeat has one."""
    return mean(repeats) or (trial.value, trial.standard_error)


def mean(repeats: Sequence[Repeat]) -> tuple[float, float] | None:
    """Return the mean of the repeats that have a value, and its standard error; None if there is none."""
    good = [repeat for repeat in repeats if math.isfinite(repeat.value)]
    if not good:
        return None
    values, errors = np.array(good).T
    return float(values.mean()), float(np.sqrt((errors**2).sum())) / len(good)


def probabilities_of_the_least(values: FloatArray, errors: FloatArray) -> FloatArray:
    """Return the probability (m,) of each of m independent normals to be the smallest; equal exact values share it.

    P(i) = integral of N(w; v_i, s_i^2) prod_{j != i} (1 - Phi((w - v_j) / s_j)) dw, by quadrature over +-8 s_i.
    """
    s = np.maximum(errors, max(1e-12 * float(np.abs(values).max(initial=0.0)), 1e-300))
    z, weights = gauss_legendre()
    w = values[:, None] + 8 * s[:, None] * z  # (m, N_NODES)
    log_above = log_ndtr((values - w[..., None]) / s)  # (m, N_NODES, m)
    density = -0.5 * (8 * z) ** 2  # up to a constant, as the chances
    own = np.arange(len(values))
    chances = np.exp(density + log_above.sum(axis=2) - log_above[own, :, own]) @ weights
    return chances / chances.sum()
