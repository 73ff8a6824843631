"""The quadratic assignment problem (Koopmans and Beckmann, Econometrica 25, 1957)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from law_ray.compiled import compiled
from law_ray.errors import InputError
from objectives.best_known import best_value
from objectives.contingency import IntArray
from objectives.instances import is_path, read_instance
from objectives.problem import FloatArray, Problem
from objectives.qaplib import read_qap


@dataclass(frozen=True, eq=False)
class QAP(Problem):
    """Assign n facilities to n locations: value = sum_ij A[i, j] B[permutation[i], permutation[j]], minimised.

    A, B: (n, n), symmetric or not. This is QAPLIB's formula (Burkard, Karisch and Rendl, J. Global Optimization 10,
    1997): permutation[k] is the row of B that row k of A meets, so with A the flows and B the distances it is the
    location of facility k. Where a file has the distances first, it is the facility at location k; the inverse
    permutation has the same value in the problem with A and B exchanged. Cost: O(n^2), 0.1 microseconds for n = 12.
    """

    A: FloatArray
    B: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        n = len(self.A)
        if n < 1 or self.A.shape != (n, n) or self.B.shape != (n, n):
            raise InputError(f"{self.name} has matrices of shapes {self.A.shape} and {self.B.shape}: pass two (n, n)")

    @property
    def n_items(self) -> int:
        return len(self.A)

    def _values(self, permutations: IntArray) -> FloatArray:
        values: FloatArray = _costs(self.A, self.B, permutations)
        return values

    def swap_change(self, permutation: IntArray, i: int, j: int) -> float:
        """The change of the value when positions i and j are exchanged, in O(n).

        Only rows and columns i and j of A count, and against each other element k of them stands a difference of B's
        rows, or columns, permutation[j] and permutation[i].
        """
        A, B, p = self.A, self.B, permutation
        rows = (A[i] - A[j]) * (B[p[j], p] - B[p[i], p])
        columns = (A[:, i] - A[:, j]) * (B[p, p[j]] - B[p, p[i]])
        others = np.ones(len(p), dtype=bool)
        others[[i, j]] = False
        among = (A[i, i] - A[j, j]) * (B[p[j], p[j]] - B[p[i], p[i]])
        among += (A[i, j] - A[j, i]) * (B[p[j], p[i]] - B[p[i], p[j]])
        return float((rows + columns)[others].sum() + among)


@compiled()
def _costs(A, B, permutations):  # type: ignore[no-untyped-def]
    m, n = permutations.shape
    costs = np.empty(m)
    for row in range(m):
        p = permutations[row]
        total = 0.0
        for i in range(n):
            for j in range(n):
                total += A[i, j] * B[p[i], p[j]]
        costs[row] = total
    return costs


def load(source: str) -> QAP:
    """The problem in a QAPLIB file, given by its path, or of a QAPLIB name."""
    if is_path(source):
        return QAP(f"qap:{Path(source).stem}", None, *read_qap(Path(source)))
    name = f"qap:{source}"
    return QAP(name, best_value(name), *read_instance(name, f"{source}.dat", read_qap))
