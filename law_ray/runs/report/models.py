"""The models of a run as they were at each round, from the hyperparameters in its journal."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from law_ray.kernels.additive import AdditiveHyperparameters
from law_ray.kernels.protocol import Hyperparameters
from law_ray.kernels.tour import TourHyperparameters
from law_ray.kernels.weighted_precedence import WeightedPrecedenceHyperparameters
from law_ray.methods.fitting import weighted
from law_ray.methods.pairwise import chooses
from law_ray.methods.registry import METHODS
from law_ray.models.gp import GaussianProcess
from law_ray.models.pairwise import fit_pairwise
from law_ray.models.pairwise.ensemble import Ensemble
from law_ray.models.pairwise.hyperparameters import PairwiseHyperparameters
from law_ray.models.selection import OfSelected
from law_ray.models.standardize import Standardization
from law_ray.runs.records import AskRecord
from law_ray.runs.report.view import View
from law_ray.space.permutations import invert
from law_ray.typing import FloatArray, IntArray

KernelName = Literal["position", "additive", "tour", "weighted precedence"]
Family = KernelName | Literal["pairwise"]
MAX_VALUES = 1_500
"""Given more values, predictions are computed from the latest ones (heuristic)."""


class Prediction(NamedTuple):
    """What was predicted of permutations, in the unit of the values."""

    mean: FloatArray
    """(m,) of the Gaussian process"""
    deviation: FloatArray
    """(m,) its standard deviation, with the noise"""
    pairwise: FloatArray | None
    """(m,) the mean of the pairwise model, where that chose points"""

    @property
    def best(self) -> FloatArray:
        """The mean of the model that chose points."""
        return self.mean if self.pairwise is None else self.pairwise


class Belief:
    """A model given the values of some trials: what it predicts."""

    def __init__(self, view: View, model: Hyperparameters, rows: IntArray) -> None:
        """Condition the model on `view.told[rows]`; O(n^3)."""
        rows = rows[-MAX_VALUES:]
        X, y, errors = view.permutations[rows], view.sign * view.values[rows], view.standard_errors[rows]
        self._sign = view.sign
        mean = weighted(view.run.optimizer.proxy, X, y, errors, model)
        self._process = GaussianProcess(X, y, model, errors, mean)
        self._ensemble: Ensemble | None = None
        if uses_pairs(view, model):
            assert isinstance(model, PairwiseHyperparameters)
            self._ensemble, self._standardize = fit_pairwise.learned(model, X, y, errors), Standardization.of(y)

    def predict(self, permutations: IntArray) -> Prediction:
        """Return the predictions at (m, n_items) permutations."""
        mean, variance = self._process.predict(permutations)
        standardize = self._process.standardize
        deviation = np.sqrt(variance + self._process.hyperparameters.noise) * standardize.scale * standardize.unit
        pairwise = None
        if self._ensemble is not None:
            values = self._ensemble.values(invert(permutations)).mean(axis=1)
            pairwise = self._sign * self._standardize.inverse(values)
        return Prediction(self._sign * standardize.inverse(mean), deviation, pairwise)


def of(view: View, ask: AskRecord) -> Hyperparameters | None:
    """Return the model of an ask; None in the initial design, and for methods without a model."""
    method = METHODS.get(view.run.settings.method)
    if ask["model"] is None or method is None or method.model is None:
        return None
    return method.model.read(ask["model"])


def predictable(view: View) -> bool:
    """Say whether predictions can be computed: a run with a prior mean needs its objective for that."""
    return not view.run.objective.get("prior_mean", False) or view.run.optimizer.proxy is not None


def uses_pairs(view: View, model: Hyperparameters | None) -> bool:
    """Say whether the pairwise model chose points. It does not with a prior mean."""
    return (
        isinstance(model, PairwiseHyperparameters)
        and bool(model.chains)
        and not view.run.objective.get("prior_mean", False)
        and view.run.optimizer.proxy is None  # older journals do not say whether there was one
        and chooses(model, view.run.settings.n_items)
    )


def of_process(model: Hyperparameters | None) -> Hyperparameters | None:
    """Return the hyperparameters of the kernel that a model's process uses: those selected, where it has several."""
    while isinstance(model, OfSelected):
        model = model.selected
    return model


def family(view: View, model: Hyperparameters) -> Family:
    """Return the family of a model."""
    return "pairwise" if uses_pairs(view, model) else kernel_name(model)


def kernel_name(model: Hyperparameters) -> KernelName:
    """Return the name of the kernel that a model's process uses."""
    match of_process(model):
        case TourHyperparameters():
            return "tour"
        case AdditiveHyperparameters():
            return "additive"
        case WeightedPrecedenceHyperparameters():
            return "weighted precedence"
    return "position"


def known_at(view: View) -> list[int]:
    """Return how many trials were told before each ask, in the order of the journal."""
    count, counts = 0, []
    for record in view.records:
        if record["type"] == "ask":
            counts.append(count)
        elif record["type"] == "tell":
            count += 1
    return counts


def told_order(view: View) -> IntArray:
    """Return the indices into `view.told` in the order in which the values arrived."""
    row = {trial.id: k for k, trial in enumerate(view.told)}
    return np.array([row[record["id"]] for record in view.records if record["type"] == "tell"], dtype=np.int64)


def spread(items: Sequence[Any], count: int) -> list[Any]:
    """Return at most `count` of the items, evenly spread, the last one among them."""
    if len(items) <= count:
        return list(items)
    return [items[k] for k in np.unique(np.linspace(0, len(items) - 1, count).round().astype(int))]
