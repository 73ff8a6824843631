"""The arguments of `NML`: which ones go together, and the table that they describe."""

from collections.abc import Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from law_ray.errors import InputError
from law_ray.typing import BoolArray
from objectives.nml.data.row_order import RowOrder, check_rows
from objectives.nml.data.tables import Table, read_table
from objectives.nml.scores import decomposable

if TYPE_CHECKING:
    import pandas as pd

SCORES = ("nml", "nml-uniform", *decomposable.SCORES)

EdgesFrom = Literal["score", "skeleton"]


class Options(NamedTuple):
    """The options of `NML` that are numbers, or None where they are not given."""

    max_parents: int | None
    n_samples: int | None
    target_se: float | None


def read(data: "Table | pd.DataFrame | str | Path", how: Mapping[str, Any], rows: RowOrder) -> Table:
    """Return the data as a table, read by the options `how` of `read_table`; `rows` says what its order means."""
    if not isinstance(data, Table):
        return read_table(data, rows=rows, **how)
    check_rows(rows)
    if how:
        raise InputError(f"{data.name} is a table of discrete columns already: leave {', '.join(how)} out")
    return data


def checked(score: str, edges: str, max_parents: int | None, n_samples: int | None, target_se: float | None) -> Options:
    """Return the numbers, and refuse options that are unknown, out of range or do not go together.

    2, 2.0 and NumPy's 2 are the same number, so that they give the objective the same fingerprint.
    """
    if score not in SCORES:
        raise InputError(f"score={score!r} is unknown: choose {', '.join(SCORES)}")
    if edges not in get_args(EdgesFrom):
        raise InputError(f"edges={edges!r} is unknown: choose {', '.join(get_args(EdgesFrom))}")
    if max_parents is not None and not _is_whole(max_parents, 0):
        raise InputError(f"max_parents={max_parents!r} is not a number of parents: choose a whole number of at least 0")
    if max_parents is not None and edges == "skeleton":
        raise InputError(f"max_parents={max_parents} belongs to edges='score': leave it out for 'skeleton'")
    least = 2 if score == "nml" else 1  # of which a standard error can be told
    if n_samples is not None and not _is_whole(n_samples, least):
        raise InputError(f"n_samples={n_samples!r} is too few samples: choose a whole number of at least {least}")
    if target_se is not None and not (isinstance(target_se, Real) and target_se > 0):
        raise InputError(f"target_se={target_se!r} is not a standard error: choose a positive number of nats")
    if n_samples is not None and target_se is not None:
        raise InputError(f"n_samples={n_samples} and target_se={target_se}: choose one of them")
    if score != "nml" and target_se is not None:
        raise InputError(f"target_se={target_se} belongs to score='nml': leave it out for {score!r}")
    if score in decomposable.SCORES and n_samples is not None:
        raise InputError(f"n_samples={n_samples} has no use for {score!r}, which is exact: leave it out")
    return Options(
        None if max_parents is None else int(max_parents),
        None if n_samples is None else int(n_samples),
        None if target_se is None else float(target_se),
    )


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, Real) and float(value).is_integer() and float(value) >= least


def check_parents(max_parents: int | None, required: BoolArray, names: Sequence[str]) -> None:
    """Refuse required edges (p, p), [parent, child], that give a column of these names more than `max_parents`."""
    counts = required.sum(axis=0)
    if max_parents is not None and counts.max() > max_parents:
        child = int(counts.argmax())
        raise InputError(
            f"max_parents={max_parents} is less than the {counts[child]} required parents of {names[child]!r}: raise it"
        )
