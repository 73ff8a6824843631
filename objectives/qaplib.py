"""The files of QAPLIB: instances (.dat) and solutions (.sln)."""

from pathlib import Path

from objectives.contingency import IntArray
from objectives.fields import Fields, read_lines
from objectives.problem import FloatArray


def read_qap(path: Path) -> tuple[FloatArray, FloatArray]:
    """The matrices A and B, each (n, n), of a file that holds n, A and B with any white space between the numbers.

    Raises InputError, in one line, for a file that holds anything else.
    """
    fields = Fields(path, read_lines(path))
    n = fields.size("facilities")
    A, B = (fields.numbers(n * n, f"matrix {name}").reshape(n, n) for name in "AB")
    fields.end("matrix B")
    return A, B


def read_solution(path: Path) -> tuple[float, IntArray]:
    """The value and the permutation, from 0, of a file that holds n, the value and the permutation from 1.

    QAPLIB's older files are not of one mind on which of A and B the permutation moves: evaluate it, and its inverse.
    """
    fields = Fields(path, read_lines(path))
    n = fields.size("facilities")
    value = float(fields.numbers(1, "the value")[0])
    permutation = fields.permutation(n, "the permutation")
    fields.end("the permutation")
    return value, permutation
