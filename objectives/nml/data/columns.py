"""From a column of data to a discrete variable: its states, observed, declared or binned, and the code of every row."""

import itertools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import FloatArray, IntArray
from objectives.nml.data.missing import REMEDY, STATE, recognised
from objectives.nml.data.quoting import quote
from objectives.nml.data.rules import Rules, listed, state_text

if TYPE_CHECKING:
    import pandas as pd

_DECIMAL_COMMA = re.compile(r"[-+]?\d+(,\d+)?")
_NUMBERS = ("floating", "mixed-integer-float", "decimal")  # what pandas infers of columns that hold not only integers
_MANY_STATES = 100  # heuristic: with more states than this, and than half the rows, a column numbers the rows
_SOME_STATES, _FEW_ROWS = 20, 10  # heuristic: more states than that, with fewer rows each, are worth a warning
_EXACT = 2.0**53  # below it, floats represent every integer
_TOO_LARGE = np.finfo(np.float64).max / 2  # differences between smaller numbers are finite


class ColumnError(InputError):
    """A column that cannot be used as a discrete variable.

    Args:
        column: its name.
        problem: what is wrong with it, after its name: "is continuous".
        remedy: what the user can do.
        options: those that mend it in any case, of "missing", "bins" and "drop".
    """

    def __init__(self, column: str, problem: str, remedy: str, *options: str) -> None:
        super().__init__(f"column {column!r} {problem}: {remedy}")
        self.column = column
        self.problem = problem
        self.remedy = remedy
        self.options = options


def all_bad(table: str, bad: Sequence[ColumnError]) -> InputError:
    """Return one error, in one line, that names all columns of a table that cannot be used, and what mends them."""
    if len(bad) == 1:
        return bad[0]
    by_problem: dict[str, list[ColumnError]] = {}
    for each in bad:
        by_problem.setdefault(each.problem, []).append(each)
    problems = "; ".join(_together(columns) for columns in by_problem.values())
    binned = [each.column for each in bad if "bins" in each.options]
    dropped = ",".join(quote(each.column) for each in bad if "drop" in each.options)
    options = ["missing='drop'"] * any("missing" in each.options for each in bad)
    options += [_five_bins(*binned)] * bool(binned)
    options += [f"drop={dropped!r}"] * bool(dropped)
    remedy = f": set {' and '.join(options)}, for example" if options else ""
    return InputError(f"{len(bad)} columns of {table} cannot be used: {problems}{remedy}")


def _five_bins(*names: str) -> str:
    """Return the option that divides columns into five bins each, as an example."""
    return f"bins={','.join(f'{quote(name)}=5' for name in names)!r}"


def _together(columns: Sequence[ColumnError]) -> str:
    """Say what is wrong with columns that have the same problem, and the remedy where no option mends it."""
    verb, rest = columns[0].problem.split(" ", 1)
    if len(columns) > 1:
        verb = {"is": "are", "has": "have", "holds": "hold", "falls": "fall"}[verb]
    remedy = "" if columns[0].options else f" ({columns[0].remedy})"
    return f"{', '.join(repr(each.column) for each in columns)} {verb} {rest}{remedy}"


def thinly_filled(table: str, states: Mapping[str, Sequence[str]], columns: "Mapping[str, pd.Series[Any]]") -> str:
    """Return a line about the columns that have more than 20 states and fewer than 10 rows for each; empty if none.

    A score like NML charges a family for every state, so such a column has edges only where they explain very much.

    Args:
        table: The name of the table.
        states: The states by column, of those columns whose states the user did not choose.
        columns: The values (rows,) of these columns, and of others.
    """
    thin = {name: own for name, own in states.items() if len(own) > max(_SOME_STATES, len(columns[name]) // _FEW_ROWS)}
    if not thin:
        return ""
    numbers = [name for name in thin if numbers_of(columns[name]) is not None]
    remedies = [f"use {_five_bins(*numbers)}"] * bool(numbers)
    remedies += ["group their values"] * (len(thin) > len(numbers))
    counts = ", ".join(f"{name!r} with {len(own)} states" for name, own in thin.items())
    return (
        f"columns of {table} have fewer than {_FEW_ROWS} rows for each state: {counts}; the score charges for every "
        f"state, so they get few edges: {' and '.join(remedies)}"
    )


def check_states(name: str, states: Sequence[str]) -> None:
    """Refuse the states of a column unless there are at least two, all different.

    Raises:
        ColumnError: they are not.
    """
    if len(states) < 2:
        raise ColumnError(name, "has one state only", "drop it, or declare its other states", "drop")
    duplicate = first_duplicate(states)
    if duplicate is not None:
        raise ColumnError(name, f"has two states that both read {duplicate!r}", "rename one of them")


def first_duplicate(values: Iterable[str]) -> str | None:
    """Return the first value that came before, if there is one."""
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def read_column(name: str, column: "pd.Series[Any]", rules: Rules) -> tuple[tuple[str, ...], IntArray]:
    """Return the states of one column and the (rows,) index of every value among them.

    The rules are those of `objectives.nml.data.tables.read_table`.

    Raises:
        ColumnError: in one line that names the column, if it cannot be used as a discrete variable.
    """
    missing = column.isna().to_numpy()
    if missing.all():
        raise ColumnError(name, "has no value", "drop it", "drop")
    if rules.missing != "state" or not missing.any():
        states, codes = _read(name, column, rules)
    else:
        states, some = _read(name, column[~missing], rules)
        states = states if STATE in states else (*states, STATE)
        codes = np.full(len(column), states.index(STATE))
        codes[~missing] = some
    check_states(name, states)
    return states, codes


def numbers_of(column: "pd.Series[Any]") -> FloatArray | None:
    """Return the (rows,) numbers of a column, which its bins divide, 0 for missing ones; None if it has others."""
    import pandas as pd

    if pd.api.types.infer_dtype(column) not in ("integer", *_NUMBERS):
        return None
    return np.nan_to_num(column.to_numpy(dtype=np.float64, na_value=np.nan))


def _read(name: str, column: "pd.Series[Any]", rules: Rules) -> tuple[tuple[str, ...], IntArray]:
    import pandas as pd

    kind = pd.api.types.infer_dtype(column)
    if kind in _NUMBERS:
        kind, column = _numbers(column)
    missing = column.isna().to_numpy()
    if missing.any():
        continuous = kind in _NUMBERS and _numbers(column[~missing])[0] == "floating"
        unbinned = continuous and not (name in rules.states or name in rules.bins or rules.continuous_bins)
        problem = f"has {missing.sum()} missing value(s), the first in row {column.index[missing.argmax()] + 1}"
        options = ["missing", "bins"] if unbinned else ["missing"]
        more = f"; it is continuous, so bin it too, with {_five_bins(name)} for example" if unbinned else ""
        raise ColumnError(name, problem, f"{REMEDY}, or drop the column{more}", *options)
    if kind not in ("string", "boolean", "integer", "floating", "categorical"):
        problem = f"holds {kind} values ({column.dtype})"
        raise ColumnError(name, problem, "use strings, integers, booleans or a categorical", "drop")
    declared = rules.states.get(name)
    if kind == "string" and declared is None:
        _check_texts(name, column, rules.decimal)
    continuous = kind == "floating" and declared is None
    n_bins = rules.bins.get(name, rules.continuous_bins if continuous else None)
    if n_bins is not None:
        return _bin(name, kind, column, n_bins)
    if continuous:
        raise ColumnError(name, "is continuous", f"bin it, with {_five_bins(name)} for example", "bins")
    if kind == "categorical":
        observed, codes = column.cat.categories, column.cat.codes.to_numpy()
    else:
        codes, observed = pd.factorize(column, sort=True)
        observed = observed.to_numpy() if kind == "floating" else observed  # an index would yield float32 as float64
    states = tuple(state_text(state) for state in observed)
    if declared is not None:
        return declared, _recode(name, column.index, codes, _as_declared(states, declared, rules.decimal), declared)
    if kind == "string" and any("," in state for state in states) and all(map(_DECIMAL_COMMA.fullmatch, states)):
        remedy = "give decimal=, for a text file, or convert them, or declare its states"
        raise ColumnError(name, "holds numbers with decimal commas", remedy)
    if kind != "categorical" and len(states) > max(_MANY_STATES, len(codes) // 2):
        integer = kind == "integer"
        remedy = f"group its values, or bin it with {_five_bins(name)}" if integer else "or group its values"
        problem = f"has {len(states)} states in {len(codes)} rows"
        raise ColumnError(name, problem, f"drop it, {remedy}", "drop")
    return states, codes


def _check_texts(name: str, column: "pd.Series[Any]", decimal: str) -> None:
    """Refuse numbers among which there are texts that read like missing values."""
    found = recognised(column, decimal)
    missing = found.isna().to_numpy()
    if missing.any() and not missing.all() and found.dtype.kind in "iuf":
        row = int(missing.argmax())
        problem = f"has {missing.sum()} cell(s) like {column.iloc[row]!r} in row {row + 1} among its numbers"
        raise ColumnError(name, problem, f"{REMEDY}, if these are missing values", "missing")


def _numbers(column: "pd.Series[Any]") -> "tuple[str, pd.Series[Any]]":
    """The kind and the values of a column of floats or decimals: "integer" if all are whole, else "floating".

    Floats that are all whole are usually integers among which there was a missing value once. Those of single precision
    stay such, for their texts: as a double, 0.1 would read 0.10000000149011612.
    """
    import pandas as pd

    values = column.to_numpy(dtype=np.float64, na_value=np.nan)
    if (np.abs(values) < _EXACT).all() and (values == np.floor(values)).all():
        return "integer", pd.Series(values.astype(np.int64), column.index)
    own = getattr(column.dtype, "numpy_dtype", column.dtype)
    return "floating", pd.Series(values.astype(np.float32) if own == np.float32 else values, column.index)


def _bin(name: str, kind: str, column: "pd.Series[Any]", n_bins: int) -> tuple[tuple[str, ...], IntArray]:
    """The intervals between the sample's quantiles that contain a row, and the index of every row's interval."""
    import pandas as pd

    if kind not in ("integer", "floating"):
        raise ColumnError(name, f"holds {kind} values, which cannot be binned", "take it out of bins")
    values = column.to_numpy(dtype=np.float64)
    large = np.abs(values) >= _TOO_LARGE
    if large.any():
        row = int(large.argmax())
        where = f"in row {column.index[row] + 1}"
        raise ColumnError(name, f"has the value {values[row]} {where}, too large to bin", "correct it")
    if n_bins > len(values):
        raise ColumnError(name, f"has {len(values)} rows for {n_bins} bins", "choose fewer bins")
    bins, edges = pd.qcut(values, n_bins, labels=False, retbins=True, duplicates="drop")
    if len(edges) < 3:
        raise ColumnError(
            name,
            f"falls into one bin of {n_bins}, because too many of its values are equal",
            "choose more bins, group its values by hand, or drop it",
        )
    for digits in range(6, 18):  # 17 digits distinguish any two floats
        texts = [f"{edge:.{digits}g}" for edge in edges + 0.0]  # + 0.0 turns -0.0 into 0.0
        if len(set(texts)) == len(texts):
            break
    intervals = [f"({low}, {high}]" for low, high in itertools.pairwise(texts)]
    intervals[0] = f"[{intervals[0][1:]}"
    filled, codes = np.unique(bins, return_inverse=True)
    return tuple(intervals[k] for k in filled), codes


def _as_declared(observed: Sequence[str], declared: Sequence[str], decimal: str) -> Sequence[str]:
    """Return the states as they are if all are declared, or else as the numbers and booleans that they stand for."""
    if set(observed) <= set(declared):
        return observed
    return [state if state in declared else _plain(state, decimal) for state in observed]


def _plain(text: str, decimal: str) -> str:
    """Return the text of a number, with a point and without what does not change it, or True or False for a boolean."""
    if text.lower() in ("true", "false"):
        return text.capitalize()
    if "_" in text:  # to Python alone 1_0 is 10
        return text
    try:
        return state_text(float(text.replace(decimal, ".")))
    except ValueError:
        return text


def _recode(
    name: str, rows: "pd.Index[Any]", codes: IntArray, observed: Sequence[str], declared: Sequence[str]
) -> IntArray:
    """Translate codes among the observed states into codes among the declared ones; `rows` are those of the table."""
    place = {state: k for k, state in enumerate(declared)}
    recoded = np.array([place.get(state, -1) for state in observed])[codes]
    outside = recoded < 0
    if outside.any():
        row = int(outside.argmax())
        raise ColumnError(
            name,
            f"has the value {observed[codes[row]]!r} in row {rows[row] + 1}, outside its declared states "
            f"({listed(declared)})",
            "declare it too, or correct the row",
        )
    return recoded
