"""The Ray cluster: join or start one, and find out how many evaluations it can run."""

import logging
import math
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray
from ray._private import ray_constants
from ray._private import utils as ray_utils
from ray._private import worker as ray_worker

from law_ray.errors import InputError, RunError
from law_ray.runs.settings import Settings

log = logging.getLogger(__name__)

CONNECT_TIMEOUT = 10
"""Seconds for a connection to the cluster's head (heuristic)."""
OBJECT_STORE = 200_000_000
"""Bytes of a local cluster's object store, which a large objective enlarges (heuristic)."""


def connect(address: str | None, objective_bytes: int = 0) -> bool:
    """Connect this process to a Ray cluster, unless it is connected already.

    Args:
        address: The cluster to join; None to start one on this machine, or to join the one whose job this is. Not used,
            which is logged, where this process has joined another one.
        objective_bytes: The size of the pickled objective, which the object store of a new cluster must hold.

    Returns:
        Whether this call has connected: if so, the caller must call `ray.shutdown`.

    Raises:
        InputError: No cluster answers at the address.
        RunError: Ray does not start on this machine.
    """
    if ray.is_initialized():
        joined = ray.get_runtime_context().gcs_address
        if address not in (None, "auto", joined):
            log.warning("the address %s is not used: this process has joined the Ray cluster at %s", address, joined)
        return False
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ:  # in a job of a cluster, where no other Ray can be started
        address = address or "auto"
    _listen_to_others(address is not None)
    if address is not None:
        try:
            knock(address)
            ray.init(address=address, **_chatter())
        except (OSError, RuntimeError, ValueError) as error:
            raise InputError(
                f"no Ray cluster answers at {address} ({error}): start one with `ray start --head` or give its address"
            ) from None
        return True
    try:
        ray.init(
            address="local",  # otherwise Ray would join the cluster at RAY_ADDRESS, or one that runs on this machine
            include_dashboard=False,
            object_store_memory=max(OBJECT_STORE, 4 * objective_bytes),
            **_chatter(),
        )
    except Exception as error:  # Ray raises this very class when its processes are too slow, among others
        ray.shutdown()
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        raise RunError(f"Ray did not start on this machine ({what}): is it overloaded? try again") from error
    return True


def _chatter() -> dict[str, Any]:
    """Return what Ray may write to the terminal: its errors alone, unless our own logger is to say what happens."""
    wanted = logging.getLogger("law_ray").isEnabledFor(logging.INFO)
    return {"logging_level": logging.INFO if wanted else logging.ERROR, "log_to_driver": wanted}


@contextmanager
def connected(address: str | None, objective_bytes: int = 0) -> Iterator[None]:
    """Join a Ray cluster, or start one here, for as long as the context lasts; one joined before stays joined."""
    prints, set_sigterm_handler = ray_worker.print_to_stdstream, ray_utils.set_sigterm_handler
    if not ray.is_initialized():
        ray_worker.print_to_stdstream = _log_lines
        ray_utils.set_sigterm_handler = lambda handler: None  # ours stays
    try:
        joined = connect(address, objective_bytes)
        _silence_ray_on_sigterm()
        try:
            yield
        finally:
            if joined:
                ray.shutdown()
    finally:
        ray_worker.print_to_stdstream, ray_utils.set_sigterm_handler = prints, set_sigterm_handler


def _silence_ray_on_sigterm() -> None:
    """Install the handler of SIGTERM again: Ray has put one before it that prints the stack."""
    handler = signal.getsignal(signal.SIGTERM)
    if handler is not None and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)


def _log_lines(data: dict[str, Any], ignore_prefix: bool) -> None:
    """Log what Ray would print in colours to stdout: the errors of nodes, for which it has no option, and more."""
    for line in data["lines"]:
        log.info("Ray (%s): %s", data["pid"], line)


def _listen_to_others(wanted: bool) -> None:
    """Let a Ray that is started here listen on all addresses of this machine, or on the loopback address alone.

    Ray has no option for this. It uses loopback where it assumes that a machine cannot be part of a cluster.
    """
    os.environ[ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR] = str(int(wanted))
    ray_constants.ENABLE_RAY_CLUSTER = wanted


def knock(address: str) -> None:
    """Raise OSError if nothing listens at host:port. Ray itself would try for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_TIMEOUT).close()


def slots(settings: Settings) -> int:
    """Return how many evaluations the cluster can run at once, at least 1: nodes may join and leave at any time."""
    fitting = sum(_fitting(node, settings.request) for node in alive_nodes())
    return max(1, fitting // settings.split)


def check_request(settings: Settings) -> None:
    """Raise InputError if no node can run an evaluation. Ray would wait for such a node without a message."""
    nodes, request = alive_nodes(), settings.request
    if any(_fitting(node, request) for node in nodes):
        return
    for name, amount in request.items():
        largest = max(node["Resources"].get(name, 0.0) for node in nodes)
        if largest < amount:
            needs, most = (
                f"{number / 2**30:.3g} GiB of memory" if name == "memory" else f"{number:g} {name}"
                for number in (amount, largest)
            )
            raise InputError(f"an evaluation asks for {needs}, but no node has more than {most}: ask for less")
    raise InputError(f"no node has all that an evaluation asks for, {request}: ask for less")


def alive_nodes() -> list[dict[str, Any]]:
    """Return Ray's records of the nodes that it takes for alive."""
    return [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]


def _fitting(node: dict[str, Any], request: dict[str, float]) -> int:
    """Return how many tasks with this request the node can run at once."""
    return min(math.floor(node["Resources"].get(name, 0.0) / amount + 1e-9) for name, amount in request.items())
