"""What law-auto's model learned in a run, in words, and how items and positions interact, as a figure.

The pairwise model (`law_ray.models.pairwise`) is f = sum_{i < j} F[i, j] D[q_i, q_j] + constant. Off the diagonal each
matrix is a sum of three parts,

    F[i, j] = m + b_i + b_j + R[i, j],    sum_i b_i = 0,    sum_j R[i, j] = 0,

and D likewise. Only products of the same part of both matter: all others sum to a constant. So the values determine R
of F and of D up to a factor, which may be negative, and so they do b; but that is another factor. Chains that predict
the same can thus hold matrices that look unrelated. Shown is therefore R, the interactions beyond what each item and
each position does by itself. The R of all chains are brought to one scale and sign before their mean is taken.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from law_ray.kernels.weighted_precedence import symmetric
from law_ray.methods.pairwise import CLEAR_ADVANTAGE, chooses
from law_ray.models.pairwise import fit_pairwise
from law_ray.models.pairwise.ensemble import Ensemble
from law_ray.models.pairwise.hyperparameters import PairwiseHyperparameters
from law_ray.runs.report.models import kernel_name
from law_ray.runs.report.prints import saved
from law_ray.runs.run import Run
from law_ray.typing import FloatArray

MAX_LABELS = 40
"""With more items, the axes show every few positions, and no items."""
N_STRONGEST = 5
"""Pairs of items that are named."""
LEAST_ORDER = 0.5
"""How well D must correlate with |k - l| for positions to be called close in the ordering (heuristic)."""
LEAST_AGREEMENT = 0.5
"""Below this mean correlation between the F of two chains, a reader is warned (heuristic)."""


class Interactions(NamedTuple):
    """The parts R of F and D, averaged over the chains; that of D has mean square 1 in each chain."""

    items: FloatArray
    """(n_items, n_items) of F: a large entry means that the two items want positions of small D"""
    places: FloatArray
    """(n_items, n_items) of D: a large entry means that the two positions count as far apart"""
    agreement: float
    """the mean correlation between the R of F of two chains; 1 for a single chain"""
    share: float
    """of the variance of f over random orderings that is due to R and not to b, the mean over the chains"""

    @classmethod
    def of(cls, ensemble: Ensemble) -> Self:
        """Return the mean of the draws after `aligned`."""
        items, places = aligned(ensemble)
        n_items = ensemble.items.shape[1]
        directions = items / np.maximum(np.linalg.norm(items, axis=1, keepdims=True), 1e-300)
        correlations = (directions @ directions.T)[np.triu_indices(len(items), 1)]
        agreement = float(correlations.mean()) if len(correlations) else 1.0
        of_items, of_places = (symmetric(entries.mean(axis=0), n_items) for entries in (items, places))
        return cls(of_items, of_places, agreement, float(np.mean(shares(ensemble))))

    @property
    def order(self) -> float:
        """The correlation of R of D with that of the distance |k - l| of two positions in the ordering."""
        D, distance = self.places[np.triu_indices(len(self.places), 1)], _in_order(len(self.places))
        norms = float(np.linalg.norm(D) * np.linalg.norm(distance))
        return float(D @ distance) / max(norms, 1e-300)

    def strongest(self) -> list[tuple[int, int]]:
        """Return the pairs of items with the largest entries above 0, at most N_STRONGEST, the largest first."""
        i, j = np.triu_indices(len(self.items), 1)
        F = self.items[i, j]
        first = np.argsort(-F, kind="stable")[:N_STRONGEST]
        return [(int(i[p]), int(j[p])) for p in first if F[p] > 0]


def parts(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the parts b_i + b_j and R of symmetric matrices (n_draws, n_items, n_items), both (n_draws, n_pairs)."""
    n_items = matrices.shape[1]
    i, j = np.triu_indices(n_items, 1)
    entries = matrices[:, i, j]
    mean = entries.mean(axis=1, keepdims=True)
    # The sum of a row is (n_items - 1) m + (n_items - 2) b_i.
    rows = matrices.sum(axis=2) - np.einsum("sii->si", matrices)
    own = (rows - (n_items - 1) * mean) / (n_items - 2)
    own_pairs = own[:, i] + own[:, j]
    return own_pairs, entries - mean - own_pairs


def aligned(ensemble: Ensemble) -> tuple[FloatArray, FloatArray]:
    """Return R of F and of D for each draw, both (n_draws, n_pairs), at one scale and sign; their products stay.

    R of D gets the mean square 1. Those of all draws correlate positively with that of the first, and their mean with
    that of the distance |k - l| of positions.
    """
    items, places = (parts(matrices)[1] for matrices in (ensemble.items, ensemble.places))
    scales = np.sqrt(np.mean(places**2, axis=1, keepdims=True))
    scales[scales < 1e-12] = 1.0  # positions that do not interact
    signs = np.where(places @ places[0] < 0, -1.0, 1.0)[:, None]
    items, places = items * scales * signs, places / scales * signs
    if places.mean(axis=0) @ _in_order(ensemble.places.shape[1]) < 0:
        return -items, -places
    return items, places


def shares(ensemble: Ensemble) -> FloatArray:
    """Return the share (n_draws,) of the variance of f over random orderings that is due to R and not to b.

    The parts b and R are irreducible representations of the symmetric group, of n_items - 1 and of
    n_items (n_items - 3) / 2 dimensions. By Schur's orthogonality, the variance of a part's sum of products is the
    product of the squared norms of the part in F and in D, divided by its dimension.
    """
    n_items = ensemble.items.shape[1]
    own, pairs = (
        (of_items**2).sum(axis=1) * (of_places**2).sum(axis=1)
        for of_items, of_places in zip(parts(ensemble.items), parts(ensemble.places), strict=True)
    )
    own, pairs = own / (n_items - 1), pairs / (n_items * (n_items - 3) / 2)
    share: FloatArray = pairs / np.maximum(own + pairs, 1e-300)
    return share


def _in_order(n_items: int) -> FloatArray:
    """Return R (n_pairs,) of the distances |k - l|."""
    k = np.arange(float(n_items))
    distances: FloatArray = parts(np.abs(k[:, None] - k)[None])[1][0]
    return distances


def describe(run: Run, names: Sequence[str] | None = None) -> list[str]:
    """Say which of law-auto's models predicts best at the end of a run, and which items interact most.

    Args:
        run: The run.
        names: (n_items,) of the items, if they have names.

    Returns:
        Lines of text; none for a run without the pairwise model.
    """
    model = _model(run)
    if model is None:
        return []
    kernel = f"At the end the Gaussian process used the {kernel_name(model)} kernel."
    chosen = chooses(model, run.optimizer.n_items)
    lines = [kernel, _comparison(model, chosen)]
    if chosen:
        lines += _template(model) + _in_words(_learned(run, model), names)
    return lines


def draw_interactions(run: Run, names: Sequence[str] | None = None, path: Path | None = None) -> Path | None:
    """Draw how pairs of items and pairs of positions interact, by the last fit of the pairwise model.

    The items stand in the order of the best ordering. So entries at the same place in the two maps belong together: the
    products of such entries sum to what the interactions add to the value of that ordering.

    Args:
        run: The run.
        names: (n_items,) of the items, if they have names.
        path: Where to write the figure; by default interactions.png in the run folder.

    Returns:
        The path, or None for a run in which the pairwise model does not predict best.
    """
    from matplotlib.figure import Figure

    found, best = learned(run), run.best.permutation
    if found is None:
        return None
    labels = [_named(item, names) for item in best]
    long = max(map(len, labels)) if len(best) <= MAX_LABELS else 0
    side = float(np.clip(1.5 + 0.16 * len(best), 4.2, 8.0)) + 0.06 * min(long, 30)  # inches
    figure = Figure(figsize=(2 * side + 1.6, side), layout="constrained")
    figure.suptitle("Interactions of pairs, beyond what each item and each position does by itself", fontsize=12)
    of_items, of_places = figure.subplots(1, 2)
    title = "Which items want to be close\n(red: close, blue: far apart)"
    unit = "F: what a unit of D costs,\nin standard deviations of the values"
    _heat_map(figure, of_items, found.items[np.ix_(best, best)], title, unit)
    what = "item, in the best ordering found" if long else "item, by its position in the best ordering found"
    _label(of_items, labels, what)
    title = "Which positions count as far apart\n(red: far apart, blue: close)"
    _heat_map(figure, of_places, found.places, title, "D: distance, of mean 0 and\nstandard deviation 1 in each chain")
    _label(of_places, [str(k) for k in range(len(best))], "position")
    return saved(figure, path or run.folder / "interactions.png")


def learned(run: Run) -> Interactions | None:
    """Return what the pairwise model learned by the last fit; None where it does not predict best."""
    model = _model(run)
    if model is None or not chooses(model, run.optimizer.n_items):
        return None
    return _learned(run, model)


def _model(run: Run) -> PairwiseHyperparameters | None:
    """Return the last fit, if the pairwise model was part of it. It is not used with a prior mean."""
    model = run.optimizer.model
    has_prior_mean = run.objective.get("prior_mean", False) or run.optimizer.proxy is not None
    used = isinstance(model, PairwiseHyperparameters) and model.chains and not has_prior_mean
    return model if used else None  # type: ignore[return-value]


def _learned(run: Run, model: PairwiseHyperparameters) -> Interactions:
    """Return F and D given all values of the run, which the model minimises."""
    known = [trial for trial in run.optimizer.trials if trial.state in ("told", "added")]
    X = np.array([trial.permutation for trial in known])
    y = (-1.0 if run.settings.maximize else 1.0) * np.array([trial.value for trial in known])
    standard_errors = np.array([trial.standard_error for trial in known])
    return Interactions.of(fit_pairwise.learned(model, X, y, standard_errors))


def _comparison(model: PairwiseHyperparameters, chosen: bool) -> str:
    """Say which model predicts better, and so chooses the points."""
    if not any(model.prediction_errors):
        return "The pairwise model has predicted no new value yet, so the Gaussian process chose the points."
    wins = model.leads
    first, second = "pairwise model", "Gaussian process"
    if not wins:
        first, second = second, first
    ratio = model.advantage if wins else 1.0 / max(model.advantage, 1e-12)
    times = f"{ratio:.3g}" if ratio < 1000 else "more than 1000"
    compared = (
        f"The {first} predicts new values better than the {second} (its mean square error is {times} times smaller)"
    )
    if wins and not chosen:
        return f"{compared}. But it has too few values yet, so the {second} chose the points."
    points = "some of the points" if wins and model.advantage < CLEAR_ADVANTAGE else "the points"
    return f"{compared}, so it chose {points}."


def _template(model: PairwiseHyperparameters) -> list[str]:
    """Say which distances the model takes for known, if it does."""
    if model.template is None:
        return []
    what, matrix = ("items", "F") if model.template.of_items else ("positions", "D")
    known = f"the {what} fit a shape with known distances ({model.template.name})"
    return [f"In the order of their numbers, {known}, which it uses as {matrix}."]


def _in_words(found: Interactions, names: Sequence[str] | None) -> list[str]:
    """Say how much interactions matter and what D means, and name the pairs of items with the largest F."""
    pairs = [f"{_named(i, names)} and {_named(j, names)} ({found.items[i, j]:.2g})" for i, j in found.strongest()]
    if not pairs:
        return []
    share = (
        f"Interactions of pairs make {found.share:.0%} of the variance that it predicts for random orderings; the rest "
        "is what each item and each position does by itself."
    )
    if found.order >= LEAST_ORDER:
        meaning = "Positions count as further apart (D larger) the further apart they are in the ordering"
        want = "to be close in the ordering"
    else:
        meaning = "Which positions count as far apart (D large) does not follow from the ordering alone"
        want = "positions of small D"
    lines = [
        share,
        f"{meaning} (correlation {found.order:.2f}).",
        f"Pairs of items that most want {want}, with their F: {'; '.join(pairs)}.",
    ]
    if found.agreement < LEAST_AGREEMENT:
        lines.append(
            f"The chains disagree on F (mean correlation {found.agreement:.2f}): these pairs, and the figure, are "
            "uncertain."
        )
    return lines


def _named(item: int, names: Sequence[str] | None) -> str:
    return str(item) if names is None else names[item]


def _heat_map(figure: Any, axes: Any, matrix: FloatArray, title: str, unit: str) -> None:
    """Draw a symmetric matrix in colours about 0, its diagonal empty."""
    shown = np.where(np.eye(len(matrix), dtype=bool), np.nan, matrix)
    limit = float(np.nanmax(np.abs(shown))) or 1.0
    axes.set_facecolor("0.85")
    image = axes.imshow(shown, cmap="RdBu_r", vmin=-limit, vmax=limit)
    axes.set_title(title, fontsize=11)
    figure.colorbar(image, ax=axes, label=unit, shrink=0.85)


def _label(axes: Any, labels: list[str], what: str) -> None:
    """Label both axes, each row and column if there are at most MAX_LABELS."""
    axes.set(xlabel=what, ylabel=what)
    if len(labels) <= MAX_LABELS:
        size = 8 if len(labels) <= 25 else 7
        rotation = 90 if len(labels) > 15 or max(map(len, labels)) > 2 else 0
        axes.set_xticks(range(len(labels)), labels, rotation=rotation, fontsize=size)
        axes.set_yticks(range(len(labels)), labels, fontsize=size)
