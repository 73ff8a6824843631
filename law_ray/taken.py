"""What may not be proposed again, and random draws of what may."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Protocol

import numpy as np

from law_ray.constraints import Constraints
from law_ray.errors import UsedUpError
from law_ray.permutations import IntArray

Key = Callable[[IntArray], Hashable]  # permutations with one key are one point

EXHAUSTIVE = 5040  # spaces of up to this many orderings, such as those of up to 7 items, are searched whole
N_MISSES = 20_000  # draws in a row that met nothing new, after which a space counts as used up


class Avoided(Protocol):
    """Permutations that a search may not step onto: `permutation in avoided`."""

    def __contains__(self, permutation: IntArray, /) -> bool: ...


class Taken:
    """The permutations that may not be proposed: evaluated, failed, pending or in the batch. `permutation in taken`."""

    def __init__(self, key: Key | None = None, permutations: Iterable[IntArray] = ()) -> None:
        self._key = key
        self._keys = {self.key(permutation) for permutation in permutations}

    def key(self, permutation: IntArray) -> Hashable:
        return permutation.tobytes() if self._key is None else self._key(permutation)

    def __contains__(self, permutation: IntArray) -> bool:
        return self.key(permutation) in self._keys

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, permutation: IntArray) -> None:
        self._keys.add(self.key(permutation))

    def discard(self, permutation: IntArray) -> None:
        self._keys.discard(self.key(permutation))

    def copy(self) -> "Taken":
        copy = Taken(self._key)
        copy._keys = set(self._keys)
        return copy


def draw_free(constraints: Constraints, count: int, taken: Taken, rng: np.random.Generator) -> IntArray:
    """Draw (count, n_items) random permutations that are allowed, no two alike and none of them taken.

    Raises UsedUpError when the space is used up: for certain in a small space, else after N_MISSES draws in a row
    without a free permutation.
    """
    taken = taken.copy()
    whole = constraints.enumerate(EXHAUSTIVE)
    drawn: list[IntArray] = []
    candidates = iter(rng.permutation(whole) if whole is not None else _endless(constraints, rng))
    misses = 0
    while len(drawn) < count and misses < N_MISSES and (candidate := next(candidates, None)) is not None:
        misses += 1
        if candidate not in taken:
            taken.add(candidate)
            drawn.append(candidate)
            misses = 0
    if len(drawn) < count:
        raise UsedUpError(f"the space is used up: {count} new permutations asked for, {len(drawn)} left")
    return np.array(drawn)


def _endless(constraints: Constraints, rng: np.random.Generator) -> Iterator[IntArray]:
    while True:
        yield from constraints.sample(64, rng)
