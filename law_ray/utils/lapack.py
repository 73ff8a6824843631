"""Routines of BLAS and LAPACK that release the GIL: SciPy's own wrappers hold it.

They are SciPy's routines, at the addresses that it exports for compiled code, so the results are the same to the last
bit. Matrices are of double precision, and stored by columns.
"""

import ctypes
from typing import Any

import numpy as np
from numba.extending import get_cython_function_address
from scipy.linalg import LinAlgError

from law_ray.typing import FloatArray
from law_ray.utils.compiled import compiled


def cholesky(A: FloatArray) -> FloatArray:
    """Return the lower Cholesky factor of A (n, n), of which the lower triangle is read; A may be overwritten.

    A matrix that is stored by rows is copied.

    Raises:
        LinAlgError: A is not positive definite.
    """
    factor = np.asfortranarray(A)
    factorise(factor)
    _clear_above(factor)
    return factor


def factorise(A: FloatArray) -> None:
    """Overwrite the lower triangle of A (n, n), which may be stored by rows, with that of its Cholesky factor.

    Raises:
        LinAlgError: A is not positive definite.
    """
    info = ctypes.c_int()
    _dpotrf(_triangle(A), _int(len(A)), A.ctypes.data, _lead(A), ctypes.byref(info))
    if info.value:
        raise LinAlgError("the matrix is not positive definite")


def solve(factor: FloatArray, b: FloatArray) -> FloatArray:
    """Return A^-1 b for b (n, m), by the lower triangle that `factorise` left of A."""
    solved = np.array(b, order="F")
    n, n_columns = _int(len(b)), _int(b.shape[1])
    places = (factor.ctypes.data, _lead(factor), solved.ctypes.data, n)
    _dpotrs(_triangle(factor), n, n_columns, *places, ctypes.byref(ctypes.c_int()))
    return solved


def invert(factor: FloatArray) -> None:
    """Overwrite the lower triangle that `factorise` left of A with that of A^-1.

    Raises:
        LinAlgError: There is a zero on the diagonal.
    """
    info = ctypes.c_int()
    _dpotri(_triangle(factor), _int(len(factor)), factor.ctypes.data, _lead(factor), ctypes.byref(info))
    if info.value:
        raise LinAlgError("the matrix is singular")


def solve_triangular(factor: FloatArray, b: FloatArray) -> FloatArray:
    """Return L^-1 b for a lower triangular L (n, n), which may be a block of a larger matrix, and b (n,) or (n, m).

    Raises:
        LinAlgError: There is a zero on the diagonal.
    """
    factor = factor if factor.strides[0] == factor.itemsize else np.asfortranarray(factor)
    solved, info = np.array(b, order="F"), ctypes.c_int()
    n, n_columns = _int(len(b)), _int(b.size // len(b))
    places = (factor.ctypes.data, _lead(factor), solved.ctypes.data, n)
    _dtrtrs(b"L", b"N", b"N", n, n_columns, *places, ctypes.byref(info))
    if info.value:
        raise LinAlgError("the matrix is singular")
    return solved


def gram(A: FloatArray) -> FloatArray:
    """Return the lower triangle of A' A, (m, m), of A (n, m), with zeros above it."""
    n, m = A.shape
    rows, product = np.ascontiguousarray(A), np.zeros((m, m), order="F")  # by columns, `rows` is A'
    one, zero = (ctypes.byref(ctypes.c_double(factor)) for factor in (1.0, 0.0))
    _dsyrk(b"L", b"N", _int(m), _int(n), one, rows.ctypes.data, _int(m), zero, product.ctypes.data, _int(m))
    return product


@compiled()
def _clear_above(A: FloatArray) -> None:
    """Set what is above the diagonal of A (n, n) to 0."""
    for j in range(A.shape[1]):
        A[:j, j] = 0.0


def _triangle(A: FloatArray) -> bytes:
    """Return which triangle of A a routine finds where the lower one is: the upper one if A is stored by rows."""
    return b"L" if A.strides[0] == A.itemsize else b"U"


def _lead(A: FloatArray) -> Any:
    """Return the distance between the columns of a matrix, or its rows, as a routine takes it."""
    return _int(max(len(A), *(stride // A.itemsize for stride in A.strides)))


def _int(number: int) -> Any:
    return ctypes.byref(ctypes.c_int(number))


def _routine(library: str, name: str, arguments: str) -> Any:
    """Return a routine with these arguments: a (c)haracter, (i)nteger, (d)ouble or (m)atrix.

    Python's lock is released whenever a function of `ctypes` is called.
    """
    types: dict[str, Any] = {
        "c": ctypes.c_char_p,
        "i": ctypes.POINTER(ctypes.c_int),
        "d": ctypes.POINTER(ctypes.c_double),
        "m": ctypes.c_void_p,
    }
    address = get_cython_function_address(f"scipy.linalg.cython_{library}", name)
    return ctypes.CFUNCTYPE(None, *(types[each] for each in arguments))(address)


_dpotrf = _routine("lapack", "dpotrf", "cimii")
_dpotrs = _routine("lapack", "dpotrs", "ciimimii")
_dpotri = _routine("lapack", "dpotri", "cimii")
_dtrtrs = _routine("lapack", "dtrtrs", "ccciimimii")
_dsyrk = _routine("blas", "dsyrk", "cciidmidmi")
