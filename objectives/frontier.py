"""The order in which particles draw the internal nodes of a DAG, and what each step must know, as arrays.

A particle holds the counts of its frontier: the configurations of the drawn variables that an open family still
mentions (a family is open until its node is drawn or, for a childless node, until its parents are). Drawing node i
splits every cell of the frontier over the states of i; the variables whose families have all closed then leave it.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from objectives.contingency import IntArray
from objectives.uniform import FloatArray


class Component(NamedTuple):
    """A connected DAG over nodes 0..p-1: sorted parents and children of each, and their cardinalities."""

    parents: tuple[tuple[int, ...], ...]
    children: tuple[tuple[int, ...], ...]
    cardinalities: tuple[int, ...]


class Schedule(NamedTuple):
    """The steps of one component, for `objectives.particles`.

    steps: (n, 8) int64, a row (r, row of log C, slot of the new variable or -1 when it leaves at once, first and last
    labelling, kept labelling, first and last grouping). A labelling numbers the configurations of some frontier
    variables: rows (first axis, last axis, whether these are all of them) into `axes`, rows (slot, r). The first
    labelling of a step is that of the node's parents, its blocks. A grouping holds the children of the node that have
    the same other drawn parents: rows (labelling of those parents, labelling of those and the blocks, first and last
    factor, both labellings counted from the step's first); a factor is such a child: its row of log C, and in
    `missing` the number of configurations of its parents that come later.
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


class OrderSearch:
    """Greedy topological orders of the internal nodes of a component, and the estimated work of one particle.

    The work counts cell visits from the sizes of tables whose counts are uniform, marks (`objectives.particles`)
    included, so a cheap order tends to be one of low variance too.
    """

    def __init__(self, component: Component, n_rows: int) -> None:
        parents, children, r = component
        self._r, self._n_rows = r, float(n_rows)
        self._children = [[child for child in near] for near in children]
        self._parents = [_mask(near) for near in parents]
        self._families = [[(c, not children[c], self._parents[c]) for c in near] for near in children]
        waiting = [len(near) for near in parents]
        self._topological = [node for node in range(len(r)) if not parents[node]]
        for node in self._topological:
            for child in children[node]:
                waiting[child] -= 1
                if not waiting[child]:
                    self._topological.append(child)
        needs = [0] * len(r)  # of a family: the nodes that are drawn before it is closed
        for node in self._topological:
            for parent in parents[node]:
                needs[node] |= needs[parent] | 1 << parent
        for node in range(len(r)):
            if children[node]:
                needs[node] |= 1 << node
        self._needs = list(dict.fromkeys(needs[node] for node in range(len(r)) if parents[node]))
        self._sizes: dict[int, float] = {0: 1.0}

    def order(self, rng: np.random.Generator | None, bound: float = math.inf) -> tuple[float, list[int]]:
        """The work and one order; with a generator the choices are perturbed. Gives up beyond the `bound`.

        Each round closes the family that leaves the smallest frontier, drawing what it lacks, ancestors first.
        """
        done = live = 0
        order: list[int] = []
        total = 0.0
        waiting = list(self._needs)
        while waiting and total < bound:
            noise = rng.random(len(waiting)).tolist() if rng is not None else [0.0] * len(waiting)
            best, chosen = math.inf, 0
            for need, exponent in zip(waiting, noise, strict=True):
                lacking = need & ~done
                wide = live | lacking
                rows = self._rows(self._after(done | lacking, wide))
                score = (0.2 * self._rows(wide) + rows) * math.exp(exponent)
                if score < best:
                    best, chosen = score, lacking
            for node in self._topological:
                if chosen >> node & 1:
                    total += self._work(done, live, node)
                    done |= 1 << node
                    live = self._after(done, live | 1 << node)
                    order.append(node)
            waiting = [need for need in waiting if need & ~done]
        return total, order

    def _rows(self, variables: int) -> float:
        """The cells of a table, at most one a row."""
        size = self._sizes.get(variables)
        if size is None:
            lowest = variables & -variables
            size = min(self._n_rows, self._r[lowest.bit_length() - 1] * self._rows(variables ^ lowest))
            self._sizes[variables] = size
        return size

    def _after(self, done: int, live: int) -> int:
        """The live variables that an open family still mentions."""
        after, rest = 0, live
        while rest:
            bit = rest & -rest
            rest ^= bit
            for child, is_leaf, parents in self._families[bit.bit_length() - 1]:
                if not done >> child & 1 and (not is_leaf or parents & ~done):
                    after |= bit
                    break
        return after

    def _work(self, done: int, live: int, node: int) -> float:
        r, blocks = self._r[node], self._parents[node]
        groups: dict[int, float] = {}
        for child in self._children[node]:
            group = self._parents[child] & done
            missing = math.prod(self._r[i] for i in _bits(self._parents[child] & ~done & ~(1 << node)))
            groups[group] = groups.get(group, 0.0) + missing * (self._r[child] - 1) / 2
        cells = self._rows(live)
        work = cells * (r + 2) * (1 + len(groups))
        for group, tilt in groups.items():
            if group != blocks:
                n = self._rows(group)
                marks = n * min(tilt * r, 0.7 * self._n_rows / n / len(groups))
                work += marks * (5 + self._rows(group | blocks) / n * 0.5)
        return work


def _mask(nodes: Sequence[int]) -> int:
    return sum(1 << node for node in nodes)


def _bits(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]


def _frontier(component: Component, done: set[int], live: frozenset[int]) -> frozenset[int]:
    parents, children, _ = component

    def is_open(child: int) -> bool:
        return child not in done and (bool(children[child]) or not done.issuperset(parents[child]))

    return frozenset(variable for variable in live if any(map(is_open, children[variable])))


def schedule(component: Component, order: Sequence[int], rows: dict[int, int], n_rows: int) -> Schedule:
    """The steps that draw the internal nodes in `order`; `rows` gives the row of log C of every cardinality."""
    builder = _Builder(component, rows, n_rows)
    for node in order:
        builder.draw(node)
    return builder.finish()


class _Builder:
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
        return min(self.n_rows, math.prod(self.component.cardinalities[v] for v in variables))

    def draw(self, node: int) -> None:
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
