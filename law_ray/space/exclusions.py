"""The permutations that may not be proposed again, and random draws from those that may."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from threading import RLock

import numpy as np

from law_ray.errors import InputError, UsedUpError
from law_ray.space.constraints import Constraints
from law_ray.typing import IntArray

Key = Callable[[IntArray], Hashable]
"""Identifies the point that a permutation stands for: permutations with equal keys are the same point."""

EXHAUSTIVE = 5040  # spaces of at most this many orderings (7! = 5040) are searched exhaustively; heuristic
_CALLING_KEY = RLock()
"""Held while the user's key function runs, which need not be thread-safe."""
MAX_FRUITLESS_DRAWS = 20_000  # consecutive draws without a new permutation before a space counts as used up; heuristic


class Exclusions:
    """The permutations that may not be proposed: evaluated, failed, pending, or already in the batch.

    A permutation is free if neither it nor another one with the same key is excluded. `permutation in exclusions` tells
    whether it is not free.
    """

    def __init__(self, key: Key | None = None, permutations: Iterable[IntArray] = ()) -> None:
        self._key = key
        self._keys = {self.key(permutation) for permutation in permutations}

    def key(self, permutation: IntArray) -> Hashable:
        """Return the key of the permutation; without a key function, the permutation itself as bytes."""
        if self._key is None:
            return permutation.tobytes()
        with _CALLING_KEY:
            key = self._key(permutation.copy())
        try:
            hash(key)
        except TypeError:
            raise InputError(
                f"the objective's key returned a {type(key).__name__}: return something hashable, such as a tuple"
            ) from None
        return key

    def __contains__(self, permutation: IntArray) -> bool:
        return self.key(permutation) in self._keys

    def __len__(self) -> int:
        """Return the number of different keys that are excluded."""
        return len(self._keys)

    def add(self, permutation: IntArray) -> None:
        """Exclude the permutation and all others with its key."""
        self._keys.add(self.key(permutation))

    def discard(self, permutation: IntArray) -> None:
        """Allow the permutation and all others with its key again."""
        self._keys.discard(self.key(permutation))

    def copy(self) -> "Exclusions":
        """Return an independent copy."""
        copy = Exclusions(self._key)
        copy._keys = set(self._keys)
        return copy


def draw_free(constraints: Constraints, count: int, excluded: Exclusions, rng: np.random.Generator) -> IntArray:
    """Draw `count` random permutations that are allowed, not excluded, and different from one another.

    Returns:
        (count, n_items) permutations.

    Raises:
        UsedUpError: if the space is used up. In a small space this is certain; in a larger one it is assumed after
            MAX_FRUITLESS_DRAWS draws in a row without a free permutation.
    """
    excluded = excluded.copy()
    whole = constraints.enumerate(EXHAUSTIVE)
    drawn: list[IntArray] = []
    candidates = iter(rng.permutation(whole) if whole is not None else _endless(constraints, rng))
    fruitless = 0
    while len(drawn) < count and fruitless < MAX_FRUITLESS_DRAWS and (candidate := next(candidates, None)) is not None:
        fruitless += 1
        if candidate not in excluded:
            excluded.add(candidate)
            drawn.append(candidate)
            fruitless = 0
    if len(drawn) < count:
        raise UsedUpError(
            f"the space is used up: {count} new permutations asked for, {len(drawn)} found: ask for fewer"
        )
    return np.array(drawn)


def _endless(constraints: Constraints, rng: np.random.Generator) -> Iterator[IntArray]:
    while True:
        yield from constraints.sample(64, rng)
