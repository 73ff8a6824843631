"""What the user knows about a network in advance: edges it must have, edges it cannot have, tiers of columns."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from law_ray.errors import InputError
from law_ray.typing import BoolArray
from objectives.nml.data import quoting
from objectives.nml.data.rules import find_column
from objectives.nml.graphs.structure import topological_order

Edges = str | Iterable[Sequence[str]]
Tiers = str | Iterable[Sequence[str]]


@dataclass(frozen=True, eq=False)
class Knowledge:
    """Required and forbidden edges among p columns, and tiers: no edge goes from a later tier to an earlier one.

    The edges against the tiers are added to `forbidden`.

    Args:
        names: of the columns.
        required: (p, p) bool, [parent, child]; becomes read-only.
        forbidden: the same.
        tiers: (p,) the tier of every column, nan for a column without one.

    Raises:
        InputError: if an edge is a loop, if it is both required and forbidden, or if no ordering satisfies every
            precedence.
    """

    names: tuple[str, ...]
    required: BoolArray
    forbidden: BoolArray
    tiers: NDArray[np.float64]

    def __post_init__(self) -> None:
        """Add the edges against the tiers, make the matrices read-only and check them."""
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
        """(p, p) whether a column is in an earlier tier than another; False where either has no tier."""
        return self.tiers[:, None] < self.tiers[None, :]

    def _check(self) -> None:
        for name, matrix in (("required", self.required), ("forbidden", self.forbidden)):
            if matrix.diagonal().any():
                loop = self.names[int(matrix.diagonal().argmax())]
                raise InputError(f"{name} has an edge from {loop!r} to itself: remove it")
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
            raise InputError(f"required edges and tiers form a cycle, {path}: remove one of them") from None

    def _before(self) -> BoolArray:
        return self.required | self._earlier()

    def precedences(self) -> tuple[tuple[int, int], ...]:
        """Return the pairs (a, b) of columns that an ordering must have in this order, a before b.

        They are the required edges, which otherwise could not point to their child, and all pairs of columns from an
        earlier and a later tier. An ordering against the tiers would only lose edges. The pairs are not transitively
        reduced, and at least one ordering satisfies them all.
        """
        return tuple((int(a), int(b)) for a, b in np.argwhere(self._before()))


def read_knowledge(
    names: Sequence[str], required: Edges | None = None, forbidden: Edges | None = None, tiers: Tiers | None = None
) -> Knowledge:
    """Return the user's knowledge about the columns called `names`; by default no edge is required or forbidden.

    Blanks around the names in a text are dropped, and an empty text says nothing. Names that contain "->", ",", "|",
    "=" or ";" stand in double quotes there (`objectives.nml.data.quoting`).

    Args:
        names: of the columns.
        required: pairs (parent, child) of names or texts such as "a->b", or one text such as "a->b, c->d".
        forbidden: the same.
        tiers: lists of names from the first tier to the last, or a text such as "a,b | c | d,e". An edge goes to the
            same tier or a later one; columns without a tier are free.

    Raises:
        InputError: in one line that names the culprit, if a column is unknown or in two tiers, if a text is malformed,
            or if `Knowledge` refuses the result.
    """
    names = tuple(names)
    return Knowledge(
        names, _edges(names, "required", required), _edges(names, "forbidden", forbidden), _tiers(names, tiers)
    )


def _edges(names: Sequence[str], option: str, edges: Edges | None) -> BoolArray:
    if isinstance(edges, str):
        edges = _split(edges, ",", "->")
    if not isinstance(edges, Iterable | None):
        raise InputError(f"{option}={edges!r} is not a list of edges: write a->b, c->d, or pass pairs in Python")
    matrix = np.zeros((len(names), len(names)), dtype=bool)
    for edge in edges if edges is not None else ():
        if isinstance(edge, str):
            edge = quoting.names(edge, "->")
        if not isinstance(edge, list | tuple) or len(edge) != 2 or "" in edge:
            raise InputError(
                f"{option} has {edge!r}, which is not an edge: write parent->child, with names that hold a comma or "
                "-> in double quotes, or pass a pair in Python"
            )
        parent, child = (find_column(names, str(end), option) for end in edge)
        matrix[parent, child] = True
    return matrix


def _tiers(names: Sequence[str], tiers: Tiers | None) -> NDArray[np.float64]:
    if isinstance(tiers, str):
        tiers = _split(tiers, "|", ",")
    if not isinstance(tiers, Iterable | None):
        raise InputError(f"tiers={tiers!r} is not a list of tiers: write a,b | c, or pass lists of names")
    numbers = np.full(len(names), np.nan)
    for number, tier in enumerate(tiers if tiers is not None else ()):
        if not isinstance(tier, list | tuple) or len(tier) == 0 or "" in tier:
            raise InputError(f"tiers has {tier!r}, which is not a tier: write a,b | c, or pass lists of names")
        for column in tier:
            i = find_column(names, str(column), "tiers")
            if not np.isnan(numbers[i]):
                raise InputError(f"tiers has the column {column!r} twice: keep it in one tier")
            numbers[i] = number
    return numbers


def _split(text: str, outer: str, inner: str) -> list[list[str]]:
    terms = quoting.split(text, outer) if text.strip() else []
    return [quoting.names(term, inner) for term in terms]
