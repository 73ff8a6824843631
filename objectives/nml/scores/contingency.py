"""Counting: contingency tables of families and the maximum log-likelihood of a discrete Bayesian network.

Notation: node i has r_i states (`cardinalities`) and q_i parent configurations. n_ijk is the number of rows in which
the parents of i are in configuration j and i is in state k, and n_ij is its sum over k. Log-likelihoods are in nats,
and 0 log 0 = 0.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from law_ray.errors import InputError
from law_ray.typing import BoolArray, IntArray

MAX_CELLS = 10_000_000
"""The largest table that is allocated (heuristic); of a larger one only what was observed is kept."""


def parents_of(dag: BoolArray, child: int) -> tuple[int, ...]:
    """Return the parents of `child` in dag[parent, child], in increasing order."""
    return tuple(np.flatnonzero(dag[:, child]).tolist())


def configurations(
    codes: IntArray, cardinalities: Sequence[int] | IntArray, variables: Sequence[int], max_configurations: int
) -> tuple[IntArray, int]:
    """Number the joint configuration of some variables in every row; the last variable varies fastest.

    The numbers run over all configurations if there are at most `max_configurations` of them, otherwise over the
    observed ones in the same order. Cost: O(rows) a variable, and a sort of the rows each time the limit is exceeded.

    Returns:
        The (rows,) numbers, and how many numbers there are.
    """
    r = [int(cardinalities[variable]) for variable in variables]
    sparse = math.prod(r) > max_configurations
    labels = np.zeros(len(codes), dtype=np.int64)
    size = 1
    for i, (variable, states) in enumerate(zip(variables, r, strict=True), start=1):
        labels = labels * states + codes[:, variable]
        size *= states
        if sparse and (size > max_configurations or i == len(r)):
            observed, labels = np.unique(labels, return_inverse=True)
            size = len(observed)
    return labels, size


def occupied(labels: IntArray, size: int) -> tuple[IntArray, IntArray]:
    """Return which of the labels 0..size-1 occur, in increasing order, and how often each does.

    Cost: O(rows + size) up to MAX_CELLS labels; beyond, a sort of the rows.
    """
    if size > MAX_CELLS:
        return np.unique(labels, return_counts=True)
    counts = np.bincount(labels, minlength=size)
    found = np.flatnonzero(counts)
    return found, counts[found]


def family_counts(
    codes: IntArray, cardinalities: Sequence[int] | IntArray, child: int, parents: Sequence[int]
) -> IntArray:
    """Count n_ijk of one family: a (q, r) table, parent configurations in mixed radix, the last parent fastest.

    A family of more than `MAX_CELLS` cells has only the rows of its observed parent configurations, in the same order;
    with many states these may still be too many for the memory.
    """
    r = int(cardinalities[child])
    labels, q = configurations(codes, cardinalities, parents, MAX_CELLS // r)
    return np.bincount(labels * r + codes[:, child], minlength=q * r).reshape(q, r)


def n_log_n(counts: IntArray) -> NDArray[np.float64]:
    """Return n log n of every count, in nats, with 0 log 0 = 0."""
    logs: NDArray[np.float64] = np.log(np.maximum(counts, 1))
    return counts * logs


def family_log_likelihood(
    codes: IntArray, cardinalities: Sequence[int] | IntArray, child: int, parents: Sequence[int]
) -> float:
    """Return the maximum log-likelihood of one family, sum_jk n_ijk log(n_ijk / n_ij), in nats.

    Memory: O(rows + MAX_CELLS), whatever the numbers of states.
    """
    r = int(cardinalities[child])
    labels, q = configurations(codes, cardinalities, parents, MAX_CELLS // r)
    cells = labels * r + codes[:, child]
    if q * r > MAX_CELLS:
        n_ijk, n_ij = occupied(cells, q * r)[1], occupied(labels, q)[1]
    else:
        n_ijk = np.bincount(cells, minlength=q * r).reshape(q, r)
        n_ij = n_ijk.sum(axis=1)
    return float(n_log_n(n_ijk).sum() - n_log_n(n_ij).sum())


def log_likelihood(codes: IntArray, cardinalities: Sequence[int] | IntArray, dag: BoolArray) -> float:
    """Return what `max_log_likelihood` does, for arguments that were checked before."""
    return math.fsum(
        family_log_likelihood(codes, cardinalities, child, parents_of(dag, child)) for child in range(len(dag))
    )


def max_log_likelihood(codes: IntArray, cardinalities: IntArray, dag: BoolArray) -> float:
    """Return the maximum log-likelihood of a discrete Bayesian network: sum_ijk n_ijk log(n_ijk / n_ij), nats.

    Cost: O(rows x edges).

    Args:
        codes: (rows, p) states 0..r_i-1.
        cardinalities: (p,) r_i.
        dag: (p, p) bool, dag[parent, child].

    Raises:
        InputError: if the shapes disagree or a code is outside its cardinality.
    """
    codes, cardinalities, dag = np.asarray(codes), np.asarray(cardinalities), np.asarray(dag, dtype=bool)
    check_codes(codes, cardinalities)
    p = len(cardinalities)
    if dag.shape != (p, p):
        raise InputError(f"the DAG has shape {dag.shape} for {p} columns: pass a ({p}, {p}) matrix dag[parent, child]")
    columns = np.asfortranarray(codes.astype(np.int64, copy=False))  # families read whole columns
    return log_likelihood(columns, cardinalities, dag)


def check_codes(codes: IntArray, cardinalities: IntArray) -> None:
    """Raise InputError if the codes are not a (rows, p) integer table of states 0..r_i-1."""
    if codes.ndim != 2 or cardinalities.ndim != 1 or codes.shape[1] != len(cardinalities):
        raise InputError(
            f"codes of shape {codes.shape} and cardinalities of shape {cardinalities.shape} do not fit: "
            "pass (rows, p) and (p,)"
        )
    if codes.dtype.kind not in "iu":
        raise InputError(f"codes are {codes.dtype}: pass integers 0..r-1")
    if len(codes) == 0:
        raise InputError("the table has no rows: pass at least one")
    outside = (codes.min(axis=0) < 0) | (codes.max(axis=0) >= cardinalities)
    if outside.any():
        column = int(np.flatnonzero(outside)[0])
        raise InputError(
            f"column {column} has a code outside 0..{int(cardinalities[column]) - 1}: codes number the declared states"
        )
