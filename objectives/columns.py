"""From a column of data to a discrete variable: its states, observed, declared or binned, and the code of every row."""

import itertools
import json
import operator
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from law_ray.errors import InputError
from objectives.contingency import IntArray

if TYPE_CHECKING:
    import pandas as pd

Bins = int | str | Mapping[str, int]
States = str | Path | Mapping[str, Iterable[Any]]

_MANY_STATES = 100  # more than these, and more than half as many as rows: a column that numbers the rows
_EXACT = 2.0**53  # floats below it hold every integer
_TOO_LARGE = np.finfo(np.float64).max / 2  # differences of smaller numbers are finite


class Rules(NamedTuple):
    """What `bins` and `states` say: the bins of every continuous column, and the bins or states of columns by name."""

    continuous_bins: int | None
    bins: dict[str, int]
    states: dict[str, tuple[str, ...]]


def read_rules(names: Sequence[str], bins: Bins | None, states: States | None) -> Rules:
    """The rules that two options of `objectives.tables.read_table` set for the columns called `names`."""
    continuous_bins, named_bins = None, {}
    given: Any = _terms("bins", bins, ",") if isinstance(bins, str) and "=" in bins else bins
    if isinstance(given, Mapping):
        named_bins = {str(column): _n_bins(n) for column, n in given.items()}
    elif given is not None:
        continuous_bins = _n_bins(given)
    named_states = {} if states is None else _declared(states)
    for column in named_bins:
        find_column(names, column, "bins")
        if column in named_states:
            raise InputError(f"column {column!r} is named by both bins and states: keep one of the two")
    for column in named_states:
        find_column(names, column, "states")
    return Rules(continuous_bins, named_bins, named_states)


def find_column(names: Sequence[str], column: str, option: str) -> int:
    """The index of a column that an option names; raises InputError when there is none."""
    if column not in names:
        raise InputError(f"{option} names the column {column!r}, which is unknown: choose among {_listed(names)}")
    return names.index(column)


def _listed(names: Sequence[str]) -> str:
    return textwrap.shorten(", ".join(names), 200, placeholder=" ...")


def _terms(option: str, text: str, separator: str) -> dict[str, str]:
    """The values of "column=value" terms; a value may hold further "=", a column may not."""
    terms: dict[str, str] = {}
    for term in text.split(separator):
        column, _, value = (part.strip() for part in term.partition("="))
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
        raise InputError(f"bins={value!r} is no number of bins: choose a whole number of at least 2")
    return n


def _declared(states: States) -> dict[str, tuple[str, ...]]:
    given: Any = states
    if isinstance(states, str | Path) and str(states).endswith(".json"):
        try:
            given = json.loads(Path(states).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(f"states={str(states)!r} cannot be read ({error}): give a JSON file") from error
    elif isinstance(states, str):
        terms = _terms("states", states, ";")
        given = {column: [label.strip() for label in labels.split(",")] for column, labels in terms.items()}
        empty = next((column for column, labels in given.items() if "" in labels), None)
        if empty is not None:
            raise InputError(f"states={states!r} gives column {empty!r} a state without a name: remove its comma")
    if not isinstance(given, Mapping):
        raise InputError(f"states={str(states)!r} is no mapping: map each column to the list of its states")
    declared = {}
    for column, labels in given.items():
        if isinstance(labels, str | set | frozenset) or not isinstance(labels, Iterable):  # a set has no order
            raise InputError(f"the states of column {column!r} are {labels!r}: give a list of them")
        declared[str(column)] = tuple(_text(label) for label in labels)
    return declared


def _text(state: Any) -> str:
    whole = isinstance(state, float | np.floating) and float(state).is_integer()
    return str(int(state) if whole else state)


def read_column(name: str, column: "pd.Series[Any]", rules: Rules) -> tuple[tuple[str, ...], IntArray]:
    """The states of one column and the (rows,) index of every value among them, as `read_table` says."""
    import pandas as pd

    kind = pd.api.types.infer_dtype(column)
    if kind in ("floating", "mixed-integer-float", "decimal"):
        kind, column = _numbers(column)
    missing = column.isna().to_numpy()
    if missing.any():
        raise InputError(
            f"column {name!r} has {missing.sum()} missing value(s), the first in row {missing.argmax() + 1}: "
            "drop those rows, or make missing a state of its own"
        )
    if kind not in ("string", "boolean", "integer", "floating", "categorical"):
        held = f"{kind} values ({column.dtype})"
        raise InputError(f"column {name!r} holds {held}: use strings, integers, booleans or a categorical")
    declared = rules.states.get(name)
    continuous = kind == "floating" and declared is None
    n_bins = rules.bins.get(name, rules.continuous_bins if continuous else None)
    if n_bins is not None:
        return _bin(name, kind, column, n_bins)
    if continuous:
        remedy = f"{name}=5"
        raise InputError(f"column {name!r} is continuous: bin it, with bins={remedy!r} for example")
    if kind == "categorical":
        observed, codes = column.cat.categories, column.cat.codes.to_numpy()
    else:
        codes, observed = pd.factorize(column, sort=True)
    states = tuple(_text(state) for state in observed)
    if declared is not None:
        return declared, _recode(name, codes, states, declared)
    if kind != "categorical" and len(states) > max(_MANY_STATES, len(codes) // 2):
        remedy = f"group its values, or bin it with bins='{name}=5'" if kind == "integer" else "or group its values"
        raise InputError(f"column {name!r} has {len(states)} states in {len(codes)} rows: drop it, {remedy}")
    return states, codes


def _numbers(column: "pd.Series[Any]") -> "tuple[str, pd.Series[Any]]":
    """The kind, integer where all are whole, and the values of a column of floats or decimals.

    Whole floats are most often integers that once had a missing value among them.
    """
    import pandas as pd

    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if (np.abs(values) < _EXACT).all() and (values == np.floor(values)).all():
        return "integer", pd.Series(values.astype(np.int64))
    return "floating", pd.Series(values)


def _bin(name: str, kind: str, column: "pd.Series[Any]", n_bins: int) -> tuple[tuple[str, ...], IntArray]:
    """The intervals between the sample's quantiles that hold a row, and the index of every row's interval."""
    import pandas as pd

    if kind not in ("integer", "floating"):
        raise InputError(f"column {name!r} holds {kind} values, which have no bins: take it out of bins")
    values = column.to_numpy(dtype=np.float64)
    large = np.abs(values) >= _TOO_LARGE
    if large.any():
        row = int(large.argmax())
        raise InputError(f"column {name!r} has the value {values[row]} in row {row + 1}, too large to bin: correct it")
    if n_bins > len(values):
        raise InputError(f"column {name!r} has {len(values)} rows for {n_bins} bins: choose fewer bins")
    bins, edges = pd.qcut(values, n_bins, labels=False, retbins=True, duplicates="drop")
    if len(edges) < 3:
        raise InputError(
            f"column {name!r} falls into one bin of {n_bins}, its values being so often the same: "
            "choose more bins, group its values by hand, or drop it"
        )
    for digits in range(6, 18):  # 17 tell any two floats apart
        texts = [f"{edge:.{digits}g}" for edge in edges + 0.0]  # + 0.0 turns -0.0 into 0.0
        if len(set(texts)) == len(texts):
            break
    intervals = [f"({low}, {high}]" for low, high in itertools.pairwise(texts)]
    intervals[0] = f"[{intervals[0][1:]}"
    filled, codes = np.unique(bins, return_inverse=True)
    return tuple(intervals[k] for k in filled), codes


def _recode(name: str, codes: IntArray, observed: Sequence[str], declared: Sequence[str]) -> IntArray:
    """The codes among the declared states of codes among the observed ones."""
    place = {state: k for k, state in enumerate(declared)}
    recoded = np.array([place.get(state, -1) for state in observed])[codes]
    outside = recoded < 0
    if outside.any():
        row = int(outside.argmax())
        raise InputError(
            f"column {name!r} has the value {observed[codes[row]]!r} in row {row + 1}, outside its declared states "
            f"({_listed(declared)}): declare it too, or correct the row"
        )
    return recoded
