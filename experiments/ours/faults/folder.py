"""Faults of the run folder: it is taken away while a run goes on, and its journal is damaged between two runs."""

import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import law_ray
from experiments.ours.faults.faulty import Faulty
from experiments.ours.faults.rays import one_node
from experiments.ours.faults.striking import EVALS, OPTIONS, Row, row, strike_when_due, told_values
from law_ray.errors import InputError, RunError
from law_ray.runs import journal


def leave(folder: Path) -> None:
    """Leave the folder as it is."""


def taken_away(
    fault: str, take_away: Callable[[Path], Path], says: str, give_back: Callable[[Path], None] = leave
) -> Row:
    """Return the row of a run that can no longer write to its folder; it ends with the reason, and is resumed.

    Args:
        fault: In words.
        take_away: Does it, and returns where the run is to be resumed.
        says: What the error of the run has to say.
        give_back: What is done before the run is resumed.
    """
    with tempfile.TemporaryDirectory() as name, one_node():
        folder = Path(name) / "run"
        objective = Faulty(Path(name), 0.2)
        found: list[Path] = []
        at_strike: dict[str, Any] = {}
        strike = (folder, lambda: found.append(take_away(folder)), at_strike)
        threading.Thread(target=strike_when_due, args=strike, daemon=True).start()
        try:
            law_ray.minimize(objective, evals=EVALS, out=folder, **OPTIONS)
            reason = "it did not end"
        except RunError as error:
            reason = str(error)
        finally:
            give_back(folder)
        result = law_ray.resume(found[0], objective, progress=False)
        whole = says in reason and len(result.history) == EVALS
        how = "ends with the reason; resumed" if says in reason else reason[:100]
        return row(fault, objective, found[0], at_strike, whole, how)


def delete(folder: Path) -> Path:
    """Delete the run folder; the driver writes its journal again."""
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def move(folder: Path) -> Path:
    """Move the run folder."""
    return folder.rename(folder.with_name("moved"))


def make_read_only(folder: Path) -> Path:
    """Make the journal immutable, which root can do."""
    subprocess.run(["chattr", "+i", str(folder / journal.NAME)], check=True)
    return folder


def make_writable(folder: Path) -> None:
    """Make the journal mutable again."""
    subprocess.run(["chattr", "-i", str(folder / journal.NAME)], check=True)


def damaged(fault: str, damage: Callable[[list[bytes]], list[bytes]]) -> Row:
    """Return the row of a run whose journal is damaged after its end; the lines before the damage are resumed.

    What is evaluated again must have the values that it had.
    """
    with tempfile.TemporaryDirectory() as name, one_node():
        folder = Path(name) / "run"
        objective = Faulty(Path(name), 0.0)
        law_ray.minimize(objective, evals=EVALS, out=folder, **OPTIONS)
        before: dict[str, Any] = {"time": time.time(), "told": told_values(folder)}
        path = folder / journal.NAME
        path.write_bytes(b"".join(damage(path.read_bytes().splitlines(keepends=True))))
        said = _refused(folder)
        kept = int(said.partition("head -n ")[2].partition(")")[0] or 0)
        path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:kept]))
        result = law_ray.resume(folder, objective, progress=False)
        whole = kept > 0 and len(result.history) == EVALS
        return row(fault, objective, folder, before, whole, "refused by its line; those before it are resumed")


def _refused(folder: Path) -> str:
    """Return why the run cannot be read, and check that asking left the journal as it was."""
    content = (folder / journal.NAME).read_bytes()
    try:
        law_ray.load(folder)
    except InputError as error:
        assert (folder / journal.NAME).read_bytes() == content
        return str(error)
    return ""


def flip(lines: list[bytes]) -> list[bytes]:
    """Change the value of a `tell` to another number."""
    k = next(k for k, line in enumerate(lines) if k > len(lines) // 2 and b'"value": ' in line)
    head, key, rest = lines[k].partition(b'"value": ')
    return [*lines[:k], head + key + bytes([rest[0] ^ 1]) + rest[1:], *lines[k + 1 :]]


def cut(lines: list[bytes]) -> list[bytes]:
    """Take 1,000 bytes out of the middle."""
    content = b"".join(lines)
    return [content[: len(content) // 2], content[len(content) // 2 + 1000 :]]


SCENES: dict[str, Callable[[], Row]] = {
    "deleted": lambda: taken_away("the run folder is deleted", delete, "was deleted while the run went on"),
    "moved": lambda: taken_away("the run folder is moved", move, "was moved or replaced while the run went on"),
    "read-only": lambda: taken_away(
        "the journal is made read-only (chattr +i)", make_read_only, "cannot be written", make_writable
    ),
    "byte": lambda: damaged("a value in the journal is changed", flip),
    "cut": lambda: damaged("1,000 bytes in the middle of the journal are lost", cut),
    "doubled": lambda: damaged("a line of the journal is doubled", lambda lines: [*lines[:30], *lines[29:]]),
    "two": lambda: damaged("the journal is appended to itself", lambda lines: lines + lines),
}
