"""What an evaluation does to its process reaches no other evaluation."""

import os
import resource
import subprocess
import sys

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
