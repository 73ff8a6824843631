"""Kicks: perturbations of a local optimum under insertions, from which a local search leads to another one.

A path x -> y -> z in the wrong direction is rarely corrected by moving one variable after the other, since the edges
that point in different directions meanwhile cost more. So a path is reversed as a whole. For a path of one covered edge
this is the tuck of Lam, Andrews & Ramsey 2022, "Greedy relaxations of the sparsest permutation algorithm"; otherwise
ancestors of y that descend from x stay behind x, where a tuck moves them before it. Where few rows allow many parents
by chance, some variables moved at random lead further.
"""

from collections.abc import Sequence

import numpy as np

_LONGER = 0.5
"""The chance of another edge in the path (heuristic).

In single trials on andes with 10,000 rows the chances 0, 0.3, 0.5 and 0.6 ended equally low, within the differences
between starts.
"""
_MOVED = 5
"""Variables that are moved at random (heuristic)."""

Parents = Sequence[tuple[int, ...]]
"""Of each variable of a DAG."""


def reversed_path(parents: Parents, rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """Return a random ordering in which a random path of a DAG is reversed and the other edges, if possible, are not.

    The path's ancestors come first, except for those that the path leads to; then the path, reversed; then the rest. A
    DAG without edges gives a random ordering. Cost: O(p + edges).

    Args:
        parents: of each variable.
        rng: draws the path and the order.

    Returns:
        The ordering, and the variables of the path.
    """
    children: list[list[int]] = [[] for _ in parents]
    for child, its_parents in enumerate(parents):
        for parent in its_parents:
            children[parent].append(child)
    order = _topological_order(parents, children, rng)
    heads = [child for child, its_parents in enumerate(parents) for _ in its_parents]
    if not heads:
        return order, []
    head = heads[rng.integers(len(heads))]
    path = [parents[head][rng.integers(len(parents[head]))], head]
    while children[path[-1]] and rng.random() < _LONGER:
        path.append(children[path[-1]][rng.integers(len(children[path[-1]]))])
    first = _reached(parents, path) - _reached(children, path)
    rest = [variable for variable in order if variable not in first and variable not in path]
    return [variable for variable in order if variable in first] + path[::-1] + rest, path


def moved_at_random(order: Sequence[int], rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """Return an ordering with a few variables, drawn at random, moved to random positions, and these variables."""
    kicked, moved = list(order), []
    for _ in range(_MOVED):
        moved.append(kicked.pop(int(rng.integers(len(order)))))
        kicked.insert(int(rng.integers(len(order))), moved[-1])
    return kicked, moved


def _topological_order(parents: Parents, children: Sequence[Sequence[int]], rng: np.random.Generator) -> list[int]:
    """A random ordering with every parent before its children."""
    waiting = [len(each) for each in parents]
    free = [variable for variable, count in enumerate(waiting) if count == 0]
    order = []
    for draw in rng.random(len(parents)).tolist():
        variable = free.pop(int(draw * len(free)))
        order.append(variable)
        for child in children[variable]:
            waiting[child] -= 1
            if waiting[child] == 0:
                free.append(child)
    return order


def _reached(following: Sequence[Sequence[int]], start: Sequence[int]) -> set[int]:
    """The variables at which one arrives from the start, and those of the start."""
    reached, waiting = set(start), list(start)
    while waiting:
        for variable in following[waiting.pop()]:
            if variable not in reached:
                reached.add(variable)
                waiting.append(variable)
    return reached
