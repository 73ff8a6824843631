"""The ways to choose a batch, by name."""

from collections.abc import Callable
from functools import partial
from typing import Any

from law_ray import choice_fit
from law_ray.methods.auto import law_auto
from law_ray.methods.baselines import local_search, random
from law_ray.methods.bucb import gp_bucb
from law_ray.methods.dpp import dpp_max_est, dpp_sample_est
from law_ray.methods.genetic import ga
from law_ray.methods.law import law_ei, law_est, law_prior_ei, law_prior_est, law_ucb
from law_ray.methods.mace import mace_est, mace_ucb
from law_ray.methods.qpoint import q_ei, q_est
from law_ray.methods.state import State
from law_ray.permutations import IntArray, insertion_neighbours, reversal_neighbours, swap_neighbours

Fit = Callable[..., Any]  # (X, y, rng, previous hyperparameters, standard errors) -> hyperparameters
Choose = Callable[[State, int], IntArray]  # (state, batch_size) -> (batch_size, n_items)

METHODS: dict[str, Choose] = {
    "law-est": law_est,
    "law-ei": law_ei,
    "law-ucb": law_ucb,
    "law-prior-est": law_prior_est,
    "law-prior-ei": law_prior_ei,
    "law-auto": law_auto,
    "q-ei": q_ei,
    "q-est": q_est,
    "bucb": gp_bucb,
    "dpp-max-est": dpp_max_est,
    "dpp-sample-est": dpp_sample_est,
    "mace-ucb": mace_ucb,
    "mace-est": mace_est,
    "ga": ga,
    "local-search": local_search,
    "local-search-swap": partial(local_search, neighbours=(swap_neighbours,)),
    "local-search-insertion": partial(local_search, neighbours=(insertion_neighbours,)),
    "local-search-reversal": partial(local_search, neighbours=(reversal_neighbours,)),
    "random": random,
}

ABOUT: dict[str, str] = {
    "law-est": "LAW-EST, the paper's LAW2ORDER",
    "law-ei": "LAW with expected improvement",
    "law-ucb": "LAW with GP-UCB",
    "law-prior-est": "LAW-EST whose batches are diverse by the prior covariance",
    "law-prior-ei": "LAW with expected improvement, likewise",
    "law-auto": "the default: a model that learns what kind of problem it is in, beyond the paper",
    "q-ei": "expected improvement, each point given that those before it have their predicted mean",
    "q-est": "EST likewise",
    "bucb": "GP-BUCB",
    "dpp-max-est": "one point by EST, the others as diverse as possible",
    "dpp-sample-est": "the same, the others a random draw that is diverse",
    "mace-ucb": "at random from the Pareto set of PI, EI and UCB",
    "mace-est": "the same of PI, EI and EST",
    "ga": "a genetic algorithm",
    "local-search": "random swaps, insertions and reversals of the best ordering",
    "local-search-swap": "random swaps alone",
    "local-search-insertion": "random insertions alone",
    "local-search-reversal": "random reversals alone",
    "random": "random orderings",
}

FITS: dict[str, Fit] = {"law-auto": choice_fit.fit}  # the others have that of the position kernel
