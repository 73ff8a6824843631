"""The instance files of QAPLIB (.dat)."""

from pathlib import Path

from law_ray.typing import FloatArray
from objectives.instances.tokens import Tokens, read_lines


def read_qap(path: Path) -> tuple[FloatArray, FloatArray]:
    """Return the matrices A and B, each (n, n), of a file that holds n, A and B, separated by any white space.

    Raises:
        InputError: in one line, if the file holds anything else.
    """
    tokens = Tokens(path, read_lines(path))
    n = tokens.size("facilities")
    A, B = (tokens.numbers(n * n, f"matrix {name}").reshape(n, n) for name in "AB")
    tokens.end("matrix B")
    return A, B
