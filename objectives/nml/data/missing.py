"""Missing values: which cells are missing, and what becomes of them."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, get_args

from law_ray.errors import InputError
from objectives.nml.data.quoting import quote

if TYPE_CHECKING:
    import pandas as pd

IfMissing = Literal["refuse", "drop", "state"]
"""Whether a column with missing values is refused, their rows are left out, or missing is a state of its own."""
STATE = "missing"
"""That state."""
TEXTS = ("NA", "N/A", "#N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "?")
"""Texts that other programs write for a missing value.

They are missing where the user says what to do with missing values. Else they are refused among numbers, and states
like any other among texts, since NA may stand for Namibia, with a warning that names them.
"""
REMEDY = "leave such rows out with missing=drop, or make missing a state of its own with missing=state"


def check_missing(missing: str) -> None:
    """Refuse an unknown value of the option."""
    if missing not in get_args(IfMissing):
        raise InputError(f"missing={missing!r} is unknown: choose {', '.join(get_args(IfMissing))}")


def recognised(column: "pd.Series[Any]", decimal: str = ".", declared: Sequence[str] = ()) -> "pd.Series[Any]":
    """Return a column in which TEXTS are missing values, and what is left is numbers if all of it reads so.

    Args:
        column: The column.
        decimal: The decimal mark of its texts.
        declared: The states that the user declared. They are not missing, and no cell is read as a number then.
    """
    import pandas as pd

    missing = set(TEXTS).difference(declared)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column.cat.remove_categories([each for each in column.cat.categories if each in missing])
    if pd.api.types.infer_dtype(column) != "string":
        return column
    texts = column.str.strip()
    masked = texts.mask(texts.isin(missing))
    if declared:
        return masked
    if masked.isna().sum() == column.isna().sum():
        return column
    zeros = masked.str.match(r"[-+]?0\d").fillna(False)  # as 007, which is no number
    numbers = pd.to_numeric(masked.str.replace(decimal, ".", regex=False), errors="coerce")
    return masked if zeros.any() or numbers.isna().sum() > masked.isna().sum() else numbers


def without_missing(columns: "Mapping[str, pd.Series[Any]]") -> "dict[str, pd.Series[Any]]":
    """Return the columns without the rows in which one of them is missing.

    Raises:
        InputError: No row is left.
    """
    import pandas as pd

    frame = pd.DataFrame({number: column.notna() for number, column in enumerate(columns.values())})
    complete = frame.all(axis=1).to_numpy()
    if not complete.any():
        empty = [name for name, has_value in zip(columns, frame.any(), strict=True) if not has_value]
        if empty:
            dropped = ",".join(map(quote, empty))
            raise InputError(f"column {empty[0]!r} has no value, so missing=drop leaves no row: use drop={dropped!r}")
        raise InputError("every row has a missing value: drop columns, or use missing=state in place of missing=drop")
    return dict(columns) if complete.all() else {name: column[complete] for name, column in columns.items()}


def look_missing(table: str, states: Mapping[str, Sequence[str]]) -> str:
    """Return a line about the columns with a state that reads like a missing value; empty if there is none."""
    found = {column: [state for state in own if state in TEXTS] for column, own in states.items()}
    named = ", ".join(f"{own[0]!r} in {column!r}" for column, own in found.items() if own)
    return f"{table} has states that read like missing values, {named}: {REMEDY}" if named else ""
