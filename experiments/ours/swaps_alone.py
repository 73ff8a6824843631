"""law-auto's process, searched by swaps alone: a variant of `experiments.ours.ablation`.

It has a module of its own so that the workers which play a run import it, and with it what is registered here.
"""

from typing import Any

import numpy as np

from law_ray.acquisition.additive_moves import SWAP, all_moves
from law_ray.acquisition.neighbourhoods import AdditiveNeighbourhood, TourNeighbourhood, neighbourhood
from law_ray.kernels.additive import AdditiveHyperparameters, AdditiveKernel
from law_ray.kernels.tour import TourHyperparameters, TourKernel
from law_ray.methods.registry import Model
from law_ray.models.selection import SelectionHyperparameters, fit
from law_ray.typing import Int32Array


def swaps(n_items: int) -> Int32Array:
    """Return the swaps among all moves, in a random order."""
    found = all_moves(n_items)
    return np.random.default_rng(n_items).permutation(found[found[:, 0] == SWAP])


class SwapsAdditiveKernel(AdditiveKernel):
    """The additive kernel, searched by swaps alone."""


class SwapsTourKernel(TourKernel):
    """The tour kernel, searched by swaps alone."""


@neighbourhood.register
def _(kernel: SwapsAdditiveKernel, points: Int32Array) -> AdditiveNeighbourhood:
    return AdditiveNeighbourhood(kernel, points, swaps(points.shape[1]))


@neighbourhood.register
def _(kernel: SwapsTourKernel, points: Int32Array) -> TourNeighbourhood:
    return TourNeighbourhood(kernel, points, swaps(points.shape[1]))


class SwapsHyperparameters(SelectionHyperparameters):
    """Those of law-auto, whose kernels are searched by swaps alone."""

    @property
    def kernel(self) -> Any:
        """The kernel of the selected model."""
        selected = self.selected
        if isinstance(selected, AdditiveHyperparameters):
            return SwapsAdditiveKernel(tuple(selected.components))
        assert isinstance(selected, TourHyperparameters)
        return SwapsTourKernel(np.array(selected.vectors))


def fit_for_swaps(*arguments: Any) -> SwapsHyperparameters:
    """Fit law-auto's model, to be searched by swaps alone."""
    return SwapsHyperparameters(**vars(fit(*arguments)))


SWAPS_MODEL = Model(fit_for_swaps, SwapsHyperparameters.from_record)
