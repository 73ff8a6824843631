"""The skeleton of a network from conditional-independence tests: PC-stable with the G^2 test."""

import itertools
import math
from collections.abc import Iterable
from numbers import Real
from typing import Literal, NamedTuple, get_args

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import BoolArray, IntArray
from objectives.nml.scores.contingency import MAX_CELLS, check_codes, configurations, n_log_n, occupied

DegreesOfFreedom = Literal["adjusted", "full"]


MAX_TESTS = 30_000_000
"""Tests for sets of one size, some 0.1 ms each, that are begun: about an hour (heuristic)."""


class IndependenceTest(NamedTuple):
    """The result of one G^2 test: the statistic, its degrees of freedom and the p-value."""

    statistic: float
    dof: float
    p_value: float


def g_squared(
    codes: IntArray,
    cardinalities: IntArray,
    x: int,
    y: int,
    given: Iterable[int] = (),
    dof: DegreesOfFreedom = "adjusted",
) -> IndependenceTest:
    """Test whether columns x and y are independent given other columns: G^2 = 2 N MI(x; y | given).

    dof="full" is (r_x - 1)(r_y - 1) prod r_z, as in the paper. "adjusted" sums (non-empty rows - 1)(non-empty columns -
    1) over the strata of `given`, so an empty margin does not count as a degree of freedom. Without a degree of freedom
    p = 1. Cost: O(rows), and sorts of them where the table of x, y and the strata has more than MAX_CELLS cells.

    Args:
        codes: (rows, p) states from 0 to r_i - 1, which are not checked.
        cardinalities: (p,) the numbers of states r_i.
        x: a column.
        y: another column.
        given: the columns whose configurations are the strata.
        dof: how degrees of freedom are counted.
    """
    from scipy.special import gammaincc  # here, because a process that only scores orderings never tests

    given = tuple(given)
    r_x, r_y = int(cardinalities[x]), int(cardinalities[y])
    strata, n_strata = configurations(codes, cardinalities, given, MAX_CELLS // (r_x * r_y))
    count = _dense if n_strata * r_x * r_y <= MAX_CELLS else _sparse
    information, filled = count(codes[:, x], codes[:, y], strata, r_x, r_y, n_strata)
    statistic = max(0.0, 2.0 * information)
    if dof == "full":
        degrees = float((r_x - 1) * (r_y - 1) * math.prod(int(cardinalities[z]) for z in given))
    else:  # the maximum, because an empty stratum would count (0 - 1)(0 - 1)
        degrees = float(np.prod(np.maximum(filled - 1, 0), axis=0).sum())
    p_value = float(gammaincc(degrees / 2, statistic / 2)) if degrees > 0 else 1.0
    return IndependenceTest(statistic, degrees, p_value)


def _dense(x: IntArray, y: IntArray, strata: IntArray, r_x: int, r_y: int, n_strata: int) -> tuple[float, IntArray]:
    """N MI(x; y | strata), and the (2, n_strata) numbers of states of x and of y that occur, from all cells."""
    cells = (strata * r_x + x) * r_y + y
    counts = np.bincount(cells, minlength=n_strata * r_x * r_y).reshape(n_strata, r_x, r_y)
    n_x, n_y = counts.sum(axis=2), counts.sum(axis=1)
    information = n_log_n(counts).sum() - n_log_n(n_x).sum() - n_log_n(n_y).sum() + n_log_n(n_x.sum(axis=1)).sum()
    return float(information), np.array([(n_x > 0).sum(axis=1), (n_y > 0).sum(axis=1)])


def _sparse(x: IntArray, y: IntArray, strata: IntArray, r_x: int, r_y: int, n_strata: int) -> tuple[float, IntArray]:
    """The same from the cells that occur."""
    of_x, n_x = occupied(strata * r_x + x, n_strata * r_x)
    of_y, n_y = occupied(strata * r_y + y, n_strata * r_y)
    _, n_xy = occupied((strata * r_x + x) * r_y + y, n_strata * r_x * r_y)
    information = n_log_n(n_xy).sum() - n_log_n(n_x).sum() - n_log_n(n_y).sum() + n_log_n(np.bincount(strata)).sum()
    filled = [np.bincount(cells // r, minlength=n_strata) for cells, r in ((of_x, r_x), (of_y, r_y))]
    return float(information), np.array(filled)


def skeleton(
    codes: IntArray, cardinalities: IntArray, alpha: float = 0.05, dof: DegreesOfFreedom = "adjusted"
) -> BoolArray:
    """Find the skeleton with PC-stable and the G^2 test (Colombo & Maathuis 2014).

    It starts from the complete graph and takes the sizes 0, 1, 2, ... in turn. The edge x - y is removed if x and y
    test as independent (p > alpha) given some set of that size. The set is taken from the neighbours of x, or from
    those of y, as they were at the start of the size. So the result does not depend on the order of the columns. Cost:
    an O(rows) test for each set tried, below a second for 10,000 rows of 11-37 columns. The number of sets is
    exponential in that of the neighbours: a cause of 16 effects takes a minute.

    Args:
        codes: (rows, p) states 0..r_i-1.
        cardinalities: (p,) the numbers of declared states, on which the full degrees of freedom depend.
        alpha: the level of the tests.
        dof: the degrees of freedom, see `g_squared`.

    Returns:
        (p, p) bool, symmetric.

    Raises:
        InputError: if the codes do not fit the cardinalities, an option is unknown or out of range, or there would be
            more than MAX_TESTS tests.
    """
    codes, cardinalities = np.asarray(codes), np.asarray(cardinalities)
    check_codes(codes, cardinalities)
    if dof not in get_args(DegreesOfFreedom):
        raise InputError(f"dof={dof!r} is unknown: choose adjusted or full")
    if not (isinstance(alpha, Real) and 0 < alpha < 1):
        raise InputError(f"alpha={alpha!r} is not a significance level: choose a number between 0 and 1")
    codes = np.asfortranarray(codes.astype(np.int64, copy=False))
    p = len(cardinalities)
    graph = ~np.eye(p, dtype=bool)
    for size in range(p - 1):
        neighbours = [np.flatnonzero(row).tolist() for row in graph]
        if max(len(near) for near in neighbours) <= size:
            break
        _refuse_hopeless(graph, size)
        for x, y in np.argwhere(np.triu(graph)).tolist():
            near_x = itertools.combinations([z for z in neighbours[x] if z != y], size)
            near_y = itertools.combinations([z for z in neighbours[y] if z != x], size)
            tried = dict.fromkeys(itertools.chain(near_x, near_y))
            if any(g_squared(codes, cardinalities, x, y, given, dof).p_value > alpha for given in tried):
                graph[x, y] = graph[y, x] = False
    return graph


def _refuse_hopeless(graph: BoolArray, size: int) -> None:
    """Raise InputError if there are too many sets of this size among the neighbours of the edges' ends."""
    degrees = graph.sum(axis=0).tolist()
    n_tests = sum(degree * math.comb(degree - 1, size) for degree in degrees if degree)
    if n_tests > MAX_TESTS:
        raise InputError(
            f"the skeleton would take up to {n_tests:.1e} tests, since a column has {max(degrees)} neighbours: use "
            "edges=score, or fewer columns"
        )
