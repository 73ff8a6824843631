from collections.abc import Sequence
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

from law_ray.errors import InputError
from law_ray.space.permutations import enumerate_all, sample
from objectives.fsp import FSP, load
from tests.oracles.flow_shops import insertion_makespans


def longest_path(times: np.ndarray, order: Sequence[int]) -> float:
    """The makespan as the longest way through the grid of operations, job after job and machine after machine."""
    grid = nx.DiGraph()
    k, m = len(order), times.shape[1]
    for step, job in enumerate(order):
        for machine in range(m):
            grid.add_edge(("in", step, machine), ("out", step, machine), weight=times[job, machine])
            if step + 1 < k:
                grid.add_edge(("out", step, machine), ("in", step + 1, machine), weight=0)
            if machine + 1 < m:
                grid.add_edge(("out", step, machine), ("in", step, machine + 1), weight=0)
    return float(nx.dag_longest_path_length(grid))


@pytest.mark.parametrize(("n_jobs", "n_machines"), [(1, 1), (1, 4), (5, 1), (6, 4), (4, 7)])
def test_the_makespan_is_the_longest_path(n_jobs: int, n_machines: int) -> None:
    rng = np.random.default_rng(n_jobs)
    times = rng.integers(0, 20, (n_jobs, n_machines)).astype(float)
    flow_shop = FSP("fsp:test", None, times)
    for order in sample(n_jobs, 10, rng):
        assert flow_shop(order) == longest_path(times, order)


def test_two_machines_are_solved_by_johnsons_rule() -> None:
    """Jobs quicker on the first machine go first, by their times there; the others last, by falling second times."""
    times = np.random.default_rng(3).integers(1, 30, (7, 2)).astype(float)
    first = sorted((job for job in range(7) if times[job, 0] < times[job, 1]), key=lambda job: times[job, 0])
    last = sorted((job for job in range(7) if times[job, 0] >= times[job, 1]), key=lambda job: -times[job, 1])
    flow_shop = FSP("fsp:test", None, times)
    assert flow_shop(first + last) == flow_shop.values(enumerate_all(7)).min()


def test_the_reversed_shop_has_the_makespan_of_the_reversed_order() -> None:
    times = np.random.default_rng(4).random((8, 5))
    orders = sample(8, 10, np.random.default_rng(5))
    forward, backward = FSP("fsp:a", None, times), FSP("fsp:b", None, times[:, ::-1])
    np.testing.assert_allclose(backward.values(orders[:, ::-1]), forward.values(orders), rtol=1e-12)


def test_insertion_makespans_are_those_of_the_longer_orders() -> None:
    rng = np.random.default_rng(6)
    times = rng.integers(0, 20, (7, 4)).astype(float)
    for k in range(7):
        job, *order = sample(7, 1, rng)[0][: k + 1].tolist()
        expected = [longest_path(times, [*order[:place], job, *order[place:]]) for place in range(k + 1)]
        assert insertion_makespans(times, np.array(order, dtype=np.int64), job).tolist() == expected


def test_times_of_a_wrong_shape_or_sign_are_refused() -> None:
    for times, culprit in (
        (np.zeros((0, 3)), r"shape \(0, 3\)"),
        (np.zeros(3), r"shape \(3,\)"),
        (np.array([[1.0, 2], [3, -4]]), "negative time for job 1 on machine 1"),
        ([[1.0, 2.0], [3.0, np.nan]], r"^times\[1, 1\] of fsp:x is nan: give finite numbers$"),
        ([[1.0, 2.0], [3.0]], "^times of fsp:x is no array of numbers: give as many in each row$"),
        ([["one", "two"]], "^times of fsp:x is no array of numbers"),
    ):
        with pytest.raises(InputError, match=culprit):
            FSP("fsp:x", None, times)


OR_LIBRARY = " instance one\n 2 2\n 0 1 1 2\n 0 3 1 4\n +++\n instance two\n 1 2\n 0 7 1 8\n"
TAILLARD = "number of jobs, number of machines, initial seed :\n 2 2 0\nprocessing times :\n 1 3\n 2 4\n"


def test_the_format_of_a_file_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "shops.txt").write_text(OR_LIBRARY)
    (tmp_path / "shop.fsp").write_text(TAILLARD)
    first = load(str(tmp_path / "shops.txt"), instance="one")
    assert (first.name, first.n_items, first.optimum) == ("fsp:shops:one", 2, None)
    assert load(str(tmp_path / "shops.txt"), instance="two").times.tolist() == [[7, 8]]
    alone = load(str(tmp_path / "shop.fsp"))
    assert alone.name == "fsp:shop"
    assert alone.times.tolist() == first.times.tolist() == [[1, 2], [3, 4]]


def test_a_named_shop_takes_no_instance() -> None:
    with pytest.raises(InputError, match="fsp:ta001 is one instance: remove the option instance=2"):
        load("ta001", instance="2")
