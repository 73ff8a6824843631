"""The permutation flow shop: in which order to send jobs through a row of machines (Johnson 1954; Taillard 1990)."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from law_ray.compiled import compiled
from law_ray.errors import InputError
from objectives import orlib, taillard
from objectives.best_known import best_value
from objectives.contingency import IntArray
from objectives.fields import read_lines
from objectives.instances import is_path, read_instance
from objectives.problem import FloatArray, Problem


@dataclass(frozen=True, eq=False)
class FSP(Problem):
    """Order n jobs for m machines: value = the makespan C[n-1, m-1], the time when all is done, minimised.

    times: (n, m), times[job, machine] >= 0. Every machine takes the jobs in the order of the permutation, every job
    visits the machines in the order 0..m-1: C[k, machine] = max(C[k-1, machine], C[k, machine-1]) +
    times[permutation[k], machine]. Cost: O(n m), 0.5 microseconds for 30 jobs on 10 machines.
    """

    times: FloatArray

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.times.ndim != 2 or 0 in self.times.shape:
            raise InputError(f"{self.name} has processing times of shape {self.times.shape}: pass (jobs, machines)")
        if (self.times < 0).any():
            job, machine = np.argwhere(self.times < 0)[0]
            raise InputError(f"{self.name} has a negative time for job {job} on machine {machine}: correct it")

    @property
    def n_items(self) -> int:
        return len(self.times)

    def _values(self, permutations: IntArray) -> FloatArray:
        values: FloatArray = _makespans(self.times, permutations)
        return values

    def insertion_makespans(self, order: ArrayLike, job: int) -> FloatArray:
        """The makespans of an order of k other jobs with `job` at position 0..k: (k + 1,), in O(k m) altogether.

        Heads e (when a machine is done with the jobs so far) and tails q (how long the rest takes from a machine on)
        meet at the job (Taillard, European J. Operational Research 47, 1990): the makespan is max_machine f + q.
        """
        makespans: FloatArray = _insertions(self.times, np.array(order, dtype=np.int64), job)
        return makespans


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


@compiled()
def _insertions(times, order, job):  # type: ignore[no-untyped-def]
    n_machines = times.shape[1]
    tails = np.zeros((len(order) + 1, n_machines))
    for k in range(len(order) - 1, -1, -1):
        clock = 0.0
        for machine in range(n_machines - 1, -1, -1):
            clock = max(clock, tails[k + 1, machine]) + times[order[k], machine]
            tails[k, machine] = clock
    makespans = np.zeros(len(order) + 1)
    heads = np.zeros(n_machines)
    for k in range(len(order) + 1):
        clock = 0.0
        for machine in range(n_machines):
            clock = max(clock, heads[machine]) + times[job, machine]
            makespans[k] = max(makespans[k], clock + tails[k, machine])
        if k < len(order):
            clock = 0.0
            for machine in range(n_machines):
                clock = max(clock, heads[machine]) + times[order[k], machine]
                heads[machine] = clock
    return makespans


def load(source: str, instance: str | None = None) -> FSP:
    """The flow shop named ta001..ta120 or as in the OR-library, or in a file of that library's form or of Taillard's.

    instance: which one of a file with several, by its name or, in Taillard's form, its number from 1.
    """
    if is_path(source):
        path = Path(source)
        form = taillard if taillard.is_form_of(read_lines(path)) else orlib
        times = form.read_flow_shop(path, instance)
        return FSP(f"fsp:{path.stem}" + (f":{instance}" if instance else ""), None, times)
    if instance is not None:
        raise InputError(f"fsp:{source} is one instance: remove the option instance={instance}")
    if source in taillard.NAMES:
        times = taillard.generate(source)
    else:
        times = read_instance(f"fsp:{source}", orlib.FILE, lambda path: orlib.read_flow_shop(path, source))
    return FSP(f"fsp:{source}", best_value(f"fsp:{source}"), times)
