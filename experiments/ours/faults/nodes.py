"""Faults of nodes: one is killed, replaced or frozen, or the head is killed."""

import contextlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

import law_ray
from experiments.ours.faults.faulty import Faulty
from experiments.ours.faults.processes import client
from experiments.ours.faults.rays import OBJECT_STORE, head, kill, kill_all, three_nodes
from experiments.ours.faults.striking import EVALS, Row, row, strike_when_due, struck

HEAD_PORT = 7379  # of the first head; the second has the next port


def freeze(node: Any) -> None:
    """Suspend the processes of a node: to the other nodes, its link is cut."""
    for process in processes_of(node):
        process.suspend()


def processes_of(node: Any) -> list[psutil.Process]:
    """Return all processes of a node of a cluster on this machine."""
    roots = [psutil.Process(info.process.pid) for infos in node.all_processes.values() for info in infos]
    return [*roots, *(child for root in roots for child in root.children(recursive=True))]


def node_lost(fault: str, strike: Callable[[Any, Any], None], **options: Any) -> Row:
    """Return the row of a run on three nodes; `strike` gets the cluster and a node that runs an evaluation."""
    with contextlib.ExitStack() as at_last, tempfile.TemporaryDirectory() as folder, three_nodes() as cluster:
        objective = Faulty(Path(folder), 0.5)
        victim = cluster.list_all_nodes()[-1]

        def strike_while_busy() -> None:
            while not any("_evaluate" in argument for p in processes_of(victim) for argument in p.cmdline()[:1]):
                time.sleep(0.01)
            at_last.callback(kill_all, processes_of(victim))  # frozen ones would outlive their cluster
            strike(cluster, victim)

        return struck(fault, objective, strike_while_busy, **options)


def replace(cluster: Any, node: Any) -> None:
    """Kill a node, and add another one."""
    cluster.remove_node(node, False)
    cluster.add_node(num_cpus=1, object_store_memory=OBJECT_STORE)


def head_killed() -> Row:
    """Return the row of a run whose head is killed; the client elsewhere says so, and the run resumes on a new head."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = head(HEAD_PORT)
        follower = client(folder, f"'127.0.0.1:{HEAD_PORT}'")
        at_strike: dict[str, Any] = {}
        strike_when_due(folder / "run", lambda: kill(first.pid), at_strike)
        said = follower.communicate(timeout=120)[1]
        second = head(HEAD_PORT + 1)
        try:
            result = law_ray.resume(
                folder / "run", Faulty(folder, 0.2), address=f"127.0.0.1:{HEAD_PORT + 1}", progress=False
            )
        finally:
            kill(second.pid)
        clear = follower.returncode == 1 and "resume" in said
        how = "client ends; resumed" if clear else f"client ends with {follower.returncode}: {said[-2000:]}"
        whole = clear and len(result.history) == EVALS
        return row("the head is killed", Faulty(folder, 0), folder / "run", at_strike, whole, how)


SCENES: dict[str, Callable[[], Row]] = {
    "node-killed": lambda: node_lost("a node is killed", lambda cluster, node: cluster.remove_node(node, False)),
    "node-replaced": lambda: node_lost("a node is killed, another joins", replace, batch_size="auto"),
    "node-frozen": lambda: node_lost("a node freezes, or is cut off", lambda cluster, node: freeze(node)),
    "head": head_killed,
}
