"""The table of a particle's frontier: numbering configurations, counting by state, forming the next frontier.

A particle's frontier is a table of (slot, cell) states and the number of rows in every cell; all cells are different.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from law_ray.typing import Int32Array, IntArray
from objectives.nml.regret.frontier import Schedule

_DIRECT = 1 << 16
"""Numbers up to here, at least, are looked up in a table instead of being renumbered on the way (heuristic)."""


class Labels(NamedTuple):
    """The labellings of a step: the number of every cell's configuration, and how many configurations there are."""

    numbers: Int32Array
    """(labelling, cell)"""
    sizes: IntArray
    scratch: Int32Array
    """for `renumber`"""
    firsts: Int32Array
    """for `renumber`"""


class Cells(NamedTuple):
    """Arrays over cells, or (cell, state)."""

    unmarked: Int32Array
    """rows that are not marked"""
    source: Int32Array
    """the old cell of a new one"""
    drawn: Int32Array
    """rows by the state drawn"""
    split: Int32Array
    """rows by the cells of the new frontier without the node, and state"""


def allocate(schedule: Schedule) -> tuple[Labels, Cells]:
    """Return arrays that are large enough for every step."""
    n, r = schedule.cells, schedule.states
    n_labels = schedule.most_labellings

    def zeros(*shape: int) -> Int32Array:
        return np.zeros(shape, dtype=np.int32)

    return (
        Labels(zeros(n_labels, n), np.zeros(n_labels, dtype=np.int64), zeros(max(_DIRECT, n * r)), zeros(n)),
        Cells(zeros(n), zeros(n), zeros(n * r), zeros(n * r)),
    )


@njit
def label(states, n_cells, labelling, axes, i, labels):  # type: ignore[no-untyped-def]
    """Number the configurations of some variables 0, 1, ... by first occurrence."""
    first, last, complete = labelling
    numbers, scratch, firsts = labels.numbers[i], labels.scratch, labels.firsts
    if complete:  # the cells are different, so each has its own number
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
            size = renumber(n_cells, numbers, scratch, firsts)
        for m in range(n_cells):
            numbers[m] = numbers[m] * r + states[slot, m]
        size *= r
    labels.sizes[i] = renumber(n_cells, numbers, scratch, firsts) if size > 1 else 1


@njit
def renumber(n_cells, numbers, scratch, firsts):  # type: ignore[no-untyped-def]
    """Replace the first n_cells numbers by 0, 1, ... in the order of their first occurrence; return how many there are.

    scratch: zero for every number that can occur, before and after. firsts: room for the different numbers.
    """
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
    """Write the non-empty cells of the new frontier; return how many there are."""
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
