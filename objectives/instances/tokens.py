"""The blank-separated tokens of a text file, taken one after another; errors name the file and the line."""

from pathlib import Path

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import FloatArray

MAX_NUMBER = 10**6
"""A larger number is no size of an instance: what is meant is another file, or another column of it."""


def whole_number(text: str, least: int = 1, most: int = MAX_NUMBER) -> int | None:
    """Return the whole number from `least` to `most` that a text is; None if it is another one, or no number."""
    digits = text.lstrip("0") or "0"
    if not text.isdecimal() or len(digits) > len(str(most)) or not least <= int(digits) <= most:
        return None
    return int(digits)


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file; bytes that are not UTF-8, which only comments should have, are replaced.

    Raises:
        InputError: if the file cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): give the path of a file") from error


class Tokens:
    """The tokens of some lines of a file; `first_line` is the number of the first of these lines."""

    def __init__(self, path: Path, lines: list[str], first_line: int = 1) -> None:
        self._path = path
        self._tokens = [(number, token) for number, line in enumerate(lines, first_line) for token in line.split()]
        self._last_line = first_line + max(len(lines), 1) - 1
        self._next = 0

    def size(self, what: str) -> int:
        """Return the next token as a positive integer, the number of `what`."""
        number, token = self._take(1, f"the number of {what}")[0]
        if (size := whole_number(token)) is None:
            reason = f"{token[:20]!r} is not a number of {what}: give an integer from 1 to {MAX_NUMBER}"
            raise self._wrong(number, reason)
        return size

    def numbers(self, count: int, what: str) -> FloatArray:
        """Return the next `count` tokens, which are `what`, as finite numbers: (count,)."""
        taken = self._take(count, what)
        try:
            numbers = np.array([token for _, token in taken], dtype=np.float64)
            if np.isfinite(numbers).all():
                return numbers
        except ValueError:
            pass
        line, token = next((line, token) for line, token in taken if not _is_number(token))
        raise self._wrong(line, f"{token!r} among {what} is not a finite number: correct it")

    def end(self, what: str) -> None:
        """Check that no token follows `what`."""
        if self._next < len(self._tokens):
            line, token = self._tokens[self._next]
            raise self._wrong(line, f"{token!r} follows the end of {what}: remove it, or correct the size")

    def _take(self, count: int, what: str) -> list[tuple[int, str]]:
        taken = self._tokens[self._next : self._next + count]
        if len(taken) < count:
            raise self._wrong(
                self._last_line, f"the data end after {len(taken)} of {count} numbers, {what}: complete it"
            )
        self._next += count
        return taken

    def _wrong(self, line: int, reason: str) -> InputError:
        return InputError(f"{self._path}, line {line}: {reason}")


def _is_number(token: str) -> bool:
    try:
        return bool(np.isfinite(float(token)))
    except ValueError:
        return False
