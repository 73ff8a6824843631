"""The user's data as a table of discrete variables: from a DataFrame or a file, with binned and declared columns."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from law_ray.errors import InputError
from law_ray.typing import BoolArray, IntArray
from objectives.nml.data.columns import read_column
from objectives.nml.data.rules import Bins, States, read_rules
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
        """Make the codes read-only, each column contiguous, and check everything."""
        codes = np.array(self.codes, dtype=np.int64, order="F")
        codes.flags.writeable = False
        object.__setattr__(self, "codes", codes)
        self._check()

    def _check(self) -> None:
        if len(self.names) < 2:
            raise InputError(f"{self.name} has {len(self.names)} column(s): a network needs at least two")
        duplicate = _first_duplicate(self.names)
        if duplicate is not None:
            raise InputError(f"column {duplicate!r} appears twice: give every column a name of its own")
        if len(self.codes) == 0:
            raise InputError(f"{self.name} has no rows: pass at least one")
        for name, states in zip(self.names, self.states, strict=True):
            if len(states) < 2:
                raise InputError(f"column {name!r} has one state only: drop it, or declare its other states")
            duplicate = _first_duplicate(states)
            if duplicate is not None:
                raise InputError(f"column {name!r} has two states that both read {duplicate!r}: rename one of them")
        check_codes(self.codes, self.cardinalities)
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


def _first_duplicate(values: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def read_table(
    source: "str | Path | pd.DataFrame",
    bins: Bins | None = None,
    states: States | None = None,
) -> Table:
    """Read a table of discrete columns from a pandas DataFrame, a .csv or a .parquet file.

    The states of a column, whether numpy, pandas or pyarrow holds it:
    categorical: its categories, observed or not, in their order;
    string, boolean: its observed values, sorted;
    integer, or whole numbers stored as floats: its observed values, sorted as numbers and written as integers;
    other numbers: intervals of equal frequency if `bins` covers the column, otherwise it is refused;
    dates, times, bytes, lists, mixed types: refused.
    A column of strings or integers is also refused, unless bins or states name it, if it has more than 100 different
    values and more than half as many as rows: they look like row numbers.

    In a .csv file the first line names the columns and only an empty cell is missing: NA, None or nan are states like
    any other. Cost: 1-2 s, and 260 MB besides the data, for 1,000,000 rows of 20 columns.

    Args:
        source: a DataFrame, or the path of a file.
        bins: the number of bins of every continuous column, or a number for each column named, continuous or integer,
            as a mapping or as text such as "age=5,income=3". The edges are the sample's quantiles (`pandas.qcut`).
            Equal edges count once and a bin without a row is dropped, so ties can leave fewer bins, but at least two.
            A state is an interval, "(2.5, 7.25]", its edges written to six digits or as many as distinguish them.
        states: the declared states of columns, observed or not, in their order; they replace the order and the
            categories of the column. A mapping from column to labels, text such as "smoker=no,yes;grade=a,b,c", or the
            path of a .json file that holds such a mapping. Values and labels match as text, a whole number without its
            ".0". Blanks around text are dropped; columns and labels that contain a separator need a mapping.

    Raises:
        InputError: in one line that names the column, for missing values, a single state, values outside the declared
            states, or a repeated or empty name; and if a file is absent or cannot be read.
    """
    frame, name = _open(source)
    names = tuple(str(column) for column in frame.columns)
    if not all(column.strip() for column in names):
        raise InputError(f"a column of {name} has no name: name it, or drop it if it numbers the rows")
    if len(frame) == 0:
        raise InputError(f"{name} has no rows: pass at least one")
    rules = read_rules(names, bins, states)
    codes: NDArray[Any] = np.empty((len(frame), len(names)), dtype=np.int32, order="F")  # half a Table's memory
    labels: list[tuple[str, ...]] = []
    for i, column in enumerate(names):
        column_labels, codes[:, i] = read_column(column, frame.iloc[:, i], rules)
        labels.append(column_labels)
    return Table(name=name, names=names, states=tuple(labels), codes=codes)


def _open(source: "str | Path | pd.DataFrame") -> "tuple[pd.DataFrame, str]":
    """The data of a source, and a name for them."""
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        return source, "table"
    if not isinstance(source, str | Path):
        raise InputError(f"data of type {type(source).__name__} is not a table: pass a DataFrame or a file's path")
    path = Path(source)
    if not path.is_file():
        raise InputError(f"{path} does not exist: give the path of a .csv or .parquet file")
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path), path.name
        if path.suffix == ".csv":
            header = pd.read_csv(path, header=None, nrows=1, dtype=str, na_filter=False).iloc[0]
            frame = pd.read_csv(path, keep_default_na=False, na_values=[""], low_memory=False)
            if not isinstance(frame.index, pd.RangeIndex):
                raise ValueError("its lines have more cells than its header")
            frame.columns = header  # read_csv renames repeated and empty names; the checks must see them
            return frame, path.name
    except Exception as error:  # the parsers raise many types
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"{path} cannot be read ({reason[0]}): check that it is a {path.suffix} file") from error
    raise InputError(f"{path} has the unknown extension {path.suffix!r}: pass .csv or .parquet")
