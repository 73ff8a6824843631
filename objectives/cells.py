"""The cells of a particle's frontier: numbering their configurations, counting by state, forming the next frontier.

A particle's frontier is a table of (slot, cell) states and the rows of every cell; no two cells are alike.
"""

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from objectives.contingency import IntArray
from objectives.frontier import Schedule

Int32Array = NDArray[np.int32]

_DIRECT = 1 << 16  # labels up to here at least are looked up directly


class Labels(NamedTuple):
    numbers: Int32Array
    """(labelling, cell)"""
    sizes: IntArray
    scratch: Int32Array
    firsts: Int32Array


class Cells(NamedTuple):
    """Arrays over cells, or (cell, state)."""

    unmarked: Int32Array
    source: Int32Array
    drawn: Int32Array
    split: Int32Array
    """by the cells of the new frontier, without the node, and state"""


def allocate(schedule: Schedule) -> tuple[Labels, Cells]:
    """Room for the widest step."""
    n, r = schedule.cells, schedule.states
    n_labels = widest(schedule)

    def zeros(*shape: int) -> Int32Array:
        return np.zeros(shape, dtype=np.int32)

    return (
        Labels(zeros(n_labels, n), np.zeros(n_labels, dtype=np.int64), zeros(max(_DIRECT, n * r)), zeros(n)),
        Cells(zeros(n), zeros(n), zeros(n * r), zeros(n * r)),
    )


def widest(schedule: Schedule) -> int:
    """The most labellings of a step."""
    return int((schedule.steps[:, 4] - schedule.steps[:, 3]).max())


@njit
def label(states, n_cells, labelling, axes, i, labels):  # type: ignore[no-untyped-def]
    """Number the configurations of some variables 0, 1, ... by first occurrence."""
    first, last, complete = labelling
    numbers, scratch, firsts = labels.numbers[i], labels.scratch, labels.firsts
    if complete:  # the cells differ, so they number themselves
        for m in range(n_cells):
            numbers[m] = m
        labels.sizes[i] = n_cells
        return
    for m in range(n_cells):
        numbers[m] = 0
    size = 1
    for a in range(first, last):
        slot, r = axes[a]
        if size * r > len(scratch):
            size = _renumber(n_cells, numbers, scratch, firsts)
        for m in range(n_cells):
            numbers[m] = numbers[m] * r + states[slot, m]
        size *= r
    labels.sizes[i] = _renumber(n_cells, numbers, scratch, firsts) if size > 1 else 1


@njit
def _renumber(n_cells, numbers, scratch, firsts):  # type: ignore[no-untyped-def]
    """Replace numbers by 0, 1, ... in the order of their first occurrence; `scratch` stays zero."""
    found = 0
    for m in range(n_cells):
        number = numbers[m]
        if scratch[number] == 0:
            firsts[found] = number
            found += 1
            scratch[number] = found
        numbers[m] = scratch[number] - 1
    for i in range(found):
        scratch[firsts[i]] = 0
    return found


@njit
def count_states(n_cells, r, kept, numbers, sizes, groupings, group_states, cells):  # type: ignore[no-untyped-def]
    """Count the drawn rows by state: in the cells of the new frontier, and in the groups."""
    target = numbers[kept]
    for i in range(sizes[kept] * r):
        cells.split[i] = 0
    for m in range(n_cells):
        for k in range(r):
            cells.split[target[m] * r + k] += cells.drawn[m * r + k]
    first = 0
    for g in range(len(groupings)):
        group, size = numbers[groupings[g, 0]], sizes[groupings[g, 0]]
        for i in range(first * r, (first + size) * r):
            group_states[i] = 0
        for m in range(n_cells):
            for k in range(r):
                group_states[(first + group[m]) * r + k] += cells.drawn[m * r + k]
        first += size


@njit
def collect(n_cells, target, labelling, axes, r, slot, states, new_states, new_counts, first_cell, cells):  # type: ignore[no-untyped-def]
    """Write the non-empty cells of the new frontier; returns how many there are."""
    found = n_new = 0
    for m in range(n_cells):
        if target[m] == found:
            first_cell[found] = m
            found += 1
    for c in range(found):
        rows = 0
        for k in range(r):
            x = cells.split[c * r + k]
            rows += x
            if slot >= 0 and x > 0:
                new_counts[n_new] = x
                new_states[slot, n_new] = k
                cells.source[n_new] = first_cell[c]
                n_new += 1
        if slot < 0:  # the node leaves the frontier at once
            new_counts[n_new] = rows
            cells.source[n_new] = first_cell[c]
            n_new += 1
    first, last, _ = labelling
    for a in range(first, last):
        axis = axes[a, 0]
        for i in range(n_new):
            new_states[axis, i] = states[axis, cells.source[i]]
    return n_new
