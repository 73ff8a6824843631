"""Detects silent nodes, which are frozen or cut off. Ray takes them for alive for a minute or more."""

import time
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from law_ray.driver.children import end_children
from law_ray.driver.cluster import alive_nodes

PERIOD = 3.0
"""Seconds between two checks for heartbeats (heuristic)."""
SILENCE = 20.0
"""Seconds without a heartbeat after which a node is silent (heuristic: longer than a busy machine delays one)."""


class Heart:
    """An actor that answers from a process of its own, which no evaluation can delay."""

    def beat(self) -> None:
        """Return nothing: only the answer counts."""

    def end_children(self, mark: str) -> None:
        """End the processes on this node that an evaluation with this mark has started."""
        end_children([mark])


class Heartbeats:
    """Keeps a `Heart` on every node but this one, and knows which nodes have become silent.

    A node whose heart has never answered is not silent: its heart may still be starting.
    """

    def __init__(self) -> None:
        self._here = ray.get_runtime_context().get_node_id()
        self._hearts: dict[str, Any] = {}
        self._beats: dict[str, Any] = {}  # by node: the reference of the next answer
        self._heard: dict[str, float] = {}  # by node: the monotonic time of the last answer, in seconds
        self._looked = 0.0

    def silent(self) -> frozenset[str]:
        """Return the ids of the silent nodes that Ray takes for alive. Checks at most once in PERIOD seconds."""
        now = time.monotonic()
        if now - self._looked >= PERIOD:
            self._look(now)
        return frozenset(node for node, heard in self._heard.items() if now - heard > SILENCE)

    def end_children(self, node: str, mark: str) -> None:
        """End the processes that an evaluation with this mark has started on another node, without waiting for it."""
        if node in self._hearts:
            self._hearts[node].end_children.remote(mark)

    def _look(self, now: float) -> None:
        # While the driver itself was busy, choosing a batch for instance, no node counts as silent.
        away = now - self._looked - PERIOD if self._looked else 0.0
        self._looked = now
        nodes = {node["NodeID"] for node in alive_nodes()} - {self._here}
        for gone in self._hearts.keys() - nodes:
            self._forget(gone)
        for node in nodes - self._hearts.keys():
            there = NodeAffinitySchedulingStrategy(node, soft=False)
            self._hearts[node] = ray.remote(Heart).options(num_cpus=0, scheduling_strategy=there).remote()
            self._beats[node] = self._hearts[node].beat.remote()
        for node, beat in list(self._beats.items()):
            if node in self._heard:
                self._heard[node] += max(0.0, away)
            if ray.wait([beat], timeout=0)[0]:
                self._hear(node, beat, now)

    def _hear(self, node: str, beat: Any, now: float) -> None:
        try:
            ray.get(beat)
        except RayError:  # the heart died; if its node is still alive, the next check starts another
            self._forget(node)
            return
        self._heard[node] = now
        self._beats[node] = self._hearts[node].beat.remote()

    def _forget(self, node: str) -> None:
        for known in (self._hearts, self._beats, self._heard):
            known.pop(node, None)
