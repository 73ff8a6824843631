"""The methods by name. To add one, write a module beside this one and enter it here."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from law_ray.kernels.distance import DistanceHyperparameters
from law_ray.kernels.protocol import Hyperparameters
from law_ray.methods.auto import law_auto
from law_ray.methods.baselines import local_search, random
from law_ray.methods.bucb import gp_bucb
from law_ray.methods.context import BatchContext
from law_ray.methods.dpp import dpp_max_est, dpp_sample_est
from law_ray.methods.genetic import ga
from law_ray.methods.law import law_ei, law_est, law_prior_ei, law_prior_est, law_ucb
from law_ray.methods.mace import mace_est, mace_ucb
from law_ray.methods.q_point import q_ei, q_est
from law_ray.models import fit_distance, selection
from law_ray.models.pairwise import fit_pairwise
from law_ray.models.pairwise.hyperparameters import PairwiseHyperparameters
from law_ray.models.selection import SelectionHyperparameters
from law_ray.space.permutations import insertion_neighbours, reversal_neighbours, swap_neighbours
from law_ray.typing import FloatArray, IntArray

Choose = Callable[[BatchContext, int], IntArray]
"""(context, batch_size) -> (batch_size, n_items)"""
Fit = Callable[..., Hyperparameters]
"""(X, y, rng, previous hyperparameters, standard errors) -> hyperparameters"""


@dataclass(frozen=True)
class Model:
    """How a model is fitted, and how its hyperparameters are read from a journal."""

    fit: Fit
    read: Callable[[dict[str, Any]], Hyperparameters]
    of_all: bool = False
    """whether `fit` takes all values, and as its last argument which of them the process gets"""

    def fitted(
        self,
        X: IntArray,
        y: FloatArray,
        rng: np.random.Generator,
        previous: Hyperparameters | None,
        standard_errors: FloatArray,
        rows: IntArray,
    ) -> Hyperparameters:
        """Fit the model to all values, or to those that the process gets.

        Args:
            X: (n, n_items) permutations, the new ones since the last fit at the end.
            y: (n,) raw values.
            rng: Drives the fit.
            previous: The last fit.
            standard_errors: (n,) of the values, 0 where unknown.
            rows: (m,) which of the values the process gets.
        """
        if self.of_all:
            return self.fit(X, y, rng, previous, standard_errors, rows)
        return self.fit(X[rows], y[rows], rng, previous, standard_errors[rows])


POSITION_MODEL = Model(fit_distance.fit, DistanceHyperparameters.from_record)
SELECTION_MODEL = Model(selection.fit, SelectionHyperparameters.from_record)
PAIRWISE_MODEL = Model(fit_pairwise.fit, PairwiseHyperparameters.from_record, of_all=True)


@dataclass(frozen=True)
class Method:
    """A way to choose batches."""

    choose: Choose
    about: str
    """one line on what it is"""
    model: Model | None = POSITION_MODEL
    """fitted before each choice; None for a method without a model"""


METHODS: dict[str, Method] = {
    "law-est": Method(law_est, "LAW-EST, the paper's LAW2ORDER"),
    "law-ei": Method(law_ei, "LAW with expected improvement"),
    "law-ucb": Method(law_ucb, "LAW with GP-UCB"),
    "law-prior-est": Method(law_prior_est, "LAW-EST whose batches are diverse by the prior covariance"),
    "law-prior-ei": Method(law_prior_ei, "LAW with expected improvement, diverse by the prior covariance"),
    "law-auto": Method(
        law_auto, "the default: a model that learns what kind of problem it is, beyond the paper", PAIRWISE_MODEL
    ),
    "q-ei": Method(q_ei, "expected improvement, as if earlier points of the batch had their predicted mean"),
    "q-est": Method(q_est, "EST, as if earlier points of the batch had their predicted mean"),
    "bucb": Method(gp_bucb, "GP-BUCB"),
    "dpp-max-est": Method(dpp_max_est, "one point by EST, the others as diverse as possible"),
    "dpp-sample-est": Method(dpp_sample_est, "one point by EST, the others a diverse random draw"),
    "mace-ucb": Method(mace_ucb, "random points of the Pareto set of PI, EI and UCB"),
    "mace-est": Method(mace_est, "random points of the Pareto set of PI, EI and EST"),
    "ga": Method(ga, "a genetic algorithm", None),
    "local-search": Method(local_search, "random swaps, insertions and reversals of the best ordering", None),
    "local-search-swap": Method(
        partial(local_search, neighbours=(swap_neighbours,)), "random swaps of the best ordering", None
    ),
    "local-search-insertion": Method(
        partial(local_search, neighbours=(insertion_neighbours,)), "random insertions of the best ordering", None
    ),
    "local-search-reversal": Method(
        partial(local_search, neighbours=(reversal_neighbours,)), "random reversals of the best ordering", None
    ),
    "random": Method(random, "random orderings", None),
}
