"""What a process prints is captured, wherever it is printed."""

import ctypes
import os
import sys

import pytest

from law_ray.driver import capture
from law_ray.driver.capture import FOLDER, Capture, left_behind, path_of, prints_folder


@pytest.fixture
def path(tmp_path):
    return path_of(tmp_path, "attempt")


@pytest.mark.parametrize("named", [True, False])
def test_both_streams_are_captured_from_python_from_c_and_from_other_processes(capfd, path, named):
    made = Capture(path if named else None)
    assert path.exists() == named
    os.write(1, b"before\n")
    with made.streams():
        os.write(1, b"one\n")
        os.write(2, b"two\n")
        ctypes.CDLL(None).puts(b"three")  # in a buffer of C until it is flushed
        ctypes.CDLL(None).fflush(None)
        os.system("echo four")
    os.write(2, b"after\n")
    assert made.close() == "one\ntwo\nthree\nfour\n"
    assert capfd.readouterr() == ("before\n", "after\n")
    assert not path.exists()


def test_what_python_holds_in_its_buffers_comes_before_and_within(capfd, monkeypatch, path):
    stdout = os.fdopen(1, "w", closefd=False)  # with a buffer
    monkeypatch.setattr(sys, "stdout", stdout)
    made = Capture(path)
    sys.stdout.write("before")
    with made.streams():
        sys.stdout.write("within")
    assert made.close() == "within"
    assert capfd.readouterr().out == "before"


def test_the_streams_are_restored_after_an_error(capfd):
    made = Capture(None)
    with pytest.raises(KeyError), made.streams():
        raise KeyError
    made.close()
    os.write(1, b"here\n")
    assert capfd.readouterr().out == "here\n"


def test_the_end_of_many_prints_is_kept(monkeypatch):
    monkeypatch.setattr(capture, "MAX_BYTES", 10)
    made = Capture(None)
    with made.streams():
        os.write(1, b"0123456789" * 5 + b"the end")
    assert made.close() == "... 47 bytes are left out\n789the end"


def test_what_a_process_that_died_had_printed_is_read_and_removed(path):
    made = Capture(path)
    with made.streams():
        os.write(1, b"last words")
    assert left_behind(path) == "last words"
    assert not path.exists()
    assert left_behind(path) == ""
    made.close()


def test_where_there_is_a_file_already_nothing_is_captured(capfd, path):
    path.write_text("of somebody else")
    made = Capture(path)
    with made.streams():
        os.write(1, b"seen\n")
    assert (made.close(), capfd.readouterr().out) == ("", "seen\n")
    assert path.read_text() == "of somebody else"


def test_a_run_leaves_no_prints_behind_and_removes_those_of_a_driver_that_was_killed(tmp_path):
    (tmp_path / FOLDER).mkdir()
    (tmp_path / FOLDER / "old").touch()
    with prints_folder(tmp_path) as folder:
        assert os.listdir(folder) == []
        of_a_lost_attempt = Capture(path_of(folder, "new"))
        assert os.listdir(folder) == ["new"]
    of_a_lost_attempt.close()
    assert os.listdir(tmp_path) == []
    assert Capture(path_of(folder, "late")).close() == ""  # an attempt that begins after the end
    assert os.listdir(tmp_path) == []


def test_where_no_folder_for_prints_can_be_made_the_run_goes_on(tmp_path):
    (tmp_path / FOLDER).touch()
    with prints_folder(tmp_path) as folder:
        assert Capture(path_of(folder, "attempt")).close() == ""


def test_a_stream_that_was_closed_is_open_again_for_those_who_come_after(capfd, monkeypatch):
    with os.fdopen(os.dup(1), "w") as stdout:
        monkeypatch.setattr(sys, "stdout", stdout)
        made = Capture(None)
        with made.streams():
            sys.stdout.close()
        made.close()
        print("after", flush=True)
    assert capfd.readouterr().out == "after\n"
