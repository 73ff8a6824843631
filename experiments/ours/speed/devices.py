"""How long does the models' algebra take by NumPy, by torch on the CPU, and by torch on a GPU?"""

import functools

import numpy as np

from experiments.ours.speed.problems import costs_of_assignments
from experiments.ours.speed.timing import median, table
from law_ray.kernels.distance import DistanceHyperparameters
from law_ray.models.gp import GaussianProcess
from law_ray.models.pairwise import gibbs
from law_ray.models.pairwise.chain import Chain, Kind
from law_ray.models.pairwise.gibbs import Data
from law_ray.space.permutations import sample
from law_ray.utils import algebra
from law_ray.utils.algebra import CPU, Device
from law_ray.utils.seeding import generator

N_ITEMS = 30
N_PREDICTED = 300
"""Orderings that are predicted at once: so many moves are evaluated exactly at a step of a local search."""


def seconds_by_device() -> str:
    """Time a process, its predictions, and a sweep of a chain of the pairwise model."""
    import torch

    sizes: dict[tuple[str, Device], tuple[int, ...]] = {
        ("NumPy", CPU): (1_000, 5_000),
        ("torch, CPU", algebra.of_torch("cpu")): (1_000, 5_000),
    }
    if torch.cuda.is_available():
        sizes["torch, GPU", algebra.of_torch("cuda")] = (1_000, 5_000, 20_000)
    rows = [
        f"{n} | {name} | {' | '.join(f'{seconds:.2f}' for seconds in seconds_of(device, n))}"
        for (name, device), numbers in sizes.items()
        for n in numbers
    ]
    header = f"n | by | factor and inverse | predicting {N_PREDICTED} | a sweep of the pairwise model"
    return table(f"The algebra of the models, by device: seconds, {N_ITEMS} items", header, rows)


def seconds_of(device: Device, n: int) -> tuple[float, float, float]:
    """Return the median seconds of the three parts of n values."""
    rng = generator(0, "devices", n)
    X, Z = sample(N_ITEMS, n, rng), sample(N_ITEMS, N_PREDICTED, rng)
    y = costs_of_assignments(N_ITEMS)(X)
    model = DistanceHyperparameters(decay=1.0, signal_variance=1.0, noise=0.1, mean=0.0)
    data = Data.of(X, (y - y.mean()) / y.std(), np.zeros(n))
    chain = Chain.start(N_ITEMS, Kind.ANY, rng)
    repeats = 1 if n > 5_000 else 3
    with algebra.on(device):
        process = GaussianProcess(X, y, model)
        factor = median(functools.partial(GaussianProcess, X, y, model), repeats)
        predict = median(functools.partial(process.predict, Z), repeats)
        advance = functools.partial(gibbs.advance, chain, data, gibbs.N_FLAT + 1, generator(0, "sweep", n))
        return factor, predict, median(advance, repeats) / (gibbs.N_FLAT + 1)
