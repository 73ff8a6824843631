"""Faults that somebody else brings: run folders that name code, hold links or come from odd addresses; open ports."""

import contextlib
import io
import json
import logging
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

import law_ray
from experiments.ours.faults.striking import OPTIONS, Row
from law_ray.errors import InputError
from law_ray.runs import journal
from law_ray.runs.backup import fetch
from objectives.nml import NML

SCORE = "def score(permutation):\n    return float(permutation[0])\n"
MARK = "import pathlib\npathlib.Path(r'{mark}').touch()\n"
"""Code that tells that it ran."""
COMMAND = [sys.executable, "-m", "law_ray"]
LIMIT = 60  # seconds of a command without Ray; heuristic


def checked(fault: str, survived: bool, how: str) -> Row:
    """Return the row of a fault that strikes no evaluations."""
    return Row(fault, 0, 0, 0, 0.0, survived, how)


@contextlib.contextmanager
def strangers_run(**first: object) -> Iterator[Path]:
    """Yield the folder of a run without evaluations; `first` changes what its journal says of the objective.

    The folder has beside it a file evil.py, which leaves a file `ran` there when it runs.
    """
    with tempfile.TemporaryDirectory() as name:
        home = Path(name)
        (home / "evil.py").write_text(MARK.format(mark=home / "ran") + SCORE)
        settings = {"n_items": 6, "method": "random", "seed": 0, "n_init": 4, "evals": 8, "mode": "sync"}
        objective = {"name": "score", "fingerprint": None, "source": None, "folder": name} | first
        record = {"type": "run", "version": 1, "time": 0.0, "objective": objective, "settings": settings}
        record |= {"packages": {}, "python": ""}
        (home / "run").mkdir()
        (home / "run" / journal.NAME).write_text(json.dumps(record) + "\n")
        yield home / "run"


def read() -> Row:
    """Return the row of a stranger's run that is loaded and reported."""
    ran = []
    for source in (
        {"name": "evil.py:score", "options": {}},
        {"name": "evil:score", "options": {}},
        {"name": "subprocess:Popen", "options": {"args": "touch ran", "shell": "True"}},
    ):
        with strangers_run(source=source) as folder:
            law_ray.load(folder)
            subprocess.run([*COMMAND, "report", str(folder)], cwd=folder.parent, capture_output=True, timeout=LIMIT)
            assert (folder / "report.html").exists()
            ran += [source["name"]] * (folder.parent / "ran").exists()
    return checked("a stranger's run is loaded and reported", not ran, "runs none of the code that it names")


def resumed() -> Row:
    """Return the row of a stranger's run that is resumed: what will run is said before it runs."""
    heard = io.StringIO()
    handler = logging.StreamHandler(heard)
    with strangers_run(source={"name": "nowhere.py:score", "options": {}}) as folder:
        logging.getLogger("law_ray").addHandler(handler)
        with contextlib.suppress(InputError):
            law_ray.resume(folder, progress=False)
        logging.getLogger("law_ray").removeHandler(handler)
    return checked("a stranger's run is resumed", "'nowhere.py:score'" in heard.getvalue(), "says first what it runs")


def linked() -> Row:
    """Return the row of a stranger's run whose files are links to the reader's own."""
    with strangers_run() as folder:
        mine = folder.parent / "mine"
        mine.write_text("precious")
        files = ("report.html", "history.csv", "best_dag.csv", "best_dag.dot", "best_model.bif")
        for name in files:
            (folder / name).symlink_to(mine)
        run = law_ray.load(folder)
        run.write_page()
        run.to_csv()
        NML(pd.DataFrame({"a": list("xyxyxy"), "b": list("xxyxyy")})).write(np.arange(2), folder)
        kept = mine.read_text() == "precious" and not any((folder / name).is_symlink() for name in files)
    return checked("a stranger's run has links in it", kept, "the links are replaced, not followed")


def odd_address() -> Row:
    """Return the row of a backup whose address ends in `..`."""
    with strangers_run() as folder, contextlib.chdir(folder.parent):
        (folder / "sub").mkdir()
        refused = False
        try:
            fetch(f"file://{folder}/sub/..")
        except InputError:
            refused = True
        kept = not (folder.parent / "law-ray-runs").exists() and not (folder.parent / journal.NAME).exists()
    return checked("a backup is fetched from an address that ends in ..", refused and kept, "refused")


def ports() -> Row:
    """Return the row of a local run: on which addresses its processes listen."""
    addresses: set[str] = set()

    def look(permutation: object) -> float:
        return 0.0

    def watch() -> None:
        me = psutil.Process()
        while not done.wait(0.2):
            for process in [me, *me.children(recursive=True)]:
                with contextlib.suppress(psutil.Error):
                    found = process.net_connections(kind="inet")
                    addresses.update(each.laddr.ip for each in found if each.status == psutil.CONN_LISTEN)

    done = threading.Event()
    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    with tempfile.TemporaryDirectory() as name:
        law_ray.minimize(look, 6, evals=30, out=Path(name) / "run", **OPTIONS)
    done.set()
    watching.join()
    ours = {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
    how = f"listens on {', '.join(sorted(addresses))} alone"
    return checked("somebody else is on the network of a local run", bool(addresses) and addresses <= ours, how)


SCENES: dict[str, Callable[[], Row]] = {
    "read": read,
    "resumed": resumed,
    "linked": linked,
    "address": odd_address,
    "ports": ports,
}
