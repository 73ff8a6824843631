"""The frontier of a particle, and what each step that draws a node must know of it, as arrays.

A particle holds the counts of its frontier: the configurations of the drawn variables that an open family still
mentions. A family is open until its node is drawn or, for a childless node, until all its parents are. Drawing node i
splits every cell of the frontier over the states of i. The variables whose families are all closed then leave it.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from law_ray.typing import FloatArray, IntArray
from objectives.nml.regret.draw_order import Component


class Schedule(NamedTuple):
    """The steps of one component, for `objectives.nml.regret.particles`.

    A labelling numbers the configurations of some frontier variables. The first labelling of a step is that of the
    node's parents; its configurations are the blocks of the step. A grouping holds the children of the node that have
    the same other drawn parents; the configurations of these parents are its groups. A factor is one such child. Where
    a row has a first and a last element, the last one is not included.

    steps: (n, 8) int64, rows (r, row of log C, slot, first and last labelling, labelling kept, first and last
    grouping). The slot is that of the new variable, or -1 if it leaves at once. The labelling kept is that of the other
    variables that stay; it is counted from the step's first, as are those of groupings.
    labellings: rows (first axis, last axis, whether these are all the frontier's variables).
    axes: rows (slot, r), one for each variable of a labelling.
    groupings: rows (labelling of the groups, labelling of groups and blocks together, first factor, last factor).
    factor_rows, missing: of every factor, the row of log C, and the number of configurations of its parents that are
    drawn later.
    """

    steps: IntArray
    labellings: IntArray
    axes: IntArray
    groupings: IntArray
    factor_rows: IntArray
    missing: FloatArray
    node_rows: IntArray
    """of log C, for every node of the component"""
    node_configurations: FloatArray
    """of the parents of every node"""
    slots: int
    """variables of the widest frontier"""
    cells: int
    """the most cells that a frontier can have"""
    pairs: int
    """the most pairs of a group and a block, over all groupings of a step"""
    states: int
    """the largest cardinality of a drawn node"""

    @property
    def most_labellings(self) -> int:
        """The most labellings of a step."""
        first, last = self.steps[:, 3:5].T
        return int((last - first).max())

    @property
    def most_groupings(self) -> int:
        """The most groupings of a step."""
        first, last = self.steps[:, 6:8].T
        return int((last - first).max())


def schedule(component: Component, order: Sequence[int], rows: dict[int, int], n_rows: int) -> Schedule:
    """Return the steps that draw the internal nodes in `order`; `rows` gives the row of log C of every cardinality."""
    builder = _Builder(component, rows, n_rows)
    for node in order:
        builder.draw(node)
    return builder.finish()


class _Builder:
    """A schedule as it grows, node by node."""

    def __init__(self, component: Component, rows: dict[int, int], n_rows: int) -> None:
        self.component, self.rows, self.n_rows = component, rows, n_rows
        self.done: set[int] = set()
        self.slots: dict[int, int] = {}
        self.steps: list[tuple[int, ...]] = []
        self.labellings: list[tuple[int, int, int]] = []
        self.axes: list[tuple[int, int]] = []
        self.groupings: list[tuple[int, ...]] = []
        self.factor_rows: list[int] = []
        self.missing: list[float] = []
        self.widest = self.cells = self.pairs = self.states = 1

    def size(self, variables: frozenset[int]) -> int:
        """Return the most cells that the table of some variables can have."""
        return min(self.n_rows, math.prod(self.component.cardinalities[v] for v in variables))

    def draw(self, node: int) -> None:
        """Add the step that draws a node."""
        parents, children, r = self.component
        first, first_grouping = len(self.labellings), len(self.groupings)
        live = frozenset(self.slots)
        blocks = frozenset(parents[node])
        known: dict[frozenset[int], int] = {}

        def label(variables: frozenset[int]) -> int:
            if variables not in known:
                known[variables] = len(known)
                start = len(self.axes)
                self.axes += [(self.slots[v], r[v]) for v in sorted(variables)]
                self.labellings.append((start, len(self.axes), int(variables == live)))
            return known[variables]

        label(blocks)
        together: dict[frozenset[int], list[int]] = {}
        for child in children[node]:
            together.setdefault(frozenset(self.done.intersection(parents[child])), []).append(child)
        pairs = 0
        for group, members in together.items():
            start = len(self.factor_rows)
            for child in members:
                self.factor_rows.append(self.rows[r[child]])
                self.missing.append(float(math.prod(r[p] for p in parents[child] if p not in self.done and p != node)))
            self.groupings.append((label(group), label(group | blocks), start, len(self.factor_rows)))
            pairs += self.size(group | blocks)
        self.done.add(node)
        after = _frontier(self.component, self.done, live | {node})
        kept = label(after - {node})
        for gone in live - after:
            del self.slots[gone]
        slot = -1
        if node in after:
            slot = min(set(range(len(self.slots) + 1)) - set(self.slots.values()))
            self.slots[node] = slot
        self.steps.append(
            (r[node], self.rows[r[node]], slot, first, len(self.labellings), kept, first_grouping, len(self.groupings))
        )
        self.widest = max(self.widest, *(s + 1 for s in self.slots.values()), 1)
        self.cells = max(self.cells, self.size(after))
        self.pairs = max(self.pairs, pairs)
        self.states = max(self.states, r[node])

    def finish(self) -> Schedule:
        """Return the schedule."""

        def table(rows: Sequence[Sequence[int]], columns: int) -> IntArray:
            return np.array(rows, dtype=np.int64).reshape(-1, columns)

        return Schedule(
            table(self.steps, 8),
            table(self.labellings, 3),
            table(self.axes, 2),
            table(self.groupings, 4),
            np.array(self.factor_rows, dtype=np.int64),
            np.array(self.missing),
            np.array([self.rows[r] for r in self.component.cardinalities], dtype=np.int64),
            np.array(
                [float(math.prod(self.component.cardinalities[p] for p in near)) for near in self.component.parents]
            ),
            self.widest,
            self.cells,
            self.pairs,
            self.states,
        )


def _frontier(component: Component, done: set[int], live: frozenset[int]) -> frozenset[int]:
    """The live variables that an open family still mentions."""
    parents, children, _ = component

    def is_open(child: int) -> bool:
        return child not in done and (bool(children[child]) or not done.issuperset(parents[child]))

    return frozenset(variable for variable in live if any(map(is_open, children[variable])))
