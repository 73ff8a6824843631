import itertools
import math

import networkx as nx
import numpy as np
import pytest

from law_ray.models.pairwise.grids import FACTORS, MAX_STEP, Grid, full_grids, grids_with_gaps


def distances(graph):
    """Return the lengths of the shortest paths between all nodes, in their order."""
    return nx.floyd_warshall_numpy(graph, sorted(graph))


def test_the_full_grids_are_all_ordered_factorisations():
    found = list(full_grids(12))
    shapes = [(12,), (2, 6), (6, 2), (3, 4), (4, 3), (2, 2, 3), (2, 3, 2), (3, 2, 2)]
    assert sorted(grid.shape for grid in found) == sorted(shapes)
    for grid in found:
        np.testing.assert_array_equal(grid.distances(), distances(nx.grid_graph(grid.shape[::-1])))


def test_a_hypercube_is_a_grid_of_two_in_every_direction():
    np.testing.assert_array_equal(Grid((2, 2, 2, 2)).distances(), distances(nx.hypercube_graph(4)))


@pytest.mark.parametrize(("n_items", "n_grids"), [(13, 1), (22, 3), (30, 13), (32, 16), (36, 26)])
def test_there_are_as_many_grids_as_ordered_factorisations(n_items, n_grids):
    assert len(list(full_grids(n_items))) == n_grids


def test_the_distances_leave_missing_cells_out_and_add_the_steps_along_the_axes():
    grid = Grid((2, 3, 2), missing=(0, 7), steps=(2.5, 1.0, 4.0))
    cells = [c for k, c in enumerate(itertools.product(range(2), range(3), range(2))) if k not in (0, 7)]
    expected = [[2.5 * abs(a[0] - b[0]) + abs(a[1] - b[1]) + 4.0 * abs(a[2] - b[2]) for b in cells] for a in cells]
    np.testing.assert_allclose(grid.distances(), expected)


def test_grids_with_gaps_have_a_place_for_every_item_and_start_in_three_ways():
    found = list(grids_with_gaps(10))
    for grid in found:
        assert len(grid.shape) > 1
        assert 11 <= grid.n_cells <= 13
        assert len(set(grid.missing)) == len(grid.missing) == grid.n_cells - 10
        assert set(grid.missing) <= set(range(grid.n_cells))
        assert grid.distances().shape == (10, 10)
    of_12 = {(grid.shape, grid.missing) for grid in found if grid.n_cells == 12}
    assert of_12 >= {((3, 4), (0, 1)), ((3, 4), (10, 11)), ((3, 4), (3, 9))}
    assert {shape for shape, _ in of_12} == {grid.shape for grid in full_grids(12)} - {(12,)}


def test_the_penalty_counts_the_sets_of_missing_cells_and_the_lengths_of_steps():
    assert Grid((3, 4)).penalty(50) == 0.0
    assert Grid((3, 4), steps=(2.0, 2.0)).penalty(50) == 0.0  # a scale means nothing
    assert Grid((3, 4), (0, 5)).penalty(50) == pytest.approx(math.log(66))
    assert Grid((2, 2, 3), (1,), (2.0, 1.0, 1.0)).penalty(50) == pytest.approx(math.log(12) + math.log(50))


def test_moves_reach_all_grids_of_a_shape_in_small_steps():
    grid = Grid((2, 8), (3, 9))
    reached = {move(grid) for move in grid.moves()} - {grid}
    cells = {other.missing for other in reached if not other.steps}
    expected = set()
    for kept, moved in ((9, 3), (3, 9)):
        for jump in (1, 2, 4, 8, 16):
            expected |= {tuple(sorted((kept, cell))) for cell in (moved - jump, moved + jump) if 0 <= cell < 16}
    assert cells == {missing for missing in expected if len(set(missing)) == 2}
    steps = sorted(other.steps for other in reached if other.steps)
    assert steps == sorted((other, 1.0) for factor in FACTORS for other in (factor, 1.0 / factor))
    assert all(other.shape == grid.shape for other in reached)


def test_steps_have_a_limit():
    grid = Grid((2, 3))
    moves = list(grid.moves())
    for _ in range(20):
        grid = moves[0](grid)
    assert MAX_STEP / 2.0 < grid.steps[0] <= MAX_STEP
    for _ in range(20):
        grid = moves[1](grid)
    assert 1.0 / MAX_STEP <= grid.steps[0] < 2.0 / MAX_STEP


@pytest.mark.parametrize(
    ("grid", "name"),
    [
        (Grid((7,)), "line"),
        (Grid((2, 11)), "grid of 2 x 11"),
        (Grid((2, 11), steps=(1.0, 1.0)), "grid of 2 x 11"),
        (Grid((3, 4), (5,)), "grid of 3 x 4, without cell 5"),
        (Grid((2, 4), (3, 5), (2.5, 1.0)), "grid of 2 x 4, without cells 3 and 5, steps of 2.5 and 1"),
        (
            Grid((2, 4, 4), (0, 1, 15), (2.346, 1.0, 1.0)),
            "grid of 2 x 4 x 4, without cells 0, 1 and 15, steps of 2.35, 1 and 1",
        ),
    ],
)
def test_a_grid_says_what_it_is(grid, name):
    assert str(grid) == name
