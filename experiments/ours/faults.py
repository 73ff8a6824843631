"""What happens to a run when its cluster fails? No finished evaluation is lost, and none counts twice.

`python -m experiments.ours.faults` provokes one fault after another, each in a process and on a Ray of its own, and
writes results/faults.csv and faults.md. `--only NAME` provokes one fault and prints its row as JSON. Nodes are real
processes on one machine (`ray.cluster_utils`). The evaluations sleep.
"""

import contextlib
import itertools
import json
import os
import socket
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
from experiments import RESULTS
from experiments.machine import machine
from experiments.markdown import table
from experiments.ours.faulty import RETURNS, Faulty
from law_ray.errors import RunError
from law_ray.runs import journal

LIMIT = 240  # seconds after which a fault counts as not survived; heuristic
BEFORE = 12  # evaluations that have finished when a fault strikes: the initial 10, and some of the first round
EVALS = 60
HEAD_PORT = 7379  # of the first head; the second has the next port
OBJECT_STORE = 80_000_000  # bytes of each node; heuristic: close to the least that Ray accepts
QUIET: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}
OPTIONS: dict[str, Any] = {"n_init": 10, "batch_size": 4, "method": "random", "progress": False}


@dataclass(frozen=True)
class Row:
    """What became of a run that a fault struck."""

    fault: str
    before: int
    """evaluations that had finished when the fault struck"""
    lost: int
    """how many of those are missing in the end, or have another value"""
    repeated: int
    """evaluations that were repeated although they had ended"""
    seconds: float
    """the longest time without a result after the fault struck"""
    survived: bool
    """whether the run ended with all its evaluations, none lost and none counted twice"""
    how: str
    """how the run went on, in words"""


def struck(fault: str, objective: Faulty, strike: Callable[[], None], **options: Any) -> Row:
    """Run the objective on the Ray that is running, and call `strike` when BEFORE evaluations have finished."""
    folder = objective.folder / "run"
    at_strike: dict[str, Any] = {}
    striking = threading.Thread(target=_strike, args=(folder, strike, at_strike), daemon=True)
    striking.start()
    result = law_ray.minimize(objective, evals=EVALS, out=folder, **OPTIONS | options)
    striking.join()
    failed = int((result.history["state"] == "failed").sum())
    whole = len(result.history) == EVALS and not (result.history["state"] == "pending").any()
    how = "evaluated elsewhere or again" if not failed else f"{failed} failed: {_reasons(folder)}"
    return row(fault, objective, folder, at_strike, whole, how)


def row(fault: str, objective: Faulty, folder: Path, at_strike: dict[str, Any], whole: bool, how: str) -> Row:
    """Return the row of a run that has ended; `at_strike` has the time of the fault and the values known then."""
    told = _told(folder)
    before: dict[int, float] = at_strike["told"]
    lost = sum(told.get(trial_id) != value for trial_id, value in before.items())
    twice = sum(count > 1 for count in _outcomes(folder).values())
    struck_at = objective.met_at() or at_strike["time"]
    ended = [r["time"] for r in journal.read(folder) if r["type"] in ("tell", "fail") and r["time"] > struck_at]
    seconds = round(max(b - a for a, b in itertools.pairwise([struck_at, *ended])), 1)
    return Row(fault, len(before), lost, objective.repeated(), seconds, whole and not lost and not twice, how)


def _strike(folder: Path, strike: Callable[[], None], at_strike: dict[str, Any]) -> None:
    """Wait until BEFORE evaluations have finished, note the time and the values, and strike."""
    while len(told := _told(folder)) < BEFORE:
        time.sleep(0.05)
    at_strike.update(time=time.time(), told=told)
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
    """Start a Ray with two CPUs on this machine, and stop it at the end."""
    import ray

    ray.init("local", num_cpus=2, include_dashboard=False, object_store_memory=OBJECT_STORE, **QUIET)
    try:
        yield
    finally:
        ray.shutdown()


@contextlib.contextmanager
def three_nodes() -> Iterator[Any]:
    """Start and join a cluster of three nodes with one CPU each; the driver is on the head."""
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
    """Suspend the processes of a node: to the other nodes, its link is cut."""
    for process in processes_of(node):
        process.suspend()


def processes_of(node: Any) -> list[psutil.Process]:
    """Return all processes of a node of a cluster on this machine."""
    roots = [psutil.Process(info.process.pid) for infos in node.all_processes.values() for info in infos]
    return [*roots, *(child for root in roots for child in root.children(recursive=True))]


def flawed(fault: str, flaw: str, seconds: float = 0.2, for_ever: bool = False, **options: Any) -> Row:
    """Return the row of a run on one node, one of whose evaluations meets a flaw."""
    with tempfile.TemporaryDirectory() as folder, one_node():
        objective = Faulty(Path(folder), seconds, flaw, for_ever)
        found = struck(fault, objective, objective.arm, **options)
        assert objective.met() == (2 if for_ever else 1), objective.met()
        return found


def memory_exhausted() -> Row:
    """Return the row of a run with an evaluation that takes ever more memory, where Ray allows it 2 GiB."""
    used = psutil.virtual_memory()
    threshold = (used.total - used.available + 2**31) / used.total
    os.environ.update(RAY_memory_usage_threshold=f"{threshold:.3f}", RAY_memory_monitor_refresh_ms="100")
    return flawed("an evaluation eats all memory, once", "eat memory", timeout=60.0)


def node_lost(fault: str, strike: Callable[[Any, Any], None], **options: Any) -> Row:
    """Return the row of a run on three nodes; `strike` gets the cluster and a node that runs an evaluation."""
    with tempfile.TemporaryDirectory() as folder, three_nodes() as cluster:
        objective = Faulty(Path(folder), 0.5)
        victim = cluster.list_all_nodes()[-1]

        def strike_while_busy() -> None:
            while not any("_evaluate" in argument for p in processes_of(victim) for argument in p.cmdline()[:1]):
                time.sleep(0.01)
            strike(cluster, victim)

        return struck(fault, objective, strike_while_busy, **options)


def replace(cluster: Any, node: Any) -> None:
    """Kill a node, and add another one."""
    cluster.remove_node(node, False)
    cluster.add_node(num_cpus=1, object_store_memory=OBJECT_STORE)


def journal_unwritable() -> Row:
    """Return the row of a run whose driver cannot write any more; the run says so, ends, and is resumed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        objective = Faulty(folder, 0.2, "limit journal")
        at_strike: dict[str, Any] = {}
        threading.Thread(target=_strike, args=(folder / "run", objective.arm, at_strike), daemon=True).start()
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
        client = _client(folder, "None")
        at_strike: dict[str, Any] = {}
        _strike(folder / "run", lambda: _kill(client.pid), at_strike)
        with one_node():
            result = law_ray.resume(folder / "run", Faulty(folder, 0.2), progress=False)
        whole = len(result.history) == EVALS
        return row("everything is killed", Faulty(folder, 0), folder / "run", at_strike, whole, "resumed")


def head_killed() -> Row:
    """Return the row of a run whose head is killed; the client elsewhere says so, and the run resumes on a new head."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        head = _head(HEAD_PORT)
        client = _client(folder, f"'127.0.0.1:{HEAD_PORT}'")
        at_strike: dict[str, Any] = {}
        _strike(folder / "run", lambda: _kill(head.pid), at_strike)
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
        return row("the head is killed", Faulty(folder, 0), folder / "run", at_strike, whole, how)


def _head(port: int) -> subprocess.Popen[str]:
    """Start the head of a cluster in a process of its own, and wait until it answers."""
    command = [str(Path(sys.executable).parent / "ray"), "start", "--head", "--block", f"--port={port}"]
    command += ["--num-cpus=2", "--node-ip-address=127.0.0.1", "--include-dashboard=false"]
    command += [f"--object-store-memory={OBJECT_STORE}"]
    head = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
    while head.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
            time.sleep(3)  # the port answers before the node has joined
            return head
        except OSError:
            time.sleep(0.2)
    raise RunError(f"no Ray head started on port {port}: is the port in use?")


def _client(folder: Path, address: str) -> subprocess.Popen[str]:
    """Start a client that runs the objective, in a process of its own."""
    code = (
        "import sys, law_ray\nfrom pathlib import Path\nfrom experiments.ours import faults\n"
        "from experiments.ours.faulty import Faulty\n"
        f"try: law_ray.minimize(Faulty(Path({str(folder)!r}), 0.2), evals=faults.EVALS, address={address}, "
        f"out={str(folder / 'run')!r}, **faults.OPTIONS)\nexcept law_ray.RunError as error: sys.exit(str(error))"
    )
    return subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)


def _kill(pid: int) -> None:
    """Kill a process and all processes that it started."""
    root = psutil.Process(pid)
    for process in [root, *root.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()


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
@click.option("--only", type=click.Choice(list(SCENES)), help="Provoke one fault and print its row.")
def main(only: str | None) -> None:
    """Provoke the faults, then write the report."""
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
    """Return the row of one fault, provoked in a process of its own within LIMIT seconds."""
    command = [sys.executable, "-m", "experiments.ours.faults", "--only", name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            output, errors = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            _kill(process.pid)
            output, errors = "", f"no end within {LIMIT} s"
    try:
        # Ray writes to stdout too.
        found: dict[str, Any] = json.loads([line for line in output.splitlines() if line.startswith("{")][-1])
    except (ValueError, IndexError):
        click.echo(errors, err=True)
        found = asdict(Row(name, 0, 0, 0, float("nan"), False, errors.strip().splitlines()[-1][:100]))
    return found


def report(frame: pd.DataFrame) -> str:
    """Return the report: a table with one line per fault."""
    header = ["fault", "finished before", "of them lost", "repeated", "seconds", "survived", "how"]
    shown = frame.assign(survived=frame["survived"].map({True: "yes", False: "NO"}))
    return REPORT.format(machine=machine(1)) + table(header, shown.to_numpy(dtype=object).tolist(), 1)


REPORT = """# What can go wrong on a cluster

{machine} Regenerate with `python -m experiments.ours.faults`.

Each fault strikes a run of 60 evaluations, in rounds of four, after at least 12 have finished. Repeated: evaluations
that were made again although they had ended. Seconds: the longest time without a result after the fault; an evaluation
takes 0.2 s, on three nodes 0.5 s. Survived: the run ends with all its evaluations, none that had finished is lost, and
none counts twice.

"""


if __name__ == "__main__":
    main()
