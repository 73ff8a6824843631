"""From an ordering to a DAG without a skeleton: the parents of each variable by grow-shrink among its predecessors.

The idea of grow-shrink trees is from Andrews, Ramsey, Sanchez-Romero, Camchong & Kummerfeld 2023, "Fast scalable and
accurate discovery of DAGs using the best order score search and grow-shrink trees". Sets of variables are integers:
bit v stands for variable v.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import BoolArray, IntArray
from objectives.nml.scores.decomposable import DecomposableScore


class ParentSet(NamedTuple):
    """The parents of one variable, in increasing order, and the cost of the family in nats."""

    parents: tuple[int, ...]
    cost: float


class GrowShrink:
    """Parent sets by grow-shrink on a decomposable score.

    Grow: add the predecessor that lowers the cost most, as long as one lowers it. Shrink: remove the parent whose
    removal lowers the cost most, as long as one does not raise it. Ties go to the lowest variable, so a result depends
    on the arguments alone.

    Each parent set reached in growth keeps the list of all variables that would lower its cost, best first, whatever
    the predecessors. A query goes from set to set, each time by the first variable in the list that is a predecessor. A
    new set costs one extension of the family for each variable outside it. A search meets some thousands of sets. An
    ordering of 37 variables takes 0.04 ms once its sets are known.

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
        # For each child: by parent set the bits that lower the cost, best first, and their union; by the set after
        # growth the result.
        self._additions: list[dict[int, tuple[tuple[int, ...], int]]] = [{} for _ in range(p)]
        self._shrunk: list[dict[int, ParentSet]] = [{} for _ in range(p)]

    def parents(self, child: int, predecessors: int) -> ParentSet:
        """Return the parents of `child` among a set of predecessors, and the cost of the family; O(1) amortised."""
        return self._after_growth(child, self._grow(child, predecessors)[0])

    def costs_along(self, child: int, order: Sequence[int]) -> Iterator[float]:
        """Yield the cost of `child` after none, one, two, ... of the other variables in an order; len(order) + 1.

        Only a variable that may have changed the growth so far makes the set of parents grow again.
        """
        predecessors = 0
        grown, deciding = self._grow(child, 0)
        cost = self._after_growth(child, grown).cost
        yield cost
        for other in order:
            predecessors |= self._bits[other]
            if self._bits[other] & deciding:
                grown, deciding = self._grow(child, predecessors)
                cost = self._after_growth(child, grown).cost
            yield cost

    def gain(self, child: int, predecessors: int, bit: int) -> float:
        """Return by how much the cost of `child` falls, in nats, when the variable of `bit` joins its predecessors."""
        grown, _ = self._grow(child, predecessors | bit)
        if not grown & bit:  # then growth without it takes the same steps
            return 0.0
        return self.parents(child, predecessors).cost - self._after_growth(child, grown).cost

    def _grow(self, child: int, predecessors: int) -> tuple[int, int]:
        """Return the set at the end of growth, and the variables that can have decided it: no other one matters."""
        additions = self._additions[child]
        grown = self._required[child] & predecessors
        deciding = self._required[child]
        while True:
            found = additions.get(grown)
            if found is None:
                bits = self._improving(child, grown)
                found = additions[grown] = bits, sum(bits)
            bits, together = found
            deciding |= together
            if not predecessors & together:
                return grown, deciding
            for bit in bits:
                if predecessors & bit:
                    grown |= bit
                    break

    def _after_growth(self, child: int, grown: int) -> ParentSet:
        found = self._shrunk[child].get(grown)
        if found is None:
            found = self._shrunk[child][grown] = self._shrink(child, grown)
        return found

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

    def _improving(self, child: int, grown: int) -> tuple[int, ...]:
        """The bits of the variables that lower the cost when they are added, best first."""
        parents = self._members(grown)
        if len(parents) >= self._max_parents:
            return ()
        cost = self.score.family(child, parents)
        candidates = self._members(self._allowed[child] & ~grown)
        added = self.score.extensions(child, parents, candidates)
        lower = np.flatnonzero(added < cost)
        best_first = lower[np.argsort(added[lower], kind="stable")]
        return tuple(self._bits[candidates[i]] for i in best_first.tolist())

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
