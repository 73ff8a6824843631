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
