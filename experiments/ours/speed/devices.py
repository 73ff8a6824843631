"""How long do the models' algebra and a choice of law-auto take by NumPy, by torch on the CPU, and on a GPU?"""

import functools

import click
import numpy as np

from experiments.ours.speed.growing import seconds_of_a_second_ask
from experiments.ours.speed.problems import costs_of_assignments
from experiments.ours.speed.timing import median, seconds_of, table
from law_ray.kernels.distance import DistanceHyperparameters
from law_ray.models.gp import GaussianProcess
from law_ray.models.pairwise import gibbs
from law_ray.models.pairwise.chain import Chain, Kind
from law_ray.models.pairwise.gibbs import Data
from law_ray.space.permutations import sample
from law_ray.typing import FloatArray
from law_ray.utils import algebra
from law_ray.utils.algebra import CPU, Device
from law_ray.utils.seeding import generator

N_ITEMS = 30
N_VALUES = (1_000, 5_000, 20_000)
N_WARM = 50
"""Values of a first call, which is not timed: it compiles, and starts the GPU."""
N_PREDICTED = 300
"""Orderings that are predicted at once: so many moves are evaluated exactly at a step of a local search."""
N_CHOSEN = 10


def algebra_by_device() -> str:
    """Time a process, its predictions, and a sweep of a chain of the pairwise model."""
    gpu = {"torch, GPU": algebra.of_torch("cuda")} if name_of_gpu() else {}
    rows, by_numpy = [], {}
    for name, device in {"NumPy": CPU, **gpu, "torch, CPU": algebra.of_torch("cpu")}.items():
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
    """Time choices of law-auto that go on from an earlier fit, on an assignment."""
    rows = []
    for device in ("cuda", "cpu") if name_of_gpu() else ("cpu",):
        seconds_of_a_second_ask(N_ITEMS, N_WARM, N_CHOSEN, device)
        for n in N_VALUES[:-1]:
            rows.append(f"{n} | {device} | {seconds_of_a_second_ask(N_ITEMS, n, N_CHOSEN, device):.1f}")
            click.echo(rows[-1])
    title = f"Choosing {N_CHOSEN} by law-auto in a run, by device: {N_ITEMS} items"
    return table(title, "n | device | seconds", rows) + name_of_gpu()


def name_of_gpu() -> str:
    """Return a sentence about the GPU that torch finds, or nothing."""
    import torch

    return f"\nThe GPU is {torch.cuda.get_device_name()}, torch {torch.__version__}.\n" if torch.cuda.is_available() else ""
