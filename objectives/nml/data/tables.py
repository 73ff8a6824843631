"""The user's data as a table of discrete variables: from a DataFrame or a file, with binned and declared columns."""

import hashlib
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from law_ray.errors import InputError
from law_ray.typing import BoolArray, IntArray
from objectives.nml.data.columns import (
    ColumnError,
    all_bad,
    check_states,
    first_duplicate,
    read_column,
    thinly_filled,
)
from objectives.nml.data.files import TEXT, read_file
from objectives.nml.data.missing import IfMissing, check_missing, look_missing, recognised, without_missing
from objectives.nml.data.row_order import RowOrder, check_order, check_rows
from objectives.nml.data.rules import Bins, Columns, Rules, States, declared_states, kept_columns, read_rules
from objectives.nml.scores.contingency import check_codes

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Table:
    """Discrete data: one row per observation, one column per variable with declared states.

    codes: (rows, p) int64, read-only, codes[:, i] indexes states[i]. true_dag: (p, p) bool, dag[parent, child], where
    the network behind the data is known. A pickle holds the codes in the smallest integer type that fits.
    """

    name: str
    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    codes: IntArray
    true_dag: BoolArray | None = None

    def __post_init__(self) -> None:
        """Check everything, and make the codes read-only, each column contiguous."""
        self._check()
        codes = np.array(self.codes, dtype=np.int64, order="F")
        codes.flags.writeable = False
        object.__setattr__(self, "codes", codes)

    def _check(self) -> None:
        if len(self.names) < 2:
            raise InputError(f"{self.name} has {len(self.names)} column(s): a network needs at least two")
        duplicate = first_duplicate(self.names)
        if duplicate is not None:
            raise InputError(f"column {duplicate!r} appears twice: give every column a name of its own")
        if len(self.states) != len(self.names):
            raise InputError(f"{self.name} has {len(self.names)} names and the states of {len(self.states)} columns")
        if len(self.codes) == 0:
            raise InputError(f"{self.name} has no rows: pass at least one")
        for name, states in zip(self.names, self.states, strict=True):
            check_states(name, states)
        check_codes(np.asarray(self.codes), self.cardinalities)
        if self.true_dag is not None and self.true_dag.shape != (len(self.names), len(self.names)):
            raise InputError(f"the true DAG has shape {self.true_dag.shape}: pass one row and one column per variable")

    @cached_property
    def cardinalities(self) -> IntArray:
        """(p,) the number of declared states of every column, observed or not."""
        return np.array([len(states) for states in self.states], dtype=np.int64)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of the codes, the column names and the states."""
        digest = hashlib.sha256(repr((self.names, self.states, self.codes.shape)).encode())
        digest.update(np.ascontiguousarray(self.codes, dtype="<i8").tobytes())
        return digest.hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the codes in the smallest integer type that fits."""
        small = self.codes.astype(np.min_scalar_type(int(self.cardinalities.max()) - 1))
        return (Table, (self.name, self.names, self.states, small, self.true_dag))


def read_table(
    source: "str | Path | pd.DataFrame",
    bins: Bins | None = None,
    states: States | None = None,
    *,
    columns: Columns | None = None,
    drop: Columns | None = None,
    sep: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    missing: IfMissing = "refuse",
    rows: RowOrder = "independent",
) -> Table:
    """Read a table of discrete columns from a pandas DataFrame, a .csv, .tsv or .parquet file.

    The states of a column, whether numpy, pandas or pyarrow holds it:
    categorical: its categories, observed or not, in their order;
    string, boolean: its observed values, sorted;
    integer, or whole numbers stored as floats: its observed values, sorted as numbers and written as integers;
    other numbers: intervals of equal frequency if `bins` covers the column, otherwise it is refused;
    missing values: see `missing`;
    dates, times, bytes, lists, mixed types: refused.
    A column of strings or integers is also refused, unless bins or states name it, if it has more than 100 different
    values and more than half as many as rows: they look like row numbers. One with many states of few rows each is
    accepted with a warning (`objectives.nml.data.columns.thinly_filled`).

    Cost: 1-2 s, and 260 MB besides the data, for 1,000,000 rows of 20 columns.

    Args:
        source: a DataFrame, or the path of a file (`objectives.nml.data.files.read_file`).
        bins: the number of bins of every continuous column, or a number for each column named, continuous or integer,
            as a mapping or as text such as "age=5,income=3". The edges are the sample's quantiles (`pandas.qcut`).
            Equal edges count once and a bin without a row is dropped, so ties can leave fewer bins, but at least two.
            A state is an interval, "(2.5, 7.25]", its edges written to six digits or as many as distinguish them.
        states: the declared states of columns, observed or not, in their order; they replace the order and the
            categories of the column. A mapping from column to labels, text such as "smoker=no,yes;grade=a,b,c", or the
            path of a .json file that holds such a mapping. Values and labels match as text, a whole number without its
            ".0", and a number with the decimal mark of the file or with a point. In a text, blanks around
            columns and labels are dropped, and those that contain a separator stand in double quotes.
        columns: the columns to use: their names in a list, or in a text, separated by commas. They stay in the order of
            the table.
        drop: the columns to leave out, instead of `columns`.
        sep: what separates the columns of a text file, see `read_file`.
        encoding: how it encodes its characters, see there.
        decimal: its decimal mark, see there.
        missing: what becomes of missing values: "refuse" them, "drop" their rows, or make missing a "state" of its own.
            With "refuse", texts such as NA are refused among numbers, and states elsewhere, with a warning. Else they
            are missing, unless they are declared states (`objectives.nml.data.missing`).
        rows: "check" refuses a table whose rows are not independent draws, as far as their order tells
            (`objectives.nml.data.row_order`).

    Raises:
        InputError: in one line that names every column with missing values, a single state or values that are not
            discrete, and what mends it; a value outside the declared states; a repeated or empty name; or a file that
            is absent or cannot be read.
    """
    check_rows(rows)
    check_missing(missing)
    form = {"sep": sep, "encoding": encoding, "decimal": decimal}
    declared = declared_states(states)
    frame, name = _open(source, form, declared)
    kept = kept_columns([str(column) for column in frame.columns], columns, drop)
    names = tuple(str(frame.columns[i]) for i in kept)
    _check_names(name, names, kept)
    if len(names) == 1 and len(frame.columns) == 1 and name.lower().endswith(TEXT):
        raise InputError(f"{name} has 1 column, {names[0]!r}: give what separates its columns, sep=tab for example")
    if len(frame) == 0:
        raise InputError(f"{name} has no rows: pass at least one")
    rules = read_rules(names, bins, declared, decimal, missing)
    data = _columns(frame, names, kept, rules)
    n_rows = len(next(iter(data.values()), frame))
    codes: NDArray[Any] = np.empty((n_rows, len(names)), dtype=np.int32, order="F")  # half a Table's memory
    labels: list[tuple[str, ...]] = []
    bad: list[ColumnError] = []
    for i, column in enumerate(names):
        try:
            column_labels, codes[:, i] = read_column(column, data[column], rules)
            labels.append(column_labels)
        except ColumnError as error:
            bad.append(error)
    if bad:
        raise all_bad(name, bad)
    named = {*rules.bins, *rules.states}
    found = {column: own for column, own in zip(names, labels, strict=True) if column not in named}
    for message in (thinly_filled(name, found, data), look_missing(name, found) if missing == "refuse" else ""):
        if message:
            warnings.warn(message, stacklevel=2)
    if name.lower().endswith(TEXT) and not named and all(column in own for column, own in found.items()):
        warnings.warn(
            f"the first line of {name} looks like a row, and was read as the names of the columns: {', '.join(names)}; "
            "if it is a row, add a line with the column names above it, else the row is lost",
            stacklevel=2,
        )
    table = Table(name=name, names=names, states=tuple(labels), codes=codes)
    if rows == "check":
        check_order(table, list(data.values()))
    return table


def _open(
    source: "str | Path | pd.DataFrame", form: Mapping[str, str | None], declared: Collection[str]
) -> "tuple[pd.DataFrame, str]":
    """The data of a source, and a name for them; columns with declared states are read as texts."""
    import pandas as pd

    if isinstance(source, str | Path):
        return read_file(Path(source), **form, as_text=declared), Path(source).name
    if not isinstance(source, pd.DataFrame):
        raise InputError(f"data of type {type(source).__name__} is not a table: pass a DataFrame or a file's path")
    if given := [name for name, value in form.items() if value is not None]:
        raise InputError(f"{given[0]} is for text files: leave it out for a DataFrame")
    return source, "table"


def _columns(
    frame: "pd.DataFrame", names: Sequence[str], kept: Sequence[int], rules: Rules
) -> "dict[str, pd.Series[Any]]":
    """Return the columns that are used, labelled by the rows of the table, as the rule for missing values has them."""
    frame = frame.set_axis(range(len(frame)), axis=0)
    data = {name: frame.iloc[:, i] for name, i in zip(names, kept, strict=True)}
    if rules.missing == "refuse":
        return data
    data = {name: recognised(column, rules.decimal, rules.states.get(name, ())) for name, column in data.items()}
    return without_missing(data) if rules.missing == "drop" else data


def _check_names(table: str, names: Sequence[str], places: Sequence[int]) -> None:
    """Refuse names that are empty, repeated or in several lines; `places` are the columns' indices in the table."""
    duplicate = first_duplicate(names)
    for name, place in zip(names, places, strict=True):
        if not name.strip():
            raise InputError(
                f"column {place + 1} of {table} has no name: name it, or leave it out by naming the others in columns"
            )
        if len(name.splitlines()) > 1:
            raise InputError(f"the name of column {place + 1} of {table}, {name!r}, has a line break: rename it")
        if name == duplicate:
            raise InputError(f"column {name!r} appears twice in {table}: give every column a name of its own")
