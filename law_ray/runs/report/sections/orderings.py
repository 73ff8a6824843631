"""The best orderings, how they differ, and what the model expects of the best one's neighbours."""

import itertools

import numpy as np

from law_ray.runs.report import models
from law_ray.runs.report.blocks import Ordering, Section, Table, Text
from law_ray.runs.report.view import View, number, shortened
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import invert
from law_ray.typing import IntArray

N_SHOWN = 20
"""Orderings in the table (heuristic)."""
N_NEIGHBOURS = 8
"""Neighbours of the best ordering in the table (heuristic)."""
MAX_SWAPS = 3_000
"""Swaps that are predicted: all, or those of the nearest positions (heuristic: seconds)."""
_NO_NEIGHBOUR = "Every swap of two items of the best ordering gives an ordering that was evaluated, or one equal to it."


def section(view: View) -> Section:
    """Return the section."""
    lead = "Where an ordering differs from the best, its items are marked; click a header to sort."
    if not view.told:
        return Section("orderings", "Top orderings", lead, [Text("No evaluation has a value yet.")])
    blocks: list[object] = [top_table(view)]
    model = view.run.optimizer.model
    if model is not None and models.predictable(view):
        table = neighbour_table(view)
        blocks += [Text(_about_neighbours(view)), table] if table.rows else [Text(_NO_NEIGHBOUR)]
    return Section("orderings", "Top orderings", lead, blocks)


def top_table(view: View) -> Table:
    """Return the best orderings beside the best of all, which is the winner of the repeats where values are noisy."""
    best = view.run.best
    rows = []
    first = [k for k in view.ranking if view.told[k].id == best.id]
    for k in [*first, *(k for k in view.ranking[:N_SHOWN] if view.told[k].id != best.id)]:
        trial = view.told[k]
        ordering = view.aligned[k]
        different = ordering != best.permutation
        shown = number(trial.value) + (f" ± {number(trial.standard_error, 2)}" if trial.standard_error else "")
        rows.append(
            [
                trial.id,
                trial.round,
                shown,
                int(different.sum()),
                discordant(ordering, best.permutation),
                number(trial.seconds, 3) if np.isfinite(trial.seconds) else "",
                Ordering([shortened(view.names[item]) for item in ordering], different.tolist()),
            ]
        )
    header = ["trial", "round", view.unit, "items moved", "pairs turned", "seconds", "ordering"]
    return Table("tab-top", header, rows)


def neighbour_table(view: View) -> Table:
    """Return the swaps of two items of the best ordering that the last model likes most, not evaluated yet.

    Orderings that the objective's key takes for one point count as one, where the objective is at hand.
    """
    best, pairs = view.run.best, _swaps(view.run.settings.n_items)
    swapped = _swapped(best.permutation, pairs)
    allowed = view.run.settings.constraints.allows(swapped)
    key = Exclusions(None if view.objective is None else view.objective.key).key
    known = {key(trial.permutation) for trial in view.run.optimizer.trials}
    model = view.run.optimizer.model
    assert model is not None
    belief = models.Belief(view, model, np.arange(len(view.told)))
    pairs, swapped = pairs[allowed], swapped[allowed]
    predicted, here = belief.predict(swapped), belief.predict(best.permutation[None])
    changes = predicted.best - here.best[0]
    likely = (k for k in np.argsort(view.sign * changes, kind="stable") if key(swapped[k]) not in known)
    rows = []
    for k in itertools.islice(likely, N_NEIGHBOURS):
        i, j = pairs[k]
        first, second = (shortened(view.names[best.permutation[p]]) for p in (i, j))
        rows.append(
            [f"{first} ↔ {second}", f"{i} and {j}", f"{changes[k]:+.4g}", number(float(predicted.deviation[k]), 3)]
        )
    return Table("tab-neighbours", ["swap", "positions", "predicted change", "standard deviation"], rows)


def discordant(a: IntArray, b: IntArray) -> int:
    """Return how many pairs of items stand in the opposite order in two permutations (Kendall's distance)."""
    ranks = invert(b[None])[0][a]
    return int(np.triu(ranks[:, None] > ranks, 1).sum())


def _about_neighbours(view: View) -> str:
    sign = "smaller" if view.sign > 0 else "larger"
    return (
        f"What the model expects of swapping two items of the best ordering, of the swaps not evaluated yet ({sign} is "
        "better). If nothing is expected to improve, the best ordering is a local optimum as far as the model knows."
    )


def _swaps(n_items: int) -> IntArray:
    """Return pairs of positions (m, 2): all, or the MAX_SWAPS nearest to each other."""
    i, j = np.triu_indices(n_items, 1)
    nearest = np.argsort(j - i, kind="stable")[:MAX_SWAPS]
    return np.column_stack([i[nearest], j[nearest]])


def _swapped(permutation: IntArray, pairs: IntArray) -> IntArray:
    rows, (i, j) = np.arange(len(pairs)), pairs.T
    swapped = np.repeat(permutation[None], len(pairs), axis=0)
    swapped[rows, i], swapped[rows, j] = permutation[j], permutation[i]
    return swapped
