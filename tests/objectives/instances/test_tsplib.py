from pathlib import Path

import numpy as np
import pytest

from law_ray.errors import InputError
from objectives.instances.tsplib import MAX_CITIES, read_distances

HEAD = "NAME : a\nTYPE : {kind}\nCOMMENT : a comment: with a colon\nDIMENSION : {n}\nEDGE_WEIGHT_TYPE : {weights}\n"


def write(folder: Path, text: str) -> Path:
    path = folder / "a.tsp"
    path.write_text(text)
    return path


def by_coordinates(folder: Path, weights: str, coordinates: list[tuple[float, float]]) -> np.ndarray:
    lines = "".join(f"{city} {x!r} {y!r}\n" for city, (x, y) in enumerate(coordinates, 1))
    head = HEAD.format(kind="TSP", n=len(coordinates), weights=weights)
    return read_distances(write(folder, f"{head}NODE_COORD_SECTION\n{lines}EOF\n"))


@pytest.mark.parametrize(
    ("weights", "far"),
    [
        # sqrt(x^2 + y^2) of (3, 4), (1, 1), (0.3, 0.4), (1, 2), (1.5, 0)
        ("EUC_2D", [5, 1, 1, 2, 2]),
        ("CEIL_2D", [5, 2, 1, 3, 2]),
        # sqrt(2.5), sqrt(0.2), sqrt(0.025), sqrt(0.5), sqrt(0.225): to the nearest, and 1 more where that is below
        ("ATT", [2, 1, 1, 1, 1]),
    ],
)
def test_planar_distances_are_rounded_as_tsplib_says(tmp_path: Path, weights: str, far: list[int]) -> None:
    others = [(3, 4), (1, 1), (0.3, 0.4), (1, 2), (1.5, 0)]
    distances = by_coordinates(tmp_path, weights, [(0, 0), *others])
    assert distances[0].tolist() == [0, *far]
    np.testing.assert_array_equal(distances, distances.T)


def test_att_distances_are_never_below_the_pseudo_euclidean_ones(tmp_path: Path) -> None:
    """By TSPLIB's own words: r = sqrt((dx^2 + dy^2) / 10), t = nint(r), and t + 1 where t < r."""
    points = np.random.default_rng(0).integers(0, 5000, (30, 2))
    distances = by_coordinates(tmp_path, "ATT", [(int(x), int(y)) for x, y in points])
    for a in range(30):
        for b in range(a):
            r = (((points[a] - points[b]) ** 2).sum() / 10) ** 0.5
            t = int(r + 0.5)
            assert distances[a, b] == distances[b, a] == (t + 1 if t < r else t)


def test_geographical_distances_are_great_circles(tmp_path: Path) -> None:
    """Against the angle between unit vectors; minutes are hundredths of the coordinates, for negative ones too."""
    rng = np.random.default_rng(1)
    degrees, minutes = rng.integers(-80, 80, (25, 2)), rng.integers(0, 60, (25, 2))
    sign = np.where(degrees < 0, -1, 1)
    coordinates = degrees + sign * minutes / 100
    distances = by_coordinates(tmp_path, "GEO", [(float(x), float(y)) for x, y in coordinates])
    latitude, longitude = np.radians(degrees + sign * minutes / 60).T
    unit = np.array([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)]).T
    kilometres = 6378.388 * np.arccos(np.clip(unit @ unit.T, -1, 1)) + 1
    others = ~np.eye(25, dtype=bool)
    assert (np.abs(distances - (kilometres - 0.5))[others] < 0.51).all()  # truncated; its pi is short of 6.5e-7
    assert (np.diag(distances) == 0).all()


def test_geographical_distances_along_the_equator_are_those_by_hand(tmp_path: Path) -> None:
    """6378.388 km * pi / 180 = 111.323 km, and a half degree, written 0.30, is 55.66 km; 1 is added, then truncated."""
    distances = by_coordinates(tmp_path, "GEO", [(0.0, 0.0), (0.0, 1.0), (0.0, 0.3), (0.0, -0.3)])
    assert distances[0].tolist() == [0, 112, 56, 56]
    assert distances[2, 3] == 112


LAYOUTS = {
    "FULL_MATRIX": [(a, b) for a in range(4) for b in range(4)],
    "UPPER_ROW": [(a, b) for a in range(4) for b in range(4) if a < b],
    "LOWER_ROW": [(a, b) for a in range(4) for b in range(4) if a > b],
    "UPPER_DIAG_ROW": [(a, b) for a in range(4) for b in range(4) if a <= b],
    "LOWER_DIAG_ROW": [(a, b) for a in range(4) for b in range(4) if a >= b],
    "UPPER_COL": [(a, b) for b in range(4) for a in range(4) if a < b],
    "LOWER_COL": [(a, b) for b in range(4) for a in range(4) if a > b],
    "UPPER_DIAG_COL": [(a, b) for b in range(4) for a in range(4) if a <= b],
    "LOWER_DIAG_COL": [(a, b) for b in range(4) for a in range(4) if a >= b],
}


def explicit(folder: Path, layout: str, weights: list[float], per_line: int = 3, kind: str = "TSP", n: int = 4) -> Path:
    lines = "".join(" ".join(map(str, weights[i : i + per_line])) + "\n" for i in range(0, len(weights), per_line))
    head = HEAD.format(kind=kind, n=n, weights="EXPLICIT")
    return write(folder, f"{head}EDGE_WEIGHT_FORMAT : {layout}\nEDGE_WEIGHT_SECTION\n{lines}EOF\n")


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("per_line", [1, 3, 100])
def test_every_layout_of_explicit_weights_is_read(tmp_path: Path, layout: str, per_line: int) -> None:
    D = np.array([[0, 1, 2, 3], [1, 0, 4, 5], [2, 4, 0, 6], [3, 5, 6, 0]])
    path = explicit(tmp_path, layout, [int(D[cell]) for cell in LAYOUTS[layout]], per_line)
    np.testing.assert_array_equal(read_distances(path), D)


def test_an_asymmetric_matrix_needs_the_type_that_says_so(tmp_path: Path) -> None:
    D = np.arange(16).reshape(4, 4)
    read = read_distances(explicit(tmp_path, "FULL_MATRIX", D.ravel().tolist(), kind="ATSP"))
    np.testing.assert_array_equal(read, np.where(np.eye(4, dtype=bool), 0, D))
    with pytest.raises(InputError, match="two distances between cities 1 and 2: correct them, or set TYPE ATSP"):
        read_distances(explicit(tmp_path, "FULL_MATRIX", D.ravel().tolist()))


def test_the_layout_of_a_file_is_free(tmp_path: Path) -> None:
    """Blanks around keywords, remarks after a type, cities in any order, exponents, no EOF, other sections."""
    path = write(
        tmp_path,
        "NAME:a\nTYPE: TSP (M.~Hofmeister)\n\n  COMMENT :\nCOMMENT: 3 of them\nEDGE_WEIGHT_TYPE:EUC_2D \nDIMENSION:3\n"
        "NODE_COORD_TYPE : TWOD_COORDS\nNODE_COORD_SECTION :\n 3 3.0e+00 4E0\n1 0 0\n\n2 -1.0e1 0\n"
        "DISPLAY_DATA_SECTION\n1 2 3\n",
    )
    np.testing.assert_array_equal(read_distances(path)[0], [0, 10, 5])
    path.write_text(path.read_text().replace("DISPLAY_DATA_SECTION", "EOF\nwhatever follows"))
    np.testing.assert_array_equal(read_distances(path)[0], [0, 10, 5])


GOOD = HEAD.format(kind="TSP", n=2, weights="EUC_2D") + "NODE_COORD_SECTION\n1 0 0\n2 3 4\nEOF\n"


@pytest.mark.parametrize(
    ("old", "new", "culprit"),
    [
        ("TYPE : TSP", "TYPE : CVRP", "has TYPE 'CVRP': only TSP, ATSP can be read"),
        ("TYPE : TSP\n", "", "has no TYPE: add it"),
        ("DIMENSION : 2", "DIMENSION : -2", "has DIMENSION '-2': give an integer from 1 to 1000000"),
        ("DIMENSION : 2", "DIMENSION : many", "has DIMENSION 'many'"),
        ("DIMENSION : 2", "DIMENSION : " + "9" * 5000, "has DIMENSION '99999999999999999999': give"),
        ("DIMENSION : 2", "DIMENSION :", "has no DIMENSION"),
        ("DIMENSION : 2", f"DIMENSION : {MAX_CITIES + 1}", f"choose a problem of at most {MAX_CITIES}"),
        ("EUC_2D", "XRAY1", "'XRAY1': only EUC_2D, CEIL_2D, ATT, GEO, EXPLICIT can be read"),
        ("EUC_2D", "EXPLICIT", "has no EDGE_WEIGHT_FORMAT"),
        ("EUC_2D", "EXPLICIT\nEDGE_WEIGHT_FORMAT: FUNCTION", "'FUNCTION': only FULL_MATRIX, UPPER_ROW, "),
        ("EUC_2D", "EXPLICIT\nEDGE_WEIGHT_FORMAT: FULL_MATRIX", "has no EDGE_WEIGHT_SECTION"),
        ("NODE_COORD_SECTION\n1 0 0\n2 3 4\n", "", "has no NODE_COORD_SECTION"),
        ("NODE_COORD_SECTION\n", "", "line 6: '1' follows the end of the entry EDGE_WEIGHT_TYPE"),
        ("NAME", "1 2\nNAME", "line 1: '1' is not a keyword: remove it"),
        ("2 3 4", "2 3", "line 8: the data end after 5 of 6 numbers, the cities' numbers and coordinates"),
        ("2 3 4", "2 3 y4", "line 8: 'y4' among the cities' numbers and coordinates is not"),
        ("2 3 4", "2 3 4\n3 5 6", "line 9: '3' follows the end of the coordinates"),
        ("2 3 4", "1 3 4", r"does not number the cities 1\.\.2"),
        ("EOF", "FIXED_EDGES_SECTION\n1 2\n-1\nEOF", "has fixed edges"),
    ],
)
def test_files_that_do_not_parse_are_refused(tmp_path: Path, old: str, new: str, culprit: str) -> None:
    assert old in GOOD
    assert read_distances(write(tmp_path, GOOD)).tolist() == [[0, 5], [5, 0]]
    with pytest.raises(InputError, match=culprit) as caught:
        read_distances(write(tmp_path, GOOD.replace(old, new)))
    assert "a.tsp" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("count", "culprit"), [(5, "the data end after 5 of 6"), (7, "follows the end of the edge weig")]
)
def test_a_wrong_number_of_weights_is_refused(tmp_path: Path, count: int, culprit: str) -> None:
    with pytest.raises(InputError, match=culprit):
        read_distances(explicit(tmp_path, "UPPER_ROW", [1] * count))
