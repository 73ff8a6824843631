import math

import numpy as np
from graphs import dag_of, random_dag

from objectives.frontier import Component, OrderSearch, schedule


def component_of(dag: np.ndarray, r: list[int]) -> Component:
    parents, children = ([tuple(np.flatnonzero(row).tolist()) for row in matrix] for matrix in (dag.T, dag))
    return Component(tuple(parents), tuple(children), tuple(r))


def frontier_after(component: Component, drawn: set[int]) -> set[int]:
    """The drawn variables of families that still lack their node, or, for a leaf, a parent."""
    parents, children, _ = component
    still_open = {
        child
        for child in range(len(parents))
        if (child not in drawn if children[child] else not drawn.issuperset(parents[child]))
    }
    return {parent for child in still_open for parent in parents[child] if parent in drawn}


def test_orders_draw_every_internal_node_after_its_parents() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        dag = random_dag(9, 0.3, rng)
        component = component_of(dag, [2] * 9)
        for perturbed in (None, rng):
            _, order = OrderSearch(component, 100).order(perturbed)
            assert sorted(order) == np.flatnonzero(dag.any(axis=1)).tolist()
            assert all(set(component.parents[node]) <= set(order[:t]) for t, node in enumerate(order))


def test_a_search_gives_up_beyond_its_bound() -> None:
    component = component_of(random_dag(12, 0.4, np.random.default_rng(1)), [3] * 12)
    work, order = OrderSearch(component, 1000).order(None)
    cut_work, cut_order = OrderSearch(component, 1000).order(None, 1.0)
    assert 1 <= cut_work < work and len(cut_order) < len(order)


def test_a_chain_is_drawn_along_itself() -> None:
    dag = dag_of(8, *((i, i + 1) for i in range(7)))
    component = component_of(dag, [2, 3] * 4)
    order = OrderSearch(component, 100).order(None)[1]
    assert schedule(component, order, {2: 0, 3: 1}, 100).cells == 3


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
