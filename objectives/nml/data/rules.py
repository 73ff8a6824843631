"""What the options `bins` and `states` say about the columns of a table."""

import json
import operator
import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from law_ray.errors import InputError
from objectives.nml.data import quoting
from objectives.nml.data.missing import IfMissing

Bins = int | str | Mapping[str, int]
States = str | Path | Mapping[str, Iterable[Any]]
Columns = str | Iterable[Any]


class Rules(NamedTuple):
    """How to read columns: the number of bins of continuous columns, and the bins or states of columns by name.

    `decimal` is the decimal mark of texts, `missing` what becomes of missing values.
    """

    continuous_bins: int | None
    bins: dict[str, int]
    states: dict[str, tuple[str, ...]]
    decimal: str
    missing: IfMissing


def read_rules(
    names: Sequence[str],
    bins: Bins | None,
    declared: dict[str, tuple[str, ...]],
    decimal: str | None = None,
    missing: IfMissing = "refuse",
) -> Rules:
    """Return the rules that four options of `objectives.nml.data.tables.read_table` set for the columns `names`.

    `declared` is what `declared_states` returns.

    Raises:
        InputError: in one line, if an option is malformed or names an unknown column, or both name the same column.
    """
    continuous_bins, named_bins = None, {}
    given: Any = _terms("bins", bins, ",") if isinstance(bins, str) and "=" in bins else bins
    if isinstance(given, Mapping):
        named_bins = {str(column): _n_bins(n) for column, n in given.items()}
    elif given is not None:
        continuous_bins = _n_bins(given)
    for column in named_bins:
        find_column(names, column, "bins")
        if column in declared:
            raise InputError(f"column {column!r} is named by both bins and states: keep one of the two")
    for column in declared:
        find_column(names, column, "states")
    return Rules(continuous_bins, named_bins, declared, decimal or ".", missing)


def kept_columns(names: Sequence[str], columns: Columns | None, drop: Columns | None) -> list[int]:
    """Return the indices, ascending, of the columns that two options of `read_table` leave.

    Raises:
        InputError: if both are given, or one is not a list or names an unknown column.
    """
    if columns is not None and drop is not None:
        raise InputError("columns and drop are both given: keep one of the two")
    option, given = ("drop", drop) if columns is None else ("columns", columns)
    if given is None:
        return list(range(len(names)))
    if not isinstance(given, Iterable):
        raise InputError(f"{option}={given!r} is not a list of columns: give their names")
    chosen = quoting.names(given, ",") if isinstance(given, str) else [str(each) for each in given]
    for column in chosen:
        find_column(names, column, option)
    return [i for i, name in enumerate(names) if (name in chosen) == (option == "columns")]


def find_column(names: Sequence[str], column: str, option: str) -> int:
    """Return the index of a column that an option names.

    Raises:
        InputError: if there is no such column.
    """
    if column not in names:
        alike = [name for name in names if unicodedata.normalize("NFC", name) == unicodedata.normalize("NFC", column)]
        if alike:
            raise InputError(
                f"{option} names the column {column!r} with other Unicode characters than the table: copy it"
            )
        raise InputError(f"{option} names the column {column!r}, which is unknown: choose among {listed(names)}")
    return names.index(column)


def listed(names: Sequence[str]) -> str:
    """Return the names for an error message, shortened to one line."""
    return textwrap.shorten(", ".join(names), 200, placeholder=" ...")


def state_text(state: Any) -> str:
    """Return the text of a state, a whole number without its ".0"."""
    whole = isinstance(state, float | np.floating) and float(state).is_integer()
    return str(int(state) if whole else state)


def _terms(option: str, text: str, separator: str) -> dict[str, str]:
    """The values of "column=value" terms; a value may contain further "=", a column may not."""
    terms: dict[str, str] = {}
    for term in quoting.split(text, separator):
        column, value = (*quoting.split(term, "=", most=2), "")[:2]
        column = quoting.unquote(column)
        if not column or not value:
            example = {"bins": "age=5,income=3", "states": "smoker=no,yes;grade=a,b,c"}[option]
            raise InputError(f"{option}={text!r} is malformed at {term!r}: write it like {example!r}")
        if column in terms:
            raise InputError(f"{option} names the column {column!r} twice: name it once")
        terms[column] = value
    return terms


def _n_bins(value: Any) -> int:
    try:
        n = operator.index(int(value) if isinstance(value, str) else value)
    except (TypeError, ValueError):
        n = 0
    if n < 2:
        raise InputError(f"bins={value!r} is not a number of bins: choose a whole number of at least 2")
    return n


def declared_states(states: States | None) -> dict[str, tuple[str, ...]]:
    """Return the declared states of columns, from a mapping, a text or a JSON file."""
    if states is None:
        return {}
    given: Any = states
    if isinstance(states, str | Path) and str(states).endswith(".json"):
        try:
            given = json.loads(Path(states).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"states={str(states)!r} cannot be read ({error}): give a JSON file") from error
    elif isinstance(states, str):
        terms = _terms("states", states, ";")
        given = {column: quoting.names(labels, ",") for column, labels in terms.items()}
        empty = next((column for column, labels in given.items() if "" in labels), None)
        if empty is not None:
            raise InputError(f"states={states!r} gives column {empty!r} a state without a name: remove its comma")
    if not isinstance(given, Mapping):
        raise InputError(f"states={str(states)!r} is not a mapping: map each column to the list of its states")
    declared = {}
    for column, labels in given.items():
        if isinstance(labels, str | set | frozenset) or not isinstance(labels, Iterable):  # a set has no order
            raise InputError(f"the states of column {column!r} are {labels!r}: give a list of them")
        declared[str(column)] = tuple(state_text(label) for label in labels)
    return declared
