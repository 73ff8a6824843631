"""The sampling plan of a DAG: contingency tables of uniform data, drawn clique by clique along a junction tree.

Columns drawn uniformly and independently stay exchangeable given a table of some of them. So adding a variable v to a
table splits every cell uniformly over the r_v states, and the two sides of a separator are independent given the table
of the separator. The tables of the cliques of a triangulated moral graph are each extended from the table of its
separator. They therefore have the distribution of the tables of N x p uniform rows (Lauritzen 1996 for the graphs).

The maximum log-likelihood needs tables only: with T(A) = sum over the cells of A's table of n log n, it is
sum_i T(family_i) - T(parents_i). Sets that occur with both signs cancel (this is Studeny's imset of the DAG), so the
plans of Markov equivalent DAGs sum the same terms.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from law_ray.typing import BoolArray, IntArray
from objectives.nml.scores.contingency import parents_of

SPLIT, SUM_OUT, ADD_TERM = 0, 1, 2
"""The kinds of step of a `Plan`."""


class Plan(NamedTuple):
    """Steps that turn one random stream into one draw of log ML, over a workspace of tables.

    steps: (n_steps, 6) int64, rows (kind, source, target, outer, r, inner), where `source` and `target` are offsets in
    the workspace. SPLIT divides each of `outer` cells over r states. SUM_OUT sums over the middle axis of an (outer, r,
    inner) table. ADD_TERM adds r times T of the `outer` cells at `source`. The first cell of the workspace holds N.
    """

    steps: IntArray
    workspace: int


def terms(dag: BoolArray) -> dict[tuple[int, ...], int]:
    """Return the sets A, each sorted, whose T(A) sum to log ML, with their coefficients other than zero."""
    coefficients: Counter[tuple[int, ...]] = Counter()
    for child in range(len(dag)):
        parents = parents_of(dag, child)
        coefficients[tuple(sorted((*parents, child)))] += 1
        coefficients[parents] -= 1
    return {variables: coefficients[variables] for variables in sorted(coefficients) if coefficients[variables]}


class Elimination(NamedTuple):
    """An elimination order of the moral graph, and the neighbours that each node had when it was eliminated."""

    order: list[int]
    separators: dict[int, frozenset[int]]
    cells: int
    """of the tables of all cliques together"""


def eliminate(dag: BoolArray, cardinalities: Sequence[int]) -> Elimination:
    """Return the better of two greedy orders: smallest clique first, least weighted fill-in first (Kjaerulff 1990)."""
    return min((_eliminate(dag, cardinalities, by_fill) for by_fill in (False, True)), key=lambda found: found.cells)


def _eliminate(dag: BoolArray, cardinalities: Sequence[int], by_fill: bool) -> Elimination:
    near: dict[int, set[int]] = {node: set() for node in range(len(dag))}
    for child in near:
        family = {child, *parents_of(dag, child)}
        for node in family:
            near[node] |= family - {node}

    def clique(node: int) -> int:
        return cardinalities[node] * math.prod(cardinalities[other] for other in near[node])

    def fill(node: int) -> int:
        # every missing edge is counted from both ends
        return sum(cardinalities[a] * cardinalities[b] for a in near[node] for b in near[node] - near[a] - {a})

    order, separators, cells = [], {}, 0
    while near:
        node = min(near, key=lambda i: (fill(i) if by_fill else 0, clique(i), i))
        cells += clique(node)
        order.append(node)
        separators[node] = frozenset(near[node])
        for other in near.pop(node):
            near[other] |= separators[node]
            near[other] -= {node, other}
    return Elimination(order, separators, cells)


def plan(dag: BoolArray, cardinalities: Sequence[int], elimination: Elimination) -> Plan:
    """Return the steps of one draw: the variables are added by splits, last eliminated first, then the terms summed."""
    tables = _Tables(cardinalities)
    for node in reversed(elimination.order):
        tables.split(tables.margin(elimination.separators[node]), node)
    for variables, coefficient in sorted(terms(dag).items(), key=lambda term: -len(term[0])):
        tables.add_term(tables.margin(frozenset(variables)), coefficient)
    return Plan(np.array(tables.steps, dtype=np.int64), tables.workspace)


class _Tables:
    """The tables drawn so far, by their variables in the order of their axes, and the steps that draw them."""

    def __init__(self, cardinalities: Sequence[int]) -> None:
        self.cardinalities = cardinalities
        self.offsets: dict[tuple[int, ...], int] = {(): 0}
        self.steps: list[tuple[int, int, int, int, int, int]] = []
        self.workspace = 1

    def cells(self, axes: tuple[int, ...]) -> int:
        """Return the size of a table."""
        return math.prod(self.cardinalities[axis] for axis in axes)

    def _allocate(self, axes: tuple[int, ...]) -> int:
        self.offsets[axes] = self.workspace
        self.workspace += self.cells(axes)
        return self.offsets[axes]

    def split(self, axes: tuple[int, ...], node: int) -> None:
        """Add the step that extends a table by the axis of a node."""
        source, target = self.offsets[axes], self._allocate((*axes, node))
        self.steps.append((SPLIT, source, target, self.cells(axes), self.cardinalities[node], 1))

    def margin(self, variables: frozenset[int]) -> tuple[int, ...]:
        """Add the steps that sum the smallest table with all `variables` to these; return the axes of the result."""
        found = [axes for axes in self.offsets if variables.issubset(axes)]
        axes = min(found, key=lambda axes: (self.cells(axes), axes))
        while len(axes) > len(variables):
            extra = [i for i, axis in enumerate(axes) if axis not in variables]
            i = max(extra, key=lambda i: (self.cardinalities[axes[i]], -i))  # the table shrinks fastest
            smaller = axes[:i] + axes[i + 1 :]
            shape = self.cells(axes[:i]), self.cardinalities[axes[i]], self.cells(axes[i + 1 :])
            self.steps.append((SUM_OUT, self.offsets[axes], self._allocate(smaller), *shape))
            axes = smaller
        return axes

    def add_term(self, axes: tuple[int, ...], coefficient: int) -> None:
        """Add the step that adds a term of log ML."""
        self.steps.append((ADD_TERM, self.offsets[axes], 0, self.cells(axes), coefficient, 1))
