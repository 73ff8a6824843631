"""The connected components of a DAG: those whose regret has a closed form, and the steps that draw the others."""

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from law_ray.typing import BoolArray, IntArray
from objectives.nml.graphs.equivalence import canonical_member, walk
from objectives.nml.regret.draw_order import Component, OrderSearch
from objectives.nml.regret.frontier import Schedule, schedule
from objectives.nml.regret.particles import Tables, tables
from objectives.nml.scores.multinomial import multinomial_regrets, star_regret

# Heuristics, unless a source is given.
_SECONDS_PER_VISIT = 2e-8
"""Of a cell, measured on one core."""
_MAX_MEMBERS = 200
"""Members of an equivalence class that the search for a cheap one tries."""
_MAX_SEARCH = 2_000_000
"""Pairs of nodes that this search looks at: about 10 s. It binds beyond about 100 internal nodes."""


class Part(NamedTuple):
    """One component to estimate."""

    schedule: Schedule
    seconds: float
    """the estimated time of one particle"""


def divide(
    dag: BoolArray, cardinalities: Sequence[int] | IntArray, n_rows: int
) -> tuple[tuple[int, ...], float, list[tuple[BoolArray, list[int]]]]:
    """Return the different cardinalities, the sum of the closed forms, and the other components with theirs."""
    states = tuple(sorted({int(r) for r in cardinalities}))
    closed, open_components = 0.0, []
    member = canonical_member(np.asarray(dag, dtype=bool))
    for nodes in _components(member):
        r = [int(cardinalities[node]) for node in nodes]
        component = member[np.ix_(nodes, nodes)]
        centre = _star_centre(component)
        if centre is None:
            open_components.append((component, r))
        else:
            closed += _star(r, centre, states, n_rows)
    return states, closed, open_components


def _components(dag: BoolArray) -> list[list[int]]:
    """The nodes of every connected component, increasing."""
    adjacent = dag | dag.T
    left, found = set(range(len(dag))), []
    while left:
        reached = [min(left)]
        for node in reached:  # the list grows during the loop
            left.discard(node)
            reached += [
                other for other in np.flatnonzero(adjacent[node]).tolist() if other in left and other not in reached
            ]
        found.append(sorted(reached))
    return found


def _star_centre(dag: BoolArray) -> int | None:
    """The centre of a connected DAG that is equivalent to a star, as a single node is but a collider is not."""
    degrees = (dag | dag.T).sum(axis=0)
    is_tree = degrees.sum() == 2 * (len(dag) - 1)
    if not is_tree or dag.sum(axis=0).max() > 1 or degrees.max() < len(dag) - 1:
        return None
    return int(degrees.argmax())


def _star(r: Sequence[int], centre: int, states: tuple[int, ...], n_rows: int) -> float:
    """The regret of a star, in nats."""
    log_c = tables_of(states, n_rows).log_c
    leaves = np.zeros(n_rows + 1)
    for node, cardinality in enumerate(r):
        if node != centre:
            leaves += log_c[states.index(cardinality)]
    return star_regret(r[centre], leaves, n_rows)


def cheapest(dag: BoolArray, r: Sequence[int], states: tuple[int, ...], n_rows: int) -> Part:
    """Return a component as the cheapest member of its class, in the cheapest order, that a short walk finds."""
    rng = np.random.default_rng(0)  # fixed, so that the choice depends on the class alone
    work, best, order = math.inf, _component(dag, r), []
    for tries, member in enumerate(itertools.islice(walk(dag, rng), _MAX_MEMBERS)):
        component = _component(member, r)
        search = OrderSearch(component, n_rows)
        for perturbed in (None, rng):
            found, candidate = search.order(perturbed, work)
            if found < work:
                work, best, order = found, component, candidate
        if tries * len(order) ** 2 > min(work, _MAX_SEARCH):  # a longer search would cost more than it could save
            break
    rows = {cardinality: i for i, cardinality in enumerate(states)}
    return Part(schedule(best, order, rows, n_rows), work * _SECONDS_PER_VISIT)


def _component(dag: BoolArray, r: Sequence[int]) -> Component:
    def near(matrix: BoolArray) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(np.flatnonzero(row).tolist()) for row in matrix)

    return Component(near(dag.T), near(dag), tuple(r))


@lru_cache(maxsize=2)
def tables_of(states: tuple[int, ...], n_rows: int) -> Tables:
    """Return log C(r, n) and n log n for some cardinalities, increasing, and n = 0..n_rows."""
    return tables(multinomial_regrets(states, n_rows))
