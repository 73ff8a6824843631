"""A backup of the run folder that outlives this machine: on S3, GCS, a mounted disk, wherever pyarrow can write."""

import threading
import time
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from law_ray.errors import InputError
from law_ray.runs import journal

INTERVAL = 5.0
"""Seconds between two writes of the backup, or two attempts (heuristic)."""
PATIENCE = 60.0
"""Seconds that the end of a run waits for the last write of the backup (heuristic)."""

PAGE = "report.html"
"""The page of a run, which is not copied: `law-ray report` writes it from the rest."""

PART = ".part"
"""The end of the name of a file that is being written."""


class Backup:
    """A context manager that keeps a backup of the run in `folder` at `uri`.

    A thread copies the journal whenever it has grown, at most every INTERVAL seconds, and in the end all files of the
    folder but the page. The run neither waits for it nor fails with it: where a write fails, one warning is given and
    the write is tried again; the end of the run waits for at most PATIENCE seconds. A file is written under another
    name and then moved, so the backup always holds a whole journal. It replaces an earlier state of the same run, never
    another run.

    `error` says why the backup lacks something, or is "".
    """

    def __init__(self, folder: Path, uri: str) -> None:
        self.error = ""
        self._folder = folder
        self._uri = uri
        self._storage = _Storage(uri)
        self._copied = 0  # bytes of the journal
        self._ours = False  # whether it is known that the storage holds no other run
        self._warned = False
        self._refused = False  # whether the last error is one that no other attempt mends
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._work, name="backup", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            self.error = self.error or f"no answer in {PATIENCE:g} s"
        if self.error:
            if not self._refused:
                self.error += f": copy {self._folder} there yourself"
            warnings.warn(f"the backup at {self._uri} is behind {self._folder}: {self.error}", stacklevel=2)

    def _work(self) -> None:
        while not self._end.wait(INTERVAL):
            self._attempt(self._copy_journal)
        deadline = time.monotonic() + PATIENCE
        while not self._attempt(self._copy_all) and time.monotonic() < deadline:
            time.sleep(INTERVAL)

    def _attempt(self, copy: Callable[[], None]) -> bool:
        """Copy, and say whether there is nothing left to try: it succeeded, or never will."""
        try:
            copy()
            self.error = ""
            return True
        except Exception as error:  # whatever the storage does, the run goes on
            self._refused = isinstance(error, InputError)
            name = "" if self._refused else f"{type(error).__name__}: "
            self.error = " ".join(f"{name}{error}".split())
            if not self._warned:
                warnings.warn(f"the run cannot be copied to {self._uri} for now: {self.error}", stacklevel=2)
                self._warned = True
            return self._refused

    def _copy_all(self) -> None:
        self._copy_journal()
        if self._ours:
            for path in sorted(self._folder.glob("[!.]*")):
                is_own = path.is_file() and not path.is_symlink()  # nothing from elsewhere
                if is_own and path.name not in (journal.NAME, PAGE):
                    self._storage.write(path.name, path.read_bytes())

    def _copy_journal(self) -> None:
        path = self._folder / journal.NAME
        content = path.read_bytes() if path.exists() else b""
        content = content[: content.rfind(b"\n") + 1]  # the last line may be on its way
        if len(content) <= self._copied:  # a journal only grows: one that has shrunk was lost
            return
        if not self._ours:
            if not content.startswith(self._storage.read(journal.NAME)):
                raise InputError(
                    f"{self._uri} holds another run, or a later state of this one: continue that with `law-ray resume "
                    f"{self._uri}`, or give this one another --backup"
                )
            self._ours = True
        self._storage.write(journal.NAME, content)
        self._copied = len(content)


def backing_up(folder: Path, uri: str | None) -> AbstractContextManager[Backup | None]:
    """Return a `Backup`, or a context that does nothing without a `uri`."""
    return nullcontext() if uri is None else Backup(folder, uri)


def check_address(uri: str) -> None:
    """Raise InputError unless `uri` is one that a backup can have; nothing is looked for there."""
    _Storage(uri)


def check_free(uri: str) -> None:
    """Raise InputError if a run cannot begin a backup at `uri`: it holds a run already, or cannot be written."""
    if journal.NAME in _listed(uri):
        raise InputError(f"{uri} already holds a run: continue it with `law-ray resume {uri}` or give another URI")
    try:
        _Storage(uri).check_writable()
    except OSError as error:
        raise _unreachable(uri, error) from error


def fetch(uri: str, folder: Path | None = None) -> Path:
    """Copy the run at `uri` into `folder`, by default law-ray-runs/NAME, and return the folder.

    The journal comes last: a fetch that was interrupted leaves no run, and can be repeated.

    Raises:
        InputError: There is no run at `uri`, it cannot be reached, or `folder` holds a run already.
    """
    names = _listed(uri)
    if journal.NAME not in names:
        raise InputError(f"{uri} holds no run: there is no {journal.NAME} in it")
    if odd := [name for name in names if not _is_plain(name)]:
        raise InputError(
            f"{uri} holds a file named {odd[0]!r}, which no run has: remove it, or fetch the others yourself"
        )
    storage = _Storage(uri)
    folder = storage.default_folder if folder is None else folder
    journal.check_free(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in sorted(names, key=lambda name: name == journal.NAME):  # the journal last
            part = folder / f".{name}{PART}"
            part.write_bytes(storage.read(name))
            part.replace(folder / name)
    except OSError as error:
        raise InputError(f"cannot fetch {uri} into {folder} ({error}): try again") from error
    return folder


def _listed(uri: str) -> list[str]:
    try:
        return _Storage(uri).names()
    except OSError as error:
        raise _unreachable(uri, error) from error


def _unreachable(uri: str, error: OSError) -> InputError:
    return InputError(f"cannot reach {uri} ({error}): correct the address or the permissions")


def _is_plain(name: str) -> bool:
    """Whether a name from elsewhere stays within the folder that it is put into, and can be seen there."""
    return not name.startswith(".") and not {"/", "\\", "\0"} & set(name) and name != ""


class _Storage:
    """The files of one folder on a file system of pyarrow."""

    def __init__(self, uri: str) -> None:
        from pyarrow.fs import FileSystem  # slow to import, and most runs have no backup

        if urlsplit(uri).password:
            raise InputError("the address of a backup has a password in it: give it in the environment instead")
        try:
            self._files, self._path = FileSystem.from_uri(uri)
        except (OSError, ValueError, NotImplementedError) as error:
            raise InputError(
                f"{uri} is no URI for a backup ({error}): give s3://bucket/folder, gs://bucket/folder or file:///folder"
            ) from error

    @property
    def default_folder(self) -> Path:
        """The folder of the last name in the address."""
        name = self._path.rstrip("/").rpartition("/")[2]
        if not _is_plain(name):
            raise InputError(f"the backup at {self._path} gives its folder no name: say where to put it (--out)")
        return Path("law-ray-runs") / name

    def names(self) -> list[str]:
        from pyarrow.fs import FileSelector, FileType

        found = self._files.get_file_info(FileSelector(self._path, allow_not_found=True))
        return [info.base_name for info in found if info.type == FileType.File and not info.base_name.endswith(PART)]

    def read(self, name: str) -> bytes:
        """Return the content of a file, empty if there is no such file."""
        if name not in self.names():
            return b""
        with self._files.open_input_stream(f"{self._path}/{name}", compression=None) as stream:
            content: bytes = stream.read()
        return content

    def write(self, name: str, content: bytes) -> None:
        """Write a file, so that under its name there is never a part of it."""
        self._files.move(self._write_part(name, content), f"{self._path}/{name}")

    def check_writable(self) -> None:
        """Raise OSError if nothing can be written here."""
        self._files.delete_file(self._write_part("try", b""))

    def _write_part(self, name: str, content: bytes) -> str:
        path = f"{self._path}/.{name}{PART}"
        try:
            stream = self._files.open_output_stream(path, compression=None)
        except FileNotFoundError:  # object stores have no folders that must be made first
            self._files.create_dir(self._path, recursive=True)
            stream = self._files.open_output_stream(path, compression=None)
        with stream:
            stream.write(content)
        return path
