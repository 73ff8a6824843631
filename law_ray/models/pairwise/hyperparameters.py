"""The hyperparameters of law-auto's model: those of its process, and the chains of the pairwise model beside it.

`fit_pairwise` fits them. What follows from the prediction errors is decided here: whether the pairwise model leads, and
which of its chains are used.
"""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from law_ray.models.pairwise.chain import Chain
from law_ray.models.pairwise.ensemble import Ensemble
from law_ray.models.pairwise.templates import Template
from law_ray.models.selection import OfSelected, SelectionHyperparameters
from law_ray.typing import BoolArray

MAX_ERROR_RATIO = 1.5
"""Chains whose mean square prediction error is larger than this many times the least are left out.

Of 1.25, 1.5 and 2, 1.25 was best on tho30 and 2 on nug22, by three runs each.
"""


@dataclass(frozen=True)
class PairwiseHyperparameters(OfSelected):
    """The hyperparameters of law-auto's process, and the chains of the pairwise model beside it.

    The process has those of the selected kernel.
    """

    selection: SelectionHyperparameters
    chains: tuple[Chain, ...]
    """empty where the pairwise model is not used (`fit_pairwise.SIZES`)"""
    prediction_errors: tuple[float, ...]
    """recent mean square errors of the process and of the pairwise model, relative to their mean; 0 before any"""
    chain_errors: tuple[float, ...]
    """the same of each chain alone"""
    n: int
    """the number of values that they were fitted to"""
    ensemble: Ensemble | None = field(default=None, compare=False)
    """the draws of this fit; None if no chain made sweeps, and in what was read from a journal"""

    @property
    def advantage(self) -> float:
        """How many times smaller the pairwise model's mean square prediction error is; 0 before there are any."""
        process, pairs = self.prediction_errors
        return process / max(pairs, 1e-12) if process else 0.0

    @property
    def leads(self) -> bool:
        """Whether the pairwise model predicts better.

        Of 0.7, 1.0 and 1.33 as the least advantage, tried with single runs on nug22, tho30 and kra30a, 1 was best.
        """
        return self.advantage > 1.0

    @property
    def used(self) -> BoolArray:
        """Which chains (n_chains,) predict well enough to be used."""
        errors = np.array(self.chain_errors)
        used: BoolArray = errors <= MAX_ERROR_RATIO * errors.min(initial=np.inf)
        return used

    @property
    def template(self) -> Template | None:
        """The matrix that the best chain takes for known; None unless all used chains take one for known."""
        used = [chain for chain, is_used in zip(self.chains, self.used, strict=True) if is_used]
        if not used or not all(chain.kind.knows_places for chain in used):
            return None
        return self.chains[int(np.argmin(self.chain_errors))].known

    @property
    def selected(self) -> SelectionHyperparameters:
        """The hyperparameters of the process."""
        return self.selection

    def to_record(self) -> dict[str, Any]:
        """Return them as a journal stores them: the chains take up to 5 kB each for 30 items, 55 kB for 100."""
        pairwise = {
            "chains": [chain.to_record() for chain in self.chains],
            "prediction_errors": list(self.prediction_errors),
            "chain_errors": list(self.chain_errors),
            "n": self.n,
        }
        return {**self.selection.to_record(), "pairwise": pairwise}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Return what `to_record` stored. A journal of an older version has no chains: the next fit starts them."""
        selected = SelectionHyperparameters.from_record(record)
        stored = record.get("pairwise", {})
        chains = tuple(Chain.from_record(chain) for chain in stored.get("chains", []))
        errors = tuple(stored.get("prediction_errors", (0.0, 0.0)))
        chain_errors = tuple(stored.get("chain_errors", len(chains) * [0.0]))
        return cls(selected, chains, errors, chain_errors, stored.get("n", selected.n))
