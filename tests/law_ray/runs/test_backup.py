import gzip
import shutil
import threading
import time
import warnings

import pyarrow.fs
import pytest

from law_ray.errors import InputError
from law_ray.runs import backup, journal
from law_ray.runs.active import ActiveRun
from law_ray.runs.backup import Backup, backing_up, check_free, fetch
from law_ray.runs.journal import NAME
from law_ray.runs.report import page
from law_ray.runs.settings import Settings
from tests.law_ray.runs import working
from tests.law_ray.runs.working import comparable, work

SETTINGS = Settings(n_items=8, evals=30, batch_size=5, n_init=10, method="local-search")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(backup, "INTERVAL", 0.02)
    monkeypatch.setattr(backup, "PATIENCE", 60.0)  # no test waits for it but those that shorten it


class Storage:
    """The local file system as the network has it: what `down` says happens to every write."""

    def __init__(self):
        self.files = pyarrow.fs.LocalFileSystem()
        self.down = None

    def __getattr__(self, name):
        return getattr(self.files, name)

    def open_output_stream(self, path, compression):
        stream = self.files.open_output_stream(path, compression=compression)
        return stream if self.down is None else Broken(stream, self.down)


class Broken:
    """Writes half of what it is given."""

    def __init__(self, stream, down):
        self.stream, self.down = stream, down

    def write(self, content):
        self.stream.write(content[: len(content) // 2])
        self.down()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.stream.close()


@pytest.fixture
def storage(monkeypatch):
    found = Storage()

    class Found:
        @staticmethod
        def from_uri(uri):
            return found, uri.removeprefix("file://")

    monkeypatch.setattr(pyarrow.fs, "FileSystem", Found)
    return found


def no_route():
    raise OSError("no route to host")


@pytest.fixture
def place(tmp_path):
    return tmp_path / "far" / "away"


def uri(place):
    return f"file://{place}"


def started(folder):
    return working.started(folder, SETTINGS)


def eventually(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def same(folder, place):
    return (place / NAME).exists() and (place / NAME).read_bytes() == (folder / NAME).read_bytes()


def test_a_run_whose_machine_is_lost_goes_on_from_the_copy(tmp_path, place):
    whole = started(tmp_path / "whole")
    work(whole)
    run = started(tmp_path / "run")
    copy = Backup(tmp_path / "run", uri(place))
    with copy:
        for _ in range(3):
            work(run, limit=6)
            eventually(lambda: same(tmp_path / "run", place))  # while the run goes on
        run.journal.close()
        shutil.rmtree(tmp_path / "run")
    fetch(uri(place), tmp_path / "elsewhere")
    again = ActiveRun.resume(tmp_path / "elsewhere")
    assert sum(again.optimizer.history["state"] == "told") == 18
    with Backup(tmp_path / "elsewhere", uri(place)):
        work(again)
    assert comparable(again).equals(comparable(whole))
    assert same(tmp_path / "elsewhere", place)  # which it continues


def test_the_end_brings_all_files_and_fetch_all_back(tmp_path, place):
    run = started(tmp_path / "run")
    work(run, limit=3)
    (tmp_path / "run" / "best_dag.csv").write_text("a,b\n")
    (tmp_path / "run" / ".hidden").touch()
    (tmp_path / "run" / page.NAME).touch()  # of an earlier report
    with Backup(tmp_path / "run", uri(place)) as copy:
        pass
    assert copy.error == ""
    assert sorted(path.name for path in place.iterdir()) == ["best_dag.csv", NAME]
    fetch(uri(place), tmp_path / "back")
    assert sorted(path.name for path in (tmp_path / "back").iterdir()) == ["best_dag.csv", NAME]
    assert (tmp_path / "back" / "best_dag.csv").read_text() == "a,b\n"
    assert same(tmp_path / "run", tmp_path / "back")


def test_a_run_is_fetched_into_a_folder_of_its_name(tmp_path, place, monkeypatch):
    started(tmp_path / "run")
    with Backup(tmp_path / "run", uri(place)):
        pass
    monkeypatch.chdir(tmp_path)
    folder = fetch(f"{uri(place)}/")
    assert folder.parts == ("law-ray-runs", "away")
    assert same(tmp_path / "run", folder)


def test_a_record_on_its_way_is_not_copied(tmp_path, place):
    run = started(tmp_path / "run")
    run.journal.close()
    whole = (tmp_path / "run" / NAME).read_bytes()
    (tmp_path / "run" / NAME).write_bytes(whole + b'{"type": "te')
    with Backup(tmp_path / "run", uri(place)):
        pass
    assert (place / NAME).read_bytes() == whole


def test_a_torn_upload_is_never_seen_and_a_copy_recovers_with_one_warning(tmp_path, place, storage):
    run = started(tmp_path / "run")

    attempts = []

    def down():
        attempts.append(1)
        no_route()

    def go_on_while_it_is_down(copy):
        eventually(lambda: same(tmp_path / "run", place))
        before = (place / NAME).read_bytes()
        storage.down = down
        for _ in range(3):
            work(run, limit=2)
            attempts.clear()
            eventually(lambda: len(attempts) >= 2)
            assert copy.error
            assert (place / NAME).read_bytes() == before
        storage.down = None
        eventually(lambda: not copy.error)

    with (
        pytest.warns(UserWarning, match="no route to host") as warned,
        Backup(tmp_path / "run", uri(place)) as copy,
    ):
        go_on_while_it_is_down(copy)
    assert same(tmp_path / "run", place)
    assert len(warned) == 1


def test_only_a_journal_that_has_grown_is_copied(tmp_path, place, monkeypatch):
    written = []
    write = backup._Storage.write
    monkeypatch.setattr(backup._Storage, "write", lambda self, *args: written.append(args[0]) or write(self, *args))
    run = started(tmp_path / "run")
    copy = Backup(tmp_path / "run", uri(place))  # not entered: each attempt is made here
    for expected in (1, 1, 1):
        assert copy._attempt(copy._copy_journal)
        assert len(written) == expected
    run.ask(1)
    for expected in (2, 2):
        assert copy._attempt(copy._copy_journal)
        assert len(written) == expected
    assert same(tmp_path / "run", place)


def test_a_journal_that_has_shrunk_does_not_replace_its_copy(tmp_path, place):
    run = started(tmp_path / "run")
    run.ask(1)
    run.journal.close()
    whole = (tmp_path / "run" / NAME).read_bytes()
    copy = Backup(tmp_path / "run", uri(place))
    copy._copy_journal()
    lines = whole.splitlines(keepends=True)
    for left in (lines[:-1], []):
        (tmp_path / "run" / NAME).write_bytes(b"".join(left))
        copy._copy_journal()
        assert (place / NAME).read_bytes() == whole
    (tmp_path / "run" / NAME).unlink()
    copy._copy_journal()
    assert (place / NAME).read_bytes() == whole


def test_a_copy_that_is_behind_in_the_end_says_so(tmp_path, place, storage, monkeypatch):
    monkeypatch.setattr(backup, "PATIENCE", 0.2)
    run = started(tmp_path / "run")
    storage.down = no_route
    with pytest.warns(UserWarning, match="no route to host") as warned, Backup(tmp_path / "run", uri(place)) as copy:
        work(run)
    assert copy.error == f"OSError: no route to host: copy {tmp_path / 'run'} there yourself"
    assert f"the backup at {uri(place)} is behind" in str(warned[-1].message)
    assert backup._Storage(uri(place)).names() == []  # the part that was written is none
    assert run.stop_reason() == "all evaluations were made"


def test_the_last_copy_is_tried_again(tmp_path, place, storage):
    started(tmp_path / "run")
    attempts = []

    def down_three_times():
        attempts.append(1)
        if len(attempts) == 3:
            storage.down = None
        no_route()

    storage.down = down_three_times
    with pytest.warns(UserWarning, match="for now"), Backup(tmp_path / "run", uri(place)) as copy:
        pass
    assert (copy.error, len(attempts)) == ("", 3)
    assert same(tmp_path / "run", place)


def test_storage_that_never_answers_holds_nothing_up(tmp_path, place, storage, monkeypatch):
    monkeypatch.setattr(backup, "PATIENCE", 0.2)
    run = started(tmp_path / "run")
    answer = threading.Event()
    storage.down = answer.wait
    threads = set()

    def noting_threads(permutation):
        threads.update(thread for thread in threading.enumerate() if thread.name == "backup")
        return 0.0

    with pytest.warns(UserWarning, match=r"no answer in 0.2 s"), Backup(tmp_path / "run", uri(place)) as copy:
        work(run, noting_threads)
    assert run.stop_reason() == "all evaluations were made"
    assert [thread.daemon for thread in threads] == [True]  # the end of the process does not wait for it either
    assert copy.error.endswith("there yourself")
    assert not (place / NAME).exists()
    answer.set()


def test_another_run_is_never_written_over(tmp_path, place, monkeypatch):
    other = started(tmp_path / "other")
    work(other, limit=2)
    with Backup(tmp_path / "other", uri(place)):
        pass
    held = (place / NAME).read_bytes()
    with pytest.raises(InputError, match=f"law-ray resume {uri(place)}"):
        check_free(uri(place))
    check_free(uri(place / "deeper"))
    assert [path for path in place.rglob("*") if path.is_file()] == [place / NAME]
    started(tmp_path / "run")
    (tmp_path / "run" / "best_dag.csv").touch()
    attempts = []
    monkeypatch.setattr(backup, "INTERVAL", 600.0)  # so that there is no attempt before the end
    read = backup._Storage.read
    monkeypatch.setattr(backup._Storage, "read", lambda self, name: attempts.append(name) or read(self, name))
    with pytest.warns(UserWarning, match="another run"), Backup(tmp_path / "run", uri(place)) as copy:
        pass
    assert copy.error.startswith(f"{uri(place)} holds another run")
    assert copy.error.endswith("--backup")
    assert attempts == [NAME]  # the end does not wait for what will never be
    assert (place / NAME).read_bytes() == held
    assert not (place / "best_dag.csv").exists()
    (tmp_path / "other" / NAME).write_bytes(held[: held.rfind(b"\n", 0, -1) + 1])  # has lost a record
    with pytest.warns(UserWarning, match="a later state"), Backup(tmp_path / "other", uri(place)):
        pass
    assert (place / NAME).read_bytes() == held


def test_a_run_that_never_began_has_no_copy(tmp_path, place):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").touch()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Backup(tmp_path / "run", uri(place)) as copy:
            pass
    assert copy.error == ""
    assert not place.exists()
    with backing_up(tmp_path / "run", None) as none:
        assert none is None


def test_a_run_with_an_address_has_a_backup_there(tmp_path, place):
    started(tmp_path / "run")
    with backing_up(tmp_path / "run", uri(place)) as copy:
        assert copy is not None
    assert same(tmp_path / "run", place)


def test_a_compressed_file_is_copied_and_fetched_as_it_is(tmp_path, place):
    started(tmp_path / "run")
    content = gzip.compress(b"rows")
    (tmp_path / "run" / "rows.csv.gz").write_bytes(content)
    with Backup(tmp_path / "run", uri(place)):
        pass
    assert (place / "rows.csv.gz").read_bytes() == content
    assert (fetch(uri(place), tmp_path / "back") / "rows.csv.gz").read_bytes() == content


def test_an_interrupted_fetch_leaves_no_run(tmp_path, place, monkeypatch):
    started(tmp_path / "run")
    (tmp_path / "run" / "z.csv").touch()
    with Backup(tmp_path / "run", uri(place)):
        pass
    read = backup._Storage.read

    def fails(self, name):
        return no_route() if name == NAME else read(self, name)

    with monkeypatch.context() as patch:
        patch.setattr(backup._Storage, "read", fails)
        with pytest.raises(InputError, match="cannot fetch"):
            fetch(uri(place), tmp_path / "back")
    assert (tmp_path / "back" / "z.csv").exists()
    with pytest.raises(InputError, match="holds no run"):
        journal.read(tmp_path / "back")
    fetch(uri(place), tmp_path / "back")
    assert same(place, tmp_path / "back")


def test_what_cannot_be_fetched_or_copied_to_is_refused_by_name(tmp_path, place, storage):
    started(tmp_path / "run")
    storage.down = no_route
    with pytest.raises(InputError, match=rf"cannot reach {uri(place)} \(no route to host\)"):
        check_free(uri(place))
    storage.down = None
    with pytest.raises(InputError, match=f"{uri(place)} holds no run"):
        fetch(uri(place), tmp_path / "back")
    with Backup(tmp_path / "run", uri(place)):
        pass
    with pytest.raises(InputError, match=r"holds a run: continue it with law_ray.resume\('.*/run', objective\)"):
        fetch(uri(place), tmp_path / "run")
    with pytest.raises(InputError, match=r"^the address of a backup has a password in it: .* environment instead$"):
        check_free("s3://key:secret@bucket/run")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=rf"cannot reach {uri(tmp_path / 'file')} \(.*file.*\): correct the address"):
        check_free(uri(tmp_path / "file"))


@pytest.mark.parametrize("address", ["relative/folder", "ftp://host/folder", "s3:///folder"])
def test_an_address_that_pyarrow_does_not_know_is_refused(tmp_path, address):
    with pytest.raises(InputError, match=f"{address} is no URI for a backup"):
        Backup(tmp_path / "run", address)


@pytest.mark.parametrize("last", ["..", "/..", ".", "far/../.."])
def test_a_backup_whose_address_ends_in_no_name_is_fetched_only_to_where_the_user_says(tmp_path, monkeypatch, last):
    started(tmp_path / "run")
    (tmp_path / "a" / "b" / "far").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    with Backup(tmp_path / "run", uri(tmp_path / "a")):
        pass
    address = f"file://{tmp_path}/a/b/{last}"
    monkeypatch.setattr(backup, "_listed", lambda uri: [NAME])  # as a storage that resolves such addresses
    with pytest.raises(InputError, match="--out"):
        fetch(address)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.name == NAME) == [NAME, NAME]  # none is new


@pytest.mark.parametrize("name", ["..", ".bashrc", "../above", "a/b", "a\\b", "a\0b", ""])
def test_a_backup_with_names_that_lead_elsewhere_is_refused(tmp_path, place, monkeypatch, name):
    started(tmp_path / "run")
    with Backup(tmp_path / "run", uri(place)):
        pass
    monkeypatch.setattr(backup, "_listed", lambda uri: [NAME, name])  # an object store has any names
    with pytest.raises(InputError, match="holds a file named"):
        fetch(uri(place), tmp_path / "in" / "back")
    assert not (tmp_path / "in").exists()


def test_what_links_in_the_folder_point_to_is_not_copied(tmp_path, place):
    started(tmp_path / "run")
    (tmp_path / "mine").write_text("secret")
    (tmp_path / "run" / "theirs.csv").symlink_to(tmp_path / "mine")
    with Backup(tmp_path / "run", uri(place)):
        pass
    assert [path.name for path in place.iterdir()] == [NAME]
