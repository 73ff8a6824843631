"""The travelling salesman problem: the shortest closed tour of n cities."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import FloatArray, IntArray
from law_ray.utils.compiled import compiled
from objectives.instances.best_known import best_value
from objectives.instances.fetch import is_path, read_instance
from objectives.instances.tokens import whole_number
from objectives.instances.tsplib import MAX_CITIES, read_distances
from objectives.options import seeded
from objectives.problem import Problem


@dataclass(frozen=True, eq=False)
class TSP(Problem):
    """Visit n cities in the order of the permutation, and return: value = sum_k distances[p[k], p[k+1]], cyclically.

    distances: (n, n), [a, b] from a to b, symmetric or not. Cost: O(n), 0.02 microseconds for 32 cities.
    """

    distances: FloatArray

    def __post_init__(self) -> None:
        """Check the shape of the distances."""
        super().__post_init__()
        n = len(self.distances)
        if n < 2 or self.distances.shape != (n, n):
            raise InputError(f"{self.name} has distances of shape {self.distances.shape}: pass (n, n), n > 1")

    @property
    def n_items(self) -> int:
        """The number of cities."""
        return len(self.distances)

    @cached_property
    def symmetric(self) -> bool:
        """Whether every distance is the same in both directions."""
        return bool((self.distances == self.distances.T).all())

    def _values(self, permutations: IntArray) -> FloatArray:
        values: FloatArray = _lengths(self.distances, permutations)
        return values

    def key(self, permutation: IntArray) -> bytes:
        """Return bytes that are the same for all starts of a tour and, with symmetric distances, both directions."""
        tour = np.roll(permutation, -int(np.argmin(permutation)))
        if self.symmetric and tour[1] > tour[-1]:
            tour[1:] = tour[:0:-1]
        return tour.tobytes()

    def drawing(self, permutation: IntArray) -> dict[str, Any]:
        """Return the cities in the plane for the page of a run, as well as their distances allow (`plane`)."""
        return {"kind": "tour", "places": plane(self.distances).tolist()}


def plane(distances: FloatArray) -> FloatArray:
    """Return coordinates (n, 2) whose distances are near the given ones (n, n), by classical multidimensional scaling.

    They are exact, up to a rotation and a reflection, for distances of points in a plane (Torgerson, Psychometrika 17,
    1952). Of distances that depend on the direction, the mean of both is taken.
    """
    squares = ((distances + distances.T) / 2) ** 2
    centred = -0.5 * (squares - squares.mean(axis=0) - squares.mean(axis=1)[:, None] + squares.mean())
    values, vectors = np.linalg.eigh(centred)
    places = np.zeros((len(distances), 2))
    count = min(2, len(values))
    places[:, :count] = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1][:, :count]
    return places


@compiled()
def _lengths(distances, permutations):  # type: ignore[no-untyped-def]
    lengths = np.empty(len(permutations))
    for row in range(len(permutations)):
        tour = permutations[row]
        length = distances[tour[-1], tour[0]]
        for k in range(len(tour) - 1):
            length += distances[tour[k], tour[k + 1]]
        lengths[row] = length
    return lengths


def load(source: str, seed: int = 0) -> TSP:
    """Return the problem in a TSPLIB file, given by its path, or of a TSPLIB name, or of random cities.

    Args:
        source: The path of a file, a name such as burma14, or planeN, such as plane30, for N random cities in a square
            of side 100.
        seed: Of the random cities.
    """
    if is_path(source):
        return TSP(f"tsp:{Path(source).stem}", None, read_distances(Path(source)))
    name = f"tsp:{source}"
    if found := re.fullmatch(r"plane(\d+)", source):
        return TSP(name, None, _random_distances(found[1], seed))
    return TSP(name, best_value(name), read_instance(name, f"{source}.tsp", read_distances))


def _random_distances(count: str, seed: int) -> FloatArray:
    if (n_cities := whole_number(count, 0, MAX_CITIES)) is None:
        raise InputError(f"plane{count[:20]} has {count[:20]} cities: choose at most {MAX_CITIES}")
    places = seeded(seed).uniform(0.0, 100.0, (n_cities, 2))
    distances: FloatArray = np.linalg.norm(places[:, None] - places, axis=2)
    return distances
