"""The travelling salesman problem: the shortest closed tour of n cities."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from law_ray.compiled import compiled
from law_ray.errors import InputError
from objectives.best_known import best_value
from objectives.contingency import IntArray
from objectives.instances import is_path, read_instance
from objectives.problem import FloatArray, Problem
from objectives.tsplib import read_distances


@dataclass(frozen=True, eq=False)
class TSP(Problem):
    """Visit n cities in the order of the permutation, and return: value = sum_k distances[p[k], p[k+1]], cyclically.

    distances: (n, n), [a, b] from a to b, symmetric or not. Cost: O(n), 0.02 microseconds for 32 cities.
    """

    distances: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        n = len(self.distances)
        if n < 2 or self.distances.shape != (n, n):
            raise InputError(f"{self.name} has distances of shape {self.distances.shape}: pass (n, n), n > 1")

    @property
    def n_items(self) -> int:
        return len(self.distances)

    @cached_property
    def symmetric(self) -> bool:
        return bool((self.distances == self.distances.T).all())

    def _values(self, permutations: IntArray) -> FloatArray:
        values: FloatArray = _lengths(self.distances, permutations)
        return values

    def key(self, permutation: IntArray) -> bytes:
        """The same for one tour from every city and, where distances are symmetric, in both directions."""
        tour = np.roll(permutation, -int(np.argmin(permutation)))
        if self.symmetric and tour[1] > tour[-1]:
            tour[1:] = tour[:0:-1]
        return tour.tobytes()

    def swap_change(self, permutation: IntArray, i: int, j: int) -> float:
        """The change of the length when the cities at positions i and j change places, in O(1)."""
        D, p, n = self.distances, permutation, self.n_items
        moved = {i: p[j], j: p[i]}
        edges = [(k, (k + 1) % n) for k in {(i - 1) % n, i, (j - 1) % n, j}]
        return float(sum(D[moved.get(a, p[a]), moved.get(b, p[b])] - D[p[a], p[b]] for a, b in edges))

    def reversal_change(self, permutation: IntArray, i: int, j: int) -> float:
        """The change of the length when positions i..j, i <= j, are reversed (2-opt), in O(1); symmetric distances."""
        D, p, n = self.distances, permutation, self.n_items
        before, first, last, after = p[i - 1], p[i], p[j], p[(j + 1) % n]
        if before == last:  # the whole tour
            return 0.0
        return float(D[before, last] + D[first, after] - D[before, first] - D[last, after])

    def insertion_change(self, permutation: IntArray, i: int, j: int) -> float:
        """The change of the length when the city at position i moves to position j, in O(1)."""
        D, p, n = self.distances, permutation, self.n_items
        city, before, after = p[i], p[i - 1], p[(i + 1) % n]
        left, right = (p[j], p[(j + 1) % n]) if j > i else (p[j - 1], p[j])
        if city in (left, right):  # it stays, or the tour is only written from another city
            return 0.0
        removed = D[before, city] + D[city, after] - D[before, after]
        return float(D[left, city] + D[city, right] - D[left, right] - removed)


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
    """The problem in a TSPLIB file, given by its path, or of a TSPLIB name."""
    if is_path(source):
        return TSP(f"tsp:{Path(source).stem}", None, read_distances(Path(source)))
    name = f"tsp:{source}"
    return TSP(name, best_value(name), read_instance(name, f"{source}.tsp", read_distances))
