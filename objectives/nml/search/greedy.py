"""Greedy search over orderings on a decomposable score, to start a search on the true objective from good orderings.

From a random ordering, insertions lead to a local optimum (`objectives.nml.search.insertions`). A kick leads away from
it (`objectives.nml.search.kicks`), and insertions of the variables around what changed lead to the next one. This is an
iterated local search (Lourenco, Martin & Stutzle 2003).
"""

from collections.abc import Sequence

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import FloatArray, IntArray
from objectives.nml.graphs.structure import equivalence_key
from objectives.nml.search.grow_shrink import LEAST_GAIN, GrowShrink
from objectives.nml.search.insertions import Ordering
from objectives.nml.search.kicks import moved_at_random, reversed_path

Precedences = Sequence[tuple[int, int]]
Optimum = tuple[float, tuple[int, ...]]
"""A cost in nats, and an ordering."""

_PATIENCE = 5
"""Consecutive kicks without improvement, per variable, that end a search (heuristic)."""
_REVERSED = 0.5
"""The share of kicks that reverse a path (heuristic).

In `experiments.ours.kicks`, on 32 tables of 37 to 223 variables, half and half ended lowest or within the errors of it.
Paths alone ended 4 to 22 nats higher with few rows of hailfinder, hepar2 and andes, moves alone at most 4.
"""
_NEAR = 20.0
"""nats above the lowest cost of a search so far; local optima further away are not kept, but for the first
(heuristic)."""
_MAX_PAIRS = 10_000_000
"""The pairs of variables that a search considers, after which it ends too (heuristic)."""
_MAX_SETS = 150_000
"""New parent sets in all searches, after which no other one begins and the last one ends (heuristic).

It binds where few rows of many variables allow many parents by chance. On 100 rows of the 223 variables of andes one
search meets them all in 80 seconds, after some 20 kicks; with 10,000 rows one meets 10,000.
"""


def greedy_orderings(
    parent_sets: GrowShrink, count: int, rng: np.random.Generator, precedes: Precedences = (), n_starts: int = 5
) -> tuple[IntArray, FloatArray]:
    """Return the best local optima under insertion moves, best first.

    Each start is a random ordering and an iterated local search from it. The optima on the way that are not far
    above the best one so far are candidates. Only one is returned for each Markov equivalence class, the one of the
    lowest cost: a score like NML is equal for all members of a class, though factorised NML's is not. Cost: a
    reinsertion considers p pairs of variables, and searches for parents where one decides about the other's: 30 us
    for 37 variables. A start takes hundreds of kicks, each with about 30 reinsertions. With the new families,
    10,000 rows of 37 variables take 1.6 s per start, those of 223 variables a minute. Where the limit of parent
    sets ends the searches, orderings may not be locally optimal.

    Args:
        parent_sets: the parents of a variable among its predecessors, and their cost.
        count: how many orderings are returned at most.
        rng: draws the starts, the kicks and the order in which variables are reinserted.
        precedes: pairs (a, b); a stays before b.
        n_starts: how many searches are run.

    Returns:
        Orderings (k, p), k <= count, and their costs (k,) in nats.

    Raises:
        InputError: if count or n_starts is less than 1, if the pairs form a cycle or if one names an unknown variable.
    """
    if count < 1 or n_starts < 1:
        raise InputError(f"count={count}, n_starts={n_starts} leaves nothing to search: choose at least 1")
    before = _before(precedes, parent_sets.n_variables)
    optima: set[Optimum] = set()
    most_sets = parent_sets.n_sets + _MAX_SETS
    for _ in range(n_starts):
        if parent_sets.n_sets < most_sets:
            optima.update(_Search(parent_sets, before, rng, most_sets).run())
    classes: dict[bytes, Optimum] = {}
    for _, order in sorted(optima):
        ordering = Ordering(parent_sets, order, before)
        while parent_sets.n_sets < most_sets and ordering.sweep(set(order), rng):
            pass
        key = equivalence_key(parent_sets.dag(np.array(ordering.variables)))
        classes.setdefault(key, (ordering.cost, tuple(ordering.variables)))
        if len(classes) == count:
            break
    costs, orders = zip(*sorted(classes.values()), strict=True)
    return np.array(orders), np.array(costs)


def _before(precedes: Precedences, p: int) -> list[int]:
    """The bitmask, for each variable, of those that must stay before it."""
    before = [0] * p
    for a, b in precedes:
        if not (0 <= a < p and 0 <= b < p):
            raise InputError(f"the pair ({a}, {b}) names a variable outside 0..{p - 1}: drop it")
        before[b] |= 1 << a
    return before


class _Search:
    """An iterated local search from a random ordering.

    Args:
        parent_sets: the parents of a variable among its predecessors, and their cost.
        before: for each variable, the bitmask of those that must stay before it.
        rng: draws the start, the kicks and the order in which variables are reinserted.
        most_sets: the search ends when this many parent sets were met.
    """

    def __init__(self, parent_sets: GrowShrink, before: list[int], rng: np.random.Generator, most_sets: int) -> None:
        self._parent_sets = parent_sets
        self._before = before
        self._rng = rng
        self._most_sets = most_sets
        self._pairs = 0

    def run(self) -> list[Optimum]:
        """Return the orderings on the way that were not far above the best one so far.

        Each is a local optimum but for insertions of variables far from the last changes.
        """
        best = self._ordering(self._rng.permutation(len(self._before)).tolist())
        self._settle(best, set(best.variables))
        lowest, failures = best.cost, 0
        found = [(lowest, tuple(best.variables))]
        while failures < _PATIENCE * len(self._before) and not self._is_spent():
            candidate, moved = self._kicked(best)
            self._settle(candidate, candidate.around(candidate.unlike(best) | moved))
            cost = candidate.cost
            failures = 0 if cost < lowest - LEAST_GAIN else failures + 1
            if cost < lowest + _NEAR:
                found.append((cost, tuple(candidate.variables)))
            if cost < lowest + LEAST_GAIN:  # an equal cost is accepted: equivalent DAGs have different neighbours
                best, lowest = candidate, cost
        return found

    def _kicked(self, best: Ordering) -> tuple[Ordering, set[int]]:
        if self._rng.random() < _REVERSED:
            order, moved = reversed_path(best.parents(), self._rng)
        else:
            order, moved = moved_at_random(best.variables, self._rng)
        return self._ordering(order), set(moved)

    def _ordering(self, order: list[int]) -> Ordering:
        return Ordering(self._parent_sets, _linear_extension(order, self._before), self._before)

    def _settle(self, ordering: Ordering, waiting: set[int]) -> None:
        """Reinsert some variables, and those around each change, until nothing changes."""
        while waiting and not self._is_spent():
            self._pairs += len(waiting) * len(self._before)
            waiting = ordering.sweep(waiting, self._rng)

    def _is_spent(self) -> bool:
        return self._pairs >= _MAX_PAIRS or self._parent_sets.n_sets >= self._most_sets


def _linear_extension(order: list[int], before: list[int]) -> list[int]:
    """The same order, except that a variable waits until all that must stay before it are placed."""
    waiting, extension, placed = list(order), [], 0
    while waiting:
        free = next((variable for variable in waiting if not before[variable] & ~placed), None)
        if free is None:
            raise InputError(f"the pairs of precedes form a cycle among variables {sorted(waiting)}: drop one of them")
        waiting.remove(free)
        extension.append(free)
        placed |= 1 << free
    return extension
