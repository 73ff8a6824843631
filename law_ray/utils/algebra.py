"""Dense linear algebra in double precision: by NumPy and LAPACK, or by another array library, for a GPU.

A model puts a large matrix on the current device (`put`) and hands it to the functions here. Matrices stay where they
are; vectors and what else is read elsewhere come back as NumPy arrays. Off the CPU only functions of the array API
standard are used, so the matrices may be those of any library that `array_api_compat` knows. Here that is torch.

    >>> with on(CPU):
    ...     factor = cholesky(put(np.array([[4.0, 2.0], [2.0, 3.0]])))
    >>> solve_both(factor, np.array([8.0, 8.0])).tolist()
    [1.0, 2.0]
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import blas, cho_solve
from scipy.linalg.lapack import dtrtri

from law_ray.errors import InputError
from law_ray.typing import FloatArray
from law_ray.utils import lapack

Matrix = Any
"""A matrix of double precision on some device; a NumPy array on the CPU."""

DEVICES = ("cpu", "cuda", "auto")
"""The values of the option `device`."""

BLOCK = 128
"""Rows of a triangular matrix that are solved at once (of 32 to 256, none was much faster)."""


@dataclass(frozen=True)
class Device:
    """Where matrices are: in an array library, and there on a device."""

    namespace: Any = np
    """of the functions of the array API standard"""
    where: Any = None
    """what that library calls the device"""

    def put(self, array: FloatArray) -> Matrix:
        """Return a NumPy array as a matrix on this device."""
        return array if self.namespace is np else self.namespace.asarray(np.ascontiguousarray(array), device=self.where)


CPU = Device()
_current: ContextVar[Device] = ContextVar("device", default=CPU)


def checked(name: str) -> str:
    """Return the name of a device. Raises InputError if it is not in DEVICES."""
    if name not in DEVICES:
        raise InputError(f"device is {name!r}: choose one of {', '.join(DEVICES)}")
    return name


@cache
def device(name: str) -> Device:
    """Return the device of a name in DEVICES: NumPy's for "cpu", and for "auto" without a GPU.

    Raises:
        InputError: There is no GPU, or no torch.
    """
    if name == "cpu":
        return CPU
    try:
        import torch  # 2.6 s, and seldom used
    except ImportError:
        missing = "torch is not installed: pip install 'law-ray[torch]'"
    else:
        if torch.cuda.is_available():
            return of_torch("cuda")
        missing = "torch finds no GPU"
    if name == "auto":
        return CPU
    raise InputError(f"device is {name!r}, but {missing}; on the CPU, give device='cpu'")


def of_torch(where: str) -> Device:
    """Return torch's device of a name such as "cuda" or "cpu"."""
    import torch
    from array_api_compat import torch as namespace

    # The first factor on a GPU loads libraries, which fails in several threads at once (pytorch/pytorch#90613).
    torch.linalg.cholesky(torch.eye(1, device=where))
    return Device(namespace, torch.device(where))


@contextmanager
def on(device: Device) -> Iterator[None]:
    """Let `put` put matrices on a device. `law_ray.utils.parallel` hands it on to its threads."""
    token = _current.set(device)
    try:
        yield
    finally:
        _current.reset(token)


def put(array: FloatArray) -> Matrix:
    """Return a NumPy array as a matrix on the current device."""
    return _current.get().put(array)


def like(array: FloatArray, matrix: Matrix) -> Matrix:
    """Return a NumPy array as a matrix where another matrix is."""
    return array if isinstance(matrix, np.ndarray) else _device_of(matrix).put(array)


def numpy_of(matrix: Matrix) -> FloatArray:
    """Return a matrix as a NumPy array."""
    if isinstance(matrix, np.ndarray):
        return matrix
    from array_api_compat import is_torch_array

    return np.asarray(matrix.cpu() if is_torch_array(matrix) else matrix)


def product(A: Matrix, B: Matrix) -> FloatArray:
    """Return A B as a NumPy array. Either may be a NumPy array, or a vector, even if the other is on another device."""
    A = like(A, B) if isinstance(A, np.ndarray) else A
    return numpy_of(A @ (like(B, A) if isinstance(B, np.ndarray) else B))


def gram(A: Matrix) -> Matrix:
    """Return A' A, (m, m), of A (n, m), for `cholesky`: of a NumPy array, only the lower triangle is meaningful."""
    return lapack.gram(A) if isinstance(A, np.ndarray) else A.T @ A


def trace(A: Matrix) -> float:
    """Return the sum of the diagonal of A (n, n)."""
    return float(np.trace(A) if isinstance(A, np.ndarray) else _device_of(A).namespace.linalg.trace(A))


def add_to_diagonal(A: Matrix, value: float) -> Matrix:
    """Return A (n, n) plus `value` on the diagonal; A may be changed."""
    if isinstance(A, np.ndarray):
        A[np.diag_indices(len(A))] += value
        return A
    return A + value * _eye(A)


def cholesky(A: Matrix) -> Matrix:
    """Return the lower Cholesky factor of A (n, n), of which the lower triangle is read; A may be overwritten.

    A NumPy array that is stored by rows is copied, since LAPACK goes by columns.

    Raises:
        LinAlgError: A is not positive definite. Other libraries have errors of their own.
    """
    if isinstance(A, np.ndarray):
        return lapack.cholesky(A)
    return _device_of(A).namespace.linalg.cholesky(A)


def inverse(factor: Matrix) -> Matrix:
    """Return the inverse of a lower triangular matrix (n, n); by columns, as `triangle_product` needs it."""
    if isinstance(factor, np.ndarray):
        return dtrtri(np.asfortranarray(factor), lower=1)[0]
    return solve(factor, _eye(factor))


def extended(factor: Matrix, left: FloatArray, corner: FloatArray) -> Matrix:
    """Return a lower triangular matrix (n, n) with m further rows: NumPy arrays `left` (m, n) and `corner` (m, m)."""
    m, n = left.shape
    larger = np.zeros((n + m, n + m), order="F") if isinstance(factor, np.ndarray) else _zeros(n + m, factor)
    larger[:n, :n], larger[n:, :n], larger[n:, n:] = factor, like(left, factor), like(corner, factor)
    return larger


def triangle_product(factor: Matrix, B: FloatArray, transposed: bool = False, overwrite_b: bool = False) -> FloatArray:
    """Return L B, or L' B, for a lower triangular L (n, n) and a NumPy array B (n, m), which may be overwritten."""
    if isinstance(factor, np.ndarray):
        return blas.dtrmm(1.0, factor, B, lower=1, trans_a=int(transposed), overwrite_b=int(overwrite_b))
    return product(factor.T if transposed else factor, B)


def solve(factor: Matrix, B: Matrix) -> Matrix:
    """Return L^-1 B, (n, m), for a lower triangular L (n, n), by blocks of rows: most of the work is products."""
    namespace = np if isinstance(factor, np.ndarray) else _device_of(factor).namespace
    solved = namespace.empty_like(B)
    n = B.shape[0]
    for begin in range(0, n, BLOCK):
        rows = slice(begin, min(begin + BLOCK, n))
        left = B[rows, :] - factor[rows, :begin] @ solved[:begin, :]
        corner = factor[rows, rows]
        solved[rows, :] = solve_few(corner, left) if namespace is np else namespace.linalg.solve(corner, left)
    return solved


def solve_few(factor: Matrix, b: FloatArray) -> FloatArray:
    """Return L^-1 b for a lower triangular L (n, n) and a few columns, a NumPy array (n,) or (n, m)."""
    if isinstance(factor, np.ndarray):
        return lapack.solve_triangular(factor, b)
    columns = b.reshape(len(b), -1)
    return numpy_of(solve(factor, like(columns, factor))).reshape(b.shape)


def solve_both(factor: Matrix, b: FloatArray) -> FloatArray:
    """Return (L L')^-1 b for a lower triangular L (n, n) and a NumPy array b (n,)."""
    if isinstance(factor, np.ndarray):
        return cho_solve((factor, True), b, check_finite=False)
    turned = _device_of(factor).namespace.flip(factor.T)  # by half, and so lower triangular
    return solve_few(turned, solve_few(factor, b)[::-1])[::-1]


def _eye(matrix: Matrix) -> Matrix:
    """Return the identity of the size of a matrix (n, n) that is not NumPy's, where it is."""
    there = _device_of(matrix)
    return there.namespace.eye(matrix.shape[0], dtype=matrix.dtype, device=there.where)


def _zeros(n: int, matrix: Matrix) -> Matrix:
    """Return zeros (n, n) where a matrix is that is not NumPy's."""
    there = _device_of(matrix)
    return there.namespace.zeros((n, n), dtype=matrix.dtype, device=there.where)


def _device_of(matrix: Matrix) -> Device:
    import array_api_compat

    return Device(array_api_compat.array_namespace(matrix), array_api_compat.device(matrix))
