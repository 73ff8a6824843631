"""Capture what an evaluation prints, also from C, in the worker that runs it."""

import contextlib
import ctypes
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

MAX_BYTES = 100_000
"""Of one evaluation's prints that are kept, the last ones (heuristic)."""


FOLDER = ".prints"
"""In the run folder: one file for each attempt under way on the driver's node. Nothing is left elsewhere by a kill."""


@contextlib.contextmanager
def prints_folder(run_folder: Path) -> Iterator[Path]:
    """Yield an empty folder for `path_of`, and remove it in the end. An earlier driver that was killed left its own."""
    folder = run_folder / FOLDER
    if folder.is_symlink():  # a run folder may come from somebody else
        folder.unlink()
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(OSError):  # then nothing is captured
        folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def path_of(folder: Path, attempt: str) -> Path:
    """Return the file for the prints of an attempt at an evaluation on this node."""
    return folder / attempt


class Capture:
    """What this process prints within `streams()`: both streams, from Python or from C, go into one file.

    Where the file cannot be made, nothing is captured.

    Args:
        path: The file, which another process reads if this one dies; None for one without a name.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        with contextlib.suppress(OSError):
            self._file = tempfile.TemporaryFile(buffering=0) if path is None else _created(path)  # noqa: SIM115

    @contextlib.contextmanager
    def streams(self) -> Iterator[None]:
        """Redirect standard output and error into the file."""
        if self._file is None:
            yield
            return
        _flush()
        saved = [(number, os.dup(number)) for number in (1, 2)]
        try:
            for number, _ in saved:
                os.dup2(self._file.fileno(), number)
            yield
        finally:
            _flush()
            for number, copy in saved:
                os.dup2(copy, number)
                os.close(copy)
            _reopen()

    def close(self) -> str:
        """Remove the file, and return what was captured, or its end."""
        if self._file is None:
            return ""
        text = _last_of(self._file)
        self._file.close()
        if self._path is not None:
            self._path.unlink(missing_ok=True)
        return text


def left_behind(path: Path) -> str:
    """Return what a process that has died had captured in its file, and remove that; "" if there is none."""
    try:
        with open(path, "rb") as file:
            text = _last_of(file)
        path.unlink()
    except OSError:
        return ""
    return text


def _created(path: Path) -> IO[bytes]:
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "r+b", buffering=0)


def _last_of(file: IO[bytes]) -> str:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - MAX_BYTES))
    text = file.read(MAX_BYTES).decode(errors="replace")
    return text if size <= MAX_BYTES else f"... {size - MAX_BYTES} bytes are left out\n{text}"


def _reopen() -> None:
    """Open the streams again that the objective has closed: Ray writes to them."""
    for name, number in (("stdout", 1), ("stderr", 2)):
        if getattr(getattr(sys, name), "closed", False):
            setattr(sys, name, open(number, "w", errors="backslashreplace", closefd=False))  # noqa: SIM115


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # a user may have put anything there
            stream.flush()
    with contextlib.suppress(Exception):
        ctypes.CDLL(None).fflush(None)  # the buffers of C
