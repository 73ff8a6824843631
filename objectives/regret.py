"""The regret of the normalised maximum likelihood (NML) of a discrete Bayesian network, by the estimator of choice.

exp regret = sum over all data sets D of N rows of the maximum likelihood ML(D); regrets are in nats. It counts the
declared states, observed or not, and depends on the data only through N.
"""

import math
from collections.abc import Sequence

import numpy as np

from law_ray.errors import InputError
from objectives import importance
from objectives.contingency import BoolArray, IntArray
from objectives.estimate import RegretEstimate, log_mean
from objectives.multinomial import multinomial_regret, multinomial_regrets
from objectives.structure import topological_order
from objectives.uniform import draw_log_likelihoods

__all__ = ["ESTIMATORS", "RegretEstimate", "multinomial_regret", "multinomial_regrets", "nml_regret"]

ESTIMATORS = ("importance", "uniform", "exact")

_UNIFORM_SAMPLES = 10_000


def nml_regret(
    dag: BoolArray,
    cardinalities: Sequence[int] | IntArray,
    n_rows: int,
    estimator: str = "importance",
    n_samples: int | None = None,
    rng: np.random.Generator | None = None,
    target_se: float | None = None,
) -> RegretEstimate:
    """Estimate the NML regret of a discrete Bayesian network, dag[parent, child], over `n_rows` rows.

    estimator="importance" (`objectives.importance`) is unbiased for exp(regret) and has closed forms for isolated
    nodes and stars. It takes `n_samples` particles, or as many as a standard error of `target_se` nats needs, 0.1
    without either. Equivalent DAGs have identical estimates for one state of the generator.
    estimator="exact" computes the closed forms alone. estimator="uniform" is the paper's ("Normalized Maximum
    Likelihood", supplement): N sum_i log r_i + log mean ML(D) over `n_samples` data sets D drawn uniformly, 10,000 of
    them unless told. It reproduces the paper's scores, and is low by hundreds of nats at N = 10,000: a handful of
    draws dominates the mean, as `effective_samples` shows.

    The value depends on the arguments and the generator alone (seed 0 without one). Raises InputError for an unknown
    estimator, a cyclic graph, shapes that disagree, and evaluations that would take more than about 10 minutes or 2
    GB, or that have no closed form when "exact" is asked for.
    """
    if estimator not in ESTIMATORS:
        raise InputError(f"estimator={estimator!r} is unknown: choose {', '.join(ESTIMATORS)}")
    dag, cardinalities = np.asarray(dag, dtype=bool), np.asarray(cardinalities, dtype=np.int64)
    _check(dag, cardinalities, n_rows, n_samples, target_se)
    rng = rng or np.random.default_rng(0)
    if estimator == "uniform":
        if target_se is not None:
            raise InputError(f"target_se={target_se} needs estimator='importance': 'uniform' takes n_samples")
        draws = draw_log_likelihoods(dag, cardinalities, n_rows, n_samples or _UNIFORM_SAMPLES, rng)
        return log_mean(draws + n_rows * math.fsum(np.log(cardinalities)))
    if estimator == "exact":
        return importance.exact(dag, cardinalities, n_rows)
    plan = importance.plan(dag, cardinalities, n_rows, n_samples, target_se, int(rng.integers(2**63)))
    return importance.combine(plan, importance.run(plan, range(len(plan.batches))))


def _check(
    dag: BoolArray, cardinalities: IntArray, n_rows: int, n_samples: int | None, target_se: float | None
) -> None:
    if dag.shape != (len(cardinalities), len(cardinalities)):
        raise InputError(
            f"the DAG has shape {dag.shape} for {len(cardinalities)} cardinalities: pass one row a variable"
        )
    topological_order(dag)
    if n_rows < 1 or cardinalities.min() < 1:
        raise InputError(f"n_rows={n_rows}: choose at least 1, and cardinalities of at least 1")
    if n_samples is not None and target_se is not None:
        raise InputError(f"n_samples={n_samples} and target_se={target_se}: choose one of them")
    if n_samples is not None and n_samples < 1:
        raise InputError(f"n_samples={n_samples}: choose at least 1")
    if target_se is not None and not 0 < target_se < math.inf:
        raise InputError(f"target_se={target_se}: choose a positive number of nats")
