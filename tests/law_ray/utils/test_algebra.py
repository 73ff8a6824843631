"""Matrices of NumPy, of the strict array API library and, if it is installed, of torch: the functions agree with
NumPy's on all of them."""

import subprocess
import sys
import threading

import array_api_strict
import numpy as np
import pytest

from law_ray import Optimizer
from law_ray.errors import InputError
from law_ray.utils import algebra, parallel
from law_ray.utils.algebra import BLOCK, CPU, Device
from tests.oracles.gaussian_process import shuffles

SIZES = (1, 7, BLOCK, 2 * BLOCK + 3)


def of_torch(where):
    torch = pytest.importorskip("torch")
    if where == "cuda" and not torch.cuda.is_available():
        pytest.skip("there is no GPU")
    return algebra.of_torch(where)


@pytest.fixture(params=["numpy", "strict", "torch", "torch on a GPU"])
def device(request):
    if request.param.startswith("torch"):
        return of_torch("cpu" if request.param == "torch" else "cuda")
    return CPU if request.param == "numpy" else Device(array_api_strict)


def test_the_first_factors_on_a_gpu_may_be_those_of_several_threads():
    of_torch("cuda")
    script = """
import numpy as np
from law_ray.utils import algebra, parallel, threads
threads.limit(8)
with algebra.on(algebra.device("cuda")):
    factors = parallel.each(lambda k: algebra.numpy_of(algebra.cholesky(algebra.put(4.0 * np.eye(50)))), range(8))
assert all((factor == 2.0 * np.eye(50)).all() for factor in factors)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def positive_definite(n, seed=0):
    A = np.random.default_rng(seed).normal(size=(n, n + 5))
    return A @ A.T / n + np.eye(n)


@pytest.mark.parametrize("n", SIZES)
def test_factors_and_solutions_are_those_of_numpy(device, n):
    A, b = positive_definite(n), np.random.default_rng(1).normal(size=n)
    B = np.random.default_rng(2).normal(size=(n, 4))
    L = np.linalg.cholesky(A)
    factor = algebra.cholesky(device.put(A.copy()))
    np.testing.assert_allclose(algebra.numpy_of(factor), L, atol=1e-12)
    np.testing.assert_allclose(algebra.numpy_of(algebra.inverse(factor)), np.linalg.inv(L), atol=1e-11)
    np.testing.assert_allclose(algebra.solve_few(factor, b), np.linalg.solve(L, b), atol=1e-11)
    np.testing.assert_allclose(
        algebra.numpy_of(algebra.solve(factor, device.put(B))), np.linalg.solve(L, B), atol=1e-11
    )
    np.testing.assert_allclose(algebra.solve_both(factor, b), np.linalg.solve(A, b), atol=1e-11)


@pytest.mark.parametrize("n", SIZES)
def test_products_are_those_of_numpy(device, n):
    rng = np.random.default_rng(3)
    L, B, left = np.tril(rng.normal(size=(n, n))), rng.normal(size=(n, 3)), rng.normal(size=(2, n))
    corner = np.tril(rng.normal(size=(2, 2)))
    there = device.put(np.asfortranarray(L))
    np.testing.assert_allclose(algebra.triangle_product(there, B.copy()), L @ B, atol=1e-12)
    np.testing.assert_allclose(algebra.triangle_product(there, B, transposed=True), L.T @ B, atol=1e-12)
    np.testing.assert_allclose(algebra.product(there, B[:, 0]), L @ B[:, 0], atol=1e-12)
    np.testing.assert_allclose(algebra.product(B[:, 0], there), B[:, 0] @ L, atol=1e-12)
    whole = np.block([[L, np.zeros((n, 2))], [left, corner]])
    np.testing.assert_array_equal(algebra.numpy_of(algebra.extended(there, left, corner)), whole)
    np.testing.assert_allclose(np.tril(algebra.numpy_of(algebra.gram(device.put(B)))), np.tril(B.T @ B), atol=1e-12)
    raised = algebra.add_to_diagonal(device.put(L.copy()), 2.5)
    np.testing.assert_array_equal(algebra.numpy_of(raised), L + 2.5 * np.eye(n))
    assert algebra.trace(device.put(L)) == pytest.approx(np.trace(L), abs=1e-12)


def test_matrices_stay_where_they_were_put(device):
    A = device.put(positive_definite(5))
    for matrix in (algebra.cholesky(A), algebra.inverse(A), algebra.gram(A), algebra.solve(A, A)):
        assert type(matrix) is type(A)
    assert isinstance(algebra.product(A, np.ones(5)), np.ndarray)


def test_the_current_device_ends_with_its_block_and_is_that_of_the_threads_too(device, monkeypatch):
    monkeypatch.setattr(parallel, "get_num_threads", lambda: 2)
    both = threading.Barrier(2, timeout=30)

    def put(k):
        both.wait()
        return type(algebra.put(np.eye(k + 1)))

    with algebra.on(device):
        assert set(parallel.each(put, range(2))) == {type(device.put(np.eye(1)))}
    assert isinstance(algebra.put(np.eye(1)), np.ndarray)


def test_devices_by_name(monkeypatch):
    assert algebra.device("cpu") is CPU
    with pytest.raises(InputError, match="device is 'gpu': choose one of cpu, cuda, auto"):
        Optimizer(5, device="gpu")


@pytest.mark.parametrize(
    ("torch", "missing"),
    [(None, r"torch is not installed: pip install 'law-ray\[torch\]'"), ("without a GPU", "torch finds no GPU")],
)
def test_without_a_gpu_cuda_is_refused_and_auto_is_the_cpu(monkeypatch, torch, missing):
    class Stub:
        class cuda:  # noqa: N801
            is_available = staticmethod(lambda: False)

    monkeypatch.setitem(__import__("sys").modules, "torch", None if torch is None else Stub)
    algebra.device.cache_clear()
    try:
        assert algebra.device("auto") is CPU
        with pytest.raises(InputError, match=f"device is 'cuda', but {missing}; on the CPU, give device='cpu'"):
            algebra.device("cuda")
    finally:
        algebra.device.cache_clear()


@pytest.mark.parametrize("method", ["law-est", "law-auto"])
def test_an_optimizer_proposes_the_same_on_every_device(device, method, monkeypatch):
    """Its models agree to rounding errors, which seldom decide."""
    monkeypatch.setattr(algebra, "device", lambda name: CPU if name == "cpu" else device)
    rng = np.random.default_rng(0)
    F, D = (np.triu(rng.integers(1, 20, (9, 9)), 1) for _ in range(2))
    F, D = F + F.T, D + D.T
    X = shuffles(9, 60, 1)
    y = [float((F[np.ix_(x, x)] * D).sum()) for x in X]

    def proposed(name):
        optimizer = Optimizer(9, method, n_init=60, device=name)
        optimizer.add(X, y)
        return [trial.permutation.tolist() for trial in optimizer.ask(3)]

    assert proposed("cuda") == proposed("cpu")
