"""How do the seconds and the memory of law-auto's choices grow, in a run?"""

import multiprocessing
import os
import resource
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from experiments.ours.speed.problems import as_in_a_run, costs_of_assignments
from experiments.ours.speed.timing import table
from law_ray.optimizer import Optimizer
from law_ray.utils import threads

SERIES: dict[str, list[tuple[int, int, int]]] = {
    "n": [(30, n, 5) for n in (500, 1000, 2000, 5000)],
    "n_items": [(n_items, 500, 5) for n_items in (25, 50, 100, 200)],
    "B": [(48, 800, batch_size) for batch_size in (8, 32, 128, 512)],
    "all": [(100, 5000, 10)],
}
"""By what grows: (n_items, n, B)."""


def growth_in_a_run() -> str:
    """Time asks of law-auto that go on from an earlier fit, on assignments, with the memory of their process."""
    rows = []
    for name, cases in SERIES.items():
        size = earlier = np.nan
        for case in cases:
            seconds, megabytes = _alone(case)
            # Only one of the sizes grows, so their product grows as it does.
            slope = np.log(seconds / earlier) / np.log(np.prod(case) / size)
            size, earlier = float(np.prod(case)), seconds
            shown = "" if np.isnan(slope) else f"{slope:.1f}"
            rows.append(f"{name} | {' | '.join(map(str, case))} | {seconds:.1f} | {shown} | {megabytes:.0f}")
    header = "what grows | n_items | n | B | seconds | log-log slope | MB"
    return table("How choosing by law-auto grows, in a run", header, rows)


def _alone(case: tuple[int, int, int]) -> tuple[float, float]:
    """Return the seconds of an ask in a process of its own, and the largest memory of that process in megabytes."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(_measured, case, int(os.environ["OMP_NUM_THREADS"])).result()


def _measured(case: tuple[int, int, int], n_threads: int) -> tuple[float, float]:
    threads.limit(n_threads)
    return seconds_of_a_second_ask(*case), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def seconds_of_a_second_ask(n_items: int, n: int, batch_size: int, device: str = "cpu") -> float:
    """Return the seconds of an ask after n values, of which the last B came in since an ask that found the fit."""
    f = costs_of_assignments(n_items)
    X, y = as_in_a_run(f, n_items, n - batch_size)
    optimizer = Optimizer(n_items, device=device)
    optimizer.add(X, y)
    for trial in optimizer.ask(batch_size):
        optimizer.tell(trial.id, float(f(trial.permutation[None])[0]))
    start = time.perf_counter()
    optimizer.ask(batch_size)
    return time.perf_counter() - start
