"""A production line with set-ups, breakdowns and finite buffers, by discrete-event simulation: noisy, with due dates.

Jobs enter the line in the order of the permutation and pass all stations. A station is set up when the family of jobs
changes, breaks down while it works, and waits while the buffer behind it is full. No formula gives the expected
tardiness; a few simulated days estimate it, with an error. Some jobs must come before others.
"""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import simpy

from law_ray.errors import InputError
from law_ray.space.constraints import Constraints
from law_ray.space.permutations import validate
from law_ray.typing import BoolArray, FloatArray, IntArray
from objectives.options import seeded
from objectives.simulated import Simulated, read_size

LOGNORMAL = 0.25
"""Standard deviation of the logarithm of a processing time: a tenth to a half is usual on such lines (heuristic)."""


@dataclass(frozen=True, eq=False)
class Line(Simulated):
    """Order n jobs on a line of m stations: value = total weighted tardiness in hours, the mean of some simulated runs.

    Cost: n_replications times some 30 microseconds for each job and station.
    """

    times: FloatArray
    """(n, m) mean processing times in hours"""
    setups: FloatArray
    """(n_families, n_families, m) hours to change from a family to another; 0 within a family"""
    due: FloatArray
    """(n,) hours"""
    weights: FloatArray
    """(n,) the cost of an hour's delay"""
    uptime: FloatArray
    """(m,) mean hours of work between breakdowns, infinite for a station that never fails"""
    repair: FloatArray
    """(m,) mean hours of a repair"""
    buffer: int
    """places between two stations, at least 1"""
    before: tuple[tuple[int, int], ...]
    """pairs (a, b): job a must come before job b"""
    n_replications: int = 10
    """simulated runs of an evaluation"""
    variable: bool = True
    """whether times vary; without, and without breakdowns, the line is deterministic"""

    unit = "weighted hours late"

    @property
    def constraints(self) -> dict[str, Any]:
        """The constraints on the order."""
        return {"before": list(self.before)}

    def allows(self, permutations: IntArray) -> BoolArray:
        """Return whether each of the orders (k, n) satisfies the constraints, (k,)."""
        return Constraints(self.n_items, self.before).allows(permutations)

    def __call__(self, permutation: IntArray, rng: np.random.Generator) -> float | tuple[float, float]:
        """Return the mean tardiness of the simulated runs, and its standard error if there are several.

        Raises:
            InputError: if it is not a permutation.
        """
        order = validate(permutation, self.n_items)
        found = [self._tardiness(self.completions(order, rng)) for _ in range(self.n_replications)]
        if len(found) == 1:
            return float(found[0])
        return float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(len(found)))

    def completions(self, order: IntArray, rng: np.random.Generator) -> FloatArray:
        """Simulate the line once; return when each job (n,) leaves it, in hours."""
        environment = simpy.Environment()
        n_stations = self.times.shape[1]
        buffers = [simpy.Store(environment, capacity=self.buffer) for _ in range(n_stations - 1)]
        done = np.zeros(self.n_items)
        for station in range(n_stations):
            environment.process(self._work(environment, station, order, buffers, done, rng))
        environment.run()
        return done

    def _work(
        self,
        environment: Any,
        station: int,
        order: IntArray,
        buffers: Sequence[Any],
        done: FloatArray,
        rng: np.random.Generator,
    ) -> Generator[Any, Any, None]:
        """Let a station work through the jobs, in order; it keeps a job until the buffer behind it has a place."""
        family, left = None, self._uptime(station, rng)
        for job in order.tolist():
            if station:
                yield buffers[station - 1].get()
            own = int(self.families[job])
            work = self.times[job, station] * (rng.lognormal(-(LOGNORMAL**2) / 2, LOGNORMAL) if self.variable else 1.0)
            busy = work + (0.0 if family is None else self.setups[family, own, station])
            family = own
            while work > left:
                busy += rng.exponential(self.repair[station])
                work -= left
                left = self._uptime(station, rng)
            left -= work
            yield environment.timeout(busy)
            if station < len(buffers):
                yield buffers[station].put(job)
            else:
                done[job] = environment.now

    def _uptime(self, station: int, rng: np.random.Generator) -> float:
        mean = self.uptime[station]
        return float(rng.exponential(mean)) if np.isfinite(mean) else np.inf

    def _tardiness(self, done: FloatArray) -> FloatArray:
        """Return the tardiness (...,) of jobs that leave at times (..., n)."""
        tardiness: FloatArray = np.maximum(done - self.due, 0.0) @ self.weights
        return tardiness

    def prior_mean(self, permutations: IntArray) -> FloatArray:
        """Return the tardiness (k,) of orders (k, n) on a line without chance (`schedules`)."""
        done = np.zeros(permutations.shape)
        np.put_along_axis(done, permutations, self.schedules(permutations)[1][:, -1], axis=1)
        return self._tardiness(done)

    def schedules(self, permutations: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return when each job of orders (k, n) begins and leaves each station, on a line without chance.

        Times are the mean ones, stretched by the repairs. It is the recursion of the flow shop with buffers: a job
        leaves a station once it is finished there and the job `buffer` places before it has been taken from the buffer
        behind. Cost: n m operations on arrays (k,).

        Returns:
            Two arrays (k, m, n), in hours, by station and place in the order.
        """
        k, n = permutations.shape
        n_stations = self.times.shape[1]
        stretch = 1.0 + self.repair / self.uptime
        begins, ends = np.zeros((2, k, n_stations, n))
        for place, job in enumerate(permutations.T):
            own, before = self.families[job], self.families[permutations[:, max(place - 1, 0)]]
            for station in range(n_stations):
                ready = ends[:, station - 1, place] if station else np.zeros(k)
                free = ends[:, station, place - 1] if place else np.zeros(k)
                begins[:, station, place] = begin = np.maximum(ready, free)
                end = begin + self.setups[before, own, station] + self.times[job, station] * stretch[station]
                if station + 1 < n_stations and place >= self.buffer:
                    end = np.maximum(end, begins[:, station + 1, place - self.buffer])
                ends[:, station, place] = end
        return begins, ends

    def drawing(self, permutation: IntArray) -> dict[str, Any]:
        """Return the schedule on a line without chance, for the page of a run."""
        begins, ends = (times[0] for times in self.schedules(permutation[None]))
        bars = [
            {"job": job, "machine": station, "begin": float(begins[station, place]), "end": float(ends[station, place])}
            for place, job in enumerate(permutation.tolist())
            for station in range(len(begins))
        ]
        return {"kind": "schedule", "bars": bars}

    def earliest_due(self) -> IntArray:
        """Return the order by due dates, as far as the constraints allow."""
        order: list[int] = []
        while len(order) < self.n_items:
            free = [j for j in range(self.n_items) if j not in order and self._may_follow(order, j)]
            order.append(min(free, key=lambda job: self.due[job]))
        return np.array(order)

    def insertion(self) -> IntArray:
        """Return the order of the NEH heuristic on the line without chance.

        Jobs by their due dates enter, one after the other, the best place among those that came before (Nawaz, Enscore
        and Ham, Omega 11, 1983, there by total time).
        """
        order: list[int] = []
        waiting = self.earliest_due().tolist()
        for count, job in enumerate(waiting):
            candidates = [[*order[:k], job, *order[k:], *waiting[count + 1 :]] for k in range(count + 1)]
            array = np.array(candidates)
            array = array[self.allows(array)]
            order = array[np.argmin(self.prior_mean(array))][: count + 1].tolist()
        return np.array(order)

    def _may_follow(self, order: Sequence[int], job: int) -> bool:
        return all(first in order for first, second in self.before if second == job)

    def starts(self, count: int, rng: np.random.Generator) -> IntArray:
        """Return the orders of both heuristics, to begin with."""
        return np.array([self.insertion(), self.earliest_due()])[:count]

    def explain(self, permutation: IntArray, rng: np.random.Generator) -> dict[str, Any]:
        """Return how late the jobs are, on average of many simulated runs."""
        done = np.array([self.completions(permutation, rng) for _ in range(10 * self.n_replications)])
        late = (done > self.due).mean(axis=0)
        return {
            "expected": float(self._tardiness(done).mean()),
            "standard_error": float(self._tardiness(done).std(ddof=1) / np.sqrt(len(done))),
            "hours_until_all_are_done": float(done.max(axis=1).mean()),
            "often_late": [self.item_names[job] for job in np.argsort(-late)[:5] if late[job] > 0.0],
        }


def load(source: str, seed: int = 0, n_stations: int = 5, buffer: int = 2, n_replications: int = 10) -> Line:
    """Return a line whose times, due dates and breakdowns are drawn at random.

    Args:
        source: The number of jobs, 20 for example.
        seed: Of the data.
        n_stations: The number of stations.
        buffer: Places between two stations, at least 1.
        n_replications: Simulated runs of an evaluation.

    Raises:
        InputError: A number is too small.
    """
    n, rng = read_size("line", source, "jobs", 20), seeded(seed)
    for name, given in (("n_stations", n_stations), ("buffer", buffer), ("n_replications", n_replications)):
        if given < 1:
            raise InputError(f"{name} is {given}: give at least 1")
    times = rng.uniform(0.2, 2.0, (n, n_stations))
    n_families = max(2, n // 6)
    setups = rng.uniform(0.3, 1.5, (n_families, n_families, n_stations))
    setups[np.arange(n_families), np.arange(n_families)] = 0.0
    span = times.sum(axis=0).max() * 1.6  # about when all jobs are done
    ranks = rng.permutation(n)
    pairs = rng.integers(0, n, (n // 5, 2))
    before = {(int(a), int(b)) if ranks[a] < ranks[b] else (int(b), int(a)) for a, b in pairs if a != b}
    return Line(
        name=f"line:{source}",
        times=times,
        families=rng.integers(0, n_families, n),
        setups=setups,
        due=rng.uniform(0.15, 0.9, n) * span,
        weights=rng.integers(1, 6, n).astype(float),
        uptime=rng.uniform(8.0, 20.0, n_stations),
        repair=rng.uniform(0.5, 2.0, n_stations),
        buffer=buffer,
        before=tuple(sorted(before)),
        n_replications=n_replications,
    )
