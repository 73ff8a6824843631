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
    assert not (tmp_path / "run").exists()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / journal.NAME).touch()
    prints.flush()
    prints.add("trial 0", "late")
    assert (tmp_path / "run" / NAME).read_text() == "driver: early\ntrial 0: late\n"


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


def test_a_file_that_cannot_be_written_does_not_end_the_run(folder):
    (folder / NAME).mkdir()
    Prints(folder).add("trial 0", "lost")


def test_prints_are_logged_in_short(folder, caplog):
    with caplog.at_level(logging.INFO, "law_ray"):
        Prints(folder).add("trial 0", "x" * 5000 + "\nthe end\n")
    assert caplog.messages[0].endswith("trial 0: the end")
    assert len(caplog.messages[0]) <= printed.MAX_SHOWN
