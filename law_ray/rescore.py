"""Which of the best trials is the best, where values are noisy: repeated evaluations until the winner is separated.

The least of many noisy values is too low, so what a trial was first told only makes it a finalist: once a finalist is
evaluated again, its repeats alone count.
"""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import log_ndtr

from law_ray.acquisition import gauss_legendre
from law_ray.kernels import FloatArray
from law_ray.optimizer import Trial

N_FINALISTS = 5  # the best by what they were told
CONFIDENCE = 0.95  # at which the winner counts as separated


class Repeat(NamedTuple):
    """One more evaluation of a trial; a failed one has the value NaN."""

    value: float
    standard_error: float


class Rescored(NamedTuple):
    """The winner of the finalists."""

    trial_id: int
    value: float  # the mean of its repeats; what it was told if it needed none
    standard_error: float
    confidence: float  # the probability that it is the best of the finalists, their errors being normal
    repeats: int  # of all finalists


def rescored(trials: Sequence[Trial], repeats: Mapping[int, Sequence[Repeat]], maximize: bool) -> Rescored | None:
    """The winner as far as `repeats` by trial id tell; None without a value that came with a standard error."""
    ids, values, errors, chances = _standings(trials, repeats, maximize)
    if not errors.any():
        return None
    winner = int(np.argmax(chances))
    value, error, chance = (float(numbers[winner]) for numbers in (values, errors, chances))
    return Rescored(ids[winner], value, error, chance, sum(map(len, repeats.values())))


def contenders(trials: Sequence[Trial], repeats: Mapping[int, Sequence[Repeat]], maximize: bool) -> list[int]:
    """The ids of the trials that should be evaluated once more, none once the winner is separated."""
    ids, _, errors, chances = _standings(trials, repeats, maximize)
    if not errors.any() or chances.max() >= CONFIDENCE:
        return []
    return [ids[i] for i in np.flatnonzero(chances > (1 - CONFIDENCE) / len(ids))]


def _standings(
    trials: Sequence[Trial], repeats: Mapping[int, Sequence[Repeat]], maximize: bool
) -> tuple[list[int], FloatArray, FloatArray, FloatArray]:
    """The finalists' ids, values, standard errors, and chances to be the best."""
    told = [trial for trial in trials if trial.state == "told"]
    sign = -1.0 if maximize else 1.0
    finalists = sorted(told, key=lambda trial: sign * trial.value)[:N_FINALISTS]
    scores = [_score(trial, repeats.get(trial.id, ())) for trial in finalists]
    values, errors = np.array(scores).reshape(-1, 2).T
    return [trial.id for trial in finalists], values, errors, chances_of_the_least(sign * values, errors)


def _score(trial: Trial, repeats: Sequence[Repeat]) -> tuple[float, float]:
    good = [repeat for repeat in repeats if math.isfinite(repeat.value)]
    if not good:
        return trial.value, trial.standard_error
    values, errors = np.array(good).T
    return float(values.mean()), float(np.sqrt((errors**2).sum())) / len(good)


def chances_of_the_least(values: FloatArray, errors: FloatArray) -> FloatArray:
    """The probabilities (m,) that each of m independent normals is the least; exact values share theirs with equals.

    P(i) = integral of N(w; v_i, s_i^2) prod_{j != i} (1 - Phi((w - v_j) / s_j)) dw, by quadrature over +-8 s_i.
    """
    s = np.maximum(errors, 1e-12 * max(1.0, float(np.abs(values).max(initial=0.0))))
    z, weights = gauss_legendre()
    w = values[:, None] + 8 * s[:, None] * z  # (m, N_NODES)
    log_above = log_ndtr((values - w[..., None]) / s)  # (m, N_NODES, m)
    density = -0.5 * (8 * z) ** 2 - np.log(np.sqrt(2 * np.pi) / 8)
    own = np.arange(len(values))
    chances = np.exp(density + log_above.sum(axis=2) - log_above[own, :, own]) @ weights
    return chances / chances.sum() if len(chances) else chances
