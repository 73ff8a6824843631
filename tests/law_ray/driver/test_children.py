"""Processes that evaluations leave behind are found by their mark, wherever they have gone."""

import os
import subprocess
import sys
import time

import pytest

from law_ray.driver.children import MARK, children_ended, end_children, mark_children, mark_of_run, marked, new_mark
from law_ray.errors import InputError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not tell")
SLEEP = ["sleep", "1000"]


@pytest.fixture
def start(monkeypatch):
    """Start processes with a mark, and end them all after the test."""
    monkeypatch.delenv(MARK, raising=False)
    processes = []

    def started(mark, **options):
        mark_children(mark)
        processes.append(subprocess.Popen(SLEEP, **options))
        while processes[-1].pid not in marked([mark]):  # the system knows its environment a moment later
            time.sleep(0.01)
        return processes[-1]

    yield started
    for process in processes:
        process.kill()
        process.wait()


def test_only_what_has_the_mark_is_ended_also_in_a_session_of_its_own(start, tmp_path):
    run, other = mark_of_run(tmp_path), mark_of_run(tmp_path / "other")
    one, two = new_mark(run), new_mark(run)
    first, apart = start(one), start(one, start_new_session=True)
    second, stranger = start(two), start(new_mark(other))
    end_children([one])
    assert [first.wait(60), apart.wait(60)] == [-9, -9]
    assert [second.poll(), stranger.poll()] == [None, None]
    assert marked([run]) == [second.pid]
    end_children([run])
    assert second.wait(60) == -9
    assert stranger.poll() is None


def test_without_a_mark_nothing_is_looked_for_and_this_process_is_never_found(tmp_path):
    assert marked([]) == []
    environment = os.environ | {MARK: new_mark("mine")}
    code = "from law_ray.driver.children import end_children, marked; print(marked(['mine'])); end_children(['mine'])"
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("error", [None, KeyboardInterrupt, InputError])
def test_at_the_end_of_a_run_all_of_it_is_ended_unless_the_run_was_refused(start, tmp_path, error):
    process = start(new_mark(mark_of_run(tmp_path)))
    try:
        with children_ended(tmp_path):
            assert process.poll() is None
            if error is not None:
                raise error
    except (KeyboardInterrupt, InputError):
        pass
    if error is InputError:  # the folder may be in use by another run
        assert process.poll() is None
    else:
        assert process.wait(60) == -9
