import os
import subprocess
import sys

import pytest

from law_ray.utils import compiled

LOOP = """
from law_ray.utils.compiled import compiled
import callee

@compiled(calls=(callee,))
def caller(x):
    return callee.called(x) + 1

if __name__ == "__main__":
    print(caller(1))
"""
CALLEE = "from numba import njit\n\n@njit\ndef called(x):\n    return 10 * x\n"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "loop.py").write_text(LOOP)
    (tmp_path / "callee.py").write_text(CALLEE)
    return tmp_path


def run(project, **environment):
    clean = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    environment = {**clean, "XDG_CACHE_HOME": str(project / "cache"), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    done = subprocess.run(
        [sys.executable, "loop.py"], cwd=project, env=environment, capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def compiled_files(project):
    return {path: path.stat().st_mtime_ns for path in project.rglob("*.nbc")}


def test_machine_code_is_kept_for_the_next_process(project):
    assert run(project) == 11
    kept = compiled_files(project)
    assert len(kept) == 1
    assert run(project) == 11
    assert compiled_files(project) == kept


def test_a_loop_is_recompiled_after_a_change_of_a_function_that_it_calls(project):
    """Numba alone would use the old machine code, as it only looks at the caller's file."""
    run(project)
    (project / "callee.py").write_text(CALLEE.replace("10", "20"))
    assert run(project) == 21


def test_a_loop_runs_without_a_writable_cache_folder(project):
    (project / "cache").write_text("a file, not a folder")
    assert run(project) == 11
    assert not compiled_files(project)


THREADS = """
import numba
import numpy as np
from numba import get_thread_id, prange
from law_ray.utils.compiled import LEAST_WORK, compiled

@compiled(parallel=lambda x: work)
def threads_of(x):
    ids = np.empty(len(x), np.int64)
    for i in prange(len(x)):
        ids[i] = get_thread_id()
    return ids

numba.set_num_threads(2)
for work in (LEAST_WORK, LEAST_WORK - 1):
    print(len(set(threads_of(np.zeros(100)))), numba.get_num_threads())
"""


def test_a_loop_with_little_work_runs_on_one_thread(tmp_path):
    (tmp_path / "threads.py").write_text(THREADS)
    environment = {**os.environ, "NUMBA_NUM_THREADS": "2", "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "threads.py"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["2 2", "1 2"]


def test_a_link_in_place_of_the_lock_is_not_followed(tmp_path):
    (tmp_path / "mine").write_text("precious")
    (tmp_path / "lock").symlink_to(tmp_path / "mine")
    with pytest.raises(OSError, match="symbolic links"):
        compiled._without_links(str(tmp_path / "lock"), os.O_WRONLY)
    assert (tmp_path / "mine").read_text() == "precious"


@pytest.mark.slow
def test_processes_that_compile_at_the_same_time_all_succeed(tmp_path):
    code = """
import numpy as np
from law_ray.kernels.loops import position_distances
x = np.array([[0, 1]], np.int32)
print(position_distances(x, x))
"""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    processes = [
        subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    assert [process.communicate(timeout=120)[0] for process in processes] == ["[[0]]\n"] * 3
    assert list(tmp_path.rglob("*.nbc"))
