"""Rays to provoke faults on: one node, three nodes, or a head in a process of its own."""

import contextlib
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil

from law_ray.errors import RunError

OBJECT_STORE = 80_000_000  # bytes of each node; heuristic: close to the least that Ray accepts
QUIET: dict[str, Any] = {"logging_level": "ERROR", "log_to_driver": False}


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


def head(port: int) -> subprocess.Popen[str]:
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


@contextlib.contextmanager
def memory_of(name: str) -> Iterator[list[int]]:
    """Yield a list that gets, every half second, the bytes of the largest process below this one.

    Only processes count whose command has the name.
    """
    found: list[int] = []

    def watch() -> None:
        while not done.wait(0.5):
            sizes = [0]
            for process in psutil.Process().children(recursive=True):
                with contextlib.suppress(psutil.Error):
                    if name in "".join(process.cmdline()[:1]):
                        sizes.append(process.memory_info().rss)
            found.append(max(sizes))

    done = threading.Event()
    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield found
    finally:
        done.set()
        watching.join()


def kill(pid: int) -> None:
    """Kill a process and all processes that it started."""
    root = psutil.Process(pid)
    kill_all([root, *root.children(recursive=True)])


def kill_all(processes: list[psutil.Process]) -> None:
    """Kill those of the processes that still exist."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
