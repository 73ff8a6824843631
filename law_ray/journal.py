"""Append-only record of a run on disk; replaying it resumes the run.

`journal.jsonl` holds one JSON record a line: `run` first, with every resolved option, then `ask`, `tell`, `fail`; at
the end, of the best trials of a noisy objective, `ask again` and `tell again`; and, each time the run was taken up
again, `resume`. A record counts once its newline is on disk; a torn last line is cut off before anything is appended.
One process holds a journal at a time, by an flock that its death frees.
"""

import fcntl
import json
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from law_ray.errors import InputError, RunError

VERSION = 1
NAME = "journal.jsonl"

Record = dict[str, Any]


class Journal:
    """A journal open for appending, and locked. `records` are those it held when opened."""

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
        """Start a journal in `folder`, made if need be, with its `run` record. InputError if it holds one already."""
        check_free(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / NAME).touch(exist_ok=False)
        except OSError as error:
            raise InputError(f"cannot make the run folder {folder}: {error.strerror}") from None
        journal = cls(folder)
        journal.append({"type": "run", "version": VERSION, **run})
        return journal

    def append(self, record: Record) -> None:
        """Write one record as one line and wait until it is on disk. RunError if it cannot be."""
        line = json.dumps(record, allow_nan=False).encode() + b"\n"
        try:
            while line:
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            raise RunError(
                f"the journal in {self.folder} cannot be written ({error.strerror}): mend that, then resume it; what "
                "was written before is kept"
            ) from None
        self.records.append(record)

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
    """InputError if `folder` holds a run already."""
    if (folder / NAME).exists():
        raise InputError(
            f"{folder} already holds a run: continue it with `law-ray resume {folder}` or give another folder"
        )


def read(folder: Path) -> list[Record]:
    """The records in `folder`, `run` first, also while a process is writing them."""
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
    """The whole records, and the length of the file up to the end of the last one."""
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
    if not records or records[0].get("type") != "run":
        raise InputError(f"{path} is not a journal of law_ray: its first line is not a run record")
    if records[0]["version"] > VERSION:
        raise InputError(
            f"{path} was written by a newer law_ray (journal version {records[0]['version']}): upgrade law_ray"
        )
    return records, length
