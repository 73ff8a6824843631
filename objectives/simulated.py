"""What the simulated problems share: items in families, a fingerprint of the data, and the size in their names."""

import hashlib
from dataclasses import dataclass, fields

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import IntArray
from objectives.instances.tokens import whole_number

MAX_SIZE = 1_000
"""Of the items of a simulated problem: some matrices have a cell for each pair (heuristic)."""


@dataclass(frozen=True, eq=False)
class Simulated:
    """A problem whose items belong to families; a subclass adds its data as fields."""

    name: str
    families: IntArray
    """(n,) the family of each item"""

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.families)

    @property
    def item_names(self) -> list[str]:
        """The items, with the letter of their family."""
        return [f"{chr(ord('A') + family % 26)}{item}" for item, family in enumerate(self.families.tolist())]

    @property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of the data."""
        digest = hashlib.sha256()
        for field in fields(self)[1:]:
            value = getattr(self, field.name)
            digest.update(repr(value.tolist() if isinstance(value, np.ndarray) else value).encode())
        return digest.hexdigest()


def read_size(family: str, source: str, items: str, example: int) -> int:
    """Return the number of items in the name of a problem.

    Raises:
        InputError: It is not a number from 2 to MAX_SIZE.
    """
    if (size := whole_number(source, 2, MAX_SIZE)) is None:
        name = f"{family}:{source[:20]}"
        raise InputError(f"{name} is unknown: give the number of {items}, 2 to {MAX_SIZE}, as in {family}:{example}")
    return size
