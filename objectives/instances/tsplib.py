"""The instance files of TSPLIB (.tsp, .atsp).

G. Reinelt, TSPLIB, a traveling salesman problem library, ORSA Journal on Computing 3 (1991), 376-384, and the
document "TSPLIB 95" for the formats and the rounding.
"""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import FloatArray, IntArray
from objectives.instances.tokens import MAX_NUMBER, Tokens, read_lines, whole_number

MAX_CITIES = 5_000
"""A larger matrix would take more than 200 MB, and computing it several times that."""

_KEYWORD = re.compile(r"\s*([A-Z][A-Z0-9_]*)\s*(?::\s*(.*?))?\s*")


def _euclidean(x: FloatArray, y: FloatArray) -> FloatArray:
    return np.sqrt((x[:, None] - x) ** 2 + (y[:, None] - y) ** 2)


def _geographical(x: FloatArray, y: FloatArray) -> FloatArray:
    """Kilometres on an ideal sphere, truncated, from latitudes and longitudes written as degrees.minutes."""
    # 3.141592 is TSPLIB's pi: with more digits, some distances differ.
    latitude, longitude = (3.141592 * (np.trunc(z) + 5 * (z - np.trunc(z)) / 3) / 180 for z in (x, y))
    q1 = np.cos(longitude[:, None] - longitude)
    q2 = np.cos(latitude[:, None] - latitude)
    q3 = np.cos(latitude[:, None] + latitude)
    arc = np.arccos(np.clip(0.5 * ((1 + q1) * q2 - (1 - q1) * q3), -1, 1))
    return np.trunc(6378.388 * arc + 1)


_DISTANCES: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "EUC_2D": lambda x, y: np.floor(_euclidean(x, y) + 0.5),
    "CEIL_2D": lambda x, y: np.ceil(_euclidean(x, y)),
    "ATT": lambda x, y: np.ceil(np.sqrt(((x[:, None] - x) ** 2 + (y[:, None] - y) ** 2) / 10)),
    "GEO": _geographical,
}

# The upper triangle of a symmetric matrix by columns is its lower triangle by rows.
_TRIANGLES: dict[str, Callable[[int], tuple[IntArray, IntArray]]] = {
    "UPPER_ROW": lambda n: np.triu_indices(n, 1),
    "LOWER_COL": lambda n: np.triu_indices(n, 1),
    "UPPER_DIAG_ROW": lambda n: np.triu_indices(n),
    "LOWER_DIAG_COL": lambda n: np.triu_indices(n),
    "LOWER_ROW": lambda n: np.tril_indices(n, -1),
    "UPPER_COL": lambda n: np.tril_indices(n, -1),
    "LOWER_DIAG_ROW": lambda n: np.tril_indices(n),
    "UPPER_DIAG_COL": lambda n: np.tril_indices(n),
}


def read_distances(path: Path) -> FloatArray:
    """Return the distances, (cities, cities) with [a, b] from a to b, of a TSPLIB file of TYPE TSP or ATSP.

    They must be symmetric for TSP. EDGE_WEIGHT_TYPE is EUC_2D, CEIL_2D, ATT or GEO, rounded to integers as TSPLIB says,
    or EXPLICIT in any layout. The distance of a city to itself is 0. Cost: O(cities^2).

    Raises:
        InputError: in one line, if the file holds anything else.
    """
    file = _File(path)
    kind = file.entry("TYPE", ("TSP", "ATSP"))
    if "FIXED_EDGES_SECTION" in file.sections:
        raise InputError(f"{path} has fixed edges, which are not supported: remove its FIXED_EDGES_SECTION")
    n = file.size("DIMENSION")
    if n > MAX_CITIES:
        raise InputError(f"{path} has {n} cities: choose a problem of at most {MAX_CITIES}")
    weights = file.entry("EDGE_WEIGHT_TYPE", (*_DISTANCES, "EXPLICIT"))
    distances = _explicit(file, n) if weights == "EXPLICIT" else _DISTANCES[weights](*_coordinates(file, n))
    np.fill_diagonal(distances, 0)
    if kind == "TSP" and (distances != distances.T).any():
        a, b = np.argwhere(distances != distances.T)[0]
        raise InputError(f"{path} has two distances between cities {a + 1} and {b + 1}: correct them, or set TYPE ATSP")
    return distances


def _explicit(file: "_File", n: int) -> FloatArray:
    layout = file.entry("EDGE_WEIGHT_FORMAT", ("FULL_MATRIX", *_TRIANGLES))
    section = file.section("EDGE_WEIGHT_SECTION")
    if layout == "FULL_MATRIX":
        distances = section.numbers(n * n, "the edge weights").reshape(n, n)
    else:
        rows, columns = _TRIANGLES[layout](n)
        distances = np.zeros((n, n))
        distances[rows, columns] = distances[columns, rows] = section.numbers(len(rows), "the edge weights")
    section.end("the edge weights")
    return distances


def _coordinates(file: "_File", n: int) -> FloatArray:
    """The coordinates of the cities, in the order of their numbers: (2, n)."""
    section = file.section("NODE_COORD_SECTION")
    numbered = section.numbers(3 * n, "the cities' numbers and coordinates").reshape(n, 3)
    section.end("the coordinates")
    cities = numbered[:, 0]
    if not np.array_equal(np.sort(cities), np.arange(1, n + 1)):
        raise InputError(f"{file.path} does not number the cities 1..{n} in its NODE_COORD_SECTION: correct it")
    return numbered[np.argsort(cities), 1:].T


class _File:
    """A TSPLIB file: its entries "KEYWORD : value", and its sections of tokens, each under a keyword."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.sections: dict[str, Tokens] = {}
        self._entries: dict[str, str] = {}
        lines = read_lines(path)
        found = [(i, match) for i, line in enumerate(lines) if (match := _KEYWORD.fullmatch(line))]
        bounds = [i for i, _ in found] + [len(lines)]
        for number, line in enumerate(lines[: bounds[0]], 1):
            if line.strip():
                raise InputError(f"{path}, line {number}: {line.split()[0]!r} is not a keyword: remove it")
        for (i, match), end in zip(found, bounds[1:], strict=True):
            keyword, value = match.groups()
            if keyword == "EOF":
                break
            data = Tokens(path, lines[i + 1 : end], i + 2)
            if keyword.endswith("_SECTION"):
                self.sections[keyword] = data
            else:
                data.end(f"the entry {keyword}")
                self._entries[keyword] = value or ""

    def entry(self, keyword: str, known: tuple[str, ...]) -> str:
        """Return the first word of an entry, which must be among `known`; remarks may follow it."""
        value = self._value(keyword).split()[0]
        if value not in known:
            raise InputError(f"{self.path} has {keyword} {value!r}: only {', '.join(known)} can be read")
        return value

    def size(self, keyword: str) -> int:
        """Return an entry that is a positive integer."""
        value = self._value(keyword)
        if (size := whole_number(value)) is None:
            raise InputError(f"{self.path} has {keyword} {value[:20]!r}: give an integer from 1 to {MAX_NUMBER}")
        return size

    def section(self, keyword: str) -> Tokens:
        """Return the tokens of a section."""
        if keyword not in self.sections:
            raise InputError(f"{self.path} has no {keyword}: add it")
        return self.sections[keyword]

    def _value(self, keyword: str) -> str:
        if not self._entries.get(keyword):
            raise InputError(f"{self.path} has no {keyword}: add it")
        return self._entries[keyword]
