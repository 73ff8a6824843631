"""What objectives print, by trial: the file prints.log in the run folder."""

import logging
from pathlib import Path

from law_ray.runs import journal

NAME = "prints.log"
MAX_BYTES = 20_000_000
"""Of the file (heuristic): what is printed beyond that is dropped, and the last line says so."""
MAX_SHOWN = 2_000
"""Characters of one trial's prints that the log, and so `--verbose`, shows (heuristic)."""

log = logging.getLogger(__name__)


class Prints:
    """Appends to prints.log, whose lines begin with what printed them, such as "trial 12: ".

    The file exists only if anything was printed. What is printed before the run has begun is kept until then, so that a
    run that is refused leaves no folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting = b""
        path = folder / NAME
        if path.is_symlink():  # a run folder may come from somebody else
            path.unlink()
        self._size = path.stat().st_size if path.exists() else 0

    def add(self, source: str, text: str) -> None:
        """Append what `source` has printed."""
        lines = [line.rstrip("\r").rsplit("\r", 1)[-1] for line in text.rstrip("\n").split("\n")]  # \r: progress bars
        if not any(lines):
            return
        marked = "".join(f"{source}: {line}\n" for line in lines)
        log.info("%s", marked[-MAX_SHOWN:].rstrip())
        self._waiting += marked.encode(errors="replace")
        self.flush()

    def flush(self) -> None:
        """Write what waits, if the run has begun. Where the file cannot be written it is dropped: the run goes on."""
        if not self._waiting or not (self._folder / journal.NAME).exists():
            return
        content, self._waiting = self._waiting, b""
        if self._size > MAX_BYTES:
            return
        self._size += len(content)
        if self._size > MAX_BYTES:
            content = content[: MAX_BYTES - self._size]
            content = content[: content.rfind(b"\n") + 1] + f"{NAME} is full: what follows is not kept\n".encode()
        try:
            with open(self._folder / NAME, "ab") as file:
                file.write(content)
        except OSError as error:
            log.debug("%s cannot be written: %s", self._folder / NAME, error)
