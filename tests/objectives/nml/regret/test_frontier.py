import math

import numpy as np

from objectives.nml.regret.draw_order import Component, OrderSearch
from objectives.nml.regret.frontier import schedule
from tests.oracles.graphs import component_of, random_dag


def frontier_after(component: Component, drawn: set[int]) -> set[int]:
    """The drawn variables of families that still lack their node, or, for a leaf, a parent."""
    parents, children, _ = component
    still_open = {
        child
        for child in range(len(parents))
        if (child not in drawn if children[child] else not drawn.issuperset(parents[child]))
    }
    return {parent for child in still_open for parent in parents[child] if parent in drawn}


def test_steps_keep_what_open_families_mention() -> None:
    rng = np.random.default_rng(2)
    for _ in range(20):
        dag, r = random_dag(8, 0.35, rng), rng.integers(2, 5, size=8).tolist()
        component = component_of(dag, r)
        order = OrderSearch(component, 10**9).order(rng)[1]
        if not order:
            continue
        found = schedule(component, order, {states: states for states in r}, 10**9)
        frontiers = [frontier_after(component, set(order[: t + 1])) for t in range(len(order))]
        assert found.cells == max(math.prod(r[node] for node in frontier) for frontier in frontiers)
        for step, node, frontier in zip(found.steps, order, frontiers, strict=True):
            first, last, _ = found.labellings[step[3] + step[5]]
            slots = found.axes[first:last, 0].tolist()
            assert (step[2] >= 0) == (node in frontier)
            assert sorted(found.axes[first:last, 1]) == sorted(r[other] for other in frontier - {node})
            assert len({*slots, step[2]}) == len(slots) + 1  # a slot of its own
            children = {child for g in found.groupings[step[6] : step[7]] for child in range(g[2], g[3])}
            assert len(children) == len(component.children[node])
