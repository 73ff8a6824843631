"""The travelling salesman problem: the shortest closed tour of n cities."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import FloatArray, IntArray
from law_ray.utils.compiled import compiled
from objectives.instances.best_known import best_value
from objectives.instances.fetch import is_path, read_instance
from objectives.instances.tsplib import read_distances
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


def load(source: str) -> TSP:
    """Return the problem in a TSPLIB file, given by its path, or of a TSPLIB name."""
    if is_path(source):
        return TSP(f"tsp:{Path(source).stem}", None, read_distances(Path(source)))
    name = f"tsp:{source}"
    return TSP(name, best_value(name), read_instance(name, f"{source}.tsp", read_distances))
