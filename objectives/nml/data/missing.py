"""Missing values: which cells are missing, and what becomes of them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal, get_args

from law_ray.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

IfMissing = Literal["refuse", "drop", "state"]
"""Whether a column with missing values is refused, their rows are left out, or missing is a state of its own."""
STATE = "missing"
"""That state."""
TEXTS = ("NA", "N/A", "#N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?")
"""Texts that other programs write for a missing value.

In a text file they are missing where the user says what to do with missing values. Else they are states like any other,
since NA may stand for Namibia, and a warning names them.
"""
REMEDY = "leave such rows out with missing=drop, or make it a state of its own with missing=state"


def check(missing: str) -> None:
    """Refuse an unknown value of the option."""
    if missing not in get_args(IfMissing):
        raise InputError(f"missing={missing!r} is unknown: choose {', '.join(get_args(IfMissing))}")


def without(frame: "pd.DataFrame", places: Sequence[int]) -> "pd.DataFrame":
    """Return the rows of a frame that have values in all columns at these places.

    Raises:
        InputError: No row has.
    """
    complete = frame.iloc[:, list(places)].notna().all(axis=1)
    if not complete.any():
        raise InputError(
            "every row has a missing value, so missing=drop leaves none: drop columns, or use missing=state"
        )
    return frame if complete.all() else frame[complete.to_numpy()].reset_index(drop=True)


def look_missing(table: str, states: Mapping[str, Sequence[str]]) -> str:
    """Return a line about the columns with a state that reads like a missing value; empty if there is none."""
    found = {column: [state for state in own if state in TEXTS] for column, own in states.items()}
    named = ", ".join(f"{own[0]!r} in {column!r}" for column, own in found.items() if own)
    return f"{table} has states that read like missing values, {named}: {REMEDY}" if named else ""
