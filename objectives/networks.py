"""Tables of discrete variables: sampled from a Bayesian network that pgmpy ships, or read from the user's own data."""

import gzip
import hashlib
import importlib.resources
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from law_ray.errors import InputError
from objectives.contingency import BoolArray, IntArray, check_codes
from objectives.structure import topological_order

if TYPE_CHECKING:
    import pandas as pd

NETWORKS = ("sachs", "child", "insurance", "alarm")
"""The networks of the paper's Table 2, with 11, 20, 27 and 37 variables."""


@dataclass(frozen=True, eq=False)
class Table:
    """Discrete data: one row an observation, one column a variable with declared states.

    codes: (rows, p) int64, read-only, codes[:, i] indexes states[i]; true_dag: (p, p) bool, dag[parent, child], where
    the network behind the data is known. A pickle holds the codes in the smallest integers that can.
    """

    name: str
    names: tuple[str, ...]
    states: tuple[tuple[str, ...], ...]
    codes: IntArray
    true_dag: BoolArray | None = None

    def __post_init__(self) -> None:
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
            raise InputError(f"the true DAG has shape {self.true_dag.shape}: pass one row and one column a variable")

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
        small = self.codes.astype(np.min_scalar_type(int(self.cardinalities.max()) - 1))
        return (Table, (self.name, self.names, self.states, small, self.true_dag))


def _first_duplicate(values: Iterable[str]) -> str | None:
    seen: set[str] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    return None


def sample_network(name: str, n_rows: int = 10_000, seed: int = 0) -> Table:
    """Independent rows from a shipped network, its columns shuffled so that their order gives nothing away.

    One seed gives the same table everywhere. pgmpy's own sampler is not used: it seeds numpy's global state. Raises
    InputError for an unknown network, no rows or a negative seed. Cost: pgmpy's import, 3-6 s, then 1 s.
    """
    if name not in NETWORKS:
        raise InputError(f"network {name!r} is unknown: choose {', '.join(NETWORKS)}, or pass a .csv or .parquet file")
    if n_rows < 1:
        raise InputError(f"n_rows={n_rows} leaves no data: choose at least 1")
    if seed < 0:
        raise InputError(f"seed={seed} is negative: choose 0 or more")
    names, states, dag, conditionals = _read_network(name)
    rng = np.random.default_rng(seed)
    codes = np.empty((n_rows, len(names)), dtype=np.int64)
    for node in topological_order(dag):
        parents, probabilities = conditionals[node]  # (r, r_parent, ...), its axes in the order of `parents`
        index: tuple[Any, ...] = (slice(None), *(codes[:, parent] for parent in parents))
        given = probabilities[index]
        below = np.cumsum(given, axis=0)[:-1].reshape(len(states[node]) - 1, -1)
        codes[:, node] = (rng.random(n_rows) >= below).sum(axis=0)  # inversion of the cumulative distribution
    order = rng.permutation(len(names))
    return Table(
        name=name,
        names=tuple(names[i] for i in order),
        states=tuple(states[i] for i in order),
        codes=codes[:, order],
        true_dag=dag[np.ix_(order, order)],
    )


def _read_network(
    name: str,
) -> tuple[list[str], list[tuple[str, ...]], BoolArray, list[tuple[list[int], np.ndarray]]]:
    """Names, states, DAG and conditional probability tables of a network in pgmpy's wheel, in the order of its file."""
    from pgmpy.readwrite import BIFReader

    file = importlib.resources.files("pgmpy") / "utils" / "example_models" / f"{name}.bif.gz"
    model = BIFReader(string=gzip.decompress(file.read_bytes()).decode()).get_model()
    names = [str(node) for node in model.nodes()]
    index = {node: i for i, node in enumerate(names)}
    dag = np.zeros((len(names), len(names)), dtype=bool)
    states, conditionals = [], []
    for node in names:
        table = model.get_cpds(node)
        parents = [index[parent] for parent in table.variables[1:]]
        dag[parents, index[node]] = True
        states.append(tuple(str(state) for state in table.state_names[node]))
        conditionals.append((parents, np.asarray(table.values, dtype=np.float64)))
    return names, states, dag, conditionals


_MANY_STATES = 100  # more than these, and more than half as many as rows: a column that numbers the rows


def read_table(source: "str | Path | pd.DataFrame") -> Table:
    """A table of discrete columns from a pandas DataFrame, a .csv or a .parquet file.

    String, boolean, integer and categorical columns become variables. A categorical keeps all its categories in their
    order; the states of any other column are its observed values, sorted. In a .csv file the first line names the
    columns and only an empty cell is missing: NA, None or nan are states like any other. Raises InputError naming the
    column for missing values, a single state, floats, a repeated or empty name, and for a file that is absent or
    cannot be read.
    """
    import pandas as pd

    if isinstance(source, pd.DataFrame):
        frame, name = source, "table"
    elif isinstance(source, str | Path):
        frame, name = _read_frame(Path(source)), Path(source).name
    else:
        raise InputError(f"data of type {type(source).__name__} is no table: pass a DataFrame or a file's path")
    names = tuple(str(column) for column in frame.columns)
    duplicate = _first_duplicate(names)
    if duplicate is not None:
        raise InputError(f"column {duplicate!r} appears twice: give every column a name of its own")
    if not all(column.strip() for column in names):
        raise InputError(f"a column of {name} has no name: name it, or drop it if it numbers the rows")
    if len(frame) == 0:
        raise InputError(f"{name} has no rows: pass at least one")
    columns = [_read_column(column, frame.iloc[:, i]) for i, column in enumerate(names)]
    codes = np.empty((len(frame), len(names)), dtype=np.int64)
    for i, (_, column_codes) in enumerate(columns):
        codes[:, i] = column_codes
    return Table(name=name, names=names, states=tuple(states for states, _ in columns), codes=codes)


def _read_frame(path: Path) -> "pd.DataFrame":
    import pandas as pd

    if not path.is_file():
        raise InputError(f"{path} does not exist: give the path of a .csv or .parquet file")
    try:
        if path.suffix == ".parquet":
            return pd.read_parquet(path)
        if path.suffix == ".csv":
            header = pd.read_csv(path, header=None, nrows=1, dtype=str, na_filter=False).iloc[0]
            frame = pd.read_csv(path, keep_default_na=False, na_values=[""], low_memory=False)
            if not isinstance(frame.index, pd.RangeIndex):
                raise ValueError("its lines have more cells than its header")
            frame.columns = header  # read_csv renames repeated and empty names; the checks must see them
            return frame
    except Exception as error:  # the parsers raise many kinds
        reason = str(error).strip().splitlines() or [type(error).__name__]
        raise InputError(f"{path} cannot be read ({reason[0]}): check that it is a {path.suffix} file") from error
    raise InputError(f"{path} has the unknown extension {path.suffix!r}: pass .csv or .parquet")


def _read_column(name: str, column: "pd.Series[Any]") -> tuple[tuple[str, ...], IntArray]:
    """The states of one column and the (rows,) index of every value among them."""
    import pandas as pd

    missing = column.isna().to_numpy()
    if missing.any():
        raise InputError(
            f"column {name!r} has {missing.sum()} missing value(s), the first in row {missing.argmax() + 1}: "
            "drop those rows, or make missing a state of its own"
        )
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        return tuple(str(state) for state in dtype.categories), column.cat.codes.to_numpy(dtype=np.int64)
    kind = pd.api.types.infer_dtype(column, skipna=False)
    if kind in ("floating", "mixed-integer-float", "decimal"):
        raise InputError(f"column {name!r} is continuous ({dtype}): bin it first, with pandas.cut for example")
    if kind not in ("string", "boolean", "integer"):
        raise InputError(f"column {name!r} holds {kind} values: use strings, integers, booleans or a categorical")
    codes, states = pd.factorize(column, sort=True)
    if len(states) > max(_MANY_STATES, len(column) // 2):
        found = f"{len(states)} states in {len(column)} rows"
        raise InputError(f"column {name!r} has {found}: drop it, or group its values")
    return tuple(str(state) for state in states), codes.astype(np.int64)
