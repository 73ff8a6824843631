"""The regret of the normalised maximum likelihood (NML): exact for one multinomial variable, estimated for a network.

exp regret = sum over all data sets D of N rows of the maximum likelihood ML(D); regrets are in nats. It counts the
declared states, observed or not, and depends on the data only through N.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from law_ray.errors import InputError
from objectives.contingency import BoolArray, IntArray
from objectives.structure import topological_order
from objectives.uniform import FloatArray, draw_log_likelihoods

ESTIMATORS = ("uniform",)


def multinomial_regrets(max_states: int, max_rows: int) -> FloatArray:
    """log C(r, n) for r = 1..max_states and n = 0..max_rows: (max_states, max_rows + 1) nats, row r - 1 for r states.

    C(r, n) = sum over counts c_1 + ... + c_r = n of n!/prod c_k! prod (c_k/n)^c_k, and C(r, 0) = C(1, n) = 1.
    C(2, n) is one convolution of a_h = h^h e^-h / h!, divided by a_n, and C(r, n) = C(r-1, n) + n/(r-2) C(r-2, n)
    (Kontkanen & Myllymaki 2007): only positive terms are added. Cost: O(max_rows^2 + max_states max_rows).
    """
    a = _stirling_ratios(max_rows)
    return _by_states(np.log(np.convolve(a, a)[: max_rows + 1] / a), np.arange(max_rows + 1), max_states)


def multinomial_regret(n_states: int, n_rows: int) -> float:
    """log C(r, n) in nats: the exact NML regret of one variable of `n_states` states over `n_rows` rows, as above.

    Raises InputError for no state or a negative number of rows. Cost: O(n_states + n_rows).
    """
    if n_states < 1 or n_rows < 0:
        raise InputError(f"n_states={n_states}, n_rows={n_rows}: choose at least one state and zero rows")
    a = _stirling_ratios(n_rows)
    two_states = np.log(np.array([a @ a[::-1] / a[-1]]))
    return float(_by_states(two_states, np.array([n_rows]), n_states)[-1, 0])


def _stirling_ratios(max_rows: int) -> FloatArray:
    """a_h = h^h e^-h / h! for h = 0..max_rows; about 1 / sqrt(2 pi h), so its sums need no logarithms."""
    h = np.arange(max_rows + 1)
    logs = np.log(np.maximum(h, 1))
    return np.exp(h * logs - h - np.cumsum(logs))


def _by_states(two_states: FloatArray, n: IntArray, max_states: int) -> FloatArray:
    """log C(r, n) for r = 1..max_states, by the recurrence from log C(2, n)."""
    log_c = [np.zeros(len(n)), two_states]
    with np.errstate(divide="ignore"):
        log_n = np.log(n)  # -inf at n = 0 keeps C(r, 0) = 1
    for r in range(3, max_states + 1):
        log_c.append(np.logaddexp(log_c[-1], log_n - math.log(r - 2) + log_c[-2]))
    return np.array(log_c[:max_states])


@dataclass(frozen=True)
class RegretEstimate:
    """An estimate of the NML regret from weighted draws."""

    value: float
    """nats"""
    standard_error: float
    """nats, by the delta method on the logarithm of the mean weight; far too small when few draws carry the weight"""
    effective_samples: float
    """(sum w)^2 / sum w^2 over the weights w of the draws"""


def nml_regret(
    dag: BoolArray,
    cardinalities: Sequence[int] | IntArray,
    n_rows: int,
    estimator: str = "uniform",
    n_samples: int = 10_000,
    rng: np.random.Generator | None = None,
) -> RegretEstimate:
    """Estimate the NML regret of a discrete Bayesian network, dag[parent, child], over `n_rows` rows.

    estimator="uniform" is the paper's ("Normalized Maximum Likelihood", supplement): N sum_i log r_i + log mean ML(D)
    over data sets D drawn uniformly. It reproduces the paper's scores, and is low by hundreds of nats at N = 10,000:
    a handful of draws dominates the mean, as `effective_samples` shows. The value depends on the arguments and the
    generator alone (seed 0 without one). Raises InputError for an unknown estimator, a cyclic graph,
    or shapes that disagree.
    Cost: under a second for 10,000 samples of networks of 11-37 variables, after 2-3 s of compilation once a process.
    """
    if estimator not in ESTIMATORS:
        raise InputError(f"estimator={estimator!r} is unknown: choose {', '.join(ESTIMATORS)}")
    dag, cardinalities = np.asarray(dag, dtype=bool), np.asarray(cardinalities, dtype=np.int64)
    if dag.shape != (len(cardinalities), len(cardinalities)):
        raise InputError(
            f"the DAG has shape {dag.shape} for {len(cardinalities)} cardinalities: pass one row a variable"
        )
    topological_order(dag)
    if n_rows < 1 or n_samples < 1 or cardinalities.min() < 1:
        raise InputError(f"n_rows={n_rows}, n_samples={n_samples}: choose at least 1, and cardinalities of at least 1")
    log_likelihoods = draw_log_likelihoods(dag, cardinalities, n_rows, n_samples, rng or np.random.default_rng(0))
    return log_mean(log_likelihoods + n_rows * math.fsum(np.log(cardinalities)))


def log_mean(log_weights: FloatArray) -> RegretEstimate:
    """The logarithm of the mean of exp(log_weights), with its delta-method standard error sd(w) / (mean(w) sqrt(S))."""
    top = float(log_weights.max())
    weights = np.exp(log_weights - top)
    effective = float(weights.sum() ** 2 / (weights**2).sum())
    return RegretEstimate(
        value=top + math.log(float(weights.mean())),
        standard_error=math.sqrt(max(0.0, 1 / effective - 1 / len(weights))),
        effective_samples=effective,
    )
