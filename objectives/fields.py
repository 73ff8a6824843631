"""The blank-separated fields of a text file, taken one after another; what is wrong is named by file and line."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from law_ray.errors import InputError
from objectives.contingency import IntArray


def read_lines(path: Path) -> list[str]:
    """The lines of a text file; what is not UTF-8 should be in comments. Raises InputError when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give the path of a file") from error


class Fields:
    """The fields of some lines of a file, the first of which is line `first_line` of it."""

    def __init__(self, path: Path, lines: list[str], first_line: int = 1) -> None:
        self._path = path
        self._fields = [(number, field) for number, line in enumerate(lines, first_line) for field in line.split()]
        self._last_line = first_line + max(len(lines), 1) - 1
        self._next = 0

    def size(self, what: str) -> int:
        """The next field as a positive integer, the number of `what`."""
        number, field = self._take(1, f"the number of {what}")[0]
        if not field.isdecimal() or int(field) < 1:
            raise self._wrong(number, f"{field!r} is no number of {what}: give a positive integer")
        return int(field)

    def numbers(self, count: int, what: str) -> NDArray[np.float64]:
        """The next `count` fields as finite numbers, which are `what`: (count,)."""
        taken = self._take(count, what)
        try:
            numbers = np.array([field for _, field in taken], dtype=np.float64)
            if np.isfinite(numbers).all():
                return numbers
        except ValueError:
            pass
        line, field = next((line, field) for line, field in taken if not _is_number(field))
        raise self._wrong(line, f"{field!r} among {what} is not a finite number: correct it")

    def permutation(self, n_items: int, what: str) -> IntArray:
        """The next `n_items` fields, which are 1..n_items in any order, less 1."""
        first = self._next
        items = self.numbers(n_items, what)
        if not np.array_equal(np.sort(items), np.arange(1, n_items + 1)):
            raise self._wrong(self._fields[first][0], f"{what} does not hold each of 1..{n_items} once: correct it")
        return items.astype(np.int64) - 1

    def end(self, what: str, mark: str | None = None) -> None:
        """Nothing may follow `what` but a mark of its end."""
        while self._next < len(self._fields) and self._fields[self._next][1] == mark:
            self._next += 1
        if self._next < len(self._fields):
            line, field = self._fields[self._next]
            raise self._wrong(line, f"{field!r} follows the end of {what}: remove it, or correct the size")

    def _take(self, count: int, what: str) -> list[tuple[int, str]]:
        taken = self._fields[self._next : self._next + count]
        if len(taken) < count:
            raise self._wrong(
                self._last_line, f"the data end after {len(taken)} of {count} numbers, {what}: complete it"
            )
        self._next += count
        return taken

    def _wrong(self, line: int, reason: str) -> InputError:
        return InputError(f"{self._path}, line {line}: {reason}")


def _is_number(field: str) -> bool:
    try:
        return bool(np.isfinite(float(field)))
    except ValueError:
        return False
