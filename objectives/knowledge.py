"""What the user knows about a network before the data: edges it must have, edges it cannot have, tiers of columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from law_ray.errors import InputError
from objectives.columns import find_column
from objectives.contingency import BoolArray
from objectives.structure import topological_order

Edges = str | Iterable[Sequence[str]]
Tiers = str | Iterable[Sequence[str]]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Required and forbidden edges among p columns, and tiers: no edge goes from a later tier to an earlier one.

    names: of the columns; required, forbidden: (p, p) bool, [parent, child], read-only; tiers: (p,) the tier of every
    column, nan for a column that is free of them. The edges against the tiers are added to `forbidden`. Raises
    InputError for a loop, for an edge both required and forbidden, and when no ordering keeps every precedence.
    """

    names: tuple[str, ...]
    required: BoolArray
    forbidden: BoolArray
    tiers: NDArray[np.float64]

    def __post_init__(self) -> None:
        p = len(self.names)
        required, forbidden = np.array(self.required, dtype=bool), np.array(self.forbidden, dtype=bool)
        if required.shape != (p, p) or forbidden.shape != (p, p) or self.tiers.shape != (p,):
            shapes = f"{required.shape}, {forbidden.shape} and {self.tiers.shape}"
            raise InputError(f"knowledge of shapes {shapes} does not fit {p} columns: pass ({p}, {p}) twice and ({p},)")
        forbidden |= self._earlier().T
        for name, matrix in (("required", required), ("forbidden", forbidden)):
            matrix.flags.writeable = False
            object.__setattr__(self, name, matrix)
        self._check()

    def _earlier(self) -> BoolArray:
        """(p, p) whether a column is in an earlier tier than another; False where either is free."""
        return self.tiers[:, None] < self.tiers[None, :]

    def _check(self) -> None:
        for name, matrix in (("required", self.required), ("forbidden", self.forbidden)):
            if matrix.diagonal().any():
                loop = self.names[int(matrix.diagonal().argmax())]
                raise InputError(f"{name} has an edge from {loop!r} to itself: take it out")
        both = np.argwhere(self.required & self.forbidden)
        if len(both) > 0:
            parent, child = (self.names[i] for i in both[0])
            raise InputError(f"the edge {parent!r} -> {child!r} is required, and forbidden by name or tier: choose one")
        try:
            topological_order(self._before())
        except InputError:
            import networkx  # here, because only this message needs it

            cycle = networkx.find_cycle(networkx.DiGraph(self.precedences()))
            path = " before ".join(repr(self.names[i]) for i in (cycle[0][0], *(end for _, end in cycle)))
            raise InputError(f"required edges and tiers form a cycle, {path}: take one of them out") from None

    def _before(self) -> BoolArray:
        return self.required | self._earlier()

    def precedences(self) -> tuple[tuple[int, int], ...]:
        """The pairs (a, b) of columns that an ordering must have in this order, a before b.

        They are the required edges, which otherwise could not point to their child, and all pairs of an earlier and a
        later tier: an ordering against the tiers would only lose edges. Not transitively reduced; at least one
        ordering keeps them all.
        """
        return tuple((int(a), int(b)) for a, b in np.argwhere(self._before()))


def read_knowledge(
    names: Sequence[str], required: Edges | None = None, forbidden: Edges | None = None, tiers: Tiers | None = None
) -> Knowledge:
    """The user's knowledge about the columns called `names`; without any, no edge is required or forbidden.

    required, forbidden: pairs (parent, child) of names, or text, "a->b, c->d"; tiers: lists of names from the first
    tier to the last, or text, "a,b | c | d,e". An edge goes from an earlier or the same tier to a later or the same
    one; columns left out are free. Blanks around the names of a text are dropped, and empty text is no knowledge; names
    that hold "->", "," or "|" need lists. Raises InputError, in one line that names the culprit, for an unknown
    column, text that is malformed, a column in two tiers, and what `Knowledge` refuses.
    """
    names = tuple(names)
    return Knowledge(
        names, _edges(names, "required", required), _edges(names, "forbidden", forbidden), _tiers(names, tiers)
    )


def _edges(names: Sequence[str], option: str, edges: Edges | None) -> BoolArray:
    if isinstance(edges, str):
        edges = _split(edges, ",", "->")
    matrix = np.zeros((len(names), len(names)), dtype=bool)
    for edge in edges if edges is not None else ():
        if not isinstance(edge, list | tuple) or len(edge) != 2 or "" in edge:
            raise InputError(f"{option} has {edge!r}, which is no edge: write parent->child, or pass a pair")
        parent, child = (find_column(names, str(end), option) for end in edge)
        matrix[parent, child] = True
    return matrix


def _tiers(names: Sequence[str], tiers: Tiers | None) -> NDArray[np.float64]:
    if isinstance(tiers, str):
        tiers = _split(tiers, "|", ",")
    numbers = np.full(len(names), np.nan)
    for number, tier in enumerate(tiers if tiers is not None else ()):
        if not isinstance(tier, list | tuple) or len(tier) == 0 or "" in tier:
            raise InputError(f"tiers has {tier!r}, which is no tier: write a,b | c, or pass lists of names")
        for column in tier:
            i = find_column(names, str(column), "tiers")
            if not np.isnan(numbers[i]):
                raise InputError(f"tiers has the column {column!r} twice: keep it in one tier")
            numbers[i] = number
    return numbers


def _split(text: str, outer: str, inner: str) -> list[list[str]]:
    terms = text.split(outer) if text.strip() else []
    return [[part.strip() for part in term.split(inner)] for term in terms]
