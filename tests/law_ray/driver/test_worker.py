"""What an evaluation does to its process reaches no other evaluation."""

import os
import resource
import subprocess
import sys

import numpy as np
import pytest

from law_ray.driver import worker


def test_the_folder_and_the_limits_are_those_from_before(tmp_path):
    before = os.getcwd(), worker._limits()
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    (tmp_path / "gone").mkdir()
    with worker._restored():
        os.chdir(tmp_path / "gone")
        (tmp_path / "gone").rmdir()
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
        assert worker._limits()[resource.RLIMIT_NOFILE] == (64, hard)
    assert (os.getcwd(), worker._limits()) == before


def test_a_limit_that_was_lowered_for_good_is_noticed(monkeypatch):
    monkeypatch.setattr(worker, "_first_limits", {})
    limits = worker._limits()
    monkeypatch.setattr(worker, "_limits", lambda: limits)
    worker._check_limits()
    worker._check_limits()
    limits = limits | {resource.RLIMIT_NOFILE: (0, 0)}
    with pytest.raises(RuntimeError, match=r"is \(0, 0\), and was"):
        worker._check_limits()


def test_what_a_process_holds_is_in_use():
    # By default malloc may serve up to 32 MiB from memory that the process has freed and kept; from here on it maps it.
    before = worker._memory()
    held = np.ones(16_000_000)
    assert worker._memory() - before > 0.9 * held.nbytes


def test_what_is_left_is_counted_up_to_where_ray_ends_processes(monkeypatch):
    monkeypatch.setattr("ray._private.utils.get_used_memory", lambda: 60)
    monkeypatch.setattr("ray._common.utils.get_system_memory", lambda: 80)
    monkeypatch.delenv(worker.THRESHOLD, raising=False)
    assert worker._memory_left() == pytest.approx(0.2)
    monkeypatch.setenv(worker.THRESHOLD, "0.7")
    assert worker._memory_left() == pytest.approx(-0.05)


@pytest.mark.parametrize(("grown", "left", "ends"), [(99, 0.01, False), (101, 0.01, True), (9_000, 0.05, False)])
def test_only_a_worker_that_has_grown_on_a_node_that_is_short_of_memory_ends(monkeypatch, grown, left, ends):
    monkeypatch.setattr(worker, "_first_memory", [])
    monkeypatch.setattr(worker, "_memory_left", lambda: left)
    monkeypatch.setattr(worker, "_memory", lambda: 5 * 10**8 + grown * 10**6)
    worker._check_memory()  # before its first evaluation nothing is known
    worker._first_memory.append(5 * 10**8)
    if ends:
        with pytest.raises(worker.LeakedError, match=f"have left {grown} MB in its process"):
            worker._check_memory()
    else:
        worker._check_memory()


def test_sigterm_ends_the_process_though_the_objective_catches_everything_and_then_acts_as_before():
    code = """
import os, signal, sys
from law_ray.driver.worker import _ended_by_sigterm
seen = []
signal.signal(signal.SIGTERM, lambda *_: seen.append(1))
with _ended_by_sigterm():
    pass
os.kill(os.getpid(), signal.SIGTERM)
assert seen == [1]
with _ended_by_sigterm():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        print("goes on")
    except BaseException:
        print("caught")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (1, "", "")
