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

FITS: dict[str, Fit] = {"law-auto": choice_fit.fit}  # the others have that of the position kernel
