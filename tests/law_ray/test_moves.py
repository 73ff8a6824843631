import numba
import numpy as np
import pytest
from kinds import KINDS_PLAIN
from latents import matrix

from law_ray import moves
from law_ray.kernels import positions_of
from law_ray.mixture import KINDS
from law_ray.permutations import insertion_neighbours, reversal_neighbours, sample, swap_neighbours

SIZES = [2, 3, 4, 5, 6, 9, 12]
sizes = pytest.mark.parametrize("n_items", SIZES)


class Case:
    """Climbers and points, their distances of every kind, and all moves."""

    def __init__(self, n_items=9, m=4, n=37, seed=0):
        rng = np.random.default_rng(seed)
        self.x, self.points = sample(n_items, m, rng), sample(n_items, n, rng)
        self.q, self.P_T = positions_of(self.x), np.ascontiguousarray(positions_of(self.points).T)
        self.kinds = np.array([kind.code for kind in KINDS.values()], dtype=np.int32)
        self.distances = plain_distances(self.x, self.points)
        self.moves = moves.all_moves(n_items)
        self.weights = rng.normal(size=(m, 2, n))
        self.size = n_items**2 + 1
        self.tables = rng.normal(size=len(KINDS) * self.size)  # any function of the distance will do
        self.offsets = self.size * np.arange(len(KINDS))

    def after(self, climber):
        return np.array([moves.apply(self.x[climber], move) for move in self.moves])

    def sums(self):
        x = self.x.astype(np.int32)
        return moves.moved_sums(
            x, self.P_T, self.distances, self.kinds, self.weights, self.tables, self.offsets, self.moves
        )


def plain_distances(X1, X2):
    """(m, n_kinds, n)"""
    rows = [[[plain(a, b) for b in X2.tolist()] for plain in KINDS_PLAIN.values()] for a in X1.tolist()]
    return np.array(rows, dtype=np.int32)


@sizes
def test_moves_lead_to_each_swap_insertion_and_reversal_once(n_items):
    x = np.random.default_rng(0).permutation(n_items)
    kinds = (swap_neighbours, insertion_neighbours, reversal_neighbours)
    around = np.concatenate([kind(x[None])[0] for kind in kinds])
    found = [tuple(moves.apply(x, move).tolist()) for move in moves.all_moves(n_items)]
    assert set(found) == {tuple(p) for p in around.tolist()}
    assert len(set(found)) == len(found)


def test_a_move_leaves_the_permutation_as_it_was():
    x = np.arange(6)
    for move in moves.all_moves(6):
        moves.apply(x, move)
    assert x.tolist() == list(range(6))


@sizes
def test_the_joins_that_a_move_changes_are_those_of_whole_tours(n_items):
    x = np.random.default_rng(0).permutation(n_items)
    for move in moves.all_moves(n_items):
        changes = np.empty((2 * n_items + 8, 3), np.int32)
        count = moves.joins_changed(changes, x, *move)
        found = matrix(x.tolist())
        for a, b, change in changes[:count]:
            found[a, b] += change / 2
            found[b, a] += change / 2
        np.testing.assert_array_equal(found, matrix(moves.apply(x, move).tolist()))


@sizes
def test_the_distances_after_every_move_are_those_of_the_plain_formulas(n_items):
    case = Case(n_items)
    for climber in range(len(case.x)):
        climbers = np.full(len(case.moves), climber)
        found = moves.moved_distances(
            case.x.astype(np.int32), case.P_T, case.distances, case.kinds, climbers, case.moves
        )
        np.testing.assert_array_equal(found, plain_distances(case.after(climber), case.points))


@sizes
def test_the_length_of_a_move_is_the_distance_it_goes(n_items):
    case = Case(n_items)
    found = moves.move_lengths(case.x.astype(np.int32), case.q, case.kinds, case.moves)
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


def test_a_look_up_is_the_sum_over_the_kinds():
    case = Case()
    expected = case.tables[case.distances + case.offsets[:, None]].sum(axis=1)
    np.testing.assert_allclose(moves.look_up(case.tables, case.offsets, case.distances), expected, rtol=0, atol=1e-13)


@sizes
def test_distances_between_sets_are_those_of_the_plain_formulas(n_items):
    rng = np.random.default_rng(1)
    X1, X2 = sample(n_items, 5, rng), sample(n_items, 8, rng)
    found = [kind.distances(positions_of(X1), positions_of(X2)) for kind in KINDS.values()]
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
