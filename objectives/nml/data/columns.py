"""From a column of data to a discrete variable: its states, observed, declared or binned, and the code of every row."""

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import IntArray
from objectives.nml.data.rules import Rules, listed, state_text

if TYPE_CHECKING:
    import pandas as pd

_MANY_STATES = 100  # heuristic: with more states than this, and than half the rows, a column numbers the rows
_EXACT = 2.0**53  # below it, floats represent every integer
_TOO_LARGE = np.finfo(np.float64).max / 2  # differences between smaller numbers are finite


def read_column(name: str, column: "pd.Series[Any]", rules: Rules) -> tuple[tuple[str, ...], IntArray]:
    """Return the states of one column and the (rows,) index of every value among them.

    The rules are those of `objectives.nml.data.tables.read_table`.

    Raises:
        InputError: in one line that names the column, if it cannot be used as a discrete variable.
    """
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
    states = tuple(state_text(state) for state in observed)
    if declared is not None:
        return declared, _recode(name, codes, states, declared)
    if kind != "categorical" and len(states) > max(_MANY_STATES, len(codes) // 2):
        remedy = f"group its values, or bin it with bins='{name}=5'" if kind == "integer" else "or group its values"
        raise InputError(f"column {name!r} has {len(states)} states in {len(codes)} rows: drop it, {remedy}")
    return states, codes


def _numbers(column: "pd.Series[Any]") -> "tuple[str, pd.Series[Any]]":
    """The kind and the values of a column of floats or decimals: "integer" if all are whole, else "floating".

    Floats that are all whole are usually integers among which there was a missing value once.
    """
    import pandas as pd

    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if (np.abs(values) < _EXACT).all() and (values == np.floor(values)).all():
        return "integer", pd.Series(values.astype(np.int64))
    return "floating", pd.Series(values)


def _bin(name: str, kind: str, column: "pd.Series[Any]", n_bins: int) -> tuple[tuple[str, ...], IntArray]:
    """The intervals between the sample's quantiles that contain a row, and the index of every row's interval."""
    import pandas as pd

    if kind not in ("integer", "floating"):
        raise InputError(f"column {name!r} holds {kind} values, which cannot be binned: take it out of bins")
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
            f"column {name!r} falls into one bin of {n_bins}, because its values are too often the same: "
            "choose more bins, group its values by hand, or drop it"
        )
    for digits in range(6, 18):  # 17 digits distinguish any two floats
        texts = [f"{edge:.{digits}g}" for edge in edges + 0.0]  # + 0.0 turns -0.0 into 0.0
        if len(set(texts)) == len(texts):
            break
    intervals = [f"({low}, {high}]" for low, high in itertools.pairwise(texts)]
    intervals[0] = f"[{intervals[0][1:]}"
    filled, codes = np.unique(bins, return_inverse=True)
    return tuple(intervals[k] for k in filled), codes


def _recode(name: str, codes: IntArray, observed: Sequence[str], declared: Sequence[str]) -> IntArray:
    """Translate codes among the observed states into codes among the declared ones."""
    place = {state: k for k, state in enumerate(declared)}
    recoded = np.array([place.get(state, -1) for state in observed])[codes]
    outside = recoded < 0
    if outside.any():
        row = int(outside.argmax())
        raise InputError(
            f"column {name!r} has the value {observed[codes[row]]!r} in row {row + 1}, outside its declared states "
            f"({listed(declared)}): declare it too, or correct the row"
        )
    return recoded
