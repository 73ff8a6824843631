"""Where a local search continues: at the incumbent, unless its surroundings were searched enough."""

import numpy as np

from law_ray.methods.context import BatchContext
from law_ray.models.standardize import scale_of

N_SEARCHED = 8
"""After this many evaluations per item near a point without an improvement, its surroundings count as searched.

`experiments.ours.ablation` measures the rule (line "the incumbent is the best point"); the number is a heuristic.
"""
N_RANDOM = 100
"""Random permutations that show how large the covariance of unrelated ones is (heuristic)."""
EQUAL = 0.01
"""Values within this many standard deviations (of all values) of the best count as equally good.

Chosen on sachs without keys, where orderings of the same network scatter by a hundredth of the deviation.
"""
N_EQUAL = 10
"""The best point lies on a plateau if more values than this are equally good.

Chosen on weighted tardiness, reC19, hel2 and esc32a.
"""


def incumbent(context: BatchContext) -> int:
    """Return the index in `context.X` of the point around which to search.

    Two permutations are near each other when their prior covariance is at least halfway from that of random
    permutations to k(x, x). Go through the evaluated points from the best on (among equals, the earliest first). A
    point that is not near an earlier centre is a centre. A centre was searched enough when N_SEARCHED n_items points
    near it were evaluated after it, and then the points near it are passed over. Return the latest point, not passed
    over, that has the value of the first centre not yet searched enough. If all were searched enough, return the best
    point. Cost: the kernel between N_RANDOM points and all, and between each centre that is looked at and all.
    """
    posterior, (n, n_items) = context.posterior, context.X.shape
    random = context.constraints.sample(N_RANDOM, context.rng)
    variance = posterior.kernel(context.X[:1], context.X[:1])[0, 0]
    near = 0.5 * (variance + posterior.kernel(random, context.X).mean())
    order = np.argsort(context.y, kind="stable")
    free = np.ones(n, dtype=bool)
    for centre in order:
        if free[centre]:
            close = posterior.kernel(context.X[[centre]], context.X)[0] >= near
            if close[centre + 1 :].sum() < N_SEARCHED * n_items:  # the near points that were evaluated after it
                return int(np.flatnonzero(free & (context.y == context.y[centre]))[-1])
            free &= ~close
    return int(order[0])


def on_plateau(context: BatchContext) -> bool:
    """Say whether more than N_EQUAL values, the best one included, are as good as the best.

    As good are values that exceed the best by at most EQUAL standard deviations of all values: on a plateau, noise may
    scatter them. Cost O(n).
    """
    y = context.y / scale_of(context.y)
    equal = y - y.min() <= EQUAL * y.std()
    return int(equal.sum()) > N_EQUAL
