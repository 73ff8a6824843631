"""The statistics that several reports share."""

import numpy as np
import pandas as pd
from scipy.stats import studentized_range

from law_ray.typing import FloatArray


def standard_error(values: FloatArray) -> float:
    """Return the standard error of the mean; NaN for a single value."""
    return float(pd.Series(values).sem())


def in_combined_errors(values: FloatArray, mean: float, error: float) -> float:
    """Return how far the mean of the values is from another mean, in combined standard errors.

    That is (mean of the values - mean) / sqrt(their squared standard error + error^2); NaN for a single value.
    """
    return float((values.mean() - mean) / np.hypot(standard_error(values), error))


def average_ranks(table: pd.DataFrame) -> "pd.Series[float]":
    """Return the rank of each method, averaged over the problems that have a mean of it.

    Ranks begin at 1 for the lowest mean. Methods with equal means share the lowest of their ranks, as in the paper.

    Args:
        table: One row per problem and method, with the columns problem, method and mean.
    """
    return table.groupby("problem")["mean"].rank(method="min").groupby(table["method"]).mean()


def critical_difference(n_methods: int, n_problems: int, alpha: float = 0.05) -> float:
    """Return by how much the average ranks of two methods must differ to be significant: the test of Nemenyi.

    That is q sqrt(k (k + 1) / (6 N)) for k methods on N problems, with q the quantile of the studentized range divided
    by sqrt(2) (Demsar, Statistical Comparisons of Classifiers over Multiple Data Sets, JMLR 7, 2006).
    """
    q = studentized_range.ppf(1.0 - alpha, n_methods, np.inf) / np.sqrt(2.0)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6.0 * n_problems)))
