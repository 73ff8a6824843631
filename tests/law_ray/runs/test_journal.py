import json
import multiprocessing
import threading
import time

import pytest

from law_ray.errors import InputError
from law_ray.runs import journal
from law_ray.runs.journal import NAME, Journal

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
        assert json.loads(lines[-1]) == {"type": "tell", "id": 9}


def test_damage_before_the_last_line_is_refused_with_its_line_number(folder):
    lines = (folder / NAME).read_bytes().splitlines(keepends=True)
    lines[1] = b'{"type": "tell", "id"\n'
    (folder / NAME).write_bytes(b"".join(lines))
    with pytest.raises(InputError, match="line 2 of 4"):
        journal.read(folder)
    with pytest.raises(InputError, match="line 2 of 4"):
        Journal(folder)


def _try_to_open(folder, answers):
    try:
        Journal(folder)
        answers.put("opened")
    except InputError as error:
        answers.put(str(error))


def test_a_second_process_is_refused_until_the_first_lets_go(folder):
    with Journal(folder):
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


def test_folders_without_a_run_are_refused_by_name(tmp_path):
    with pytest.raises(InputError, match="nowhere holds no run"):
        journal.read(tmp_path / "nowhere")
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
    with pytest.raises(InputError, match="cannot create the run folder"):
        Journal.create(tmp_path / "file" / "run", RUN)


def test_a_record_with_a_number_json_does_not_know_is_never_written(folder):
    with Journal(folder) as log, pytest.raises(ValueError, match="not JSON compliant"):
        log.append({"type": "tell", "value": float("nan")})
    assert len(journal.read(folder)) == 4


def test_a_journal_is_waited_for_until_its_process_lets_go_of_it(tmp_path):
    journal.wait_until_free(tmp_path, 100.0)  # there is none
    held = journal.Journal.create(tmp_path, RUN)
    begun = time.monotonic()
    journal.wait_until_free(tmp_path, 0.2)
    assert time.monotonic() - begun >= 0.2
    threading.Timer(0.2, held.close).start()
    journal.wait_until_free(tmp_path, 100.0)
    journal.Journal(tmp_path).close()
