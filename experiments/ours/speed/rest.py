"""How long do a fit of the position kernel, an evaluation of a network, and a round without its evaluations take?"""

import functools
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from experiments.ours.speed.problems import as_in_a_run, lengths_of_tours
from experiments.ours.speed.timing import median, table
from law_ray.models.fit_distance import fit
from law_ray.space.permutations import sample
from law_ray.typing import FloatArray, IntArray
from law_ray.utils import threads
from law_ray.utils.seeding import generator

NETWORKS = ("sachs", "child", "insurance", "alarm")
OBJECTIVE = "import time\n\ndef wait(permutation):\n    time.sleep(0.1)\n    return float(permutation[0])\n"
"""The file of an objective that takes 0.1 s."""


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
