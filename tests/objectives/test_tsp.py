import itertools
from pathlib import Path

import numpy as np
import pytest

from law_ray.errors import InputError
from law_ray.space.permutations import enumerate_all, sample
from objectives.tsp import TSP, load


def problem(n: int, symmetric: bool = True) -> TSP:
    D = np.random.default_rng(n).integers(1, 50, (n, n)).astype(float)
    return TSP("tsp:test", None, D + D.T if symmetric else D)


@pytest.mark.parametrize("n", [2, 3, 7])
def test_the_length_is_the_sum_of_the_edges(n: int) -> None:
    tsp = problem(n, symmetric=False)
    for tour in sample(n, 10, np.random.default_rng(0)):
        successor = np.zeros((n, n))
        for a, b in itertools.pairwise([*tour.tolist(), int(tour[0])]):
            successor[a, b] += 1
        assert tsp(tour) == (successor * tsp.distances).sum()


@pytest.mark.parametrize("n", [2, 3, 4, 5])
@pytest.mark.parametrize("symmetric", [True, False])
def test_keys_are_equal_for_rotations_and_reflections_alone(n: int, symmetric: bool) -> None:
    """n! permutations fall into (n - 1)! tours, or half as many where reflection changes both tour and nothing else."""
    tsp = problem(n, symmetric)
    tours = enumerate_all(n)
    classes: dict[bytes, set[tuple[int, ...]]] = {}
    for tour in tours:
        classes.setdefault(tsp.key(tour), set()).add(tuple(tour.tolist()))
    for members in classes.values():
        tour = np.array(next(iter(members)))
        rotations = {tuple(np.roll(tour, shift).tolist()) for shift in range(n)}
        reflections = {tuple(np.roll(tour[::-1], shift).tolist()) for shift in range(n)} if symmetric else set()
        assert members == rotations | reflections
        assert len(set(tsp.values(list(members)))) == 1


def test_a_key_does_not_change_the_tour() -> None:
    tour = np.array([2, 1, 0, 3])
    problem(4).key(tour)
    assert tour.tolist() == [2, 1, 0, 3]


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (4,)])
def test_distances_of_a_wrong_shape_are_refused(shape: tuple) -> None:
    with pytest.raises(InputError, match="tsp:x has distances of shape"):
        TSP("tsp:x", None, np.zeros(shape))


@pytest.mark.parametrize(("source", "seed", "culprit"), [("plane30000", 0, "at most 5000"), ("plane5", -1, "seed=-1")])
def test_random_cities_that_cannot_be_drawn_are_refused(source: str, seed: int, culprit: str) -> None:
    with pytest.raises(InputError, match=culprit):
        load(source, seed)


def test_a_file_is_loaded_as_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "square.tsp"
    path.write_text(
        "TYPE: TSP\nDIMENSION: 4\nEDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n1 0 0\n2 0 9\n3 9 9\n4 9 0\n"
    )
    tsp = load(str(path))
    assert (tsp.name, tsp.n_items, tsp.optimum, tsp([0, 1, 2, 3])) == ("tsp:square", 4, None, 36)
