"""What the classical problems over permutations share: exact values, one or many at once, and a fingerprint."""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from law_ray.errors import InputError
from law_ray.space.permutations import validate
from law_ray.typing import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Problem(ABC):
    """An instance of a problem over permutations, minimised; see `objectives.Objective` for the attributes.

    A subclass adds its data as array fields, which are converted to read-only float64.
    """

    name: str
    optimum: float | None
    """The best known value, None if there is none; `objectives.instances.best_known` says whether it is proven."""

    @property
    @abstractmethod
    def n_items(self) -> int:
        """The number of items of a permutation."""

    @abstractmethod
    def _values(self, permutations: IntArray) -> FloatArray:
        """The values of (m, n_items) valid permutations: (m,)."""

    def values(self, permutations: ArrayLike) -> FloatArray:
        """Return the values of many permutations at once: (m, n_items) -> (m,).

        Raises:
            InputError: if a row is not a permutation.
        """
        return self._values(_all_valid(np.asarray(permutations), self.n_items))

    def __call__(self, permutation: ArrayLike) -> float:
        """Return the value of one permutation.

        Raises:
            InputError: if it is not a permutation.
        """
        return float(self._values(validate(permutation, self.n_items)[None])[0])

    def explain(self, permutation: IntArray, rng: np.random.Generator) -> dict[str, float]:
        """Return the best known value, and how far above it a permutation's value is."""
        return {} if self.optimum is None else {"best_known": self.optimum, "gap": self(permutation) - self.optimum}

    @property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of the kind of problem and its data."""
        digest = hashlib.sha256(type(self).__name__.encode())
        for array in self._arrays().values():
            digest.update(repr(array.shape).encode() + array.astype("<f8").tobytes())
        return digest.hexdigest()

    def __post_init__(self) -> None:
        """Replace the arrays by read-only copies.

        Raises:
            InputError: One is no array of finite numbers.
        """
        for name, given in self._arrays().items():
            try:
                array = np.array(given, dtype=np.float64, order="C")
            except (TypeError, ValueError):
                raise InputError(f"{name} of {self.name} is no array of numbers: give as many in each row") from None
            if not np.isfinite(array).all():
                place = np.argwhere(~np.isfinite(array))[0].tolist()
                raise InputError(f"{name}{place} of {self.name} is {array[tuple(place)]}: give finite numbers")
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def _arrays(self) -> dict[str, Any]:
        """The fields that a subclass adds, by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)[len(fields(Problem)) :]}


def _all_valid(permutations: NDArray[Any], n_items: int) -> IntArray:
    """The permutations as int64 in C order; raises InputError if they are not (m, n_items) permutations."""
    if permutations.ndim != 2 or permutations.shape[1] != n_items or permutations.dtype.kind not in "iu":
        raise InputError(
            f"{permutations.dtype} of shape {permutations.shape} are not permutations: pass (m, {n_items}) integers"
        )
    if not (np.sort(permutations, axis=1) == np.arange(n_items)).all():
        raise InputError(f"a row is not a permutation: each must hold each of 0..{n_items - 1} once")
    return permutations.astype(np.int64, order="C")
