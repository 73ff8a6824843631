"""What objectives print, in the run folder."""

import logging

import pytest

from law_ray.runs import journal, printed
from law_ray.runs.printed import NAME, Prints


@pytest.fixture
def folder(tmp_path):
    """A folder in which a run has begun."""
    (tmp_path / journal.NAME).touch()
    return tmp_path


def test_each_line_says_what_printed_it(folder):
    prints = Prints(folder)
    prints.add("trial 3", "one\n\ntwo\n")
    prints.add("trial 4, repeat 1", "no newline at the end")
    lines = (folder / NAME).read_text().split("\n")
    assert lines == ["trial 3: one", "trial 3: ", "trial 3: two", "trial 4, repeat 1: no newline at the end", ""]


@pytest.mark.parametrize("text", ["two spaces  ", "MAX", "100 %s"])
def test_what_was_printed_stays_as_it_was(folder, caplog, text):
    with caplog.at_level(logging.INFO, "law_ray"):
        Prints(folder).add("trial 0", f"{text}\r\n")
    assert (folder / NAME).read_text() == f"trial 0: {text}\n"
    assert caplog.messages == [f"trial 0: {text}".rstrip()]


def test_what_no_file_can_hold_is_replaced(folder):
    Prints(folder).add("trial 0", "\ud800 was read")
    assert (folder / NAME).read_text() == "trial 0: ? was read\n"


def test_of_a_progress_bar_its_last_state_stays(folder):
    Prints(folder).add("trial 0", "10%\r20%\r100%\ndone\r\n")
    assert (folder / NAME).read_text() == "trial 0: 100%\ntrial 0: done\n"


@pytest.mark.parametrize("nothing", ["", "\n", "\r\n\n"])
def test_without_prints_there_is_no_file(folder, nothing):
    Prints(folder).add("trial 0", nothing)
    assert not (folder / NAME).exists()


def test_prints_before_the_run_has_begun_make_no_folder_and_are_kept(tmp_path):
    prints = Prints(tmp_path / "run")
    prints.add("driver", "early")
    prints.add("driver", "more")
    assert not (tmp_path / "run").exists()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / journal.NAME).touch()
    prints.flush()
    prints.add("trial 0", "late")
    assert (tmp_path / "run" / NAME).read_text() == "driver: early\ndriver: more\ntrial 0: late\n"


def test_the_file_ends_at_its_limit_also_after_a_resume(folder, monkeypatch):
    monkeypatch.setattr(printed, "MAX_BYTES", 100)
    for _ in range(2):
        prints = Prints(folder)
        for i in range(20):
            prints.add(f"trial {i}", "é" * 5)
    *lines, last = (folder / NAME).read_text().splitlines()
    assert lines == [f"trial {i}: {'é' * 5}" for i in range(len(lines))]
    assert len("\n".join(lines).encode()) <= 100
    assert last == "prints.log is full: what follows is not kept"


def test_of_prints_that_cross_the_limit_the_whole_lines_before_it_stay(folder, monkeypatch):
    monkeypatch.setattr(printed, "MAX_BYTES", 30)
    Prints(folder).add("a", "1234\n5678\n9012\n3456\n7890\n")  # 8 bytes a line
    assert (folder / NAME).read_text() == "a: 1234\na: 5678\na: 9012\nprints.log is full: what follows is not kept\n"


def test_as_many_bytes_as_the_limit_are_kept(folder, monkeypatch):
    monkeypatch.setattr(printed, "MAX_BYTES", 16)
    prints = Prints(folder)
    prints.add("a", "1234")
    prints.add("a", "5678")
    assert (folder / NAME).read_text() == "a: 1234\na: 5678\n"


def test_a_file_that_cannot_be_written_does_not_end_the_run(folder, caplog):
    (folder / NAME).mkdir()
    with caplog.at_level(logging.DEBUG, "law_ray"):
        Prints(folder).add("trial 0", "lost")
    assert caplog.messages[-1].startswith(f"{folder / NAME} cannot be written: [Errno ")


def test_prints_are_logged_in_short(folder, caplog):
    with caplog.at_level(logging.INFO, "law_ray"):
        Prints(folder).add("trial 0", "x" * 5000 + "\nthe end\n")
    assert caplog.messages[0].endswith("trial 0: the end")
    assert len(caplog.messages[0]) <= printed.MAX_SHOWN
