import numba
import numpy as np

from law_ray.acquisition import additive_moves, tour_moves
from law_ray.kernels import loops
from law_ray.space.permutations import sample


def test_gathered_entries_are_sums_by_whole_matrices():
    rng = np.random.default_rng(1)
    images, entries = rng.normal(size=(16, 5)), rng.integers(0, 16, (3, 6)).astype(np.int32)
    expected = np.array([images[row].sum(axis=0) for row in entries])
    for n in (5, 3):
        np.testing.assert_allclose(loops.gathered(images, entries, n), expected[:, :n], atol=1e-14)


def test_sums_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(2)
    x, alike = sample(8, 3, rng).astype(np.int32), np.eye(8) + 0.1
    inputs = (rng.normal(size=(64, 30)), rng.random((3, 30)), rng.normal(size=(3, 8, 8)), 40 + rng.random(3), alike)
    more = (rng.normal(size=(3, 2, 30)), np.array([0.3, 0.6]), additive_moves.all_moves(8))
    threads = numba.get_num_threads()
    found = []
    try:
        for count in (1, 2):
            numba.set_num_threads(min(count, threads))
            found.append(tour_moves.moved_sums(x, *inputs, *more).tolist())
    finally:
        numba.set_num_threads(threads)
    assert found[0] == found[1]
