"""How long do the parts of a run take?

`python -m experiments.ours.speed` writes results/speed.md, in less than an hour on two cores. Figures are medians of
several repeats, but of law-auto without an earlier fit. The choice of a batch is timed as a whole, with the fit, the
optimum estimate and all searches. It is the first model-based ask of an optimiser, so there is no earlier fit, except
where it is in a run. The values are lengths of tours through random cities, except where a network or an assignment is
named.
"""

import functools
import importlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

from experiments import RESULTS
from experiments.machine import machine
from law_ray.acquisition import swap_moves
from law_ray.acquisition.landscape import Landscape
from law_ray.acquisition.local_search import climb
from law_ray.kernels.distance import POSITION_KERNEL
from law_ray.models.fit_distance import fit
from law_ray.models.gp import GaussianProcess
from law_ray.optimizer import Optimizer
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Exclusions
from law_ray.space.permutations import invert, sample
from law_ray.typing import FloatArray, IntArray
from law_ray.utils import threads
from law_ray.utils.seeding import generator

NETWORKS = ("sachs", "child", "insurance", "alarm")


@click.command()
@click.option(
    "--threads", "n_threads", default=len(os.sched_getaffinity(0)), show_default=True, help="How many threads to use."
)
def main(n_threads: int) -> None:
    """Measure everything, print the tables and write them to the report."""
    threads.limit(n_threads)
    title = f"# Speed\n\n{machine(n_threads)} Regenerate with `python -m experiments.ours.speed`.\n"
    click.echo(title)
    parts = [title, batches(), asks_in_a_run(), against_plain(), growth(), fits(), evaluations(), overhead()]
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "speed.md").write_text("\n".join(parts))


def table(title: str, header: str, rows: list[str]) -> str:
    """Return a section with a Markdown table, and print it."""
    lines = [
        f"## {title}\n",
        f"| {header} |",
        "|---" * (header.count("|") + 1) + "|",
        *(f"| {row} |" for row in rows),
        "",
    ]
    click.echo("\n".join(lines))
    return "\n".join(lines)


def median(call: Callable[[], Any], repeats: int = 5) -> float:
    """Return the median seconds of a call, without the first one, which may compile."""
    seconds = []
    for _ in range(repeats + 1):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds[1:]))


Objective = Callable[[IntArray], FloatArray]
"""(m, n_items) permutations -> values (m,)"""


def lengths_of_tours(n_items: int, seed: int = 0) -> Objective:
    """Return the lengths of tours through random cities as a function."""
    cities = generator(seed, "cities", n_items).random((n_items, 2))
    distances = np.linalg.norm(cities[:, None] - cities[None], axis=2)
    return lambda X: distances[X, np.roll(X, -1, axis=1)].sum(axis=1)


def costs_of_assignments(n_items: int, seed: int = 0) -> Objective:
    """Return the costs of assigning random flows to random places as a function."""
    rng = generator(seed, "assignment", n_items)
    places, flows = rng.random((n_items, 2)), rng.integers(0, 10, (n_items, n_items))
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    return lambda X: np.array([(flows * distances[np.ix_(q, q)]).sum() for q in invert(X)])


def as_in_a_run(f: Objective, n_items: int, n: int, seed: int = 0) -> tuple[IntArray, FloatArray]:
    """Return up to n distinct permutations with their values: a random half, and ends of local searches by swaps."""
    rng = generator(seed, "permutations", n_items)
    X = sample(n_items, n, rng)
    y = f(X)
    for k in range(n // 2):
        for _ in range(min(4 * k, 1500)):
            i, j = rng.choice(n_items, 2, replace=False)
            swapped = X[k].copy()
            swapped[[i, j]] = swapped[[j, i]]
            if (value := f(swapped[None])[0]) < y[k]:
                X[k], y[k] = swapped, value
    _, distinct = np.unique(X, axis=0, return_index=True)
    distinct = rng.permutation(distinct)
    return X[distinct], y[distinct]


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
        optimizer = Optimizer(n_items)
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
    header = "problem | n_items | n at the end | B | median | largest | first of all, which may compile"
    return table("Choosing a batch by law-auto in a run: seconds", header, rows)


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


def fresh_fit(X: IntArray, y: FloatArray) -> None:
    """Fit the position kernel, without an earlier fit."""
    fit(X, y, generator(0, "fit", 0))


def fits() -> str:
    """Time the fit of the position kernel."""
    rows = []
    for n in (100, 200, 400, 800):
        X, y = as_in_a_run(lengths_of_tours(29), 29, n)
        rows.append(f"{n} | {median(functools.partial(fresh_fit, X, y), 3):.3f}")
    return table("Fitting the model", "n | seconds", rows)


def evaluations() -> str:
    """Time the evaluations of each network on one thread, and the first one in the process separately."""
    from objectives import load

    rows = []
    threads_before = int(os.environ["OMP_NUM_THREADS"])
    threads.limit(1)
    for score, edges in (("nml", "score"), ("nml-uniform", "skeleton")):
        for network in NETWORKS:
            objective = load(f"nml:{network}", score=score, edges=edges)
            good = objective.starts(1, generator(0, "starts", 0))[0]
            seconds = []
            for i, permutation in enumerate([good, good, *sample(objective.n_items, 6, generator(0, "orderings", 0))]):
                start = time.perf_counter()
                objective(permutation, generator(0, "evaluate", i))
                seconds.append(time.perf_counter() - start)
            timings = f"{seconds[1]:.2f} | {np.median(seconds[2:]):.2f} | {max(seconds[2:]):.2f}"
            rows.append(f"{score}, edges={edges} | {network} | {timings} | {seconds[0]:.2f}")
    threads.limit(threads_before)
    header = "score | network | a good ordering | random, median | random, largest | first in the process"
    return table("One evaluation on one thread, with 6 random orderings: seconds", header, rows)


OBJECTIVE = "import time\n\ndef wait(permutation):\n    time.sleep(0.1)\n    return float(permutation[0])\n"


def overhead() -> str:
    """Time what a round takes besides evaluating and choosing: 40 rounds of two 0.1 s evaluations on two CPUs."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "waiting.py").write_text(OBJECTIVE)
        code = (
            "import json, ray, law_ray, waiting\n"
            "ray.init(num_cpus=2, include_dashboard=False, object_store_memory=100_000_000, logging_level='ERROR')\n"
            "options = dict(evals=90, n_init=10, batch_size=2, method='random', progress=False)\n"
            "print(json.dumps(law_ray.minimize(waiting.wait, 20, **options).seconds_evaluating))\n"
        )
        environment = {**os.environ, "RAY_AUTH_MODE": "disabled", "PYTHONPATH": folder}
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True
        )
    per_round = (float(done.stdout) - 4.5) / 41
    row = f"a round of two evaluations, without the evaluations | {per_round:.3f}"
    return table("The driver's own time", "what is timed | seconds", [row])


if __name__ == "__main__":
    main()
