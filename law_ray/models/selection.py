"""Model selection for law-auto: the additive kernel, or one of two others where that predicts better.

The tour kernel is for tours, and the weighted precedence kernel for values by the order of some pairs of items. The
evidence cannot decide between them: of two models with so different numbers of parameters it prefers the one with more.
So each model predicts the values that came in since the last call of `fit`, and the one with the smaller recent
prediction errors is used.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from law_ray.kernels.additive import AdditiveHyperparameters
from law_ray.kernels.protocol import Covariance, Hyperparameters, Kernel
from law_ray.kernels.tour import TourHyperparameters
from law_ray.kernels.weighted_precedence import WeightedPrecedenceHyperparameters
from law_ray.models import fit_additive, fit_tour, fit_weighted_precedence
from law_ray.models.gp import GaussianProcess
from law_ray.typing import FloatArray, IntArray

MAX_ERROR = 1e8
"""In standardized units: larger prediction errors are cut to this, so that their squares stay finite."""
MEMORY = 0.7
"""The weight of the earlier prediction errors beside those of the latest values (heuristic)."""
MEMORY_OF = 10
"""Values after which the earlier errors of the weighted precedence kernel have that weight (see LEAST_ADVANTAGE)."""
LEAST_ITEMS, MOST_ITEMS = 11, 100
"""The weighted precedence kernel is fitted for at least, and for at most, this many items.

More items have too many pairs for some hundred values (heuristic). On car5, a flow shop of 10 jobs, law-auto ended at
7761.8 +- 15.5 with an earlier form of this kernel and at 7727.0 +- 3.9 without it (ten runs). On the 11 variables of
sachs, it ended equally low with and without it (five runs).
"""
LEAST_OF_ORDER = 0.5
"""It is fitted where the values seem to depend on the order of items, not on neighbours.

That is where it is used already, or the position and precedence components have this share of the additive kernel's
variance (heuristic).
"""
LEAST_ADVANTAGE = 0.7
"""It is used where its mean square prediction error is smaller than this many times those of the other two.

In runs on six random networks of 32 variables these ended 0 nats above the best order known with 0.7 and MEMORY_OF, and
37 +- 21 nats above it with 0.5 and a memory of asks.
"""
ALIKE: tuple[float, ...] = (1.0, 1.0)
"""The prediction errors of these two kernels before there are any. The weighted one must first predict better."""
REFIT = 1.1
"""The models are fitted again once the number of values or their deviation has grown by this factor (heuristic: a few
more values change the hyperparameters little, and fits took half of the time for choosing)."""


class OfSelected(ABC):
    """Hyperparameters of several models, of which the process has the selected ones."""

    @property
    @abstractmethod
    def selected(self) -> Hyperparameters:
        """The hyperparameters of the process."""

    @property
    def kernel(self) -> Kernel:
        """The kernel of the selected model."""
        return self.selected.kernel

    def covariance(self, n_items: int) -> Covariance:
        """Return the covariance of the selected model as a function of its kernel's distances."""
        return self.selected.covariance(n_items)

    @property
    def signal_variance(self) -> float:
        """k(x, x) of the selected model."""
        return self.selected.signal_variance

    @property
    def noise(self) -> float:
        """The variance of the selected model's noise."""
        return self.selected.noise

    @property
    def mean(self) -> float:
        """The constant mean of the selected model."""
        return self.selected.mean


@dataclass(frozen=True)
class SelectionHyperparameters(OfSelected):
    """The hyperparameters of the models, in units of the standardized values.

    The process has those of the selected model.
    """

    additive: AdditiveHyperparameters
    tour: TourHyperparameters
    prediction_errors: tuple[float, ...]
    """recent mean square errors of the predictions of these two, relative to their mean; 0 before there are any"""
    n: int
    """the number of values at the last call of `fit`"""
    n_fitted: int
    """the number of values that they were fitted to"""
    deviation: float
    """the standard deviation of those values, raw"""
    weighted: WeightedPrecedenceHyperparameters | None = None
    """None with fewer than LEAST_ITEMS or more than MOST_ITEMS, and where the order of items is not what matters
    (`LEAST_OF_ORDER`)"""
    weighted_errors: tuple[float, ...] = ALIKE
    """as `prediction_errors`, of the additive and the weighted precedence kernel; ALIKE before there are any"""

    @property
    def models(self) -> tuple[Hyperparameters, ...]:
        """The hyperparameters of the additive and the tour kernel, and of the weighted precedence kernel if any."""
        return (self.additive, self.tour, *([self.weighted] if self.weighted else []))

    @property
    def number_selected(self) -> int:
        """Which of `models` is selected."""
        of_additive, of_tour = self.prediction_errors
        beside_weighted, of_weighted = self.weighted_errors
        of_best = min(1.0, of_tour / of_additive) if of_additive else 1.0
        if self.weighted and of_weighted < LEAST_ADVANTAGE * of_best * beside_weighted:
            return 2
        return 1 if of_tour < of_additive else 0

    @property
    def selected(self) -> Hyperparameters:
        """The hyperparameters of the selected model."""
        return self.models[self.number_selected]

    def to_record(self) -> dict[str, Any]:
        """Return them as a journal stores them, under the names of the first version."""
        weighted = self.weighted and {"weighted": self.weighted.to_record(), "weighted_errors": self.weighted_errors}
        return {
            "mixture": self.additive.to_record(),
            "latent": self.tour.to_record(),
            "misses": list(self.prediction_errors),
            "n": self.n,
            "n_fitted": self.n_fitted,
            "deviation": self.deviation,
            **(weighted or {}),
        }

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Return what `to_record` stored."""
        additive = AdditiveHyperparameters.from_record(record["mixture"])
        tour = TourHyperparameters.from_record(record["latent"])
        first, second = record["misses"]
        fitted_to = record.get("n_fitted", 0), record.get("deviation", 0.0)  # older journals: to be fitted again
        stored, errors = record.get("weighted"), tuple(record.get("weighted_errors", ALIKE))
        if stored and "item_shares" not in stored:  # an older journal's kernel, of one part: to be fitted again
            stored, errors, fitted_to = None, ALIKE, (0, 0.0)
        weighted = stored and WeightedPrecedenceHyperparameters.from_record(stored)
        return cls(additive, tour, (first, second), record["n"], *fitted_to, weighted, errors)


def fit(
    X: IntArray,
    y: FloatArray,
    rng: np.random.Generator,
    previous: SelectionHyperparameters | None = None,
    standard_errors: FloatArray | None = None,
) -> SelectionHyperparameters:
    """Update the prediction errors of the models, and fit them to (X, y) if there is enough that is new (`REFIT`).

    Cost: two or three processes, O(n^3), and sometimes a fit of each kernel.

    Args:
        X: (n, n_items) permutations, the new ones since the last fit at the end.
        y: (n,) raw values.
        rng: Drives the fits.
        previous: The last fit.
        standard_errors: (n,) of the values, 0 where unknown.
    """
    rows = np.arange(len(y))
    latest = latest_errors(X, y, previous, standard_errors, rows)
    return prepared(X, y, rng, previous, standard_errors, rows, latest)()


def prepared(
    X: IntArray,
    y: FloatArray,
    rng: np.random.Generator,
    previous: SelectionHyperparameters | None,
    standard_errors: FloatArray | None,
    rows: IntArray,
    latest: tuple[float, ...] | None,
) -> Callable[[], SelectionHyperparameters]:
    """Draw what `fit` draws, by some `rows` (m,) of the values and given the `latest_errors`; return the rest of it.

    The rest may run while others draw from the generator.
    """
    n, due, deviation = len(y), is_due(y, rows, previous), _deviation(y[rows])
    X, y, standard_errors = X[rows], y[rows], None if standard_errors is None else standard_errors[rows]
    errors: tuple[float, ...] = (0.0, 0.0)
    weighted_errors = ALIKE
    if previous is not None:
        errors, weighted_errors = previous.prediction_errors, previous.weighted_errors
        if latest is not None:
            of_additive, of_tour, *of_weighted = latest
            errors = remembered(errors, (of_additive, of_tour))
            kept = MEMORY ** ((n - previous.n) / MEMORY_OF)
            weighted_errors = remembered(weighted_errors, (of_additive, *of_weighted), kept) if of_weighted else ALIKE
        if not due:
            unchanged = replace(previous, prediction_errors=errors, weighted_errors=weighted_errors, n=n)
            return lambda: unchanged
    fit_to_additive = fit_additive.prepared(X, y, rng, previous.additive if previous else None, standard_errors)
    fit_to_tour = fit_tour.prepared(X, y, rng, previous.tour if previous else None, standard_errors)

    def rest() -> SelectionHyperparameters:
        additive = fit_to_additive()
        fitted = SelectionHyperparameters(additive, fit_to_tour(), errors, n, n, deviation)
        leads = previous is not None and previous.selected is previous.weighted
        if not LEAST_ITEMS <= X.shape[1] <= MOST_ITEMS or (not leads and _share_of_order(additive) < LEAST_OF_ORDER):
            return fitted
        weighted = fit_weighted_precedence.fit(X, y, previous.weighted if previous else None, standard_errors)
        return replace(fitted, weighted=weighted, weighted_errors=weighted_errors)

    return rest


def _share_of_order(additive: AdditiveHyperparameters) -> float:
    """Return the share of the position and precedence components in the variance of the additive kernel."""
    components = {name: own for name, own in additive.components.items() if name in ("position", "precedence")}
    return replace(additive, components=components).signal_variance / additive.signal_variance


def is_due(y: FloatArray, rows: IntArray, previous: SelectionHyperparameters | None) -> bool:
    """Say whether values y (n,), of which the process gets some `rows`, differ enough from those fitted last.

    They also do if there are no more of them than at the last call: the caller then passes a part of all values, which
    is not the part that it passed before.
    """
    if previous is None:
        return True
    n, deviation = len(y), _deviation(y[rows])
    grown = n >= REFIT * previous.n_fitted or not previous.deviation / REFIT <= deviation <= previous.deviation * REFIT
    return grown or n <= previous.n


def _deviation(y: FloatArray) -> float:
    """Return the standard deviation of values (n,) whose squares may not be finite."""
    unit = float(np.max(np.abs(y))) or 1.0
    return unit * float(np.std(y / unit))


def remembered(earlier: Sequence[float], latest: Sequence[float], kept: float = MEMORY) -> tuple[float, ...]:
    """Return the running averages of models' relative prediction errors after the `latest` mean square errors.

    Args:
        earlier: The averages so far, of each model.
        latest: The mean square errors of the same models at the latest values. They count relative to their mean.
        kept: The weight of the averages so far.
    """
    mean = sum(latest) / len(latest)
    if not mean:  # constant values
        return tuple(earlier)
    return tuple(kept * e + (1 - kept) * (error / mean) for e, error in zip(earlier, latest, strict=True))


def mean_square(errors: FloatArray) -> float:
    """Return the mean square of prediction errors, each cut to MAX_ERROR."""
    return float(np.mean(np.minimum(np.abs(errors), MAX_ERROR) ** 2))


def latest_errors(
    X: IntArray,
    y: FloatArray,
    previous: SelectionHyperparameters | None,
    standard_errors: FloatArray | None,
    rows: IntArray,
) -> tuple[float, ...] | None:
    """Return the mean square errors of the `models`, as they were at the last call of `fit`, at the values since.

    They predict from those of the `rows` (m,) that were there at that call. None if there are no values since, or none
    of the rows was there.
    """
    if previous is None or not 1 < previous.n < len(y):
        return None
    n = previous.n
    before = rows[rows < n]
    if not len(before):
        return None
    known = None if standard_errors is None else standard_errors[before]

    def error(model: Hyperparameters) -> float:
        process = GaussianProcess(X[before], y[before], model, known)
        return mean_square(process.predict(X[n:])[0] - process.standardize(y[n:]))

    return tuple(map(error, previous.models))
