"""Where a run folder is, and what is allowed there: odd paths, no right to write, and a clock that is set back."""

import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import law_ray
from experiments.ours.faults.faulty import Faulty
from experiments.ours.faults.rays import one_node
from experiments.ours.faults.sizes import LIMIT, OBJECTIVE
from experiments.ours.faults.strangers import COMMAND, checked
from experiments.ours.faults.striking import EVALS, OPTIONS, Row, struck
from law_ray.runs import journal

PATHS = {
    "blanks": " a  b ",
    "a newline": "a\nb",
    "Unicode": "zürich 東京 🚲",
    "quotes and $": "a'b\"$HOME`",
    "a dash": "-rf",
    "200 characters": "x" * 200,
}
"""Names of run folders, in words."""
POWERLESS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
"""What begins a command that may write only where the rights of a folder allow it, for root too."""


def command(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """Run a command of law-ray in a folder that holds the objectives of `sizes`."""
    if not (home / "problem.py").exists():
        (home / "problem.py").write_text(OBJECTIVE)
    environment = os.environ | {"PYTHONPATH": os.getcwd()}
    return subprocess.run(
        [*POWERLESS, *COMMAND, *words], cwd=home, env=environment, capture_output=True, text=True, timeout=LIMIT
    )


def score(permutation: Any) -> float:
    """Return the first item."""
    return float(permutation[0])


def odd_paths() -> Row:
    """Return the row of run folders with odd names, and of a link to one: run, reported and resumed."""
    wrong = []
    with tempfile.TemporaryDirectory() as name, one_node():
        home = Path(name)
        (home / "there").mkdir()
        (home / "link").symlink_to("there")
        for kind, path in (PATHS | {"a link": "link"}).items():
            folder = home / path
            law_ray.minimize(score, 6, evals=24, out=folder, **OPTIONS)
            page = law_ray.load(folder).write_page()
            result = law_ray.resume(folder, score, evals=28, progress=False)
            if result.evaluations != 28 or page.parent != folder or not page.exists():
                wrong.append(kind)
    return checked(f"run folders: {', '.join(PATHS)}, a link", not wrong, "; ".join(wrong) or "as any")


def odd_path_typed() -> Row:
    """Return the row of a run folder whose name has all that is odd, given to the command line."""
    path = "./" + "".join(PATHS.values())[:90]
    with tempfile.TemporaryDirectory() as name:
        options = ["--n-items", "6", "--evals", "24", "--method", "random", "--json", "--quiet"]
        done = [
            command(Path(name), "run", "problem.py:quick", "--out", path, *options),
            command(Path(name), "report", path),
            command(Path(name), "resume", path, "--evals", "26", "--json", "--quiet"),
            command(Path(name), "run", "problem.py:quick", "--out", path, *options),
        ]
        for each in done:
            print(each.returncode, each.stdout, each.stderr, file=sys.stderr)
        whole = [each.returncode for each in done] == [0, 0, 0, 2] and json.loads(done[2].stdout)["evaluations"] == 26
        whole = whole and (Path(name) / path / "report.html").exists() and done[3].stderr.count("\n") == 1
    how = "as any; a second run there is refused in one line"
    return checked("a run folder with all that in its name, by the command line", whole, how)


def forbidden() -> Row:
    """Return the row of run folders that cannot be: below a file, in a folder of others, on a read-only disk."""
    said = []
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / "file").touch()
        (home / "theirs").mkdir(mode=0o555)
        run = ["run", "problem.py:quick", "--n-items", "6", "--quiet"]
        said.append(command(home, *run, "--out", "file"))
        said.append(command(home, *run, "--out", "file/run"))
        said.append(command(home, *run, "--out", "theirs/run"))
        said.append(command(home, *run, "--out", "/proc/run"))
        said.append(command(home, *run, "--out", "y" * 300))
    for each in said:
        print(each.returncode, each.stderr, file=sys.stderr)
    wrong = [each.stderr for each in said if each.returncode != 2 or each.stderr.count("\n") != 1]
    fault = "run folders: a file, below a file, without the right, in /proc, of 300 characters"
    return checked(fault, not wrong, " ".join(wrong)[:300] or "refused, each in one line")


class SetBack(Faulty):
    """The clock of the driver's process goes back by a day, once an evaluation has met the flaw.

    Only `time.time` of that process is replaced, when the objective is unpickled there: to set the clock of the machine
    would harm all else that runs on it.
    """

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        clock, met = time.time, self.folder / "met"
        if "Driver" in (Path("/proc/self/cmdline").read_text()):
            time.time = lambda: clock() - 86_400 * met.exists()


def set_back() -> Row:
    """Return the row of a run whose driver's clock is set back by a day; it is reported and resumed."""
    with tempfile.TemporaryDirectory() as name, one_node():
        objective = SetBack(Path(name), 0.2, "nothing")
        found = struck("the clock is set back by a day", objective, objective.arm)
        folder = Path(name) / "run"
        times = [record["time"] for record in journal.read(folder)]
        assert min(b - a for a, b in itertools.pairwise(times)) < -80_000, times
        law_ray.load(folder).write_page()
        resumed = law_ray.resume(folder, objective, evals=EVALS + 4, progress=False)
        whole = found.survived and len(resumed.history) == EVALS + 4 and 0 < resumed.seconds_evaluating < 600
        return checked(found.fault, whole, "goes on, nothing is lost; reported and resumed")


SCENES: dict[str, Callable[[], Row]] = {
    "paths": odd_paths,
    "path-typed": odd_path_typed,
    "forbidden": forbidden,
    "clock": set_back,
}
