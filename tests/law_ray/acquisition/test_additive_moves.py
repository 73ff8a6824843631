import numba
import numpy as np
import pytest

from law_ray.acquisition import additive_moves
from law_ray.kernels import loops
from law_ray.kernels.additive import COMPONENTS
from law_ray.kernels.distance import positions_of
from law_ray.space.permutations import insertion_neighbours, reversal_neighbours, sample, swap_neighbours
from tests.oracles.distances import PLAIN_DISTANCES
from tests.oracles.tour import matrix

SIZES = [2, 3, 4, 5, 6, 9, 12]
sizes = pytest.mark.parametrize("n_items", SIZES)


class Case:
    """Climbers and points, their distances of all components, and all moves."""

    def __init__(self, n_items=9, m=4, n=37, seed=0):
        rng = np.random.default_rng(seed)
        self.x, self.points = sample(n_items, m, rng), sample(n_items, n, rng)
        self.q, self.P_T = positions_of(self.x), np.ascontiguousarray(positions_of(self.points).T)
        self.codes = np.array([component.code for component in COMPONENTS.values()], dtype=np.int32)
        self.distances = plain_distances(self.x, self.points)
        self.moves = additive_moves.all_moves(n_items)
        self.weights = rng.normal(size=(m, 2, n))
        self.size = n_items**2 + 1
        self.tables = rng.normal(size=len(COMPONENTS) * self.size)  # any function of the distance will do
        self.offsets = self.size * np.arange(len(COMPONENTS))

    def after(self, climber):
        return np.array([additive_moves.apply(self.x[climber], move) for move in self.moves])

    def sums(self):
        x = self.x.astype(np.int32)
        return additive_moves.moved_sums(
            x, self.P_T, self.distances, self.codes, self.weights, self.tables, self.offsets, self.moves
        )


def plain_distances(X1, X2):
    """Return the distances of all components, (m, n_components, n)."""
    formulas = [PLAIN_DISTANCES[name] for name in COMPONENTS]
    rows = [[[plain(a, b) for b in X2.tolist()] for plain in formulas] for a in X1.tolist()]
    return np.array(rows, dtype=np.int32)


@sizes
def test_moves_lead_to_each_swap_insertion_and_reversal_once(n_items):
    x = np.random.default_rng(0).permutation(n_items)
    neighbours = (swap_neighbours, insertion_neighbours, reversal_neighbours)
    around = np.concatenate([neighbours_of(x[None])[0] for neighbours_of in neighbours])
    found = [tuple(additive_moves.apply(x, move).tolist()) for move in additive_moves.all_moves(n_items)]
    assert set(found) == {tuple(p) for p in around.tolist()}
    assert len(set(found)) == len(found)


@sizes
def test_the_sources_of_moves_are_where_the_items_after_them_were(n_items):
    x, moves = np.random.default_rng(0).permutation(n_items), additive_moves.all_moves(n_items)
    moves = np.random.default_rng(1).permutation(moves)
    np.testing.assert_array_equal(
        x[additive_moves.sources(moves, n_items)], [additive_moves.apply(x, move) for move in moves]
    )


def test_a_move_leaves_the_permutation_as_it_was():
    x = np.arange(6)
    for move in additive_moves.all_moves(6):
        additive_moves.apply(x, move)
    assert x.tolist() == list(range(6))


@sizes
def test_the_neighbours_that_a_move_separates_and_joins_are_those_of_whole_tours(n_items):
    x = np.random.default_rng(0).permutation(n_items)
    for move in additive_moves.all_moves(n_items):
        changes = np.empty((2 * n_items + 8, 3), np.int32)
        count = additive_moves.joins_changed(changes, x, *move)
        found = matrix(x.tolist())
        for a, b, change in changes[:count]:
            found[a, b] += change / 2
            found[b, a] += change / 2
        np.testing.assert_array_equal(found, matrix(additive_moves.apply(x, move).tolist()))


@sizes
def test_the_distances_after_every_move_are_those_of_the_plain_formulas(n_items):
    case = Case(n_items)
    for climber in range(len(case.x)):
        climbers = np.full(len(case.moves), climber)
        found = additive_moves.moved_distances(
            case.x.astype(np.int32), case.P_T, case.distances, case.codes, climbers, case.moves
        )
        np.testing.assert_array_equal(found, plain_distances(case.after(climber), case.points))


@sizes
def test_the_length_of_a_move_is_the_distance_from_before_to_after_it(n_items):
    case = Case(n_items)
    found = additive_moves.move_lengths(case.x.astype(np.int32), case.q, case.codes, case.moves)
    for climber in range(len(case.x)):
        expected = plain_distances(case.after(climber), case.x[[climber]])[:, :, 0]
        np.testing.assert_array_equal(found[climber].T, expected)


@sizes
def test_sums_over_moves_are_those_of_the_moved_permutations(n_items):
    case = Case(n_items)
    sums = case.sums()
    for climber in range(len(case.x)):
        distances = plain_distances(case.after(climber), case.points)
        values = case.tables[distances + case.offsets[:, None]].sum(axis=1)
        np.testing.assert_allclose(sums[climber], values @ case.weights[climber].T, rtol=0, atol=1e-12)


def test_a_look_up_is_the_sum_over_the_components():
    case = Case()
    expected = case.tables[case.distances + case.offsets[:, None]].sum(axis=1)
    np.testing.assert_allclose(loops.look_up(case.tables, case.offsets, case.distances), expected, rtol=0, atol=1e-13)


@sizes
def test_distances_between_sets_are_those_of_the_plain_formulas(n_items):
    rng = np.random.default_rng(1)
    X1, X2 = sample(n_items, 5, rng), sample(n_items, 8, rng)
    q, P = positions_of(X1), positions_of(X2)
    found = [component.distance.between(q, P) for component in COMPONENTS.values()]
    np.testing.assert_array_equal(np.stack(found, axis=1), plain_distances(X1, X2))


def test_results_do_not_depend_on_the_number_of_threads():
    case = Case(20, 7, 200)
    threads = numba.get_num_threads()
    try:
        results = []
        for count in (1, 2):
            numba.set_num_threads(min(count, threads))
            results.append(case.sums())
    finally:
        numba.set_num_threads(threads)
    assert np.array_equal(*results)
