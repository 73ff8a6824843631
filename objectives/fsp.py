"""The permutation flow shop: in which order to send jobs through a row of machines (Johnson 1954; Taillard 1990)."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from law_ray.errors import InputError
from law_ray.typing import FloatArray, IntArray
from law_ray.utils.compiled import compiled
from objectives.instances import orlib, taillard
from objectives.instances.best_known import best_value
from objectives.instances.fetch import is_path, read_instance
from objectives.instances.tokens import read_lines
from objectives.problem import Problem


@dataclass(frozen=True, eq=False)
class FSP(Problem):
    """Order n jobs for m machines: value = the makespan C[n-1, m-1], the time when all jobs are done, minimised.

    times: (n, m), times[job, machine] >= 0. Every machine takes the jobs in the order of the permutation, and every job
    visits the machines in the order 0..m-1: C[k, machine] = max(C[k-1, machine], C[k, machine-1]) +
    times[permutation[k], machine]. Cost: O(n m), 0.5 microseconds for 30 jobs on 10 machines.
    """

    times: FloatArray

    def __post_init__(self) -> None:
        """Check the processing times."""
        super().__post_init__()
        if self.times.ndim != 2 or 0 in self.times.shape:
            raise InputError(f"{self.name} has processing times of shape {self.times.shape}: pass (jobs, machines)")
        if (self.times < 0).any():
            job, machine = np.argwhere(self.times < 0)[0]
            raise InputError(f"{self.name} has a negative time for job {job} on machine {machine}: correct it")

    @property
    def n_items(self) -> int:
        """The number of jobs."""
        return len(self.times)

    def _values(self, permutations: IntArray) -> FloatArray:
        values: FloatArray = _makespans(self.times, permutations)
        return values

    def drawing(self, permutation: IntArray) -> dict[str, Any]:
        """Return the schedule for the page of a run: when each job is on each machine."""
        bars: list[dict[str, Any]] = []
        done = np.zeros(self.times.shape[1])
        for job in permutation.tolist():
            clock = 0.0
            for machine, time in enumerate(self.times[job].tolist()):
                begin = max(clock, float(done[machine]))
                clock = done[machine] = begin + time
                bars.append({"job": job, "machine": machine, "begin": begin, "end": clock})
        return {"kind": "schedule", "bars": bars}


@compiled()
def _makespans(times, permutations):  # type: ignore[no-untyped-def]
    n_machines = times.shape[1]
    makespans = np.empty(len(permutations))
    done = np.empty(n_machines)
    for row in range(len(permutations)):
        done[:] = 0.0
        for job in permutations[row]:
            clock = 0.0
            for machine in range(n_machines):
                clock = max(clock, done[machine]) + times[job, machine]
                done[machine] = clock
        makespans[row] = done[-1]
    return makespans


def load(source: str, instance: str | None = None) -> FSP:
    """Return a flow shop by name, or from a file in the OR-library's or Taillard's format.

    Args:
        source: ta001..ta120, a name of the OR-library, or the path of a file.
        instance: which instance of a file that holds several: its name or, in Taillard's format, its number from 1.
    """
    if is_path(source):
        path = Path(source)
        library = taillard if taillard.is_taillard(read_lines(path)) else orlib
        times = library.read_flow_shop(path, None if instance is None else str(instance))
        return FSP(f"fsp:{path.stem}" + (f":{instance}" if instance else ""), None, times)
    if instance is not None:
        raise InputError(f"fsp:{source} is one instance: remove the option instance={instance}")
    if source in taillard.NAMES:
        times = taillard.generate(source)
    else:
        times = read_instance(f"fsp:{source}", orlib.FILE, lambda path: orlib.read_flow_shop(path, source))
    return FSP(f"fsp:{source}", best_value(f"fsp:{source}"), times)
