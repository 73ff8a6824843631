"""Counting: contingency tables of families and the maximum log-likelihood of a discrete Bayesian network.

Notation: `cardinalities` r_i, q_i the number of parent configurations of node i, n_ijk the rows in which the parents
of i are in configuration j and i is in state k, n_ij their sum over k; log-likelihoods are in nats and 0 log 0 = 0.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from law_ray.errors import InputError

MAX_CELLS = 10_000_000
"""The largest table that is allocated; a larger one keeps its non-empty parent configurations only."""

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def parents_of(dag: BoolArray, child: int) -> tuple[int, ...]:
    """The parents of `child` in dag[parent, child], in increasing order."""
    return tuple(np.flatnonzero(dag[:, child]).tolist())


def configurations(
    codes: IntArray, cardinalities: Sequence[int] | IntArray, variables: Sequence[int], max_configurations: int
) -> tuple[IntArray, int]:
    """The joint configuration of some variables in every row, as one number; the last variable varies fastest.

    Numbers run over all configurations when there are at most `max_configurations` of them, and over the observed
    ones, in the same order, otherwise. Returns the (rows,) numbers and how many there are. Cost: O(rows) a variable,
    and a sort of the rows each time the limit is passed.
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


def family_counts(
    codes: IntArray, cardinalities: Sequence[int] | IntArray, child: int, parents: Sequence[int]
) -> IntArray:
    """The counts n_ijk of one family as a (q, r) table, parent configurations in mixed radix, the last parent fastest.

    A family of more than `MAX_CELLS` cells gives only the rows of its observed parent configurations, in the same
    order.
    """
    r = int(cardinalities[child])
    labels, q = configurations(codes, cardinalities, parents, MAX_CELLS // r)
    return np.bincount(labels * r + codes[:, child], minlength=q * r).reshape(q, r)


def n_log_n(counts: IntArray) -> NDArray[np.float64]:
    """n log n of every count, in nats, with 0 log 0 = 0."""
    logs: NDArray[np.float64] = np.log(np.maximum(counts, 1))
    return counts * logs


class FamilyLikelihoods:
    """Maximum log-likelihoods of families over one table, each computed once: sum_jk n_ijk log(n_ijk / n_ij) in nats.

    The memory lives as long as the object: one float for every different (child, parents) that was asked.
    """

    def __init__(self, codes: IntArray, cardinalities: IntArray) -> None:
        self._codes = np.asfortranarray(codes)  # families read whole columns
        self._cardinalities = cardinalities
        self._known: dict[tuple[int, tuple[int, ...]], float] = {}

    def family(self, child: int, parents: tuple[int, ...]) -> float:
        """The term of one node, in nats; `parents` in increasing order."""
        value = self._known.get((child, parents))
        if value is None:
            counts = family_counts(self._codes, self._cardinalities, child, parents)
            value = float(n_log_n(counts).sum() - n_log_n(counts.sum(axis=1)).sum())
            self._known[child, parents] = value
        return value

    def dag(self, dag: BoolArray) -> float:
        """The maximum log-likelihood of a DAG, dag[parent, child], in nats: the sum of its families."""
        return math.fsum(self.family(child, parents_of(dag, child)) for child in range(len(dag)))


def max_log_likelihood(codes: IntArray, cardinalities: IntArray, dag: BoolArray) -> float:
    """The maximum log-likelihood of a discrete Bayesian network: sum_ijk n_ijk log(n_ijk / n_ij), nats.

    codes: (rows, p) states 0..r_i-1; cardinalities: (p,) r_i; dag: (p, p) bool, dag[parent, child].
    Raises InputError when the shapes disagree or a code is outside its cardinality. Cost: O(rows x edges).
    """
    codes, cardinalities, dag = np.asarray(codes), np.asarray(cardinalities), np.asarray(dag, dtype=bool)
    check_codes(codes, cardinalities)
    p = len(cardinalities)
    if dag.shape != (p, p):
        raise InputError(f"the DAG has shape {dag.shape} for {p} columns: pass a ({p}, {p}) matrix dag[parent, child]")
    return FamilyLikelihoods(codes, cardinalities).dag(dag)


def check_codes(codes: IntArray, cardinalities: IntArray) -> None:
    """Refuse codes that are not a (rows, p) integer table of states 0..r_i-1."""
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


def free_parameters(cardinalities: Sequence[int] | IntArray, dag: BoolArray) -> int:
    """The number of free parameters of a discrete Bayesian network: sum_i (r_i - 1) q_i, an exact integer."""
    r = [int(value) for value in cardinalities]
    return sum((r[child] - 1) * math.prod(r[parent] for parent in parents_of(dag, child)) for child in range(len(r)))
