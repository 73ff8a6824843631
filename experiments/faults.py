"""What can go wrong with a run on a cluster, provoked: nothing that finished is lost, and nothing counts twice.

`python -m experiments.faults` provokes each fault in a process and on a Ray of its own, one after the other, and
writes results/faults.csv and faults.md anew; `--only NAME` provokes one and prints its row as JSON. Nodes are real
processes of one machine (`ray.cluster_utils`). The evaluations sleep.
"""

import contextlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import pandas as pd
import psutil

import law_ray
from experiments.faulty import RETURNS, Faulty
from experiments.markdown import table
from experiments.speed import machine
from law_ray import journal
from law_ray.driver.cluster import knock
from law_ray.errors import RunError

RESULTS = Path(__file__).parent / "results"
LIMIT = 240  # seconds for one fault
BEFORE = 12  # finished evaluations when a fault strikes
EVALS = 60
HEAD_PORT = 7379  # and the next, of the head that follows
OBJECT_STORE = 80_000_000  # bytes
QUIET: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
OPTIONS: dict[str, Any] = {"n_init": 10, "batch_size": 4, "method": "random", "progress": False}


@dataclass(frozen=True)
class Row:
    """What became of a run."""

    fault: str
    before: int
    """finished evaluations when it struck"""
    lost: int
    """of those, missing in the end or with another value"""
    repeated: int
    """evaluations that were made to their end more than once"""
    seconds: float
    """the longest without a result from then on"""
    survived: bool
    how: str


def struck(fault: str, objective: Faulty, strike: Callable[[], None], **options: Any) -> Row:
    """Run the objective to its end on the Ray there is; `strike` when BEFORE evaluations have finished."""
    folder = objective.folder / "run"
    marks: dict[str, Any] = {}
    striking = threading.Thread(target=_strike, args=(folder, strike, marks), daemon=True)
    striking.start()
    result = law_ray.minimize(objective, evals=EVALS, out=folder, **OPTIONS | options)
    striking.join()
    failed = int((result.history["state"] == "failed").sum())
    whole = len(result.history) == EVALS and not (result.history["state"] == "pending").any()
    how = "evaluated elsewhere or again" if not failed else f"{failed} failed: {_reasons(folder)}"
    return row(fault, objective, folder, marks, whole, how)


def row(fault: str, objective: Faulty, folder: Path, marks: dict[str, Any], whole: bool, how: str) -> Row:
    """The row of a run that has ended, whose journal when the fault struck is in the marks."""
    told = _told(folder)
    before: dict[int, float] = marks["told"]
    lost = sum(told.get(trial_id) != value for trial_id, value in before.items())
    twice = sum(count > 1 for count in _outcomes(folder).values())
    struck = objective.met_at() or marks["time"]
    ended = [r["time"] for r in journal.read(folder) if r["type"] in ("tell", "fail") and r["time"] > struck]
    seconds = round(max(b - a for a, b in itertools.pairwise([struck, *ended])), 1)
    return Row(fault, len(before), lost, objective.repeated(), seconds, whole and not lost and not twice, how)


def _strike(folder: Path, strike: Callable[[], None], marks: dict[str, Any]) -> None:
    while len(told := _told(folder)) < BEFORE:
        time.sleep(0.05)
    marks.update(time=time.time(), told=told)
    strike()


def _told(folder: Path) -> dict[int, float]:
    if not (folder / journal.NAME).exists() or not (folder / journal.NAME).stat().st_size:
        return {}
    return {record["id"]: record["value"] for record in journal.read(folder) if record["type"] == "tell"}


def _outcomes(folder: Path) -> Counter[int]:
    return Counter(record["id"] for record in journal.read(folder) if record["type"] in ("tell", "fail"))


def _reasons(folder: Path) -> str:
    reasons = {record["reason"] for record in journal.read(folder) if record["type"] == "fail"}
    return "; ".join(sorted(reasons))[:100]


@contextlib.contextmanager
def one_node() -> Iterator[None]:
    """A Ray of two CPUs on this machine."""
    import ray

    ray.init("local", num_cpus=2, include_dashboard=False, object_store_memory=OBJECT_STORE, **QUIET)
    try:
        yield
    finally:
        ray.shutdown()


@contextlib.contextmanager
def three_nodes() -> Iterator[Any]:
    """A cluster of a head, where the driver is, and two more nodes, of one CPU each; joined."""
    import ray
    from ray.cluster_utils import Cluster

    node: dict[str, Any] = {"num_cpus": 1, "object_store_memory": OBJECT_STORE}
    cluster: Any = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    cluster.add_node(**node)
    cluster.add_node(**node)
    try:
        ray.init(cluster.address, **QUIET)
        yield cluster
    finally:
        ray.shutdown()
        cluster.shutdown()


def freeze(node: Any) -> None:
    """Stop a node's processes where they stand; to others it is as if its link were cut."""
    for process in processes_of(node):
        process.suspend()


def processes_of(node: Any) -> list[psutil.Process]:
    """All processes of a node of a cluster on this machine."""
    roots = [psutil.Process(info.process.pid) for infos in node.all_processes.values() for info in infos]
    return [*roots, *(child for root in roots for child in root.children(recursive=True))]


def flawed(fault: str, flaw: str, seconds: float = 0.2, for_ever: bool = False, **options: Any) -> Row:
    """A flaw of one evaluation, on one node."""
    with tempfile.TemporaryDirectory() as folder, one_node():
        objective = Faulty(Path(folder), seconds, flaw, for_ever)
        found = struck(fault, objective, objective.arm, **options)
        assert objective.met() == (2 if for_ever else 1), objective.met()
        return found


def memory_exhausted() -> Row:
    """An evaluation that takes ever more memory, on a node that has 2 GiB to give."""
    used = psutil.virtual_memory()
    threshold = (used.total - used.available + 2**31) / used.total
    os.environ.update(RAY_memory_usage_threshold=f"{threshold:.3f}", RAY_memory_monitor_refresh_ms="100")
    return flawed("an evaluation eats all memory, once", "eat memory", timeout=60.0)


def node_lost(fault: str, strike: Callable[[Any, Any], None], **options: Any) -> Row:
    """What happens to one of three nodes while evaluations run on all."""
    with tempfile.TemporaryDirectory() as folder, three_nodes() as cluster:
        objective = Faulty(Path(folder), 0.5)
        victim = cluster.list_all_nodes()[-1]

        def strike_at_work() -> None:
            while not any("_evaluate" in argument for p in processes_of(victim) for argument in p.cmdline()[:1]):
                time.sleep(0.01)
            strike(cluster, victim)

        return struck(fault, objective, strike_at_work, **options)


def replace(cluster: Any, node: Any) -> None:
    """Kill a node, and let another join."""
    cluster.remove_node(node, False)
    cluster.add_node(num_cpus=1, object_store_memory=OBJECT_STORE)


def journal_unwritable() -> Row:
    """The driver can write no more; the run ends with the reason and is resumed when it can."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        objective = Faulty(folder, 0.2, "limit journal")
        marks: dict[str, Any] = {}
        threading.Thread(target=_strike, args=(folder / "run", objective.arm, marks), daemon=True).start()
        with one_node():
            try:
                law_ray.minimize(objective, evals=EVALS, out=folder / "run", **OPTIONS)
                reason = ""
            except RunError as error:
                reason = str(error)
        with one_node():
            result = law_ray.resume(folder / "run", objective, progress=False)
        whole = "cannot be written" in reason and len(result.history) == EVALS
        return row("the disk is full", objective, folder / "run", marks, whole, "ends with the reason; resumed")


def client_and_cluster_killed() -> Row:
    """Everything dies at once, as in a power cut; the run is resumed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        client = _client(folder, "None")
        marks: dict[str, Any] = {}
        _strike(folder / "run", lambda: _kill(client.pid), marks)
        with one_node():
            result = law_ray.resume(folder / "run", Faulty(folder, 0.2), progress=False)
        whole = len(result.history) == EVALS
        return row("everything is killed", Faulty(folder, 0), folder / "run", marks, whole, "resumed")


def head_killed() -> Row:
    """The head's node is killed under a client elsewhere; the client says so, and a new head resumes the run."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        head = _head(HEAD_PORT)
        client = _client(folder, f"'127.0.0.1:{HEAD_PORT}'")
        marks: dict[str, Any] = {}
        _strike(folder / "run", lambda: _kill(head.pid), marks)
        said = client.communicate(timeout=120)[1]
        head = _head(HEAD_PORT + 1)
        try:
            result = law_ray.resume(
                folder / "run", Faulty(folder, 0.2), address=f"127.0.0.1:{HEAD_PORT + 1}", progress=False
            )
        finally:
            _kill(head.pid)
        clear = client.returncode == 1 and "resume" in said
        how = "client ends; resumed" if clear else f"client ends with {client.returncode}: {said[-2000:]}"
        whole = clear and len(result.history) == EVALS
        return row("the head is killed", Faulty(folder, 0), folder / "run", marks, whole, how)


def _head(port: int) -> subprocess.Popen[str]:
    """The head of a cluster, in the foreground of a process of its own."""
    command = [str(Path(sys.executable).parent / "ray"), "start", "--head", "--block", f"--port={port}"]
    command += ["--num-cpus=2", "--node-ip-address=127.0.0.1", "--include-dashboard=false"]
    command += [f"--object-store-memory={OBJECT_STORE}"]
    head = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    while head.poll() is None:
        try:
            knock(f"127.0.0.1:{port}")
            time.sleep(3)
            return head
        except OSError:
            time.sleep(0.2)
    raise RunError(f"no head began at port {port}: is it taken?")


def _client(folder: Path, address: str) -> subprocess.Popen[str]:
    """A client that runs the objective, in a process of its own."""
    code = (
        "import sys, law_ray\nfrom pathlib import Path\nfrom experiments import faults\n"
        "from experiments.faulty import Faulty\n"
        f"try: law_ray.minimize(Faulty(Path({str(folder)!r}), 0.2), evals=faults.EVALS, address={address}, "
        f"out={str(folder / 'run')!r}, **faults.OPTIONS)\nexcept law_ray.RunError as error: sys.exit(str(error))"
    )
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)


def _kill(pid: int) -> None:
    """A process and all that it started."""
    root = psutil.Process(pid)
    for process in [root, *root.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


def second_process() -> Row:
    """Another process wants the folder of a run that goes on."""
    with tempfile.TemporaryDirectory() as name, one_node():
        objective = Faulty(Path(name), 0.2)
        refusals: list[str] = []

        def intrude() -> None:
            code = f"import law_ray.journal as j; from pathlib import Path; j.Journal(Path({name!r}) / 'run')"
            refusals.append(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr)

        found = struck("a second process takes the run folder", objective, intrude)
        assert "in use by another process" in refusals[0], refusals
        return Row(**{**asdict(found), "how": "the second is refused"})


SCENES: dict[str, Callable[[], Row]] = {
    "raises": lambda: flawed("raises what cannot be pickled", "raise"),
    **{name: lambda name=name: flawed(f"returns {name}", name) for name in RETURNS},  # type: ignore[misc]
    "exit": lambda: flawed("the process exits, once", "exit"),
    "segfault": lambda: flawed("a segmentation fault, once", "segfault"),
    "kill": lambda: flawed("the worker is killed, once", "kill worker"),
    "poison": lambda: flawed("one ordering kills every worker", "kill worker", for_ever=True),
    "hang": lambda: flawed("an evaluation hangs", "hang", timeout=3.0),
    "memory": memory_exhausted,
    "node-killed": lambda: node_lost("a node is killed", lambda cluster, node: cluster.remove_node(node, False)),
    "node-replaced": lambda: node_lost("a node is killed, another joins", replace, batch_size="auto"),
    "node-frozen": lambda: node_lost("a node freezes, or is cut off", lambda cluster, node: freeze(node)),
    "driver": lambda: flawed("the driver is killed", "kill driver"),
    "journal": journal_unwritable,
    "second": second_process,
    "client": client_and_cluster_killed,
    "head": head_killed,
}


@click.command()
@click.option("--only", type=click.Choice(list(SCENES)), help="Provoke one and print its row.")
def main(only: str | None) -> None:
    """Provoke the faults."""
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if only is not None:
        click.echo(json.dumps(asdict(SCENES[only]())))
        return
    rows = []
    for name in SCENES:
        rows.append(provoked(name))
        click.echo(f"{name}: {rows[-1]}")
    frame = pd.DataFrame(rows)
    frame.to_csv(RESULTS / "faults.csv", index=False)
    (RESULTS / "faults.md").write_text(report(frame))
    if not frame["survived"].all():
        raise click.ClickException(f"not survived: {', '.join(frame['fault'][~frame['survived']])}")


def provoked(name: str) -> dict[str, Any]:
    """The row of one fault, provoked in a process of its own within LIMIT seconds."""
    command = [sys.executable, "-m", "experiments.faults", "--only", name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            output, errors = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            _kill(process.pid)
            output, errors = "", f"no end within {LIMIT} s"
    try:
        # Ray writes to standard output as well.
        found: dict[str, Any] = json.loads([line for line in output.splitlines() if line.startswith("{")][-1])
    except (ValueError, IndexError):
        click.echo(errors, err=True)
        found = asdict(Row(name, 0, 0, 0, float("nan"), False, errors.strip().splitlines()[-1][:100]))
    return found


def report(frame: pd.DataFrame) -> str:
    """The table, in Markdown."""
    header = ["fault", "finished before", "of them lost", "made twice", "seconds", "survived", "how"]
    shown = frame.assign(survived=frame["survived"].map({True: "yes", False: "NO"}))
    return REPORT.format(machine=machine(1)) + table(header, shown.to_numpy(dtype=object).tolist(), 1)


REPORT = """# What can go wrong on a cluster

{machine} Regenerate with `python -m experiments.faults`.

Each fault strikes a run of 60 evaluations after at least 12, in rounds of four. Seconds: the longest without a result
from the fault on; an evaluation takes 0.2 s, on three nodes 0.5 s. Survived: the run ends with all its evaluations,
none that had finished is lost and none counts twice.

"""


if __name__ == "__main__":
    main()
