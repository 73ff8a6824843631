"""Draws of the maximum likelihood of uniform data: what the paper's estimator of the NML regret averages.

A data set of N rows whose columns are uniform and independent has log ML = sum of T(A) over the terms of the DAG
(`objectives.nml.regret.elimination`). Two exact samplers have the same distribution. The one by counts draws only the
contingency tables that the terms need. The one by rows draws the data set itself, for DAGs whose tables would be larger
than that.

The compiled loops use the caller's generator and a single thread.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from law_ray.typing import BoolArray, FloatArray, IntArray
from law_ray.utils.compiled import compiled
from objectives.nml.regret import frontier_tables
from objectives.nml.regret.elimination import ADD_TERM, SPLIT, Plan, eliminate, plan, terms
from objectives.nml.scores.contingency import n_log_n

_MAX_CELLS = 10_000_000
"""The most cells of cliques that are drawn by counts, 4 bytes per cell (heuristic)."""
_CELL_COST = 4
"""A cell by counts costs as much as this many values by rows; from the costs that `draw_log_likelihoods` states."""
_TABULATED = 1024
"""Binomials of fewer trials read the probability of their mode from a table (heuristic)."""
_PACKED_STATES = 8
"""States of a packed word: one byte each in 64 bits."""
_PACKED_ROWS = 64
"""Counts up to this are split by packed words (heuristic); a byte could hold 255."""
_GROUP_BITS = 12
"""A word holds the split of as many rows as this many bits can index (heuristic; the words take 240 kB)."""
_FRACTION_BITS = 50
"""Random bits for two groups of rows, and 26 bits more; 50 + 12 bits fit an int64."""
_DIGIT_BITS = 26
"""Of the 53 random bits of a float, as many are used for digits, so each digit is uniform to 2^-27."""


def draw_log_likelihoods(
    dag: BoolArray, cardinalities: IntArray, n_rows: int, n_samples: int, rng: np.random.Generator
) -> FloatArray:
    """Draw log ML of `n_samples` uniform data sets of `n_rows` rows, in nats: (n_samples,).

    A draw by counts costs 5-30 ns for each cell of the cliques, a draw by rows 1-2 ns for each row and variable of
    every term; the cheaper sampler is used. The choice depends on the arguments alone, so equal arguments and generator
    states give equal values.
    """
    r = [int(value) for value in cardinalities]
    elimination = eliminate(dag, r)
    row_steps = n_rows * (len(r) + sum(len(variables) for variables in terms(dag)))
    if _CELL_COST * elimination.cells <= row_steps and elimination.cells <= _MAX_CELLS:
        return draw_by_counts(plan(dag, r, elimination), max(r), n_rows, n_samples, rng)
    return draw_by_rows(dag, cardinalities, n_rows, n_samples, rng)


def draw_by_counts(
    plan: Plan, max_cardinality: int, n_rows: int, n_samples: int, rng: np.random.Generator
) -> FloatArray:
    """Draw log ML by the steps of a plan, for variables of at most `max_cardinality` states: (n_samples,) nats."""
    splitting = _binomials(max_cardinality, n_rows), _packed_splits()
    x_log_x = n_log_n(np.arange(n_rows + 1))
    draws: FloatArray = _count_kernel(rng, n_samples, n_rows, plan.steps, plan.workspace, x_log_x, *splitting)
    return draws


class _Binomials(NamedTuple):
    """Tables for binomials with p = 1/m: the mode and its probability by m and n < 1024; 1/k, log k and log k! by k."""

    modes: NDArray[np.int32]
    p_modes: FloatArray
    reciprocals: FloatArray
    logs: FloatArray
    log_factorials: FloatArray


def _binomials(max_m: int, max_n: int) -> _Binomials:
    k = np.maximum(np.arange(max(max_m, max_n) + 2), 1)
    log_factorials = np.cumsum(np.log(k))
    n, m = np.arange(min(max_n + 1, _TABULATED)), np.arange(1, max_m + 1)[:, None]
    modes = (n + 1) // m
    modes[0] = n
    log_p = log_factorials[n] - log_factorials[modes] - log_factorials[n - modes]
    log_p += (n - modes) * np.log(np.maximum(m - 1, 1)) - n * np.log(m)
    tables = np.vstack([n, modes]).astype(np.int32), np.vstack([np.ones(len(n)), np.exp(log_p)])  # from m = 0
    return _Binomials(*tables, 1 / k, np.log(k), log_factorials)


class _PackedSplits(NamedTuple):
    """All ways to distribute a few rows over at most 8 states, by the number of states m and the number of rows g.

    words[starts[m, g] + i] holds, in one byte for each state, how often each digit occurs among the g digits of i in
    base m. So a uniform i < sizes[m, g] = m^g splits g rows uniformly. rows[m] is the largest g.
    """

    rows: IntArray
    sizes: IntArray
    starts: IntArray
    words: NDArray[np.uint64]


@cache
def _packed_splits() -> _PackedSplits:
    rows = np.zeros(_PACKED_STATES + 1, dtype=np.int64)
    sizes, starts = np.zeros((2, _PACKED_STATES + 1, _GROUP_BITS + 1), dtype=np.int64)
    words: list[NDArray[np.uint64]] = []
    for m in range(2, _PACKED_STATES + 1):
        rows[m] = math.floor(_GROUP_BITS / math.log2(m))
        one_row = np.uint64(1) << np.arange(0, 8 * m, 8, dtype=np.uint64)
        splits = np.zeros(1, dtype=np.uint64)
        for g in range(int(rows[m]) + 1):
            sizes[m, g] = len(splits)
            starts[m, g] = sum(map(len, words))
            words.append(splits)
            splits = np.add.outer(splits, one_row).ravel()
    return _PackedSplits(rows, sizes, starts, np.concatenate(words))


# The helpers below handle a whole table in one call. A compiled call with array arguments costs tens of nanoseconds for
# reference counts, more than the work on one cell.


@njit
def _split(rng, counts, source, target, outer, r, binomials, packed_splits):  # type: ignore[no-untyped-def]
    """Divide each of the `outer` counts at `source` uniformly over r counts at `target`.

    A large count is divided state by state, with a binomial of p = 1/m while m states are left, by inversion from the
    mode outwards in about sqrt(n p) steps. What is left of a small count is split at once by `packed_splits`.
    """
    modes, p_modes, reciprocals, logs, log_factorials = binomials
    group_rows, sizes, starts, words = packed_splits
    for cell in range(outer):
        n, m = np.int64(counts[source + cell]), r
        k = target + cell * r
        while m > 1 and n > 0 and (n > _PACKED_ROWS or m > _PACKED_STATES):
            if n < modes.shape[1]:
                drawn, p_low = np.int64(modes[m, n]), p_modes[m, n]
            else:
                drawn = (n + 1) // m
                log_p = log_factorials[n] - log_factorials[drawn] - log_factorials[n - drawn]
                p_low = np.exp(log_p + (n - drawn) * logs[m - 1] - n * logs[m])
            left = rng.random() - p_low
            low, high, p_high = drawn, drawn, p_low
            while left >= 0 and (high < n or low > 0):
                if high < n:
                    p_high *= (n - high) * reciprocals[high + 1] * reciprocals[m - 1]
                    high += 1
                    drawn = high
                    left -= p_high
                if left >= 0 and low > 0:
                    p_low *= low * reciprocals[n - low + 1] * (m - 1)
                    low -= 1
                    drawn = low
                    left -= p_low
            counts[k] = drawn
            k, n, m = k + 1, n - drawn, m - 1
        if m == 1:
            counts[k] = n
            continue
        split = np.uint64(0)
        bits, groups = np.int64(0), 0
        while n > 0:
            if groups % 2 == 0:
                bits = np.int64(rng.random() * 2.0**_FRACTION_BITS)
            g = min(n, group_rows[m])
            bits *= sizes[m, g]
            split += words[starts[m, g] + (bits >> _FRACTION_BITS)]
            bits &= (1 << _FRACTION_BITS) - 1
            n, groups = n - g, groups + 1
        for state in range(k, target + (cell + 1) * r):
            counts[state] = split & np.uint64(255)
            split >>= np.uint64(8)


@njit
def _sum_out(counts, source, target, outer, r, inner):  # type: ignore[no-untyped-def]
    """Sum the (outer, r, inner) table at `source` over its middle axis, into `target`."""
    for a in range(outer):
        row = target + a * inner
        for b in range(inner):
            counts[row + b] = counts[source + a * r * inner + b]
        for k in range(1, r):
            for b in range(inner):
                counts[row + b] += counts[source + (a * r + k) * inner + b]


@compiled()
def _count_kernel(rng, n_samples, n_rows, steps, workspace, x_log_x, binomials, packed_splits):  # type: ignore[no-untyped-def]
    counts = np.zeros(workspace, dtype=np.int32)
    counts[0] = n_rows
    draws = np.zeros(n_samples)
    for sample in range(n_samples):
        for step in range(len(steps)):
            kind, source, target, outer, r, inner = steps[step]
            if kind == SPLIT:
                _split(rng, counts, source, target, outer, r, binomials, packed_splits)
            elif kind == ADD_TERM:
                total = 0.0
                for cell in range(source, source + outer):
                    total += x_log_x[counts[cell]]
                draws[sample] += r * total
            else:
                _sum_out(counts, source, target, outer, r, inner)
    return draws


def draw_by_rows(
    dag: BoolArray, cardinalities: IntArray, n_rows: int, n_samples: int, rng: np.random.Generator
) -> FloatArray:
    """Draw log ML from whole data sets, whatever the number of parent configurations: (n_samples,) nats."""
    coefficients = terms(dag)
    members = np.array([variable for variables in coefficients for variable in variables], dtype=np.int64)
    ends = np.cumsum([len(variables) for variables in coefficients])
    weights = np.array(list(coefficients.values()), dtype=np.int64)
    r = np.asarray(cardinalities, dtype=np.int64)
    columns = np.empty((len(r), n_rows), dtype=np.min_scalar_type(int(r.max()) - 1))  # usually one byte per value
    x_log_x = n_log_n(np.arange(n_rows + 1))
    draws: FloatArray = _row_kernel(rng, n_samples, columns, r, members, ends, weights, x_log_x)
    return draws


@compiled(calls=(frontier_tables,))
def _row_kernel(rng, n_samples, columns, cardinalities, members, ends, weights, x_log_x):  # type: ignore[no-untyped-def]
    n_rows = columns.shape[1]
    max_labels = n_rows  # if there are more configurations, the observed ones are renumbered
    counts = np.zeros(max_labels * cardinalities.max(), dtype=np.int32)
    labels, firsts = np.empty(n_rows, dtype=np.int32), np.empty(n_rows, dtype=np.int32)
    draws = np.zeros(n_samples)
    for sample in range(n_samples):
        for i in range(len(cardinalities)):
            _fill_uniform(rng, columns[i], cardinalities[i])
        start = 0
        for term in range(len(ends)):
            n_labels = 1
            labels[:] = 0
            for variable in members[start : ends[term]]:
                n_labels *= cardinalities[variable]
                for row in range(n_rows):
                    labels[row] = labels[row] * cardinalities[variable] + columns[variable, row]
                if n_labels > max_labels:
                    n_labels = frontier_tables.renumber(n_rows, labels, counts, firsts)
            start = ends[term]
            for row in range(n_rows):
                counts[labels[row]] += 1
            total = 0.0
            for row in range(n_rows):  # every observed configuration once; this also clears the counts
                total += x_log_x[counts[labels[row]]]
                counts[labels[row]] = 0
            draws[sample] += weights[term] * total
    return draws


@njit
def _fill_uniform(rng, column, r):  # type: ignore[no-untyped-def]
    """Fill a column with independent uniform states 0..r-1: the digits of random floats in base r."""
    per_float = int(_DIGIT_BITS / np.log2(r)) if r > 1 else _DIGIT_BITS
    digits = 0.0
    for row in range(len(column)):
        if row % per_float == 0:
            digits = rng.random()
        digits *= r
        column[row] = int(digits)
        digits -= int(digits)
