"""The ledger of an optimisation: its trials by id, which of them are pending, and when each value became known."""

from collections.abc import Iterator
from numbers import Integral
from typing import TYPE_CHECKING, Any

from law_ray.errors import InputError
from law_ray.trial import Trial
from law_ray.typing import IntArray

if TYPE_CHECKING:
    import pandas as pd


class Ledger:
    """The trials by id, from 0."""

    def __init__(self) -> None:
        self._trials: list[Trial] = []  # by id
        self._pending_ids: set[int] = set()
        self._known_since: dict[int, int] = {}  # how many trials there were at the ask that first knew these, by id

    def __len__(self) -> int:
        return len(self._trials)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self._trials)

    def enter(
        self, round: int, permutation: IntArray, value: float | None = None, standard_error: float = 0.0
    ) -> Trial:
        """Enter a trial with the next id: pending, or added if it has a value already."""
        number = len(self._trials)
        if value is None:
            trial = Trial(number, round, permutation)
            self._pending_ids.add(number)
        else:
            trial = Trial(number, round, permutation, "added", value, standard_error)
        self._trials.append(trial)
        return trial

    def end(self, trial: Trial) -> None:
        """Put a trial that was told or failed in the place of the pending one."""
        self._trials[trial.id] = trial
        self._pending_ids.remove(trial.id)

    @property
    def pending(self) -> list[Trial]:
        """The trials that have not ended, by id."""
        return [self._trials[i] for i in sorted(self._pending_ids)]

    def pending_trial(self, trial_id: int) -> Trial:
        """Return the trial with this id. Raises InputError if there is none, or it has ended."""
        if not isinstance(trial_id, Integral) or not 0 <= trial_id < len(self._trials):
            raise InputError(f"there is no trial {trial_id!r}: tell or fail an id that ask returned")
        trial = self._trials[int(trial_id)]
        if trial.state != "pending":
            raise InputError(f"trial {trial_id} is {trial.state} already: tell or fail each trial once")
        return trial

    @property
    def known(self) -> list[Trial]:
        """The trials with a value: those that an earlier ask knew before the others, as `BatchContext` says."""
        new = [trial.id for trial in self._trials if trial.known and trial.id not in self._known_since]
        return [self._trials[i] for i in (*self._known_since, *new)]

    def note_ask(self) -> None:
        """Note that an ask knows all values that are known now. Call it before its trials are entered."""
        for trial in self.known:
            self._known_since.setdefault(trial.id, len(self._trials))

    def known_since(self, trial_id: int) -> int | None:
        """Return how many trials there were when an ask first knew the value of this one; None before that."""
        return self._known_since.get(trial_id)

    def best(self, maximize: bool) -> Trial:
        """Return the trial with the best value, the earliest among equals. Raises InputError if no value is known."""
        known = [trial for trial in self._trials if trial.known]
        if not known:
            raise InputError("there is no best trial: no value was told yet")
        return (max if maximize else min)(known, key=lambda trial: trial.value)

    def to_frame(self) -> "pd.DataFrame":
        """Return a row for each trial, by id, with the columns of `Optimizer.history`."""
        import pandas as pd  # 0.4 s, and workers import this package

        names = ("id", "round", "permutation", "value", "state", "seconds", "standard_error")
        columns: dict[str, list[Any]] = {name: [getattr(t, name) for t in self._trials] for name in names}
        columns["permutation"] = [tuple(permutation.tolist()) for permutation in columns["permutation"]]
        types = ("int64", "int64", "object", "float64", "str", "float64", "float64")
        return pd.DataFrame(columns).astype(dict(zip(names, types, strict=True)))  # the same without trials
