from pathlib import Path

import numpy as np
import pytest

from law_ray.errors import InputError
from objectives import load
from objectives.instances.taillard import NAMES, draw_times, generate, is_taillard, read_flow_shop
from tests.oracles.flow_shops import insertion_makespans

TA001 = """
54 83 15 71 77 36 53 38 27 87 76 91 14 29 12 77 32 87 68 94
79 3 11 99 56 70 99 60 5 56 3 61 73 75 47 14 21 86 5 77
16 89 49 15 89 45 60 23 57 64 7 1 63 41 63 47 26 75 77 40
66 58 31 68 78 91 13 59 49 85 85 9 39 41 56 40 54 77 51 31
58 56 20 85 53 35 53 41 69 13 86 72 8 49 47 87 58 18 68 28
"""  # as published, a row for each machine


def test_ta001_is_as_published() -> None:
    np.testing.assert_array_equal(
        generate("ta001").T, [[int(time) for time in row.split()] for row in TA001.split("\n")[1:-1]]
    )


def test_the_generator_is_lehmers_with_the_minimal_standard() -> None:
    """From seed 1, draw 10,000 is 1043618065 (Park and Miller, Comm. ACM 31, 1988); times cover 1..99 evenly."""
    times = draw_times(100, 100, 1)
    assert times[-1, -1] == 1 + 99 * 1043618065 // (2**31 - 1)
    counts = np.bincount(times.astype(int).ravel(), minlength=100)
    assert counts[0] == 0
    assert len(counts) == 100
    assert np.abs(counts[1:] - 10000 / 99).max() < 5 * np.sqrt(10000 / 99)


def test_the_sizes_are_those_of_the_paper() -> None:
    shapes = [generate(name).shape for name in NAMES[::10]]
    assert shapes == [
        *((20, 5), (20, 10), (20, 20), (50, 5), (50, 10), (50, 20)),
        *((100, 5), (100, 10), (100, 20), (200, 10), (200, 20), (500, 20)),
    ]
    assert len({generate(name).tobytes() for name in NAMES}) == len(NAMES) == 120


LOWER_BOUNDS = """
1232 1290 1073 1268 1198 1180 1226 1170 1206 1082 1448 1479 1407 1308 1325 1290 1388 1363 1472 1356
1911 1711 1844 1810 1899 1875 1875 1880 1840 1900 2712 2808 2596 2740 2837 2793 2689 2667 2527 2776
2907 2821 2801 2968 2908 2941 3062 2959 2795 3046 3480 3424 3351 3336 3313 3460 3427 3383 3457 3438
5437 5208 5130 4963 5195 5063 5198 5038 5385 5272 5759 5345 5623 5732 5431 5246 5523 5556 5779 5830
5851 6099 6099 6072 6009 6144 5991 6084 5979 6298 10816 10422 10886 10794 10437 10255 10761 10663 10348 10616
10979 10947 11150 11127 11132 11085 11194 11126 10965 11122 25922 26353 26320 26424 26181 26401 26300 26429 25891 26315
"""  # published with the seeds


@pytest.mark.parametrize(("name", "published"), list(zip(NAMES, map(int, LOWER_BOUNDS.split()), strict=True)))
def test_every_shop_has_its_published_lower_bound(name: str, published: int) -> None:
    """The most of all machines' work, with the least head and tail of a job there, and of all jobs' own times."""
    times = generate(name)
    heads = np.cumsum(times, axis=1) - times
    tails = times.sum(axis=1, keepdims=True) - heads - times
    assert max((times.sum(axis=0) + heads.min(axis=0) + tails.min(axis=0)).max(), times.sum(axis=1).max()) == published


@pytest.mark.parametrize("name", NAMES)
def test_the_best_known_makespan_is_between_the_bound_and_a_heuristic(name: str) -> None:
    """The heuristic of Nawaz, Enscore and Ham (Omega 11, 1983) is at most 10% above."""
    shop = load(f"fsp:{name}")
    order: list[int] = []
    for job in np.argsort(-shop.times.sum(axis=1), kind="stable").tolist():
        order.insert(int(insertion_makespans(shop.times, np.array(order, dtype=np.int64), job).argmin()), job)
    bound = int(LOWER_BOUNDS.split()[NAMES.index(name)])
    assert bound < shop.optimum <= shop(order) < 1.1 * shop.optimum


def test_a_file_of_one_or_several_instances_is_read(tmp_path: Path) -> None:
    path = tmp_path / "tai2_3.txt"
    head = "number of jobs, number of machines, initial seed, upper bound and lower bound :\n"
    first = head + "  2  3  873654221  1278  1232\nprocessing times :\n 1 2\n 3 4\n 5 6\n"
    path.write_text(first)
    assert is_taillard(first.splitlines())
    assert not is_taillard(["2 3", "0 1 1 2 2 3"])
    assert read_flow_shop(path, None).tolist() == [[1, 3, 5], [2, 4, 6]]
    path.write_text(first + first.replace("5 6", "7 8") + first.replace("5 6", "9 9"))
    for number, last in (("1", (5, 6)), ("2", (7, 8)), ("3", (9, 9))):
        assert read_flow_shop(path, number).tolist() == [[1, 3, last[0]], [2, 4, last[1]]]
    with pytest.raises(InputError, match="no instance None: set instance to 1, 2"):
        read_flow_shop(path, None)


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("number of jobs :\n 2 2\n 1 2 3 4", 'line 1: no line "processing times :" follows'),
        (
            "number of jobs :\n 2\nprocessing times :\n 1",
            "line 2: the data end after 0 of 1 numbers, the number of machines",
        ),
        ("number of jobs :\n 2 -2\nprocessing times :\n 1", "line 2: '-2' is not a number of machines"),
        (
            "number of jobs :\n 2 2\nprocessing times :\n 1 2\n 3",
            "line 5: the data end after 1 of 2 numbers, machine 2",
        ),
        (
            "number of jobs :\n 2 3\nprocessing times :\n 1 3 5\n\n 2 4 6",
            "line 2: there are 2 rows of 3 times, but a row is for a machine: exchange the numbers of jobs",
        ),
        ("number of jobs :\n 2 1\nprocessing times :\n 1 2\n 3", "line 5: '3' follows the end of machine 1"),
    ],
)
def test_files_that_do_not_parse_are_refused(tmp_path: Path, text: str, culprit: str) -> None:
    path = tmp_path / "shop.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=culprit) as caught:
        read_flow_shop(path, None)
    assert "\n" not in str(caught.value)
