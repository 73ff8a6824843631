import json
import multiprocessing
import os
import re
import shutil
import threading
import time
from pathlib import Path

import pytest

from law_ray.errors import InputError, RunError
from law_ray.runs import journal
from law_ray.runs.journal import NAME, Journal, folder_for

RUN = {"type": "run", "version": journal.VERSION, "settings": {}, "objective": {"name": "f"}}


@pytest.fixture
def folder(tmp_path):
    with Journal.create(tmp_path / "run", RUN) as log:
        for i in range(3):
            log.append({"type": "tell", "id": i, "value": 0.1 + i})
    return tmp_path / "run"


def test_what_was_appended_is_read_back(folder):
    records = journal.read(folder)
    assert [record["type"] for record in records] == ["run", "tell", "tell", "tell"]
    assert records[2]["value"] == 0.1 + 1  # floats survive exactly
    assert records[0] == RUN


def test_a_journal_cut_anywhere_keeps_exactly_its_whole_records_and_can_be_continued(folder):
    path = folder / NAME
    content = path.read_bytes()
    first = content.index(b"\n") + 1
    for cut in range(first, len(content) + 1):
        path.write_bytes(content[:cut])
        whole = content[:cut].count(b"\n")
        assert len(journal.read(folder)) == whole
        with Journal(folder) as log:
            assert len(log.records) == whole
            log.append({"type": "tell", "id": 9})
        lines = path.read_bytes().splitlines()
        assert len(lines) == whole + 1
        assert journal.read(folder)[-1] == {"type": "tell", "id": 9}


def test_any_changed_byte_is_refused_with_its_line_number_and_what_to_keep(folder):
    content = (folder / NAME).read_bytes()
    second = content.index(b"\n") + 1
    for position in range(second, len(content) - 1):  # without the last newline, the last line counts as torn
        for bit in (1, 2, 16):
            changed = content[position] ^ bit
            (folder / NAME).write_bytes(content[:position] + bytes([changed]) + content[position + 1 :])
            line = content[:position].count(b"\n") + 1
            for opened in (journal.read, Journal):
                with pytest.raises(InputError, match=rf"line {line} of \d .*\(head -n {line - 1}\), and resume"):
                    opened(folder)


def test_a_changed_first_line_is_told_apart_from_another_kind_of_file(folder):
    content = (folder / NAME).read_bytes()
    (folder / NAME).write_bytes(content.replace(b'"name": "f"', b'"name": "g"'))
    with pytest.raises(InputError, match="is damaged: its first line"):
        journal.read(folder)


@pytest.mark.parametrize("share", [0.02, 0.5, 0.99])
def test_a_journal_that_ends_within_its_first_line_is_that_of_a_run_which_never_began(folder, share):
    first = (folder / NAME).read_bytes().splitlines(keepends=True)[0]
    (folder / NAME).write_bytes(first[: round(share * len(first))])
    for opened in (journal.read, Journal):
        with pytest.raises(InputError, match=r"the run died before it began, so delete .* and run again"):
            opened(folder)


DAMAGES = {
    "doubled": lambda a, b, c, d: [a, b, b, c, d],
    "doubled at the end": lambda a, b, c, d: [a, b, c, d, d],
    "missing": lambda a, b, c, d: [a, c, d],
    "swapped": lambda a, b, c, d: [a, c, b, d],
    "two journals in one": lambda *lines: [*lines, *lines],
    "a line of somebody else": lambda a, b, c, d: [a, b, b'{"type": "tell", "id": 7}\n', c, d],
    "an empty line": lambda a, b, c, d: [a, b, b"\n", c, d],
    "nested too deeply": lambda a, b, c, d: [a, b"[" * 100_000 + b"]" * 100_000 + b"\n", b],
}


@pytest.mark.parametrize("how", DAMAGES)
def test_lines_that_are_not_those_that_were_written_in_this_order_are_refused(folder, how):
    lines = (folder / NAME).read_bytes().splitlines(keepends=True)
    (folder / NAME).write_bytes(b"".join(DAMAGES[how](*lines)))
    with pytest.raises(InputError, match=r"is damaged: line \d of"):
        journal.read(folder)


def test_what_is_kept_of_a_damaged_journal_can_be_continued(folder):
    lines = (folder / NAME).read_bytes().splitlines(keepends=True)
    (folder / NAME).write_bytes(b"".join(lines[:2]))  # head -n 2
    with Journal(folder) as log:
        log.append({"type": "tell", "id": 9})
    assert [record.get("id") for record in journal.read(folder)] == [None, 0, 9]


def test_a_journal_without_checksums_as_older_versions_wrote_it_is_read_and_continued_with_them(folder):
    records = journal.read(folder)
    (folder / NAME).write_text("".join(json.dumps(record) + "\n" for record in records))
    assert journal.read(folder) == records
    with Journal(folder) as log:
        log.append({"type": "tell", "id": 9})
        log.append({"type": "tell", "id": 10})
    assert len(journal.read(folder)) == 6
    content = (folder / NAME).read_bytes()
    (folder / NAME).write_bytes(content.replace(b'"id": 9', b'"id": 8'))
    with pytest.raises(InputError, match="line 5 of 6"):
        journal.read(folder)


@pytest.mark.parametrize("line", ['{"id": 9}', "[1]", '["type"]', "9", '"type"'])
def test_lines_without_checksums_that_are_no_records_are_refused(folder, line):
    records = journal.read(folder)
    (folder / NAME).write_text("".join(json.dumps(record) + "\n" for record in records) + line + "\n")
    with pytest.raises(InputError, match="line 5 of 5 is not what was written"):
        journal.read(folder)


def test_lines_that_end_as_on_windows_are_read(folder):
    records = journal.read(folder)
    (folder / NAME).write_bytes((folder / NAME).read_bytes().replace(b"\n", b"\r\n"))
    assert journal.read(folder) == records


@pytest.mark.parametrize("deleted", ["run", "run/journal.jsonl", "."])
def test_a_journal_that_is_deleted_while_a_run_writes_it_is_written_again_and_ends_the_run(folder, deleted):
    what = folder.parent / deleted
    with Journal(folder) as log:
        shutil.rmtree(what) if what.is_dir() else what.unlink()
        with pytest.raises(RunError, match="was deleted while the run went on"):
            log.append({"type": "tell", "id": 9})
    assert [record.get("id") for record in journal.read(folder)] == [None, 0, 1, 2, 9]
    Journal(folder).close()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_journal_that_is_moved_while_a_run_writes_it_takes_the_last_record_along_and_ends_the_run(folder, replaced):
    with Journal(folder) as log:
        folder.rename(folder.with_name("moved"))
        if replaced:
            shutil.copytree(folder.with_name("moved"), folder)
        with pytest.raises(RunError, match="was moved or replaced while the run went on"):
            log.append({"type": "tell", "id": 9})
    assert journal.read(folder.with_name("moved"))[-1]["id"] == 9
    assert folder.exists() == replaced  # nothing new came there
    assert not replaced or len(journal.read(folder)) == 4


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), OSError(36, "File name too long")])
def test_a_folder_that_cannot_be_looked_into_is_refused_in_one_line(folder, monkeypatch, error):
    def refuse(self, **options):
        raise error

    monkeypatch.setattr(Path, "stat", refuse)
    for use in (journal.read, Journal, journal.check_free):
        with pytest.raises(InputError, match=rf"cannot \w+ .*{folder}.*\({error.strerror}\): "):
            use(folder)


def test_a_journal_that_cannot_be_read_is_refused_with_its_name_and_the_reason(folder, monkeypatch):
    def refuse(self):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(InputError, match=rf"^cannot read {folder / NAME} \(Permission denied\): "):
        journal.read(folder)


def test_a_journal_that_may_be_read_but_not_written_is_refused_by_who_would_write_it(folder, monkeypatch):
    def as_on_a_read_only_disk(path, mode, **options):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("builtins.open", as_on_a_read_only_disk)
    with pytest.raises(InputError, match=r"cannot write .*journal.jsonl \(Read-only file system\)"):
        Journal(folder)


def test_a_file_system_without_locks_is_refused(folder, monkeypatch):
    def flock(file, how):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(journal.fcntl, "flock", flock)
    with pytest.raises(InputError, match=r"cannot be locked \(No locks available\)"):
        Journal(folder)


def _try_to_open(folder, answers):
    try:
        Journal(folder)
        answers.put("opened")
    except InputError as error:
        answers.put(str(error))


def test_a_second_process_is_refused_until_the_first_lets_go(folder):
    assert not journal.is_held(folder)
    assert not journal.is_held(folder / "nowhere")
    with Journal(folder):
        assert journal.is_held(folder)
        assert "in use by another process" in _elsewhere(folder)
        assert len(journal.read(folder)) == 4  # reading needs no lock
    assert _elsewhere(folder) == "opened"


def _elsewhere(folder):
    context = multiprocessing.get_context("spawn")  # a fork would share the lock
    answers = context.Queue()
    process = context.Process(target=_try_to_open, args=(folder, answers))
    process.start()
    answer = answers.get(timeout=60)
    process.join(timeout=60)
    return answer


def test_a_folder_that_holds_a_run_is_refused(folder):
    with pytest.raises(InputError, match="already holds a run"):
        Journal.create(folder, RUN)


@pytest.mark.parametrize("source", [None, {"name": "f.py:f", "options": {}}])
def test_a_run_is_resumed_by_a_command_only_if_the_journal_names_its_objective(tmp_path, source):
    Journal.create(tmp_path, RUN | {"objective": {"name": "f", "source": source}}).close()
    command = f"`law-ray resume {tmp_path}`"
    expected = f"law_ray.resume({str(tmp_path)!r}, objective)" if source is None else command
    assert journal.how_to_resume(tmp_path) == expected
    there = f"{expected[:-1]}, address='auto')" if source is None else f"{command[:-1]} --address auto`"
    assert journal.how_to_resume(tmp_path, "auto") == there
    with pytest.raises(InputError, match=re.escape(f"continue it with {expected} or give another folder")):
        journal.check_free(tmp_path)
    (tmp_path / NAME).write_text("nonsense")
    assert journal.how_to_resume(tmp_path) == command  # which says what is wrong with it


def test_folders_without_a_run_are_refused_by_name(tmp_path):
    with pytest.raises(InputError, match=r"nowhere holds no run: there is no such folder$"):
        journal.read(tmp_path / "nowhere")
    with pytest.raises(InputError, match=rf"{tmp_path} holds no run: there is no journal.jsonl in it$"):
        journal.read(tmp_path)
    (tmp_path / NAME).touch()
    with pytest.raises(InputError, match="is empty"):
        journal.read(tmp_path)
    (tmp_path / NAME).write_text('{"type": "other"}\n')
    with pytest.raises(InputError, match="not a journal of law_ray"):
        journal.read(tmp_path)
    (tmp_path / NAME).write_text('{"type": "run", "version": 99}\n')
    with pytest.raises(InputError, match="newer law_ray"):
        journal.read(tmp_path)


def test_a_run_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"cannot create the run folder .* \(Not a directory\): give another folder"):
        Journal.create(tmp_path / "file" / "run", RUN)


def test_a_record_with_a_number_json_does_not_know_is_never_written(folder):
    record = {"type": "tell", "value": float("nan")}
    with Journal(folder) as log, pytest.raises(ValueError, match="not JSON compliant"):
        log.append(record)
    assert len(journal.read(folder)) == 4
    with pytest.raises(ValueError, match="not JSON compliant"):
        Journal.create(folder / "new", record)
    assert not (folder / "new").exists()


def test_a_run_folder_is_made_with_those_above_it_or_may_be_there_without_a_journal(tmp_path):
    for path in (tmp_path / "a" / "b", tmp_path):
        Journal.create(path, RUN).close()
        assert journal.read(path) == [RUN]


def test_of_two_runs_that_begin_in_a_folder_at_the_same_time_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "check_free", lambda folder: None)  # as if both had looked before either wrote
    Journal.create(tmp_path, RUN).close()
    with pytest.raises(InputError, match=r"cannot create the run folder .*File exists"):
        Journal.create(tmp_path, RUN)


def test_a_record_is_on_disk_before_append_returns(folder, monkeypatch):
    """When the file is synchronised, the whole record has been written, and nothing is buffered."""
    synchronised, path = [], folder / NAME

    def spy(file, original=os.fsync):
        original(file)
        assert os.fstat(file).st_ino == path.stat().st_ino
        synchronised.append(path.read_bytes())

    monkeypatch.setattr(journal.os, "fsync", spy)
    with Journal(folder) as log:
        for i in range(2):
            log.append({"type": "tell", "id": 10 + i})
            assert len(synchronised) == i + 1
            assert synchronised[i] == path.read_bytes()
            assert json.loads(synchronised[i].splitlines()[-1])["id"] == 10 + i


class Piecemeal:
    """A file of which each write takes at most seven bytes, as a file system may."""

    def __init__(self, file):
        self.file = file

    def __getattr__(self, name):
        return getattr(self.file, name)

    def write(self, content):
        return self.file.write(content[:7])


def test_a_record_that_the_file_system_takes_in_pieces_is_written_whole(folder):
    with Journal(folder) as log:
        log._file = Piecemeal(log._file)
        log.append({"type": "tell", "id": 9, "value": 0.5})
        log.append({"type": "tell", "id": 10, "value": 1.5})
    assert [record["id"] for record in journal.read(folder)[-2:]] == [9, 10]


class Full(Piecemeal):
    """A file on a disk that is full after seven bytes."""

    def write(self, content):
        if self.file.tell() >= self.limit:
            raise OSError(28, "No space left on device")
        return super().write(content)


def test_a_record_that_does_not_fit_on_the_disk_ends_the_run_and_those_before_it_are_kept(folder):
    with Journal(folder) as log:
        log._file = Full(log._file)
        log._file.limit = log._file.tell() + 7
        with pytest.raises(
            RunError, match=r"\(No space left on device\): correct that, .*; what was written before is kept$"
        ):
            log.append({"type": "tell", "id": 9})
    assert len(journal.read(folder)) == 4
    with Journal(folder) as log:
        log.append({"type": "tell", "id": 9})
    assert len(journal.read(folder)) == 5


def test_a_journal_is_waited_for_until_its_process_lets_go_of_it(tmp_path):
    journal.wait_until_free(tmp_path, 100.0)  # there is none
    held = journal.Journal.create(tmp_path, RUN)
    begun = time.monotonic()
    journal.wait_until_free(tmp_path, 0.2)
    assert time.monotonic() - begun >= 0.2
    threading.Timer(0.2, held.close).start()
    journal.wait_until_free(tmp_path, 100.0)
    journal.Journal(tmp_path).close()


def test_a_default_folder_is_always_a_new_one(tmp_path):
    first = folder_for("nml:sachs", 3, tmp_path)
    first.mkdir()
    second = folder_for("nml:sachs", 3, tmp_path)
    assert first != second
    assert re.fullmatch(r"nml-sachs-seed3-\d{8}-\d{6}", first.name)


def test_folders_of_runs_that_begin_in_the_same_second_are_numbered(tmp_path, monkeypatch):
    monkeypatch.setattr(time, "strftime", lambda form: "now")
    for expected in ("f-seed1-now", "f-seed1-now-1", "f-seed1-now-2"):
        folder = folder_for("f", 1, tmp_path)
        assert folder.name == expected
        folder.mkdir()


def test_a_folders_name_begins_and_ends_with_letters(tmp_path):
    assert folder_for("<X>", 3, tmp_path).name.startswith("X-seed3-")


def test_a_default_folder_can_be_made_whatever_the_objective_is_called(tmp_path):
    for name in ("山" * 10_000, "../../up", "a/b\n\0c", ""):
        folder = folder_for(name, 3, tmp_path)
        folder.mkdir()
        assert folder.parent == tmp_path
