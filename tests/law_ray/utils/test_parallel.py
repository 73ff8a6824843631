import threading
import time

import numba
import pytest

from law_ray.utils import parallel


@pytest.fixture
def two_threads(monkeypatch):
    monkeypatch.setattr(parallel, "get_num_threads", lambda: 2)


def test_results_come_in_the_order_of_the_arguments(two_threads):
    assert parallel.each(lambda x: x * x, range(20)) == [x * x for x in range(20)]
    assert parallel.each(str, []) == []


def test_calls_run_at_the_same_time_where_that_pays(two_threads):
    both = threading.Barrier(2, timeout=30)  # passed only by two threads at once
    parallel.each(lambda _: both.wait(), range(2))
    here = threading.get_ident()
    assert parallel.each(lambda _: threading.get_ident(), range(4), pays=False) == 4 * [here]


def test_there_are_as_many_threads_as_the_compiled_loops_use():
    before = numba.get_num_threads()
    numba.set_num_threads(1)
    try:
        assert set(parallel.each(lambda _: threading.get_ident(), range(4))) == {threading.get_ident()}
    finally:
        numba.set_num_threads(before)


def test_the_compiled_loops_of_a_thread_use_its_share_of_the_threads(two_threads):
    assert parallel.each(lambda _: numba.get_num_threads(), range(4)) == 4 * [1]


@pytest.mark.parametrize(("available", "outer", "inner"), [(2, 2, 1), (4, 2, 2), (7, 2, 3), (3, 1, 3)])
def test_calls_within_calls_share_the_threads(monkeypatch, available, outer, inner):
    monkeypatch.setattr(parallel, "get_num_threads", lambda: available)
    running, most, lock = set[int](), [0], threading.Lock()

    def work(_):
        with lock:
            running.add(threading.get_ident())
            most[0] = max(most[0], len(running))
        time.sleep(0.05)
        with lock:
            running.discard(threading.get_ident())

    parallel.each(lambda _: parallel.each(work, range(8)), range(outer))
    assert most[0] == outer * inner
    assert parallel.each(lambda x: x, range(3)) == [0, 1, 2]


@pytest.mark.parametrize("pays", [False, True])
@pytest.mark.parametrize("n_calls", [0, 1, 5])
def test_a_function_is_called_beside_others(two_threads, n_calls, pays):
    met = threading.Barrier(2, timeout=30) if n_calls else threading.Barrier(1)
    first_meets = iter([True])

    def square(x):
        if next(first_meets, False):
            met.wait()
        return x * x

    results = parallel.beside(lambda: (met.wait(), "first")[1], square, range(n_calls), pays)
    assert results == ("first", [x * x for x in range(n_calls)])


@pytest.mark.parametrize(("available", "of_first"), [(1, 1), (2, 1), (4, 1), (5, 2), (12, 6)])
def test_beside_others_a_function_has_half_of_the_threads_if_there_is_one_for_each_call(
    monkeypatch, available, of_first
):
    monkeypatch.setattr(parallel, "get_num_threads", lambda: available)
    threads, others = parallel.beside(parallel._available, lambda _: parallel._available(), range(4))
    assert threads == of_first
    assert others == 4 * [1]


def test_an_error_is_raised_here(two_threads):
    with pytest.raises(ZeroDivisionError):
        parallel.each(lambda x: 1 // x, [2, 1, 0])
