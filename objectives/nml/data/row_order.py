"""Does the order of a table's rows say something about their values, as it cannot if the rows are independent?

Learning a network takes each row for an independent draw from one distribution. Rows of several experiments
(interventions), subjects or places put one below the other, and time series, are not: their order then carries
information. Once they are shuffled, such rows cannot be recognised, and nothing here does.

A table that is sorted by columns of its own is fine, one after the other, for these columns explain the order, a binned
one by its numbers. So is one whose equal rows are all together, two or more of each on average, as where a table of
frequencies was expanded. Others are compared within strata, the values of those columns. Two statistics have known
moments if the rows are exchangeable. Neighbours: how often two rows one below the other have the same state (Mood 1940,
"The distribution theory of runs"); this finds short groups and time series. Drift: Pearson's chi-squared of the state
and ten blocks of rows; this finds long groups.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from law_ray.errors import InputError
from law_ray.typing import FloatArray, IntArray
from objectives.nml.data.columns import numbers_of
from objectives.nml.scores.contingency import MAX_CELLS, occupied

if TYPE_CHECKING:
    import pandas as pd

    from objectives.nml.data.tables import Table

RowOrder = Literal["check", "independent"]
"""Whether the rows are checked, or taken for independent."""

Z = 8.0
"""Standard deviations beyond which chance is ruled out (heuristic: about 1e-15 for a normal)."""
LEAST_ROWS = 20
"""Rows by which neighbours must agree more often than expected: the normal fails for states of a few rows."""
LEAST_EFFECT = 0.01
"""Share of the chance disagreements, or of the variance, that the order must explain: in a million rows even
differences that do not matter are significant (heuristic: Cramer's V of 0.1)."""
N_BLOCKS = 10
LEAST_IN_STATE = 30
"""Rows of a state in a stratum that are compared by blocks: chi-squared has a heavy tail for fewer (heuristic)."""


def check_rows(rows: str) -> None:
    """Refuse an unknown value of the option."""
    if rows not in get_args(RowOrder):
        raise InputError(f"rows={rows!r} is unknown: choose {' or '.join(get_args(RowOrder))}; n_rows is how many")


class Excess(NamedTuple):
    """How far a statistic is above its expectation."""

    z: float
    """standard deviations"""
    effect: float
    """0 for none, 1 for the most that is possible"""
    rows: float
    """by which neighbours agree more often; for drift the excess of chi-squared, which grows like the rows too"""


def check_order(table: "Table", columns: "Sequence[pd.Series[Any]] | None" = None) -> None:
    """Refuse a table in which the order of the rows tells something that no column explains.

    Cost: some passes over the rows for each column; 1.5 s for 1,000,000 rows of 20 columns. A table sorted by a column
    of very many values takes a sort of the rows for each column of many states. Memory: O(rows).

    Args:
        table: The table.
        columns: The values of its columns, as they were before they were binned.

    Raises:
        InputError: in one line that names the column that tells most, and what mends it.
    """
    codes, r = table.codes, table.cardinalities
    if are_equal_rows_together(codes):
        return
    strata, sorted_by = _sorted_by(codes, columns)
    worst: tuple[float, int, str] | None = None
    for i in range(codes.shape[1]):
        if i in sorted_by:
            continue
        for what, found in (
            ("too often has the same value in consecutive rows", neighbours(codes[:, i], strata)),
            ("drifts along the rows", drift(codes[:, i], int(r[i]), strata)),
        ):
            telling = found.z > Z and found.effect > LEAST_EFFECT and found.rows > LEAST_ROWS
            if telling and (worst is None or found.z > worst[0]):
                worst = found.z, i, what
    if worst is not None:
        raise InputError(
            f"the rows of {table.name} are not independent draws: column {table.names[worst[1]]!r} {worst[2]}, by "
            f"{worst[0]:.0f} standard deviations, as happens if rows come from several experiments, subjects or times: "
            "learn each group alone, add the group as a column, or set rows=independent if the order means nothing"
        )


def are_equal_rows_together(codes: IntArray) -> bool:
    """Whether all equal rows of (rows, p) follow one another, and there are twice as many rows as different ones."""
    starts = np.concatenate([[True], (codes[1:] != codes[:-1]).any(axis=1)])
    n_groups = int(np.count_nonzero(starts))
    return 2 * n_groups <= len(codes) and len(np.unique(codes[starts], axis=0)) == n_groups


def neighbours(column: IntArray, strata: IntArray) -> Excess:
    """Return how much more often than by chance rows one below the other, in one stratum, have the same state.

    With n rows of a stratum, n_k of them in state k, the number of runs has the mean (n (n + 1) - sum n_k^2) / n and
    the variance (s (s + n (n + 1)) - 2 n sum n_k^3 - n^3) / (n^2 (n - 1)), s = sum n_k^2.
    """
    sizes, r = np.bincount(strata), int(column.max()) + 1
    cells = strata * r + column
    found, counts = occupied(cells, len(sizes) * r)
    n = sizes.astype(np.float64)
    squares, cubes = (np.bincount(found // r, counts.astype(np.float64) ** k, minlength=len(n)) for k in (2, 3))
    mean = (n * (n + 1) - squares) / n
    several = np.maximum(n - 1, 1)
    variance = (squares * (squares + n * (n + 1)) - 2 * n * cubes - n**3) / (n**2 * several)
    runs = 1 + np.count_nonzero(np.diff(cells))
    fewer = float(mean.sum()) - runs
    return _excess(fewer, float(variance.sum()), float((mean - 1).sum()), fewer)


def drift(column: IntArray, r: int, strata: IntArray) -> Excess:
    """Return how much the distribution of a column differs among consecutive blocks of a stratum, beyond chance.

    States with few rows are left out. The statistic is Pearson's chi-squared in each stratum. Under exchangeability its
    mean is n / (n - 1) times the degrees of freedom, and its variance about twice these.
    """
    n = len(column)
    if (int(strata.max()) + 1) * N_BLOCKS * r > MAX_CELLS:  # the strata are too small to have blocks
        return Excess(0.0, 0.0, 0.0)
    sizes = np.bincount(strata)
    within = np.arange(n) - (np.cumsum(sizes) - sizes)[strata]  # the rows of a stratum are together
    blocks = within * N_BLOCKS // sizes[strata]
    table = np.bincount((strata * N_BLOCKS + blocks) * r + column, minlength=len(sizes) * N_BLOCKS * r)
    counts = table.reshape(-1, N_BLOCKS, r).astype(np.float64)
    counts *= counts.sum(axis=1, keepdims=True) >= LEAST_IN_STATE
    by_block, by_state = counts.sum(axis=2, keepdims=True), counts.sum(axis=1, keepdims=True)
    size = counts.sum(axis=(1, 2))
    expected = by_block * by_state / np.maximum(size, 1)[:, None, None]
    chi = np.divide((counts - expected) ** 2, expected, out=np.zeros_like(counts), where=expected > 0).sum()
    degrees = np.prod([np.maximum((margin > 0).sum(axis=(1, 2)) - 1, 0) for margin in (by_block, by_state)], axis=0)
    mean = float((degrees * size / np.maximum(size - 1, 1)).sum())
    most = n * (min(N_BLOCKS, r) - 1)
    return _excess(float(chi) - mean, 2.0 * float(degrees.sum()), most, float(chi) - mean)


def _excess(above: float, variance: float, most: float, rows: float) -> Excess:
    if variance <= 0 or most <= 0:
        return Excess(0.0, 0.0, 0.0)
    return Excess(above / variance**0.5, above / most, rows)


def _sorted_by(codes: IntArray, columns: "Sequence[pd.Series[Any]] | None") -> tuple[IntArray, list[int]]:
    """The strata (rows,) of the columns by which the rows are sorted, numbered downwards, and these columns.

    A column sorts the rows if in each stratum, of the columns before it, the rows of a state are together. If its
    numbers go one way in the strata that result, then they divide these further.
    """
    strata = np.zeros(len(codes), dtype=np.int64)
    found: dict[int, FloatArray | None] = {}  # with their numbers
    while True:
        before = len(found), int(strata[-1])
        for i in range(codes.shape[1]):
            if i not in found and _is_sorted(strata, codes[:, i]):
                found[i] = None if columns is None else numbers_of(columns[i])
                strata = _divided(strata, codes[:, i])
            numbers = found.get(i)
            if numbers is not None and _go_one_way(strata, numbers):
                strata = _divided(strata, numbers)
        if before == (len(found), int(strata[-1])):  # what did not sort the rows before may do so in smaller strata
            return strata, list(found)


def _divided(strata: IntArray, values: NDArray[Any]) -> IntArray:
    """The strata of equal values in each stratum."""
    return np.concatenate([[0], np.cumsum((np.diff(strata) != 0) | (values[1:] != values[:-1]))])


def _go_one_way(strata: IntArray, values: NDArray[Any]) -> bool:
    """Whether the values of each stratum never fall, or never rise, downwards."""
    within = np.diff(strata) == 0
    before, after = values[:-1][within], values[1:][within]
    return bool((before <= after).all() or (before >= after).all())


def _is_sorted(strata: IntArray, column: IntArray) -> bool:
    r = int(column.max()) + 1
    labels, size = strata * r + column, (int(strata[-1]) + 1) * r
    together = 1 + np.count_nonzero(np.diff(labels))
    return bool(together <= size and together == len(occupied(labels, size)[0]))
