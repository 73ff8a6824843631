"""The Ray cluster: joining or starting one, and what it can hold."""

import logging
import math
import os
import socket
from typing import Any

import ray
from ray._private import ray_constants

from law_ray.errors import InputError
from law_ray.settings import Settings

CONNECT_TIMEOUT = 10  # seconds
OBJECT_STORE = 200_000_000  # bytes of a local cluster's object store; more if the objective needs it


def connect(address: str | None, objective_bytes: int = 0) -> bool:
    """Join a Ray cluster, or start one here. True if it was started here."""
    if ray.is_initialized():
        return False
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    _listen_to_others(address is not None)
    if address is not None:
        try:
            knock(address)
            ray.init(address=address, logging_level=logging.ERROR)
        except (OSError, RuntimeError, ValueError) as error:
            raise InputError(
                f"no Ray cluster answers at {address} ({error}): start one with `ray start --head` or give its address"
            ) from None
        return True
    ray.init(
        address="local",  # else RAY_ADDRESS, or what an earlier cluster left behind, would be joined
        include_dashboard=False,
        object_store_memory=max(OBJECT_STORE, 4 * objective_bytes),
        logging_level=logging.ERROR,
    )
    return True


def _listen_to_others(wanted: bool) -> None:
    """Whether the processes of a Ray that is started here listen on all addresses of this machine, or on loopback.

    Ray has no option for it: it keeps to loopback where it takes a machine for one that cannot be in a cluster.
    """
    os.environ[ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR] = str(int(wanted))
    ray_constants.ENABLE_RAY_CLUSTER = wanted


def knock(address: str) -> None:
    """Raise OSError if nothing listens at host:port: Ray itself would go on trying for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_TIMEOUT).close()


def slots(settings: Settings) -> int:
    """How many evaluations the cluster can run at once, but at least 1: nodes may join and leave at any time."""
    fitting = sum(_fitting(node, settings.request) for node in alive_nodes())
    return max(1, fitting // settings.split)


def check_request(settings: Settings) -> None:
    """InputError if no node can ever run an evaluation: Ray would wait for such a node in silence."""
    nodes, request = alive_nodes(), settings.request
    if any(_fitting(node, request) for node in nodes):
        return
    for name, amount in request.items():
        largest = max(node["Resources"].get(name, 0.0) for node in nodes)
        if largest < amount:
            what = {"CPU": "CPUs", "GPU": "GPUs", "memory": "bytes of memory"}.get(name, name)
            raise InputError(
                f"an evaluation asks for {amount:g} {what}, but the largest node has {largest:g}: ask for fewer"
            )
    raise InputError(f"no node has all that an evaluation asks for, {request}: ask for less")


def alive_nodes() -> list[dict[str, Any]]:
    """Ray's records of the nodes that it believes to be alive."""
    return [node for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]


def _fitting(node: dict[str, Any], request: dict[str, float]) -> int:
    """How many tasks of this request the node holds at once."""
    return min(math.floor(node["Resources"].get(name, 0.0) / amount + 1e-9) for name, amount in request.items())
