from experiments.machine import machine


def test_one_thread_is_singular() -> None:
    assert ", 1 thread on " in machine(1)
    assert ", 2 threads on " in machine(2)
