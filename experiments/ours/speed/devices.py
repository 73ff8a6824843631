"""How long do the models' algebra and a choice of law-auto take by NumPy, by torch on the CPU, and on a GPU?"""

import functools
import time
from importlib.util import find_spec
from unittest import mock

import click
import numpy as np

from experiments.ours.speed.problems import Objective, as_in_a_run, costs_of_assignments
from experiments.ours.speed.timing import median, seconds_of, table
from law_ray.kernels.distance import DistanceHyperparameters
from law_ray.methods import fitting
from law_ray.models.gp import GaussianProcess
from law_ray.models.pairwise import gibbs
from law_ray.models.pairwise.chain import Chain, Kind
from law_ray.models.pairwise.gibbs import Data
from law_ray.optimizer import Optimizer
from law_ray.space.permutations import sample
from law_ray.typing import FloatArray, IntArray
from law_ray.utils import algebra
from law_ray.utils.algebra import CPU, Device
from law_ray.utils.seeding import generator

N_ITEMS = 30
N_VALUES = (1_000, 5_000, 20_000)
N_WARM = 50
"""Values of a first call, which is not timed: it compiles, and starts the GPU."""
N_PREDICTED = 300
"""Orderings that are predicted at once: this many moves are evaluated exactly at a step of a local search."""
N_CHOSEN = 10


def algebra_by_device() -> str:
    """Time a process, its predictions, and a sweep of a chain of the pairwise model."""
    rows, by_numpy = list[str](), dict[int, FloatArray]()
    by = {"NumPy": CPU, "torch, GPU": algebra.of_torch("cuda"), "torch, CPU": algebra.of_torch("cpu")}
    for name, device in by.items():
        of_algebra(device, N_WARM)
        for n in N_VALUES:
            seconds, mean = of_algebra(device, n)
            difference = np.abs(mean - by_numpy.setdefault(n, mean)).max() / mean.std()
            rows.append(f"{n} | {name} | {' | '.join(f'{each:.3f}' for each in seconds)} | {difference:.0e}")
            click.echo(rows[-1])
    header = f"n | by | kernel, on the CPU | process | predicting {N_PREDICTED} | a sweep of the pairwise model"
    header += " | difference from NumPy"
    return table(f"The algebra of the models, by device: seconds, {N_ITEMS} items", header, rows) + name_of_gpu()


def of_algebra(device: Device, n: int) -> tuple[list[float], FloatArray]:
    """Return seconds for n values, by the columns of the table, and the predicted means (N_PREDICTED,)."""
    rng = generator(0, "devices", n)
    X, Z = sample(N_ITEMS, n, rng), sample(N_ITEMS, N_PREDICTED, rng)
    y = costs_of_assignments(N_ITEMS)(X)
    model = DistanceHyperparameters(decay=1.0, signal_variance=1.0, noise=0.1, mean=0.0)
    data = Data.of(X, (y - y.mean()) / y.std(), np.zeros(n))
    chain = Chain.start(N_ITEMS, Kind.ANY, rng)
    of_long = seconds_of if n == max(N_VALUES) else functools.partial(median, repeats=3)
    with algebra.on(device):
        process = GaussianProcess(X, y, model)
        advance = functools.partial(gibbs.advance, chain, data, gibbs.N_FLAT + 1, generator(0, "sweep", n))
        seconds = [
            of_long(functools.partial(process.kernel, X, X)),
            of_long(functools.partial(GaussianProcess, X, y, model)),
            median(functools.partial(process.predict, Z), 3),
            median(advance, 3) / (gibbs.N_FLAT + 1),
        ]
        return seconds, process.predict(Z)[0]


def choices_by_device() -> str:
    """Time two choices of law-auto that go on from an earlier one, with processes of several sizes on a GPU."""
    f = costs_of_assignments(N_ITEMS)
    X, y = as_in_a_run(f, N_ITEMS, max(N_VALUES) - N_CHOSEN)
    order = generator(0, "devices", len(X)).permutation(len(X))
    sizes = [(n, fitting.MAX_POINTS_OF_GPU) for n in N_VALUES] + [(max(N_VALUES), max(N_VALUES))]
    rows = []
    for n, size in sizes:
        seconds = _seconds_of_choices(f, X[order[:n]], y[order[:n]], size)
        rows.append(f"{n} | {min(n, size)} | {' | '.join(f'{each:.1f}' for each in seconds)}")
        click.echo(rows[-1])
    title = f"Choosing {N_CHOSEN} by law-auto on a GPU: {N_ITEMS} items"
    return table(title, "n | of them in the process | seconds | seconds, next", rows) + name_of_gpu()


def _seconds_of_choices(f: Objective, X: IntArray, y: FloatArray, size: int) -> list[float]:
    """Return the seconds of two choices after a first one, with processes of at most `size` values."""
    seconds = []
    optimizer = Optimizer(N_ITEMS, device="cuda")
    optimizer.add(X, y)
    with mock.patch.object(fitting, "MAX_POINTS_OF_GPU", size):
        for _ in range(3):
            begin = time.perf_counter()
            trials = optimizer.ask(N_CHOSEN)
            seconds.append(time.perf_counter() - begin)
            for trial in trials:
                optimizer.tell(trial.id, float(f(trial.permutation[None])[0]))
    return seconds[1:]


def name_of_gpu() -> str:
    """Return a sentence about the GPU that torch finds, or nothing."""
    if find_spec("torch") is None:
        return ""
    import torch

    if not torch.cuda.is_available():
        return ""
    return f"\nThe GPU is {torch.cuda.get_device_name()}, torch {torch.__version__}.\n"
