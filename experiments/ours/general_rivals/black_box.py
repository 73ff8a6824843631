"""What a method sees of a problem: orderings in, values out, until the budget is spent."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from experiments.ours.general_rivals.encodings import repaired
from experiments.ours.general_rivals.problems import is_noisy, observed, problem, truth
from law_ray.typing import IntArray
from law_ray.utils.seeding import generator

PATIENCE = 20
"""Proposals per evaluation of the budget after which a method that only repeats itself is stopped (heuristic)."""


class SpentError(Exception):
    """Ends a method: the last evaluation of the budget was made."""


class BlackBox:
    """A problem with a budget of evaluations.

    An ordering that violates the problem's precedences is repaired first (`encodings.repaired`). One that was evaluated
    before gets its earlier value and costs nothing, as for a user who keeps a cache.

    Args:
        name: One of `problems.PROBLEMS`.
        budget: How many orderings are evaluated, at most.
        batch_size: How many a method should propose at a time.
        seed: Of the noise.
    """

    def __init__(self, name: str, budget: int, batch_size: int, seed: int) -> None:
        self.name = name
        self.objective: Any = problem(name)
        self.n_items: int = self.objective.n_items
        self.noisy = is_noisy(name)
        self.budget = budget
        self.batch_size = batch_size
        self.evaluating = 0.0
        """processor seconds within the objective"""
        self.evaluated: dict[tuple[int, ...], tuple[float, float]] = {}
        """the value and its standard error of each ordering, in the order of the evaluations"""
        self._seed = seed
        self._proposed = 0
        self._before: tuple[tuple[int, int], ...] = tuple(getattr(self.objective, "constraints", {}).get("before", ()))

    def values(self, permutations: Iterable[Sequence[int] | IntArray]) -> list[float]:
        """Return the values of a batch.

        Raises:
            SpentError: With the last evaluation of the budget, or when a method repeats itself without end.
        """
        return [value for value, _ in self.observe(permutations)]

    def observe(self, permutations: Iterable[Sequence[int] | IntArray]) -> list[tuple[float, float]]:
        """Return the values of a batch with their standard errors.

        Raises:
            SpentError: As for `values`.
        """
        found = []
        for permutation in permutations:
            key = repaired([int(item) for item in permutation], self._before)
            if key not in self.evaluated:
                start = time.process_time()
                rng = generator(self._seed, "observe", len(self.evaluated))
                self.evaluated[key] = observed(self.name, np.array(key), rng)
                self.evaluating += time.process_time() - start
            self._proposed += 1
            if len(self.evaluated) == self.budget or self._proposed == PATIENCE * self.budget:
                raise SpentError
            found.append(self.evaluated[key])
        return found

    def curve(self) -> list[tuple[int, float]]:
        """Return (evaluations, value) whenever the ordering with the least observed value changed.

        The value is the true one of that ordering. So a curve may rise where noise flattered an ordering.
        """
        points: list[tuple[int, float]] = []
        least = np.inf
        for count, (key, (value, _)) in enumerate(self.evaluated.items(), 1):
            if value < least:
                least = value
                points.append((count, truth(self.name, np.array(key))))
        return points
