"""An ordering that insertions improve: one variable after the other is put where the total cost is lowest.

The moves are those of the best-order score search (Andrews, Ramsey, Sanchez-Romero, Camchong & Kummerfeld 2023, "Fast
scalable and accurate discovery of DAGs using the best order score search and grow-shrink trees").
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from objectives.nml.search.grow_shrink import LEAST_GAIN, Found, GrowShrink


class Ordering:
    """An ordering, with the parents found for every variable among its predecessors.

    Args:
        parent_sets: the parents of a variable among its predecessors, and their cost.
        variables: the ordering.
        before: for each variable, the bitmask of those that must stay before it.
    """

    def __init__(self, parent_sets: GrowShrink, variables: Iterable[int], before: Sequence[int]) -> None:
        self.variables = list(variables)
        self._parent_sets = parent_sets
        self._before = before
        self._found: dict[int, Found] = {}  # by variable
        predecessors = 0
        for variable in self.variables:
            self._found[variable] = parent_sets.search(variable, predecessors)
            predecessors |= 1 << variable

    @property
    def cost(self) -> float:
        """The cost of the ordering's DAG, in nats."""
        return math.fsum(each.family.cost for each in self._found.values())

    def parents(self) -> list[tuple[int, ...]]:
        """Return the parents of each variable."""
        return [self._found[variable].family.parents for variable in range(len(self.variables))]

    def unlike(self, other: "Ordering") -> set[int]:
        """Return the variables that have other parents in another ordering."""
        pairs = enumerate(zip(self.parents(), other.parents(), strict=True))
        return {variable for variable, (here, there) in pairs if here != there}

    def sweep(self, variables: set[int], rng: np.random.Generator) -> set[int]:
        """Reinsert some variables in random order; return those that changed, with their parents and children.

        A sweep over all variables that returns none has found a local optimum.
        """
        changed: set[int] = set()
        for variable in rng.permutation(sorted(variables)).tolist():
            changed |= self.reinsert(variable)
        return self.around(changed)

    def around(self, variables: set[int]) -> set[int]:
        """Return some variables with their parents and their children."""
        near = set(variables)
        for child, found in self._found.items():
            if child in variables:
                near.update(found.family.parents)
            elif not variables.isdisjoint(found.family.parents):
                near.add(child)
        return near

    def reinsert(self, variable: int) -> set[int]:
        """Move one variable to its best position; return it and those with other parents then, or none."""
        now = self.variables.index(variable)
        others = self.variables[:now] + self.variables[now + 1 :]
        costs, own, beyond = self._everywhere(variable, others, now)
        best = min(costs)
        if costs[now] - best < LEAST_GAIN:
            return set()
        to = costs.index(best)
        found = {others[k]: beyond[k] for k in range(min(to, now), max(to, now))} | {variable: own[to]}
        changed = {each for each in found if found[each].family != self._found[each].family} | {variable}
        self._found.update(found)
        self.variables[:] = others
        self.variables.insert(to, variable)
        return changed

    def _everywhere(self, variable: int, others: list[int], now: int) -> tuple[list[float], list[Found], list[Found]]:
        """Find what one variable costs at every position among the others.

        When the variable passes another one, only the costs of these two change, and mostly neither does: then no
        search is made.

        Args:
            variable: It goes from the first position to the last, or to the last one that is allowed.
            others: The ordering without it.
            now: Its position.

        Returns:
            For each position k its cost, up to a constant (infinite where it is not allowed), and what is found for the
            variable there; and what is found for others[k] once the variable is on the other side of it.
        """
        search, before, bit = self._parent_sets.search, self._before[variable], 1 << variable
        costs, own_found, beyond = [], [], []
        predecessors = 0
        passed = 0.0  # the change of cost of the others that the variable no longer precedes
        own = search(variable, 0)
        for k, other in enumerate([*others, None]):
            costs.append(own.family.cost + passed if not before & ~predecessors else np.inf)
            own_found.append(own)
            if other is None or self._before[other] & bit:
                break
            here = across = self._found[other]
            if k < now:
                if here.deciding & bit:
                    across = search(other, predecessors | bit)
                    passed += here.family.cost - across.family.cost
            elif here.taken & bit:
                across = search(other, predecessors)
                passed += across.family.cost - here.family.cost
            beyond.append(across)
            predecessors |= 1 << other
            if own.deciding & 1 << other:
                own = search(variable, predecessors)
        return costs, own_found, beyond
