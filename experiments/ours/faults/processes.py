"""Faults of the driver, of the client and of the journal's disk."""

import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import law_ray
from experiments.ours.faults.evaluations import flawed
from experiments.ours.faults.faulty import Faulty
from experiments.ours.faults.rays import kill, one_node
from experiments.ours.faults.striking import EVALS, OPTIONS, Row, row, strike_when_due, struck
from law_ray.errors import RunError


def journal_unwritable() -> Row:
    """Return the row of a run whose driver cannot write any more; the run says so, ends, and is resumed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        objective = Faulty(folder, 0.2, "limit journal")
        at_strike: dict[str, Any] = {}
        threading.Thread(target=strike_when_due, args=(folder / "run", objective.arm, at_strike), daemon=True).start()
        with one_node():
            try:
                law_ray.minimize(objective, evals=EVALS, out=folder / "run", **OPTIONS)
                reason = ""
            except RunError as error:
                reason = str(error)
        with one_node():
            result = law_ray.resume(folder / "run", objective, progress=False)
        whole = "cannot be written" in reason and len(result.history) == EVALS
        return row("the disk is full", objective, folder / "run", at_strike, whole, "ends with the reason; resumed")


def client_and_cluster_killed() -> Row:
    """Return the row of a run whose processes all die at once, as in a power cut; the run is resumed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        follower = client(folder, "None")
        at_strike: dict[str, Any] = {}
        strike_when_due(folder / "run", lambda: kill(follower.pid), at_strike)
        with one_node():
            result = law_ray.resume(folder / "run", Faulty(folder, 0.2), progress=False)
        whole = len(result.history) == EVALS
        return row("everything is killed", Faulty(folder, 0), folder / "run", at_strike, whole, "resumed")


def client(folder: Path, address: str) -> subprocess.Popen[str]:
    """Start a client that runs the objective, in a process of its own."""
    code = (
        "import sys, law_ray\nfrom pathlib import Path\nfrom experiments.ours.faults.striking import EVALS, OPTIONS\n"
        "from experiments.ours.faults.faulty import Faulty\n"
        f"try: law_ray.minimize(Faulty(Path({str(folder)!r}), 0.2), evals=EVALS, address={address}, "
        f"out={str(folder / 'run')!r}, **OPTIONS)\nexcept law_ray.RunError as error: sys.exit(str(error))"
    )
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)


def second_process() -> Row:
    """Return the row of a run whose folder another process wants while it goes on."""
    with tempfile.TemporaryDirectory() as name, one_node():
        objective = Faulty(Path(name), 0.2)
        refusals: list[str] = []

        def intrude() -> None:
            code = (
                f"from law_ray.runs.journal import Journal; from pathlib import Path; Journal(Path({name!r}) / 'run')"
            )
            refusals.append(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr)

        found = struck("a second process takes the run folder", objective, intrude)
        assert "in use by another process" in refusals[0], refusals
        return Row(**{**asdict(found), "how": "the second is refused"})


SCENES: dict[str, Callable[[], Row]] = {
    "driver": lambda: flawed("the driver is killed", "kill driver"),
    "journal": journal_unwritable,
    "second": second_process,
    "client": client_and_cluster_killed,
}
