import math

import numpy as np
import pytest

from objectives.nml.regret.draw_order import Component, OrderSearch
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


class PlainSearch:
    """The definition of the greedy order and of its work, with sets in place of bitmasks and without a memory."""

    def __init__(self, component: Component, n_rows: int) -> None:
        parents, self.children, self.r = component
        self.parents, self.n_rows = [set(near) for near in parents], n_rows

    def rows(self, variables: set[int]) -> float:
        return min(self.n_rows, math.prod(self.r[v] for v in variables))

    def ancestors(self, node: int) -> set[int]:
        return set().union(*({parent} | self.ancestors(parent) for parent in self.parents[node]))

    def frontier(self, done: set[int], live: set[int]) -> set[int]:
        def is_open(child: int) -> bool:
            return child not in done and (bool(self.children[child]) or not self.parents[child] <= done)

        return {variable for variable in live if any(map(is_open, self.children[variable]))}

    def work(self, done: set[int], live: set[int], node: int) -> float:
        tilts: dict[frozenset[int], float] = {}
        for child in self.children[node]:
            group = frozenset(self.parents[child] & done)
            others = self.parents[child] - done - {node}
            tilt = math.prod(self.r[v] for v in others) * (self.r[child] - 1) / 2
            tilts[group] = tilts.get(group, 0) + tilt
        work = self.rows(live) * (self.r[node] + 2) * (1 + len(tilts))
        for group, tilt in tilts.items():
            if group != self.parents[node]:
                n = self.rows(set(group))
                share = min(tilt * self.r[node] * n, 0.7 * self.n_rows / len(tilts))
                work += share * (5 + self.rows(group | self.parents[node]) / n * 0.5)
        return work

    def order(self, rng: np.random.Generator | None) -> tuple[float, list[int]]:
        families = [node for node in range(len(self.r)) if self.parents[node]]
        needs = [self.ancestors(node) | ({node} if self.children[node] else set()) for node in families]
        needs = [need for k, need in enumerate(needs) if need not in needs[:k]]
        done, live, order, total = set(), set(), [], 0.0
        while needs:
            noise = np.zeros(len(needs)) if rng is None else rng.random(len(needs))
            wide = [live | (need - done) for need in needs]
            left = [self.frontier(done | need, each) for need, each in zip(needs, wide, strict=True)]
            scores = [0.2 * self.rows(a) + self.rows(b) for a, b in zip(wide, left, strict=True)]
            lacking = needs[int(np.argmin(np.array(scores) * np.exp(noise)))] - done
            while lacking:
                node = self.first(lacking)
                total += self.work(done, live, node)
                done |= {node}
                live = self.frontier(done, live | {node})
                lacking = lacking - {node}
                order.append(node)
            needs = [need for need in needs if not need <= done]
        return total, order

    def first(self, nodes: set[int]) -> int:
        """The first of some nodes in Kahn's topological order: a node follows as soon as its last parent is removed."""
        topological = [node for node in range(len(self.r)) if not self.parents[node]]
        removed: set[int] = set()
        for node in topological:
            removed |= {node}
            topological += [child for child in self.children[node] if self.parents[child] <= removed]
        return next(node for node in topological if node in nodes)


@pytest.mark.parametrize("n_rows", [7, 60, 10_000])
def test_the_order_and_its_work_are_those_of_the_definition(n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    for seed in range(25):
        component = component_of(random_dag(8, 0.35, rng), rng.integers(2, 5, 8).tolist())
        for noise in (None, seed):
            draws = [None if noise is None else np.random.default_rng(noise) for _ in range(2)]
            work, order = OrderSearch(component, n_rows).order(draws[0])
            plain_work, plain_order = PlainSearch(component, n_rows).order(draws[1])
            assert order == plain_order
            assert work == pytest.approx(plain_work)


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
