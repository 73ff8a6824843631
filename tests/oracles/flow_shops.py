"""Makespans of a flow shop when one job is inserted into an order, for heuristics that the tests run."""

import numpy as np
from numba import njit


@njit
def insertion_makespans(times, order, job):
    """Return the makespans of `order`, k jobs, with `job` at position 0..k: (k + 1,), in O(k m) altogether.

    Heads e (when a machine is done with the jobs so far) and tails q (how long the rest takes from a machine on) meet
    at the job (Taillard, European J. Operational Research 47, 1990): the makespan is max_machine f + q.
    """
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
