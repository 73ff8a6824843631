"""Which nodes have fallen silent: frozen, or cut off. Ray itself believes them to be alive for a minute or more."""

import time
from typing import Any

import ray
from ray.exceptions import RayError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from law_ray.driver.cluster import alive_nodes

PERIOD = 3.0  # seconds between two beats
SILENCE = 20.0  # seconds without a beat after which a node is silent: longer than a busy machine holds one up


class Heart:
    """Answers from a process of its own, which no evaluation can hold up."""

    def beat(self) -> None:
        """Nothing but the answer counts."""


class Pulse:
    """Keeps a heart on every other node, and knows which of those that ever beat are silent."""

    def __init__(self) -> None:
        self._here = ray.get_runtime_context().get_node_id()
        self._hearts: dict[str, Any] = {}
        self._beats: dict[str, Any] = {}  # by node: the answer that is awaited
        self._heard: dict[str, float] = {}
        self._looked = 0.0

    def silent(self) -> frozenset[str]:
        """The ids of the silent nodes that Ray believes to be alive. Looks at most once in a PERIOD."""
        now = time.monotonic()
        if now - self._looked >= PERIOD:
            self._look(now)
        return frozenset(node for node, heard in self._heard.items() if now - heard > SILENCE)

    def _look(self, now: float) -> None:
        # What held the driver up, an ask say, was no silence of the nodes.
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
        except RayError:  # the heart died and, if its node has not, will be replaced at the next look
            self._forget(node)
            return
        self._heard[node] = now
        self._beats[node] = self._hearts[node].beat.remote()

    def _forget(self, node: str) -> None:
        for known in (self._hearts, self._beats, self._heard):
            known.pop(node, None)
