"""Write a file as a whole, so that nobody reads half of it, and nothing is written where a link points."""

import contextlib
import os
import uuid
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield the path of a new file beside `path`, which takes its place unless an error is raised.

    A link at `path` is replaced, not followed: a run folder from somebody else may have one to a file of the reader's.
    """
    partial = path.with_name(f".{uuid.uuid4().hex}{path.suffix}")
    try:
        os.close(os.open(partial, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        yield partial
        partial.replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            partial.unlink()
        raise
