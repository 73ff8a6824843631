"""The append-only journal of a run on disk. `law_ray.runs.run` replays it to load or resume the run.

`journal.jsonl` holds one JSON record per line (`law_ray.runs.records`): first `run`, with every resolved option, then
`ask`, `tell` and `fail`. The re-evaluations of a noisy objective's best trials are `ask again` and `tell again`. Each
resume of the run adds a `resume`. A record counts once its newline is on disk, and a torn last line is cut off before
anything is appended. One process holds a journal at a time, by an flock that is freed when the process dies.
"""

import contextlib
import fcntl
import json
import os
import time
from pathlib import Path
from types import TracebackType

from law_ray.errors import InputError, RunError
from law_ray.runs.records import Record

VERSION = 1
"""Of the format; a journal of a newer version is refused."""
NAME = "journal.jsonl"


class Journal:
    """A journal that is open for appending, and locked. `records` are those that it held when it was opened."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = _path(folder)
        self._file = open(path, "r+b", buffering=0)  # noqa: SIM115 - the object is the context manager
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise InputError(f"{folder} is in use by another process: wait for it or stop it") from None
        try:
            self.records, length = _parse(path, self._file.read())
        except InputError:
            self._file.close()
            raise
        self._file.seek(length)
        self._file.truncate()

    @classmethod
    def create(cls, folder: Path, run: Record) -> "Journal":
        """Start a journal in `folder` with its `run` record. Raises InputError if the folder holds a run already."""
        check_free(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / NAME).touch(exist_ok=False)
        except OSError as error:
            raise InputError(f"cannot create the run folder {folder}: {error.strerror}") from None
        journal = cls(folder)
        journal.append(run)
        return journal

    def append(self, record: Record) -> None:
        """Write one record as one line, and wait until it is on disk. Raises RunError if it cannot be written."""
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        try:
            while line:
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise RunError(
                f"the journal in {self.folder} cannot be written ({error.strerror}): correct that, then resume it; "
                "what was written before is kept"
            ) from None

    def close(self) -> None:
        """Release the file and its lock."""
        self._file.close()

    def __enter__(self) -> "Journal":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def check_free(folder: Path) -> None:
    """Raise InputError if `folder` holds a run already."""
    if (folder / NAME).exists():
        raise InputError(
            f"{folder} already holds a run: continue it with `law-ray resume {folder}` or give another folder"
        )


def wait_until_free(folder: Path, seconds: float) -> None:
    """Wait until no process holds the journal in `folder`, at most so long: a process that is killed frees it late."""
    deadline = time.monotonic() + seconds
    while (folder / NAME).exists() and time.monotonic() < deadline:
        with contextlib.suppress(BlockingIOError), open(_path(folder), "rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return
        time.sleep(0.05)


def read(folder: Path) -> list[Record]:
    """Return the records in `folder`, `run` first, also while a process is writing them."""
    path = _path(folder)
    records = _parse(path, path.read_bytes())[0]
    if not records:
        raise InputError(f"{path} is empty: the run died before it began, so delete {folder} and run again")
    return records


def _path(folder: Path) -> Path:
    path = folder / NAME
    if not path.is_file():
        raise InputError(f"{folder} holds no run: there is no {NAME} in it")
    return path


def _parse(path: Path, content: bytes) -> tuple[list[Record], int]:
    """Return the whole records, and the length of the file up to the end of the last one."""
    records: list[Record] = []
    length = 0
    lines = content.splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        try:
            record = json.loads(line)
            whole = isinstance(record, dict) and line.endswith(b"\n")
        except ValueError:
            whole = False
        if not whole:
            if number == len(lines):
                break
            raise InputError(f"{path} is damaged: line {number} of {len(lines)} is not a record")
        records.append(record)
        length += len(line)
    if not records and not content:
        return records, length
    if not records or (first := records[0]).get("type") != "run":
        raise InputError(f"{path} is not a journal of law_ray: its first line is not a run record")
    assert first["type"] == "run"
    if first["version"] > VERSION:
        raise InputError(f"{path} was written by a newer law_ray (journal version {first['version']}): upgrade law_ray")
    return records, length
