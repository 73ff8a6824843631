import math

import numpy as np
import pytest

from objectives.nml.regret.estimate import log_mean


def test_log_mean_agrees_with_the_direct_formulas() -> None:
    weights = np.random.default_rng(0).gamma(3, size=1000)
    estimate = log_mean(np.log(weights) - 5000)
    assert estimate.value == pytest.approx(math.log(weights.mean()) - 5000)
    assert estimate.standard_error == pytest.approx(weights.std() / weights.mean() / math.sqrt(1000))
    assert estimate.effective_samples == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def test_log_mean_of_one_dominating_weight_has_one_effective_sample() -> None:
    estimate = log_mean(np.array([0.0, -800.0, -900.0]))
    assert estimate.effective_samples == pytest.approx(1)
    assert estimate.value == pytest.approx(-math.log(3))
