"""How long does choosing a batch take, and how does it grow?"""

import functools
import importlib
import time

import click
import numpy as np

from experiments.ours.speed.devices import name_of_gpu
from experiments.ours.speed.problems import as_in_a_run, costs_of_assignments, lengths_of_tours
from experiments.ours.speed.timing import median, table
from law_ray.acquisition import swap_moves
from law_ray.acquisition.landscape import Landscape
from law_ray.acquisition.local_search import climb
from law_ray.kernels.distance import POSITION_KERNEL
from law_ray.models.fit_distance import fit
from law_ray.models.gp import GaussianProcess
from law_ray.optimizer import Optimizer
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import sample
from law_ray.utils.seeding import generator

HEADER_OF_ASKS = "problem | n_items | n at the end | B | median | largest | first of all, which may compile"


def seconds_of_a_batch(n_items: int, n: int, batch_size: int, repeats: int, method: str = "law-est") -> float:
    """Return the median seconds of the first model-based ask of an optimiser that knows n tours."""
    X, y = as_in_a_run(lengths_of_tours(n_items), n_items, n)

    def ask() -> None:
        optimizer = Optimizer(n_items, method)
        optimizer.add(X, y)
        optimizer.ask(batch_size)

    return median(ask, repeats)


def batches() -> str:
    """Time the choice of a batch over a grid of sizes, by the paper's method and by the default."""
    grid = [(11, 100, 20), (29, 100, 5), (29, 500, 5), (37, 320, 20), (37, 620, 20), (48, 400, 10), (48, 800, 10)]
    rows = []
    for size in grid:
        law_est, law_auto = (
            seconds_of_a_batch(*size, repeats, method) for method, repeats in (("law-est", 3), ("law-auto", 1))
        )
        rows.append(f"{' | '.join(map(str, size))} | {law_est:.2f} | {law_auto:.2f}")
    small, large = (seconds_of_a_batch(48, 500, B, 1) for B in (10, 200))
    rows += [f"48 | 500 | 10 | {small:.2f} |", f"48 | 500 | 200 | {large:.2f} ({large / small:.1f} times) |"]
    header = "n_items | n | B | law-est | law-auto"
    return table("Choosing a batch of tours, without an earlier fit: seconds", header, rows)


def asks_in_a_run() -> str:
    """Time asks of law-auto that go on from the fit before: the first ones find it, and are not counted."""
    rows = _rows_of_asks("cpu")
    return table("Choosing a batch by law-auto in a run: seconds", HEADER_OF_ASKS, rows)


def asks_on_a_gpu() -> str:
    """Time the same asks with the matrices of the models on a GPU, and on the CPU of that machine."""
    rows = [f"{device} | {row}" for device in ("cuda", "cpu") for row in _rows_of_asks(device)]
    title = "Choosing a batch by law-auto in a run, with and without a GPU: seconds"
    return table(title, f"device | {HEADER_OF_ASKS}", rows) + name_of_gpu()


def _rows_of_asks(device: str) -> list[str]:
    rows = []
    for name, f_of, n_items, n, batch_size, n_settling in (
        ("assignment", costs_of_assignments, 22, 300, 5, 8),
        ("assignment", costs_of_assignments, 48, 700, 10, 10),
        ("tour", lengths_of_tours, 48, 700, 10, 10),
        ("assignment", costs_of_assignments, 48, 672, 128, 1),
        ("tour", lengths_of_tours, 100, 900, 10, 10),
        ("tour", lengths_of_tours, 200, 460, 10, 4),
        ("tour", lengths_of_tours, 200, 24, 2, 0),
    ):
        f = f_of(n_items)
        X, y = as_in_a_run(f, n_items, n)
        optimizer = Optimizer(n_items, device=device)
        optimizer.add(X, y)
        seconds = []
        for _ in range(n_settling + max(1, min(8, n_settling))):
            start = time.perf_counter()
            trials = optimizer.ask(batch_size)
            seconds.append(time.perf_counter() - start)
            for trial, value in zip(trials, f(np.array([trial.permutation for trial in trials])), strict=True):
                optimizer.tell(trial.id, float(value))
        counted = seconds[n_settling:]
        timings = f"{np.median(counted):.1f} | {max(counted):.1f} | {seconds[0]:.1f}"
        rows.append(f"{name} | {n_items} | {n + (len(seconds) - 1) * batch_size} | {batch_size} | {timings}")
        click.echo(rows[-1])
    return rows


def against_plain() -> str:
    """Time a search from twelve starts against the same search by the tests' oracle, which computes every formula."""
    plain_law = importlib.import_module("tests.oracles.plain_law")  # from the root of the repository
    rows = []
    for n_items, n in ((8, 50), (12, 100), (20, 100)):
        X, y = as_in_a_run(lengths_of_tours(n_items), n_items, n)
        process = GaussianProcess(X, y, fit(X, y, generator(0, "fit", 0)))
        batch, starts = sample(n_items, 1, generator(0, "batch", 0)), X[:12]
        excluded = Exclusions(permutations=X)
        landscape = Landscape(process, process.condition(batch), lambda mean, variance, given: np.log(given) - mean)
        fast = median(functools.partial(climb, landscape, starts, excluded, Constraints(n_items)))
        plain = plain_law.PlainLaw(X, process.standardize(y), process.hyperparameters)
        plain.objective = lambda A, optimum, b, p=plain: np.log(p.variance(A, b)) - p.mean(A)
        start = time.perf_counter()
        plain.climb(starts, 0.0, batch, excluded)
        slow = time.perf_counter() - start
        rows.append(f"{n_items} | {n} | {fast:.4f} | {slow:.1f} | {slow / fast:.0f}")
    return table("A search against direct formulas", "n_items | n | seconds | direct, seconds | ratio", rows)


def growth() -> str:
    """Fit the slope of log time against the log of each size, for choosing a batch and for its inner loop alone."""
    n, n_items, batch_size = (100, 200, 400, 800), (12, 24, 48, 96), (5, 10, 20, 40)
    series = {
        "n": (n, [seconds_of_a_batch(29, size, 5, 3) for size in n]),
        "n_items": (n_items, [seconds_of_a_batch(size, 200, 5, 3) for size in n_items]),
        "B": (batch_size, [seconds_of_a_batch(29, 200, size, 3) for size in batch_size]),
        "n, the inner loop alone": (n, [seconds_of_the_inner_loop(29, size) for size in n]),
        "n_items, the inner loop alone": (n_items, [seconds_of_the_inner_loop(size, 200) for size in n_items]),
    }
    rows = []
    for name, (sizes, seconds) in series.items():
        slope = np.polyfit(np.log(sizes), np.log(seconds), 1)[0]
        rows.append(f"{name} | {', '.join(map(str, sizes))} | {', '.join(f'{s:.2g}' for s in seconds)} | {slope:.2f}")
    return table("How choosing a batch scales", "what grows | sizes | seconds | log-log slope", rows)


def seconds_of_the_inner_loop(n_items: int, n: int) -> float:
    """Return the median seconds of the sums over n points that rank all the swaps of 12 climbers."""
    rng = generator(0, "scan", n_items)
    P, q = (sample(n_items, size, rng).astype(np.int32) for size in (n, 12))
    a, b = (items.astype(np.int32) for items in np.triu_indices(n_items, 1))
    distances, weights = POSITION_KERNEL.distances(q, P), rng.normal(size=(12, 3, n))
    arguments = q, np.ascontiguousarray(P.T), distances, weights, POSITION_KERNEL.correlations(n_items, 1.0), a, b
    return median(functools.partial(swap_moves.swap_sums, *arguments), 20)
