"""From an ordering to a DAG without a skeleton: the parents of each variable by grow-shrink among its predecessors.

The idea of grow-shrink trees is from Andrews, Ramsey, Sanchez-Romero, Camchong & Kummerfeld 2023, "Fast scalable and
accurate discovery of DAGs using the best order score search and grow-shrink trees". Exchanges are our addition: without
them a variable can keep a parent that stands in for its true cause. Sets of variables are integers: bit v stands for
variable v.
"""

import math
from typing import NamedTuple

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import BoolArray, IntArray
from objectives.nml.scores.decomposable import DecomposableScore

LEAST_GAIN = 1e-6
"""nats that a change must save. Totals of 1e5 nats are rounded at 1e-10, and by gains of that size a search could
go back and forth forever."""


class ParentSet(NamedTuple):
    """The parents of one variable, in increasing order, and the cost of the family in nats."""

    parents: tuple[int, ...]
    cost: float


class Moves(NamedTuple):
    """Ways to a parent set of lower cost, whatever the predecessors: each brings in one variable."""

    best_first: tuple[tuple[int, int], ...]
    """the bit of the variable, and the set it leads to"""
    bits: int
    """of all these variables"""


class Settled(NamedTuple):
    """A parent set from which no removal lowers or keeps the cost, and the exchanges of a parent that lower it."""

    family: ParentSet
    exchanges: Moves


class Found(NamedTuple):
    """The parents that a search found among some predecessors, and what it depends on. Sets are bitmasks.

    Without a predecessor that was not taken, or with a further variable that is not deciding, a search takes the same
    steps, and finds the same.
    """

    family: ParentSet
    taken: int
    """the predecessors that were taken in on the way"""
    deciding: int
    """the variables that were taken in where they were predecessors, or would have been"""


class GrowShrink:
    """Parent sets by grow-shrink and exchanges on a decomposable score.

    Grow: add the predecessor that lowers the cost most, as long as one lowers it. Shrink: remove the parent whose
    removal lowers the cost most, as long as one does not raise it. Exchange: put a predecessor in the place of a
    parent, the two that lower the cost most, and grow again; end when no exchange lowers it. Ties go to the lowest
    variable, so a result depends on the arguments alone. After shrinking without an exchange, it does not grow again,
    so a predecessor that would lower the cost only then is left out: one family in 80 of random orderings of alarm with
    1,000 rows, none of greedy searches.

    Each parent set that is met keeps the list of all variables that would lower its cost, best first, whatever the
    predecessors. A query goes from set to set, each time by the first variable in the list that is a predecessor. A new
    set costs one extension of the family for each variable outside it; one from which exchanges are tried, one more for
    each of its parents. An ordering of 37 variables takes 0.04 ms once its sets are known.

    Args:
        score: the decomposable score.
        forbidden: (p, p) bool, [parent, child]; such a variable is never a parent of the child.
        required: the same; such a variable is a parent of the child whenever it precedes it, and is never removed.
        max_parents: growth ends at this many parents.

    Raises:
        InputError: if a matrix has the wrong shape, an edge is both required and forbidden, or max_parents is negative
            or less than the number of required parents of some variable.
    """

    def __init__(
        self,
        score: DecomposableScore,
        forbidden: BoolArray | None = None,
        required: BoolArray | None = None,
        max_parents: int | None = None,
    ) -> None:
        p = score.n_variables
        none = np.zeros((p, p), dtype=bool)
        forbidden, required = none if forbidden is None else forbidden, none if required is None else required
        self.score = score
        self.n_variables = p
        self._max_parents = p if max_parents is None else max_parents
        _check(forbidden, required, self._max_parents, p)
        self._bits = [1 << variable for variable in range(p)]
        self._required = [_bitmask(required[:, child]) for child in range(p)]
        self._allowed = [_bitmask(~forbidden[:, child]) & ~self._bits[child] for child in range(p)]
        # For each child, by parent set.
        self._additions: list[dict[int, Moves]] = [{} for _ in range(p)]
        self._settled: list[dict[int, Settled]] = [{} for _ in range(p)]

    @property
    def n_sets(self) -> int:
        """How many parent sets were met, each of them at the cost of extending it by all other variables."""
        return sum(map(len, self._additions))

    def parents(self, child: int, predecessors: int) -> ParentSet:
        """Return the parents of `child` among a set of predecessors, and the cost of the family.

        Cost: once the sets are known, O(p) for each of the few on the way.
        """
        return self.search(child, predecessors).family

    def search(self, child: int, predecessors: int) -> Found:
        """Return the same, with the variables whose coming or going could change it."""
        additions, settled = self._additions[child], self._settled[child]
        parents = taken = self._required[child] & predecessors
        deciding = self._required[child]
        while True:
            moves = additions.get(parents) or self._find_additions(child, parents)
            deciding |= moves.bits
            if not predecessors & moves.bits:
                family, moves = settled.get(parents) or self._settle(child, parents)
                deciding |= moves.bits
                if not predecessors & moves.bits:
                    return Found(family, taken, deciding)
            for bit, reached in moves.best_first:
                if predecessors & bit:
                    parents = reached
                    taken |= bit
                    break

    def dag(self, permutation: IntArray) -> BoolArray:
        """Return the DAG of an ordering: (p, p) bool, dag[parent, child]."""
        dag = np.zeros((self.n_variables, self.n_variables), dtype=bool)
        for child, found in self._families(permutation):
            dag[list(found.parents), child] = True
        return dag

    def cost(self, permutation: IntArray) -> float:
        """Return the cost of an ordering's DAG, in nats."""
        return math.fsum(found.cost for _, found in self._families(permutation))

    def _families(self, permutation: IntArray) -> list[tuple[int, ParentSet]]:
        families = []
        predecessors = 0
        for child in permutation.tolist():
            families.append((child, self.parents(child, predecessors)))
            predecessors |= self._bits[child]
        return families

    def _find_additions(self, child: int, parents: int) -> Moves:
        """The variables that lower the cost when they are added."""
        members = self._members(parents)
        costs: list[tuple[float, int, int]] = []
        if len(members) < self._max_parents:
            costs = self._additions_below(child, members, self.score.family(child, members) - LEAST_GAIN, parents)
        moves = self._additions[child][parents] = _moves(costs)
        return moves

    def _settle(self, child: int, grown: int) -> Settled:
        """What is left of a set after shrinking, and the exchanges that lower its cost."""
        found = self._shrink(child, grown)
        parents = sum(self._bits[parent] for parent in found.parents)
        settled = self._settled[child].get(parents)
        if settled is None:
            costs = []
            for parent in self._members(parents & ~self._required[child]):
                others = tuple(other for other in found.parents if other != parent)
                costs += self._additions_below(child, others, found.cost - LEAST_GAIN, parents)
            settled = self._settled[child][parents] = Settled(found, _moves(costs))
        self._settled[child][grown] = settled
        return settled

    def _additions_below(
        self, child: int, parents: tuple[int, ...], limit: float, without: int
    ) -> list[tuple[float, int, int]]:
        """The variables outside a set that bring the cost below a limit: the cost, the bit, and the set reached."""
        candidates = self._members(self._allowed[child] & ~without)
        costs = self.score.extensions(child, parents, candidates)
        start = sum(self._bits[parent] for parent in parents)
        bits = [(float(costs[i]), self._bits[candidates[i]]) for i in np.flatnonzero(costs < limit).tolist()]
        return [(cost, bit, start | bit) for cost, bit in bits]

    def _shrink(self, child: int, grown: int) -> ParentSet:
        """The parent set that is left when no removal lowers or keeps the cost."""
        removable = self._members(grown & ~self._required[child])
        best = ParentSet(self._members(grown), self.score.family(child, self._members(grown)))
        while removable:
            smaller = [tuple(other for other in best.parents if other != parent) for parent in removable]
            costs = [self.score.family(child, parents) for parents in smaller]
            lowest = min(costs)
            if lowest > best.cost:
                break
            i = costs.index(lowest)
            best = ParentSet(smaller[i], lowest)
            removable = removable[:i] + removable[i + 1 :]
        return best

    def _members(self, bitmask: int) -> tuple[int, ...]:
        return tuple(variable for variable, bit in enumerate(self._bits) if bitmask & bit)


def _moves(found: list[tuple[float, int, int]]) -> Moves:
    """Moves from costs, bits and the sets reached; of several that bring in the same variable, the best."""
    best: dict[int, int] = {}
    for _, bit, reached in sorted(found):
        best.setdefault(bit, reached)
    return Moves(tuple(best.items()), sum(best))


def _bitmask(members: BoolArray) -> int:
    return sum(1 << variable for variable in np.flatnonzero(members).tolist())


def _check(forbidden: BoolArray, required: BoolArray, max_parents: int, p: int) -> None:
    for name, edges in (("forbidden", forbidden), ("required", required)):
        if edges.shape != (p, p) or edges.dtype != np.bool_:
            raise InputError(f"{name} is {edges.dtype} of shape {edges.shape}: pass a bool ({p}, {p}) [parent, child]")
    both = forbidden & required
    if both.any():
        parent, child = np.argwhere(both)[0].tolist()
        raise InputError(f"the edge {parent} -> {child} is both required and forbidden: drop one of the two")
    if required.diagonal().any():
        raise InputError(f"variable {int(required.diagonal().argmax())} is required as its own parent: clear [v, v]")
    if max_parents < required.sum(axis=0).max(initial=0):
        child = int(required.sum(axis=0).argmax())
        raise InputError(
            f"max_parents={max_parents} is below the {int(required[:, child].sum())} required parents of variable "
            f"{child}: raise it"
        )
