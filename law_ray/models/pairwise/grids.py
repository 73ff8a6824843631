"""Grids whose cells, numbered row by row, are the positions of a layout: their distances, and grids that resemble them.

Floors are seldom full rectangles. So a grid may have more cells than there are positions, some of which are missing,
and steps of a length of its own along each axis: from one floor to the next it is farther than to the next room.
"""

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from law_ray.typing import FloatArray

MAX_MISSING = 3
"""Cells without a position that a grid may have (heuristic)."""
MAX_STEP = 10.0
"""The longest steps along an axis, in units of those along the last; the shortest are 1 / MAX_STEP (heuristic)."""
FACTORS = (2.0, 2.0**0.5, 2.0**0.25, 2.0**0.125, 2.0**0.0625)
"""By which the steps along an axis are made longer or shorter (heuristic)."""


class Grid(NamedTuple):
    """A grid of any dimension, from a line to a hypercube."""

    shape: tuple[int, ...]
    """how many cells it has along each axis"""
    missing: tuple[int, ...] = ()
    """which cells, in ascending order, have no position"""
    steps: tuple[float, ...] = ()
    """the distance of neighbours along each axis; all 1 if empty"""

    @property
    def n_cells(self) -> int:
        """The number of cells, with those that are missing."""
        return math.prod(self.shape)

    def penalty(self, n: int) -> float:
        """Return by how much the evidence of n values is reduced, in nats.

        The log of the number of sets of cells that may be missing, and log(n) / 2 for each step to choose (Schwarz,
        Annals of Statistics 6, 1978).
        """
        n_lengths = len(self.shape) - 1 if len(set(self.steps)) > 1 else 0
        return math.log(math.comb(self.n_cells, len(self.missing))) + 0.5 * n_lengths * math.log(n)

    def distances(self) -> FloatArray:
        """Return the distances (n, n) of the n cells that are not missing: the sums of those along the axes."""
        cells = np.delete(np.indices(self.shape).reshape(len(self.shape), -1), self.missing, axis=1)
        along = np.abs(cells[:, :, None] - cells[:, None]).astype(np.float64)
        return np.tensordot(self.steps or np.ones(len(self.shape)), along, axes=1)

    def moves(self) -> Iterator[Callable[["Grid"], "Grid"]]:
        """Yield small changes, to be made in turn.

        Another cell is missing, 1, 2, 4 ... before one that is, or after it. Or the steps along an axis but the last
        are longer or shorter by one of FACTORS.
        """
        jumps = [sign * 2**power for power in range(self.n_cells.bit_length()) for sign in (-1, 1)]
        for number, jump in itertools.product(range(len(self.missing)), jumps):
            yield functools.partial(_with_missing_moved, number=number, jump=jump)
        for factor, axis in itertools.product(FACTORS, range(len(self.shape) - 1)):
            yield functools.partial(_with_step_times, axis=axis, factor=factor)
            yield functools.partial(_with_step_times, axis=axis, factor=1.0 / factor)

    def __str__(self) -> str:
        """Say what it is: grid of 2 x 4, without cells 3 and 5, steps of 2.5 and 1."""
        name = f"grid of {' x '.join(map(str, self.shape))}" if len(self.shape) > 1 else "line"
        if self.missing:
            name += f", without cell{'s' if len(self.missing) > 1 else ''} {_listed(map(str, self.missing))}"
        if len(set(self.steps)) > 1:
            name += f", steps of {_listed(f'{step:.3g}' for step in self.steps)}"
        return name


def full_grids(n_cells: int) -> Iterator[Grid]:
    """Yield the grids of any dimension with this many cells: one for each ordered product of factors above 1."""
    for shape in _shapes(n_cells):
        yield Grid(shape)


def grids_with_gaps(n: int) -> Iterator[Grid]:
    """Yield grids of at least two dimensions with 1 to MAX_MISSING more cells than n, from which a search can start.

    The first cells are missing, or the last ones, or some that are evenly spread.
    """
    for n_missing in range(1, MAX_MISSING + 1):
        for grid in full_grids(n + n_missing):
            if len(grid.shape) > 1:
                last = grid.n_cells - n_missing
                spread = ((2 * np.arange(n_missing) + 1) * grid.n_cells // (2 * n_missing)).tolist()
                for missing in (range(n_missing), range(last, grid.n_cells), spread):
                    yield grid._replace(missing=tuple(missing))


def _with_missing_moved(grid: Grid, number: int, jump: int) -> Grid:
    """Return the grid with a missing cell moved; as it is if that leads out of it or to another missing one."""
    cell = grid.missing[number] + jump
    if not 0 <= cell < grid.n_cells or cell in grid.missing:
        return grid
    return grid._replace(missing=tuple(sorted({*grid.missing, cell} - {grid.missing[number]})))


def _with_step_times(grid: Grid, axis: int, factor: float) -> Grid:
    """Return the grid with other steps along an axis; as it is where they would be too long or too short."""
    steps = grid.steps or len(grid.shape) * (1.0,)
    if not 1.0 / MAX_STEP <= steps[axis] * factor <= MAX_STEP:
        return grid
    return grid._replace(steps=(*steps[:axis], steps[axis] * factor, *steps[axis + 1 :]))


def _shapes(n: int) -> Iterator[tuple[int, ...]]:
    """Yield all ordered products of factors above 1 that are n."""
    if n == 1:
        yield ()
    for factor in range(2, n + 1):
        if n % factor == 0:
            yield from ((factor, *rest) for rest in _shapes(n // factor))


def _listed(words: Iterator[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
