"""The regret of the normalised maximum likelihood (NML) of a discrete Bayesian network, by one of three estimators.

exp regret = sum over all data sets D of N rows of the maximum likelihood ML(D); regrets are in nats. The declared
states count, observed or not, and the regret depends on the data only through N.
"""

import math
from collections.abc import Sequence
from numbers import Integral

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import BoolArray, IntArray
from objectives.nml.graphs.structure import topological_order
from objectives.nml.regret import importance
from objectives.nml.regret.estimate import RegretEstimate, log_mean
from objectives.nml.regret.uniform import draw_log_likelihoods

ESTIMATORS = ("importance", "uniform", "exact")

_UNIFORM_SAMPLES = 10_000
"""Data sets drawn by "uniform" by default; the paper draws as many."""


def nml_regret(
    dag: BoolArray,
    cardinalities: Sequence[int] | IntArray,
    n_rows: int,
    estimator: str = "importance",
    n_samples: int | None = None,
    rng: np.random.Generator | None = None,
    target_se: float | None = None,
) -> RegretEstimate:
    """Estimate the NML regret of a discrete Bayesian network.

    "importance" (`objectives.nml.regret.importance`) is unbiased for exp(regret), and exact for isolated nodes and
    stars. Equivalent DAGs have identical estimates for the same state of the generator. "exact" computes these closed
    forms alone. "uniform" is the paper's estimator ("Normalized Maximum Likelihood", supplement): N sum_i log r_i + log
    mean ML(D) over data sets D drawn uniformly. It reproduces the paper's scores, but is too low by hundreds of nats at
    N = 10,000, because a handful of draws dominates the mean, as `effective_samples` shows.

    Args:
        dag: (p, p) bool, dag[parent, child].
        cardinalities: (p,) the numbers of states.
        n_rows: N.
        estimator: "importance", "uniform" or "exact".
        n_samples: the particles of "importance", or the data sets of "uniform" (by default 10,000).
        rng: the value depends on its state and the other arguments alone; by default its seed is 0.
        target_se: the standard error, in nats, for which "importance" chooses the number of particles if n_samples is
            not given; by default 0.1, or what a minute of one core gives where 0.1 takes longer.

    Raises:
        InputError: if an option is unknown or out of range, the graph is cyclic, or shapes disagree; if the evaluation
            would take more than about 10 minutes or 2 GB; or if "exact" is chosen and there is no closed form.
    """
    if estimator not in ESTIMATORS:
        raise InputError(f"estimator={estimator!r} is unknown: choose {', '.join(ESTIMATORS)}")
    dag, cardinalities = np.asarray(dag, dtype=bool), np.asarray(cardinalities, dtype=np.int64)
    _check(dag, cardinalities, n_rows)
    _check_effort(estimator, n_samples, target_se)
    rng = rng or np.random.default_rng(0)
    if estimator == "uniform":
        draws = draw_log_likelihoods(dag, cardinalities, n_rows, n_samples or _UNIFORM_SAMPLES, rng)
        return log_mean(draws + n_rows * math.fsum(np.log(cardinalities)))
    if estimator == "exact":
        return importance.exact(dag, cardinalities, n_rows)
    plan = importance.plan(dag, cardinalities, n_rows, n_samples, target_se, int(rng.integers(2**63)))
    return importance.combine(plan, importance.run(plan, range(len(plan.batches))))


def _check(dag: BoolArray, cardinalities: IntArray, n_rows: int) -> None:
    if dag.shape != (len(cardinalities), len(cardinalities)):
        raise InputError(
            f"the DAG has shape {dag.shape} for {len(cardinalities)} cardinalities: pass one row per variable"
        )
    if len(cardinalities) == 0:
        raise InputError("the DAG has no variables: pass at least one")
    topological_order(dag)
    if not isinstance(n_rows, Integral) or n_rows < 1 or cardinalities.min() < 1:
        raise InputError(f"n_rows={n_rows!r}: choose a whole number of at least 1, and cardinalities of at least 1")


def _check_effort(estimator: str, n_samples: int | None, target_se: float | None) -> None:
    least = 1 if estimator == "uniform" else 2  # the standard error of a single particle would be 0
    if n_samples is not None and not (isinstance(n_samples, Integral) and n_samples >= least):
        raise InputError(f"n_samples={n_samples!r}: choose a whole number of at least {least}")
    if target_se is not None and not 0 < target_se < math.inf:
        raise InputError(f"target_se={target_se}: choose a positive number of nats")
    if n_samples is not None and target_se is not None:
        raise InputError(f"n_samples={n_samples} and target_se={target_se}: choose one of them")
    if estimator == "uniform" and target_se is not None:
        raise InputError(f"target_se={target_se} needs estimator='importance': 'uniform' takes n_samples")
