"""The Ray cluster: joining or starting one, and what it can hold."""

import logging
import math
import os
import socket

import ray

from law_ray.errors import InputError

CONNECT_TIMEOUT = 10  # seconds
OBJECT_STORE = 200_000_000  # bytes of a local cluster's object store; more if the objective needs it


def connect(address: str | None, objective_bytes: int) -> bool:
    """Join a Ray cluster, or start one here. True if it was started here."""
    if ray.is_initialized():
        return False
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if address is not None:
        try:
            _knock(address)
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


def _knock(address: str) -> None:
    """Raise OSError if nothing listens at host:port: Ray itself would go on trying for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_TIMEOUT).close()


def slots(num_cpus: float, split: int = 1) -> int:
    """How many evaluations, each of `split` tasks of `num_cpus` CPUs, the cluster can run at once, but at least 1.

    InputError if no node can ever run such a task.
    """
    nodes = [node["Resources"].get("CPU", 0.0) for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
    count: int = sum(math.floor(cpus / num_cpus + 1e-9) for cpus in nodes)
    if count == 0:
        raise InputError(
            f"an evaluation asks for {num_cpus:g} CPUs, but the largest node has {max(nodes):g}: ask for fewer"
        )
    return max(1, count // split)
