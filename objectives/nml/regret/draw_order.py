"""The order in which particles draw the internal nodes of a DAG.

A family is open until its node is drawn or, for a childless node, until all its parents are. The frontier is the set of
drawn variables that an open family still mentions; a cheap order keeps it small. Sets of variables are integers: bit v
stands for variable v.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

_WIDTH = 0.2
"""Weight of the widest frontier of a round, against the one it leaves (heuristic)."""
MAX_MARKED = 0.7
"""Largest share of a group's rows that `balanced_proposals` marks, over all groupings (heuristic)."""


class Component(NamedTuple):
    """A connected DAG over nodes 0..p-1: sorted parents and children of each, and their cardinalities."""

    parents: tuple[tuple[int, ...], ...]
    children: tuple[tuple[int, ...], ...]
    cardinalities: tuple[int, ...]


class OrderSearch:
    """Greedy topological orders of the internal nodes of a component, and the estimated work of one particle.

    The work is the number of cell visits for tables whose counts are uniform. It includes marking rows
    (`objectives.nml.regret.balanced_proposals`), so a cheap order tends to have a low variance too.
    """

    def __init__(self, component: Component, n_rows: int) -> None:
        parents, children, r = component
        self._r, self._n_rows = r, float(n_rows)
        self._children = children
        self._parents = [_mask(near) for near in parents]
        self._families = [[(c, not children[c], self._parents[c]) for c in near] for near in children]
        waiting = [len(near) for near in parents]
        self._topological = [node for node in range(len(r)) if not parents[node]]
        for node in self._topological:
            for child in children[node]:
                waiting[child] -= 1
                if not waiting[child]:
                    self._topological.append(child)
        needs = [0] * len(r)  # of each family: the nodes that must be drawn before it is closed
        for node in self._topological:
            for parent in parents[node]:
                needs[node] |= needs[parent] | 1 << parent
        for node in range(len(r)):
            if children[node]:
                needs[node] |= 1 << node
        self._needs = list(dict.fromkeys(needs[node] for node in range(len(r)) if parents[node]))
        self._sizes: dict[int, float] = {0: 1.0}

    def order(self, rng: np.random.Generator | None, bound: float = math.inf) -> tuple[float, list[int]]:
        """Return the work and the nodes of one order; with a generator the choices are perturbed.

        Each round closes the family that leaves the smallest frontier, by drawing the nodes that it lacks, ancestors
        first. Where the work exceeds the `bound` the order is left incomplete.
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
                score = (_WIDTH * self._rows(wide) + rows) * math.exp(exponent)
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
        """The cells of the table of some variables, at most one for each row of data."""
        size = self._sizes.get(variables)
        if size is None:
            lowest = variables & -variables
            size = min(self._n_rows, self._r[lowest.bit_length() - 1] * self._rows(variables ^ lowest))
            self._sizes[variables] = size
        return size

    def _after(self, done: int, live: int) -> int:
        """The live variables that an open family still mentions, as a bitmask."""
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
        """The cell visits of one particle in the step that draws a node."""
        r, blocks = self._r[node], self._parents[node]
        groups: dict[int, float] = {}
        for child in self._children[node]:
            group = self._parents[child] & done
            missing = math.prod(self._r[i] for i in _bits(self._parents[child] & ~done & ~(1 << node)))
            groups[group] = groups.get(group, 0.0) + missing * (self._r[child] - 1) / 2
        cells = self._rows(live)
        work = cells * (r + 2) * (1 + len(groups))  # a few passes for each labelling
        for group, tilt in groups.items():
            if group != blocks:
                n = self._rows(group)
                marks = n * min(tilt * r, MAX_MARKED * self._n_rows / n / len(groups))
                work += marks * (5 + self._rows(group | blocks) / n * 0.5)  # heuristic: a mark, and the pairs it passes
        return work


def _mask(nodes: Sequence[int]) -> int:
    return sum(1 << node for node in nodes)


def _bits(mask: int) -> list[int]:
    return [i for i in range(mask.bit_length()) if mask >> i & 1]
