"""A trial: one permutation, and its outcome once it is known."""

import dataclasses
import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

from law_ray.errors import InputError
from law_ray.typing import IntArray
from law_ray.utils.showing import Facts, as_html, ordering, with_error

INITIAL, ADDED = 0, -1
"""The rounds of trials that no method chose: the initial design, and values that were known before."""


@dataclass(frozen=True, eq=False)
class Trial:
    """One permutation and its outcome so far: a snapshot, which later tells do not change."""

    id: int
    round: int
    """t; 0 in the initial design, -1 for a value that was known before"""
    permutation: IntArray
    """(n_items,), read-only"""
    state: str = "pending"
    """"pending", and then "told" or "failed"; or "added" from the start"""
    value: float = math.nan
    standard_error: float = 0.0
    """of the value, 0 where unknown"""
    seconds: float = math.nan
    """that the evaluation took"""
    reason: str = ""
    """why it failed"""

    def __post_init__(self) -> None:
        self.permutation.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # a pickle does not keep the flag

    def __repr__(self) -> str:
        outcome = f"{self.state} {with_error(self.value, self.standard_error)}" if self.known else self.state
        return f"<Trial {self.id} of {self._origin}, {outcome}: {ordering(self.permutation)}>"

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        facts: Facts = [
            ("chosen in", self._origin),
            ("state", f"{self.state}: {self.reason}" if self.reason else self.state),
            *([("value", with_error(self.value, self.standard_error))] if self.known else []),
            ("ordering", ordering(self.permutation)),
        ]
        return as_html(f"trial {self.id}", facts)

    @property
    def _origin(self) -> str:
        return {INITIAL: "the initial design", ADDED: "what was known"}.get(self.round, f"round {self.round}")

    @property
    def known(self) -> bool:
        """Whether it has a value."""
        return self.state in ("told", "added")

    def told(self, value: float, standard_error: float | None, seconds: float) -> "Trial":
        """Return the trial with its value.

        Raises:
            InputError: The value is not finite, or the standard error is not finite or negative.
        """
        error = checked_error(f"the standard error of trial {self.id}", standard_error)
        value = finite(f"the value of trial {self.id}", value)
        return dataclasses.replace(self, state="told", value=value, standard_error=error, seconds=seconds)

    def failed(self, reason: str, seconds: float) -> "Trial":
        """Return the trial as failed."""
        return dataclasses.replace(self, state="failed", reason=reason, seconds=seconds)


def finite(what: str, number: float) -> float:
    """Return a real number of any type as a float.

    Raises:
        InputError: It is not a finite real number. The message names it as `what`.
    """
    try:
        if isinstance(number, Real) and math.isfinite(number):
            return float(number)
    except OverflowError:  # an integer beyond the floats
        pass
    raise InputError(f"{what} is {number!r}: give a finite number")


def checked_error(what: str, standard_error: float | None) -> float:
    """Return a standard error as a float, 0 for None.

    Raises:
        InputError: It is negative or not a finite real number. The message names it as `what`.
    """
    error = finite(what, 0.0 if standard_error is None else standard_error)
    if error < 0:
        raise InputError(f"{what} is {error}: give at least 0")
    return error
