"""The points of a batch of law-auto that are chosen by the pairwise model."""

import itertools
from collections.abc import Sequence
from enum import Enum
from functools import partial

import numpy as np

from law_ray.acquisition import tabu_search
from law_ray.acquisition.functions import log_ei, ucb
from law_ray.acquisition.pairwise_search import Value, maximise
from law_ray.kernels.weighted_precedence import symmetric
from law_ray.methods.context import BatchContext
from law_ray.methods.incumbent import incumbent
from law_ray.models.pairwise.ensemble import Ensemble
from law_ray.models.pairwise.hyperparameters import PairwiseHyperparameters
from law_ray.models.pairwise.templates import Template
from law_ray.space.exclusions import Exclusions, draw_free
from law_ray.space.permutations import invert
from law_ray.typing import FloatArray, IntArray

LEAST_VALUES = 5
"""Values per item before the pairwise model chooses points.

With fewer it predicts little more than the mean, which can be nearer to bad points than the process is, and then its
points are as bad as random ones. Seen on a noisy schedule of 20 jobs, where that cost up to 50 evaluations.
"""
CLEAR_ADVANTAGE = 2.5
"""How many times smaller the pairwise model's prediction errors must be for it to choose all points.

On tho30, 2 lost to 2.5 and 3 (162,100 in eight runs, 159,000 in nine); on nug22, 4 found the optimum in none of three.
"""
BETA = 9.0
"""Of the confidence bound that explores, here and for the points that the process chooses (heuristic)."""
N_BEST, N_RANDOM = 4, 4
"""Starts of the climbs for a point that explores: the best permutations evaluated, and random ones (heuristic)."""
N_SEARCHES = 10
"""Tabu searches for the minimum of one draw, from random orderings: see `tabu_search.N_STEPS`."""
LOCAL_STEPS = 2
"""Swaps from the incumbent to a point that improves locally (heuristic)."""


class PairwisePurpose(Enum):
    """What a point that the pairwise model chooses is for."""

    LOCAL = "improve on the incumbent, by expected improvement, within LOCAL_STEPS swaps"
    EXPLORE = "explore, by the upper confidence bound"
    SAMPLE = "minimise a draw, or the mean of some: Thompson sampling"


LOCAL, EXPLORE, SAMPLE = PairwisePurpose
PURPOSES: tuple[PairwisePurpose | None, ...] = (LOCAL, LOCAL, LOCAL, None, None)
"""Of the points, in turn, with some advantage; None: the process chooses.

Local, since far from the data the draws are uncertain: improving anywhere cost 1 % to 2 % on kra30a and tho30.
"""
SURE_PURPOSES: tuple[PairwisePurpose | None, ...] = (SAMPLE, SAMPLE, SAMPLE, EXPLORE, EXPLORE)
"""With a clear advantage. With sampling alone, three of four runs on nug22 missed the optimum."""
TEMPLATE_PURPOSES: tuple[PairwisePurpose | None, ...] = (SAMPLE,)
"""The same where a matrix is taken for known. If two points of five explored, sko42 ended at 16,418, not at 16,196."""

STALLED = 50
"""Evaluations without a better value after which a clear advantage is trusted less.

In one of ten runs on nug22 the draws were wrong and nothing was found in the last 200 evaluations.
"""
STALLED_PURPOSES: tuple[PairwisePurpose | None, ...] = (SAMPLE, EXPLORE, LOCAL, None, None)
"""With a clear advantage, but stalled (heuristic)."""


def chooses(model: PairwiseHyperparameters, n_items: int) -> bool:
    """Say whether the pairwise model predicts well enough, from enough values, to choose points."""
    return model.n >= LEAST_VALUES * n_items and model.leads


def planned(context: BatchContext, batch_size: int) -> list[PairwisePurpose]:
    """Return the purposes of the points that the pairwise model is to choose: none, some or all of a batch.

    It chooses no point while there are few values, or with a prior mean, which its draws ignore.
    """
    hyperparameters = context.posterior.hyperparameters
    if not isinstance(hyperparameters, PairwiseHyperparameters) or hyperparameters.ensemble is None:
        return []
    n, n_items = context.X.shape
    if not chooses(hyperparameters, n_items) or context.posterior.has_prior_mean:
        return []
    purposes = PURPOSES
    if hyperparameters.advantage >= CLEAR_ADVANTAGE:
        purposes = SURE_PURPOSES if hyperparameters.template is None else TEMPLATE_PURPOSES
        if n - int(context.y.argmin()) > STALLED:
            purposes = STALLED_PURPOSES
    # Counted from the first evaluation, so that batches of one serve all purposes too.
    turns = [purposes[(n + b) % len(purposes)] for b in range(batch_size)]
    return [purpose for purpose in turns if purpose is not None]


def choose(context: BatchContext, purposes: Sequence[PairwisePurpose], batch: Sequence[IntArray]) -> list[IntArray]:
    """Choose one point for each purpose, after the points of `batch`.

    Each is chosen given the points before it, by the ensemble's variance given them, as LAW's determinant asks. A
    SAMPLE minimises one draw, a random one, and each time another; or the mean of some (`_likely_minimum`).

    Args:
        context: What the batch is chosen from; its hyperparameters have an ensemble.
        purposes: As `planned` returns them.
        batch: Points (n_items,) that are in the batch already.

    Returns:
        The points (n_items,).
    """
    hyperparameters = context.posterior.hyperparameters
    if not purposes:
        return []
    assert isinstance(hyperparameters, PairwiseHyperparameters)
    assert hyperparameters.ensemble is not None
    draws = hyperparameters.ensemble
    order = itertools.cycle(context.rng.permutation(len(draws.items)).tolist())
    excluded = context.excluded.copy()
    given = draws
    for point in batch:
        excluded.add(point)
    for point in [*context.without_value, *batch]:
        given = given.given(_values(draws, point))
    centre = incumbent(context)
    local: Value = partial(log_ei, best=float(context.posterior.standardize(context.y[[centre]])[0]))
    good = context.X[np.argsort(context.y, kind="stable")[:N_BEST]]
    chosen: list[IntArray] = []
    alike = _with_template(draws, hyperparameters.template)
    sizes = 2 ** np.arange(len(alike).bit_length())
    for purpose in purposes:
        if purpose is SAMPLE and not len(alike):
            found = _minimum(context, draws, np.array([next(order)]), excluded)
        elif purpose is SAMPLE:
            found, sizes = _likely_minimum(context, draws, alike, sizes, excluded)
        elif purpose is EXPLORE:
            starts = np.concatenate([good, context.constraints.sample(N_RANDOM, context.rng)])
            found = maximise(given, partial(ucb, beta=BETA), starts, excluded, context.constraints)
        else:
            found = maximise(given, local, context.X[[centre]], excluded, context.constraints, LOCAL_STEPS)
        point = draw_free(context.constraints, 1, excluded, context.rng)[0] if found is None else found
        excluded.add(point)
        chosen.append(point)
        given = given.given(_values(draws, point))
    return chosen


def _minimum(context: BatchContext, draws: Ensemble, some: IntArray, excluded: Exclusions) -> IntArray | None:
    """Return the free point (n_items,) where the mean of some draws is least, by tabu searches from random orderings.

    The draws are one, or share F or D, so that their mean has the mean of the other one.
    """
    starts = context.constraints.sample(N_SEARCHES, context.rng)
    items, places = draws.items[some].mean(axis=0), draws.places[some].mean(axis=0)
    return tabu_search.minimise(items, places, starts, excluded, context.constraints, context.rng)


def _with_template(draws: Ensemble, template: Template | None) -> IntArray:
    """Return which draws have the template for F or D; none without one."""
    if template is None:
        return np.arange(0)
    of_draws = draws.items if template.of_items else draws.places
    return np.flatnonzero((of_draws == symmetric(template.entries, of_draws.shape[1])).all(axis=(1, 2)))


def _likely_minimum(
    context: BatchContext, draws: Ensemble, alike: IntArray, sizes: IntArray, excluded: Exclusions
) -> tuple[IntArray | None, IntArray]:
    """Return the minimum of the mean of the fewest draws for which an improvement is expected there.

    Where little is known, draws differ in many directions, and all their minima are bad: on sko42 they had values above
    17,700 given 300 values, of which the best was 16,988, and the minima of means of five had 17,060. So of 1, 2, 4 ...
    draws the fewest are used at whose minimum all draws on average predict a better value than the best. Where no
    number is enough, nothing is left but to explore, by one draw.

    Args:
        context: What the batch is chosen from.
        draws: The ensemble.
        alike: Which draws share F or D.
        sizes: (n_sizes,) how many draws to try, in ascending order.
        excluded: What may not be chosen.

    Returns:
        The free point (n_items,) if there is one, and the sizes to try for the next point of the batch: not those that
        were too few for this one.
    """
    order = context.rng.permutation(alike)
    for number, size in enumerate(sizes):
        found = _minimum(context, draws, order[:size], excluded)
        if found is None or _values(draws, found).mean() < context.best:
            return found, sizes[number:]
    return _minimum(context, draws, order[:1], excluded), sizes[:0]


def _values(ensemble: Ensemble, point: IntArray) -> FloatArray:
    """Return what each draw predicts (n_draws,) at a permutation (n_items,)."""
    return ensemble.values(invert(point)[None])[0]
