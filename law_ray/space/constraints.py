"""The constraints that a user puts on the orderings: which items come before which, and which positions are fixed."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from law_ray.errors import InputError
from law_ray.space import feasibility, linear_extensions
from law_ray.space.feasibility import Pair
from law_ray.space.permutations import enumerate_all, invert, sample
from law_ray.typing import BoolArray, FloatArray, IntArray

MAX_ITEMS = 10_000
"""Beyond a few hundred no model helps. More are refused, since a wrong number would fill the memory (heuristic)."""
STEPS_PER_ITEM = 16
"""Steps per item of the random walk that makes a drawn ordering more uniform.

Heuristic; `Constraints.sample` states the errors that were measured on random relations.
"""

# Why swaps connect all allowed orderings
#
# Claim: from any allowed ordering, swaps of two items lead to any other one, the target, through allowed orderings
# alone.
#
# The fixed items divide the positions into segments. Call s(u) the segment that the item u is in now, and t(u) the
# segment that it has in the target. While s(u) != t(u) for some item u, a few swaps reduce the sum of |s(u) - t(u)|:
#
# 1. There are items u and x such that s(u) < s(x), t(u) >= s(x) and t(x) <= s(u): each of them should move to the
#    segment of the other, or beyond it. Let u be, of all items that are not in their target segment, one with the last
#    target segment. The segments after t(u) already hold exactly the items that belong there, so s(u) < t(u). The
#    segments s(u)+1..t(u) have as many positions as items that belong there, and u is not among them yet; so they also
#    hold some item x that does not belong there. As x does not belong after t(u) either, t(x) <= s(u).
# 2. Of all such pairs, take one with the least s(x) - s(u). If an item of u's segment has to follow u, its target
#    segment is t(u) or later, so that it can take the place of u in the pair. After finitely many such replacements, no
#    item of u's segment has to follow u. In the same way, choose x such that no item of its segment has to precede it.
# 3. No item v between the segments s(u) and s(x) has to follow u. If v is fixed, t(u) would be before v, hence before
#    s(x), which contradicts t(u) >= s(x). Otherwise t(v) >= t(u) >= s(x), so v and x would be a pair with a smaller
#    distance between their segments. In the same way, no such v has to precede x. Nor does u have to precede x itself,
#    since t(x) <= s(u) < s(x) <= t(u).
# 4. So swaps of neighbours may move u to the end of its segment, and x to the front of its own. Then u and x may be
#    swapped, which brings each of them s(x) - s(u) segments nearer to its target.
#
# Once every item is in its target segment, swaps of neighbours lead to the target within each segment: they connect all
# linear extensions of a partial order.


@dataclass(frozen=True, init=False)
class Constraints:
    """The orderings of `n_items` items that respect given precedences and fixed positions.

    Without precedences and fixed positions, every ordering is allowed. Swaps of two items connect all allowed
    orderings through allowed ones; the comment above this class has the proof.

    Args:
        n_items: the number of items.
        before: pairs (a, b) of items: a must come before b.
        fixed: pairs (item, position), or a mapping of items to positions, which count from 0.

    Attributes:
        before: the sorted pairs of the transitive reduction: pairs that follow from others are dropped, so that equal
            relations give equal constraints.
        fixed: the sorted pairs (item, position).

    Raises:
        InputError: if an item or a position is unknown, if an item or a position is fixed twice, if `before` has a
            cycle, or if no ordering satisfies all constraints; the message then names a minimal conflicting subset.
    """

    n_items: int
    before: tuple[Pair, ...]
    fixed: tuple[Pair, ...]

    def __init__(
        self,
        n_items: int,
        before: Iterable[Pair] = (),
        fixed: Mapping[int, int] | Iterable[Pair] = (),
    ) -> None:
        if not isinstance(n_items, Integral) or not 1 <= n_items <= MAX_ITEMS:
            raise InputError(f"n_items is {n_items!r}: give an integer from 1 to {MAX_ITEMS}")
        pairs = feasibility.checked_pairs("before", before, "items", n_items)
        fixed = fixed.items() if isinstance(fixed, Mapping) else fixed
        positions = feasibility.checked_pairs("fixed", fixed, "item and position", n_items)
        feasibility.check_fixed(positions)
        feasibility.check_cycle(n_items, pairs)
        if not feasibility.is_satisfiable(n_items, pairs, positions):
            raise InputError(feasibility.conflict(n_items, pairs, positions))
        object.__setattr__(self, "n_items", int(n_items))
        object.__setattr__(self, "before", feasibility.transitive_reduction(int(n_items), pairs))
        object.__setattr__(self, "fixed", tuple(sorted(positions)))

    @property
    def empty(self) -> bool:
        """Whether every ordering is allowed."""
        return not self.before and not self.fixed

    def allows(self, permutations: IntArray) -> BoolArray:
        """Return whether each of the permutations (m, n_items) satisfies the constraints, (m,)."""
        return self.allows_positions(invert(permutations))

    def allows_positions(self, q: NDArray[Any]) -> BoolArray:
        """Do the same as `allows`, given the positions of the items, (m, n_items)."""
        first, second = self._ends
        items = np.flatnonzero(self.fixed_at >= 0)
        in_order = np.all(q[:, first] < q[:, second], axis=1)
        return in_order & np.all(q[:, items] == self.fixed_at[items], axis=1)

    def broken_by(self, permutation: IntArray) -> str:
        """Return in words a constraint that the permutation (n_items,) violates; "" if it satisfies them all."""
        q = invert(permutation)
        for a, b in self.before:
            if q[a] > q[b]:
                return f"item {a} must come before item {b}"
        for item, position in self.fixed:
            if q[item] != position:
                return f"item {item} must be at position {position}"
        return ""

    def swaps(self, q: NDArray[Any], a: NDArray[Any], b: NDArray[Any]) -> BoolArray:
        """Return whether swapping the items a[s] and b[s] leads to an allowed ordering, (m, n_swaps).

        A swap is allowed if each of the two items ends up after all items that must precede it and before all items
        that must follow it. Cost O(m n_items^2).

        Args:
            q: (m, n_items) positions of the items in allowed orderings.
            a: (n_swaps,) the first item of each swap.
            b: (n_swaps,) the second item of each swap.
        """
        if self.empty:
            return np.ones((len(q), len(a)), dtype=bool)
        earliest = np.where(self.precedes.T, q[:, None, :], -1).max(axis=2) + 1
        latest = np.where(self.precedes, q[:, None, :], self.n_items).min(axis=2) - 1
        items = np.flatnonzero(self.fixed_at >= 0)
        earliest[:, items] = latest[:, items] = self.fixed_at[items]
        q_a, q_b = q[:, a], q[:, b]
        a_fits = (earliest[:, a] <= q_b) & (q_b <= latest[:, a])
        return a_fits & (earliest[:, b] <= q_a) & (q_a <= latest[:, b])

    def sample(self, size: int, rng: np.random.Generator) -> IntArray:
        """Draw (size, n_items) independent allowed permutations; each allowed one has positive probability.

        The items are divided into tiers, the smallest sets such that, of any two, all items of one must precede all
        items of the other. An ordering is built from the front. Each next item is chosen with probability proportional
        to 1 + the number of items of its tier that must follow it. By the hook length formula for forests, the result
        is uniform if no item is fixed and none has two direct predecessors in its tier.

        Otherwise STEPS_PER_ITEM * n_items steps of a random walk over allowed swaps follow. The walk is symmetric, so
        its limit is uniform. After these steps, the probability that one item comes before another is off by at most
        0.02 in sparse random relations of 37 items, and by at most 0.13 if they name a fifth of all pairs.

        Cost O(n_items^2) for each ordering, times STEPS_PER_ITEM with the walk.
        """
        if self.empty:
            return sample(self.n_items, size, rng)
        n_steps = 0 if self._forests else STEPS_PER_ITEM * self.n_items
        return linear_extensions.draw(size, self._order, self._weights, n_steps, rng)

    def enumerate(self, limit: int) -> IntArray | None:
        """Return all allowed permutations (m, n_items) in lexicographic order; None if there are more than `limit`."""
        if self.empty:
            return enumerate_all(self.n_items) if math.factorial(self.n_items) <= limit else None
        if limit <= self._exceeded[0]:
            return None
        found, whole = linear_extensions.enumerate_up_to(limit, self._order)
        if not whole:
            self._exceeded[0] = limit
            return None
        return found

    @cached_property
    def _exceeded(self) -> list[int]:
        """One number: the largest limit that `enumerate` found to be exceeded, which takes long to find."""
        return [0]

    @cached_property
    def precedes(self) -> BoolArray:
        """(n_items, n_items) whether the first item must come before the second, directly or through others."""
        return feasibility.transitive_closure(self.n_items, self.before)

    @cached_property
    def _ends(self) -> tuple[IntArray, IntArray]:
        first, second = np.array(self.before, dtype=np.int64).reshape(-1, 2).T
        return first, second

    @cached_property
    def fixed_at(self) -> IntArray:
        """(n_items,) positions of the fixed items; -1 for the others."""
        positions = np.full(self.n_items, -1)
        for item, position in self.fixed:
            positions[item] = position
        return positions

    @cached_property
    def _tiers(self) -> IntArray:
        """(n_items,) the number of each item's tier, a connected component of the pairs that no precedence orders."""
        _, tiers = connected_components(~(self.precedes | self.precedes.T))
        return tiers

    @cached_property
    def _weights(self) -> FloatArray:
        """(n_items,) 1 + how many items of its tier must follow the item, without the fixed items."""
        in_tier = self.precedes & (self._tiers[:, None] == self._tiers) & (self.fixed_at < 0)
        return 1.0 + in_tier.sum(axis=1)

    @cached_property
    def _forests(self) -> bool:
        """Whether no item is fixed, and none has two direct predecessors in its tier."""
        first, second = self._ends
        after = second[self._tiers[first] == self._tiers[second]]
        return not self.fixed and len(np.unique(after)) == len(after)

    @cached_property
    def _order(self) -> linear_extensions.Order:
        first, second = self._ends
        starts = np.searchsorted(first, np.arange(self.n_items + 1))
        waiting = np.bincount(second, minlength=self.n_items)
        first_position, last_position = feasibility.windows(self.n_items, self.before, self.fixed)
        return linear_extensions.Order(second, starts, waiting, first_position, last_position, self.precedes)
