import numpy as np

from objectives.nml.regret.draw_order import OrderSearch
from objectives.nml.regret.frontier import schedule
from tests.oracles.graphs import component_of, dag_of, random_dag


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
    assert 1 <= cut_work < work
    assert len(cut_order) < len(order)


def test_a_chain_is_drawn_along_itself() -> None:
    dag = dag_of(8, *((i, i + 1) for i in range(7)))
    component = component_of(dag, [2, 3] * 4)
    order = OrderSearch(component, 100).order(None)[1]
    assert schedule(component, order, {2: 0, 3: 1}, 100).cells == 3
