"""The append-only journal of a run on disk. `law_ray.runs.run` replays it to load or resume the run.

`journal.jsonl` holds one JSON record per line (`law_ray.runs.records`): first `run`, with every resolved option, then
`ask`, `tell` and `fail`. The re-evaluations of a noisy objective's best trials are `ask again` and `tell again`. Each
resume of the run adds a `resume`. A record counts once its newline is on disk, and a torn last line is cut off before
anything is appended. One process holds a journal at a time, by an flock that is freed when the process dies.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Container
from pathlib import Path
from types import TracebackType
from typing import Any

from law_ray.errors import InputError, RunError
from law_ray.runs import lines
from law_ray.runs.lines import Lines
from law_ray.runs.records import Record
from law_ray.utils.showing import shell_word

VERSION = 1
"""Of the format; a journal of a newer version is refused."""
NAME = "journal.jsonl"
MAX_NAME = 60
"""Characters of an objective's name in that of its folder (heuristic): 255 bytes are what file systems take."""


class Journal:
    """A journal that is open for appending, and locked. `records` are those that it held when it was opened.

    Raises:
        InputError: There is no journal, it is damaged or in use, or this process may not write it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        path = _path(folder)
        try:
            self._file = open(path, "r+b", buffering=0)  # noqa: SIM115 - the object is the context manager
        except OSError as error:
            raise InputError(f"cannot write {path} ({error.strerror}): correct that, or copy {folder}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = _parse(path, self._file.read())
        except BlockingIOError:
            self._file.close()
            raise InputError(f"{folder} is in use by another process: wait for it or stop it") from None
        except OSError as error:
            self._file.close()
            raise InputError(f"{path} cannot be locked ({error.strerror}): copy {folder} to another disk") from None
        except InputError:
            self._file.close()
            raise
        self.records, self._check = found.records, found.check
        self._file.seek(found.length)
        self._file.truncate()

    @classmethod
    def create(cls, folder: Path, run: Record) -> "Journal":
        """Start a journal in `folder` with its `run` record. Raises InputError if the folder holds a run already."""
        check_free(folder)
        lines.write(run, None)  # what no journal can hold leaves no folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / NAME).touch(exist_ok=False)
        except OSError as error:
            raise InputError(f"cannot create the run folder {folder} ({error.strerror}): give another folder") from None
        journal = cls(folder)
        journal.append(run)
        return journal

    def append(self, record: Record) -> None:
        """Write one record as one line, and wait until it is on disk.

        Raises:
            RunError: It cannot be written, or the journal is no longer where it was; then the record is in it.
        """
        line, self._check = lines.write(record, self._check)
        try:
            while line:
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
            self._check_place()
        except OSError as error:
            raise RunError(
                f"the journal in {self.folder} cannot be written ({error.strerror}): correct that, then resume it; "
                "what was written before is kept"
            ) from None

    def _check_place(self) -> None:
        """Raise RunError if another file, or none, has the name of this one; one that was deleted is written again."""
        path, held = self.folder / NAME, os.fstat(self._file.fileno())
        if path.exists() and os.path.samestat(path.stat(), held):
            return
        if path.exists() or held.st_nlink:
            raise RunError(
                f"{path} was moved or replaced while the run went on, which ends it: resume the run where it is now"
            )
        self.folder.mkdir(parents=True, exist_ok=True)
        path.write_bytes(os.pread(self._file.fileno(), held.st_size, 0))
        raise RunError(f"{path} was deleted while the run went on, which ends it: it was written again, so resume it")

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
    """Raise InputError if `folder` holds a run already, or cannot be looked into."""
    try:
        (folder / NAME).stat()
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        raise InputError(f"cannot use the run folder {folder} ({error.strerror}): give another folder") from None
    raise InputError(f"{folder} already holds a run: continue it with {how_to_resume(folder)} or give another folder")


def folder_for(name: str, seed: int, parent: Path = Path("law-ray-runs")) -> Path:
    """Return a new folder for a run of the objective `name`."""
    plain = "".join(c if c.isalnum() else "-" for c in name[:MAX_NAME]).strip("-")
    stem = f"{plain}-seed{seed}-{time.strftime('%Y%m%d-%H%M%S')}"
    candidates = (parent / f"{stem}{suffix}" for suffix in ("", *(f"-{i}" for i in range(1, 1000))))
    return next(path for path in candidates if not path.exists())


def how_to_resume(folder: Path, address: str | None = None) -> str:
    """Return what continues the run in a folder: the command where the journal names the objective, or else a call.

    With the address of a cluster, it goes on there.
    """
    by_name = True  # also where the journal cannot be read, which the command says
    with contextlib.suppress(InputError, LookupError, TypeError):
        first: Any = read(folder)[0]
        by_name = first["objective"]["source"] is not None
    if by_name:
        option = f" --address {shell_word(address)}" if address else ""
        return f"`law-ray resume {shell_word(folder)}{option}`"
    return f"law_ray.resume({str(folder)!r}, objective{f', address={address!r}' if address else ''})"


def is_held(folder: Path) -> bool:
    """Say whether a process holds the journal in `folder`, if there is one."""
    if not (folder / NAME).exists():
        return False
    with open(_path(folder), "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def wait_until_free(folder: Path, seconds: float) -> None:
    """Wait until no process holds the journal in `folder`, at most so long: a process that is killed frees it late."""
    deadline = time.monotonic() + seconds
    while is_held(folder) and time.monotonic() < deadline:
        time.sleep(0.05)


def read(folder: Path) -> list[Record]:
    """Return the records in `folder`, `run` first, also while a process is writing them.

    Raises:
        InputError: There is no journal, it is empty or damaged, or it cannot be read.
    """
    path = _path(folder)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, error) from None
    records = _parse(path, content).records
    if not records:
        raise InputError(f"{path} is empty: the run died before it began, so delete {folder} and run again")
    return records


def note_traceback(error: RunError, folder: Path, trial_ids: Container[int]) -> None:
    """Add the traceback of the first of these trials that has one to the notes of an error."""
    fails = [record for record in read(folder) if record["type"] == "fail" and record["id"] in trial_ids]
    for record in sorted(fails, key=lambda record: record["id"]):
        if text := record.get("traceback"):
            error.add_note(f"trial {record['id']} failed:\n{text}")
            return


def _path(folder: Path) -> Path:
    path = folder / NAME
    try:
        found = path.is_file()
    except OSError as error:
        raise _unreadable(path, error) from None
    if not found:
        why = f"there is no {NAME} in it" if folder.is_dir() else "there is no such folder"
        raise InputError(f"{folder} holds no run: {why}")
    return path


def _unreadable(path: Path, error: OSError) -> InputError:
    return InputError(f"cannot read {path} ({error.strerror}): correct that, or ask its owner for a copy")


def _parse(path: Path, content: bytes) -> Lines:
    """Return the whole lines of the journal at `path`. Raises InputError if there is more than those."""
    found = lines.read(content)
    if content and not found.records and not found.damaged and lines.FIRST.startswith(content[: len(lines.FIRST)]):
        raise InputError(
            f"{path} ends within its first line: the run died before it began, so delete {path.parent} and run again"
        )
    if not found.records and content.startswith(lines.FIRST):
        raise InputError(
            f"{path} is damaged: its first line is not what was written; bring the file back from a backup"
        )
    if content and (not found.records or found.records[0]["type"] != "run"):
        raise InputError(f"{path} is not a journal of law_ray: its first line is not a run record")
    if found.damaged:
        whole, total = len(found.records), len(content.splitlines())
        raise InputError(
            f"{path} is damaged: line {whole + 1} of {total} is not what was written; bring the file back from a "
            f"backup, or keep only the lines before that one (head -n {whole}), and resume the run"
        )
    version = found.records[0].get("version") if found.records else VERSION
    if not isinstance(version, int) or version > VERSION:
        raise InputError(f"{path} was written by a newer law_ray (journal version {version}): upgrade law_ray")
    return found
