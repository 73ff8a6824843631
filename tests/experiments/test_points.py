import itertools
from typing import Any

import numpy as np
import pytest

from experiments import points


class Displacement:
    """The squared displacement of the items; keeps what it evaluates."""

    def __init__(self, n_items: int = 8) -> None:
        self.n_items = n_items
        self.evaluated: list[tuple[int, ...]] = []

    def __call__(self, permutation: Any) -> float:
        self.evaluated.append(tuple(permutation.tolist()))
        return float(((permutation - np.arange(self.n_items)) ** 2).sum())


def test_points_are_distinct_half_uniform_and_half_from_local_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "N_FIT", 40)
    monkeypatch.setattr(points, "N_TEST", 30)
    searches = []
    local_search = points.local_search

    def kept(*arguments: Any) -> Any:
        searches.append(local_search(*arguments))
        return searches[-1]

    monkeypatch.setattr(points, "local_search", kept)
    objective = Displacement(30)
    X, y = points.points(objective, np.random.default_rng(0))
    assert X.shape == (70, 30) and len(np.unique(X, axis=0)) == 70
    assert y.tolist() == [objective(x) for x in X]
    rows = [tuple(x) for x in X.tolist()]
    assert [sum(row in search for row in rows) for search in searches] == [7] * 5
    assert 10 < sum(row in search for row in rows[:40] for search in searches) < 30  # in random order
    again, _ = points.points(Displacement(30), np.random.default_rng(0))
    assert (again == X).all()


def test_a_local_search_exchanges_two_items_of_the_best_so_far() -> None:
    objective = Displacement()
    values = points.local_search(objective, 300, np.random.default_rng(0))
    assert len(objective.evaluated) == 300
    assert values == {row: float(Displacement()(np.array(row))) for row in objective.evaluated}
    incumbent = objective.evaluated[0]
    for row in objective.evaluated[1:]:
        assert sum(a != b for a, b in zip(incumbent, row, strict=True)) == 2
        incumbent = row if values[row] <= values[incumbent] else incumbent
    assert values[incumbent] == 0


def test_a_local_search_moves_along_a_plateau() -> None:
    objective = Displacement()
    flat = type("Flat", (), {"n_items": 8, "__call__": lambda self, permutation: 0.0 * objective(permutation)})()
    points.local_search(flat, 20, np.random.default_rng(0))
    for before, after in itertools.pairwise(objective.evaluated):
        assert sum(a != b for a, b in zip(before, after, strict=True)) == 2
