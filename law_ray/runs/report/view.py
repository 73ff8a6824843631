"""A run as the sections of its page read it: names, values, and the records of the journal in order."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from law_ray.runs.objective import BlackBox
from law_ray.runs.records import AskRecord, Record
from law_ray.runs.run import Run
from law_ray.trial import INITIAL, Trial
from law_ray.typing import FloatArray, IntArray

SHORT = 40
"""Characters of an item's name on an axis."""
BEST_SHARE, LEAST_BEST = 0.05, 5
"""The best evaluations are this share of all, but at least this many (heuristic)."""


@dataclass(frozen=True)
class View:
    """A run, and its objective if that could be loaded."""

    run: Run
    objective: BlackBox | None
    names: tuple[str, ...]
    """(n_items,) names of the items, their numbers where they have none"""
    named: bool

    @classmethod
    def of(cls, run: Run, objective: BlackBox | None = None) -> Self:
        """Return the view. The names are those of the objective, or else of the journal."""
        names = run.item_names if objective is None else objective.item_names
        numbers = tuple(map(str, range(run.settings.n_items)))
        return cls(run, objective, numbers if names is None else tuple(map(str, names)), names is not None)

    @property
    def short_names(self) -> list[str]:
        """The names as axes show them."""
        return [shortened(name) for name in self.names]

    @cached_property
    def told(self) -> list[Trial]:
        """The trials with a value, by id."""
        return [trial for trial in self.run.optimizer.trials if trial.state in ("told", "added")]

    @cached_property
    def failed(self) -> list[Trial]:
        """The trials that failed, by id."""
        return [trial for trial in self.run.optimizer.trials if trial.state == "failed"]

    @property
    def unit(self) -> str:
        """What the values are, as the axes say it: the objective's `unit` where it has one."""
        unit = getattr(None if self.objective is None else self.objective.objective, "unit", None)
        return "value" if unit is None else f"value ({unit})"

    @property
    def sign(self) -> float:
        """1 for a minimisation, -1 for a maximisation: the model minimises sign * value."""
        return -1.0 if self.run.settings.maximize else 1.0

    @cached_property
    def values(self) -> FloatArray:
        """(n,) the values of `told`."""
        return np.array([trial.value for trial in self.told])

    @cached_property
    def standard_errors(self) -> FloatArray:
        """(n,) their standard errors, 0 where unknown."""
        return np.array([trial.standard_error for trial in self.told])

    @cached_property
    def permutations(self) -> IntArray:
        """(n, n_items) the orderings of `told`."""
        return np.array([trial.permutation for trial in self.told]).reshape(-1, self.run.settings.n_items)

    @cached_property
    def drawing(self) -> dict[str, Any]:
        """What the objective draws of the best ordering; empty without one, or where the objective is not at hand."""
        return {} if self.objective is None or not self.told else self.objective.drawing(self.run.best)

    @cached_property
    def closed(self) -> bool:
        """Whether orderings are closed tours, which have no first item: as the objective draws them."""
        return bool(self.drawing.get("kind") == "tour")

    @cached_property
    def aligned(self) -> IntArray:
        """(n, n_items) the orderings as they compare to the best one.

        Closed tours begin with the item that it begins with, in the direction that has more successors of items in
        common with it if both directions are the same tour.
        """
        if not self.closed:
            return self.permutations
        assert self.objective is not None
        best, key = self.run.best.permutation, self.objective.key
        firsts = np.argmax(self.permutations == best[0], axis=1)
        turned = np.stack([np.roll(tour, -first) for tour, first in zip(self.permutations, firsts, strict=True)])
        back = np.roll(turned[:, ::-1], 1, axis=1)
        if key is None or key(best) != key(np.roll(best[::-1], 1)):
            return turned
        next_of_best = _successors(best[None])
        common, common_back = ((_successors(tours) == next_of_best).sum(axis=1) for tours in (turned, back))
        return np.where((common_back > common)[:, None], back, turned)

    @cached_property
    def ranking(self) -> IntArray:
        """(n,) indices into `told`, the best first."""
        return np.argsort(self.sign * self.values, kind="stable")

    @cached_property
    def elite(self) -> IntArray:
        """Indices into `told` of the best BEST_SHARE, at least LEAST_BEST of them."""
        return self.ranking[: max(LEAST_BEST, round(BEST_SHARE * len(self.told)))]

    @cached_property
    def n_given(self) -> int:
        """How many orderings the initial design began with, given by the user or suggested by the objective."""
        return len(self.run.optimizer.start)

    def is_given(self, trial: Trial) -> bool:
        """Return whether the initial design began with a trial."""
        return trial.round == INITIAL and trial.id < self.n_given

    @property
    def records(self) -> list[Record]:
        """All records of the journal after the first."""
        return self.run.records[1:]

    @cached_property
    def asks(self) -> list[AskRecord]:
        """The records of the asks, in order."""
        return [record for record in self.records if record["type"] == "ask"]


def _successors(tours: IntArray) -> IntArray:
    """Return the item (m, n_items) that follows each item on closed tours (m, n_items)."""
    following = np.empty_like(tours)
    np.put_along_axis(following, tours, np.roll(tours, -1, axis=1), axis=1)
    return following


def shortened(name: str, length: int = SHORT) -> str:
    """Return a name in one line and at most this many characters."""
    line = " ".join(name.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"


def number(value: float, digits: int = 6) -> str:
    """Return a number as the page shows it."""
    return f"{value:.{digits}g}"
