"""Orderings of a few items by brute force, and random constraints on them."""

import itertools

import numpy as np
from hypothesis import strategies as st


def everything(n_items):
    return np.array(list(itertools.permutations(range(n_items))))


def allowed_orderings(n_items, before, fixed):
    """List in lexicographic order all permutations with a before b for each pair (a, b), and the fixed positions."""
    return [
        permutation
        for permutation in itertools.permutations(range(n_items))
        if all(permutation.index(a) < permutation.index(b) for a, b in before)
        and all(permutation[position] == item for item, position in fixed.items())
    ]


def moved(permutation):
    """List all orderings (m, n_items) that a swap, an insertion or a reversal leads to, each once."""
    order, found = list(permutation), set()
    for i, j in itertools.permutations(range(len(order)), 2):
        others = order[:i] + order[i + 1 :]
        found.add((*others[:j], order[i], *others[j:]))
        if i < j:
            found.add((*order[:i], *order[i : j + 1][::-1], *order[j + 1 :]))
            found.add((*order[:i], order[j], *order[i + 1 : j], order[i], *order[j + 1 :]))
    return np.array(sorted(found))


def first_item(permutation):
    """Stand in for a key: permutations with the same first item are one point."""
    return int(permutation[0])


def up_to_reversal(permutation):
    """Stand in for a key: an ordering and its reverse are one point."""
    return min(tuple(permutation.tolist()), tuple(permutation[::-1].tolist()))


def known_of(n_items):
    """Return the arguments of `Constraints` on at least nine items, by what they are like."""
    first = (0, 3, 5, 8)
    return {
        "tiers": (n_items, [(a, b) for a in first for b in range(n_items) if b not in first], {}),
        "a relation": (n_items, [(0, 1), (2, 1), (2, 3), (3, 4), (5, 4), (7, 8)], {}),
        "fixed": (n_items, [(0, 1), (2, 1), (2, 3), (6, 0)], {5: 4, 7: 0}),
    }


@st.composite
def some_constraints(draw, least=1, satisfiable=True):
    """Draw n_items, before and fixed; without `satisfiable`, possibly such that no ordering satisfies them."""
    n = draw(st.integers(least, 6))
    item = st.integers(0, n - 1)
    pairs = st.tuples(item, item).filter(lambda pair: pair[0] != pair[1])
    before = draw(st.lists(pairs, max_size=6)) if n > 1 else []
    order, n_fixed = draw(st.permutations(range(n))), draw(st.integers(0, min(n, 3)))
    if not satisfiable:
        positions = draw(st.permutations(range(n)))
        return n, before, dict(zip(order[:n_fixed], positions, strict=False))
    before = [sorted(pair, key=order.index) for pair in before]
    at = draw(st.permutations(range(n)))[:n_fixed]
    return n, [tuple(pair) for pair in before], {order[position]: position for position in at}


def tiers(*sizes):
    """Return the pairs of items of which all of one tier come before all of the next ones."""
    ends = np.cumsum([0, *sizes])
    members = [range(*pair) for pair in itertools.pairwise(ends.tolist())]
    return [(a, b) for early, late in itertools.combinations(members, 2) for a in early for b in late]
