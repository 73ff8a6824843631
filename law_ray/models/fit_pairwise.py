"""law-auto's model: a Gaussian process, the pairwise model beside it, and which of the two predicts better.

The chains of the pairwise model continue at each fit with a few sweeps, given all values. As in
`law_ray.models.selection`, both models predict the values that came in since the last fit, before they learn them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from law_ray.models import gibbs, selection
from law_ray.models.gibbs import Chain, Data, Draw
from law_ray.models.gp import GaussianProcess
from law_ray.models.pairwise import Ensemble
from law_ray.models.selection import OfSelected, SelectionHyperparameters, mean_square, remembered
from law_ray.models.standardize import Standardization
from law_ray.space.permutations import invert
from law_ray.typing import FloatArray, IntArray

N_CHAINS = 4
"""Heuristic; with one or two, a bad mode rules too often."""
MIN_SWEEPS, MAX_SWEEPS = 4, 40
"""Sweeps of a chain at a fit. More find chr12a's optimum sooner, after 185 evaluations instead of 220 with 6."""
MAX_WORK, WORK_PER_ITEM = 1.5e9, 4e6
"""Between the two, a chain makes as many sweeps as MAX_WORK floating-point operations allow.

A sweep costs WORK_PER_ITEM per item besides those of its matrix products. Chosen such that fits to 22 and to 32 items
take less than twice the time of the process alone.
"""
N_KEPT = 6
"""Draws of a chain that the ensemble gets, from its last sweeps (heuristic)."""
SIZES = range(8, 101)
"""Numbers of items with which the pairwise model is used.

The space of fewer items is searched exhaustively; more items have too many unknowns.
"""


@dataclass(frozen=True)
class PairwiseHyperparameters(OfSelected):
    """The hyperparameters of law-auto's process, and the chains of the pairwise model beside it.

    The process has those of the selected kernel.
    """

    selection: SelectionHyperparameters
    chains: tuple[Chain, ...]
    """empty where the pairwise model is not used (`SIZES`)"""
    prediction_errors: tuple[float, float]
    """recent mean square errors of the process and of the pairwise model, relative to their mean; 0 before any"""
    n: int
    """the number of values that they were fitted to"""
    ensemble: Ensemble | None = field(default=None, compare=False)
    """the draws of this fit; None without chains, and in what was read from a journal"""

    @property
    def advantage(self) -> float:
        """How many times smaller the pairwise model's mean square prediction error is; 0 before there are any."""
        process, pairs = self.prediction_errors
        return process / max(pairs, 1e-12) if process else 0.0

    @property
    def selected(self) -> SelectionHyperparameters:
        """The hyperparameters of the process."""
        return self.selection

    def to_record(self) -> dict[str, Any]:
        """Return them as a journal stores them: N_CHAINS chains of some 4 kB for 30 items, 33 kB for 100."""
        chains = [chain.to_record() for chain in self.chains]
        pairwise = {"chains": chains, "prediction_errors": list(self.prediction_errors), "n": self.n}
        return {**self.selection.to_record(), "pairwise": pairwise}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Return what `to_record` stored. A journal of an older version has no chains: the next fit starts them."""
        selected = SelectionHyperparameters.from_record(record)
        pairwise = record.get("pairwise", {"chains": [], "prediction_errors": (0.0, 0.0), "n": selected.n})
        chains = tuple(Chain.from_record(chain) for chain in pairwise["chains"])
        first, second = pairwise["prediction_errors"]
        return cls(selected, chains, (first, second), pairwise["n"])


def fit(
    X: IntArray,
    y: FloatArray,
    rng: np.random.Generator,
    previous: PairwiseHyperparameters | None = None,
    standard_errors: FloatArray | None = None,
) -> PairwiseHyperparameters:
    """Fit the process, continue the chains, and update the prediction errors of both models.

    Cost: that of `selection.fit`, and N_CHAINS times at most MAX_SWEEPS sweeps (`gibbs`).

    Args:
        X: (n, n_items) permutations, in the order in which they were proposed.
        y: (n,) raw values.
        rng: Drives the fits.
        previous: The last fit.
        standard_errors: (n,) of the values, 0 where unknown.
    """
    errors = (0.0, 0.0) if previous is None else previous.prediction_errors
    if previous is not None and previous.chains and 1 < previous.n < len(y):
        errors = remembered(errors, _prediction_errors(X, y, previous, standard_errors))
    earlier = None if previous is None else previous.selection
    selected = selection.fit(X, y, rng, earlier, standard_errors)
    if X.shape[1] not in SIZES:
        return PairwiseHyperparameters(selected, (), errors, len(y))
    data = _data(X, y, standard_errors)
    chains = previous.chains if previous else ()
    started = chains or [Chain.start(X.shape[1], rng) for _ in range(N_CHAINS)]
    advanced = [gibbs.advance(chain, data, n_sweeps(*X.shape), rng) for chain in started]
    draws = [draw for _, each in advanced for draw in each[-N_KEPT:]]
    chains = tuple(chain for chain, _ in advanced)
    return PairwiseHyperparameters(selected, chains, errors, len(y), _ensemble(draws, chains))


def n_sweeps(n: int, n_items: int) -> int:
    """Return how many sweeps a chain makes at a fit to n values."""
    n_pairs = n_items * (n_items - 1) // 2
    rows = min(n, n_pairs)
    of_matrices = 4.0 * rows * n_pairs * (n + rows)  # of a sweep: two matrices
    return int(np.clip(MAX_WORK / (of_matrices + WORK_PER_ITEM * n_items), MIN_SWEEPS, MAX_SWEEPS))


def learned(
    hyperparameters: PairwiseHyperparameters, X: IntArray, y: FloatArray, standard_errors: FloatArray | None = None
) -> Ensemble:
    """Return what the chains learned as one draw of each: its D, and the mean of F given D and the values.

    It follows from what a journal stores, without random numbers.

    Args:
        hyperparameters: A fit with chains, as fitted or as read from a journal.
        X: (n, n_items) permutations.
        y: (n,) raw values, those of the fit or more.
        standard_errors: (n,) of the values, 0 where unknown.
    """
    data = _data(X, y, standard_errors)
    return _ensemble([gibbs.mean_items(chain, data) for chain in hyperparameters.chains], hyperparameters.chains)


def _data(X: IntArray, y: FloatArray, standard_errors: FloatArray | None) -> Data:
    standardize = Standardization.of(y)
    return Data.of(X, standardize(y), np.broadcast_to(standardize.known_noise(standard_errors), y.shape))


def _ensemble(draws: Sequence[Draw], chains: Sequence[Chain]) -> Ensemble:
    items, places = np.array([draw.items for draw in draws]), np.array([draw.places for draw in draws])
    noise = float(np.mean([chain.noise for chain in chains]))
    return Ensemble.of(items, places, np.array([draw.constant for draw in draws]), noise)


def _prediction_errors(
    X: IntArray, y: FloatArray, previous: PairwiseHyperparameters, standard_errors: FloatArray | None
) -> tuple[float, float]:
    """Return the mean square errors of both models, as they were fitted last, at the values that came in since.

    The pairwise model predicts by the mean of F given the D of each chain: that follows from what a journal stores.
    """
    n = previous.n
    known = None if standard_errors is None else standard_errors[:n]
    z = Standardization.of(y[:n])(y[n:])
    process = GaussianProcess(X[:n], y[:n], previous.selection, known)
    by_pairs = learned(previous, X[:n], y[:n], known).values(invert(X[n:])).mean(axis=1)
    return mean_square(process.predict(X[n:])[0] - z), mean_square(by_pairs - z)
