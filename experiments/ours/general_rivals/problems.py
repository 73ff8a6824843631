"""The problems: the published set for small budgets, and three simulations."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.ours.held_out import LinearOrdering
from law_ray.errors import InputError
from law_ray.typing import FloatArray, IntArray
from objectives import load
from objectives.instances.fetch import FOLDER
from objectives.instances.tokens import Tokens, read_lines

REPLICATES = 30
"""Further evaluations whose mean is a noisy problem's true value (heuristic): its error is a fifth of a value's."""
PUBLISHED = Path(__file__).parent / "published.csv"
"""Mean best values after 100, 200 and 400 sequential evaluations, with standard errors.

Those of CEGO and UMM, over 20 runs, are from Irurozki and Lopez-Ibanez, "Unbalanced Mallows models for optimizing
expensive black-box permutation problems" (GECCO 2021). Those of FAT-RLS, over 10 runs, are from the data published with
Santucci and Baioletti, "A fast randomized local search for low budget optimization in black-box permutation problems".
Those of N-sgb75.01 were published with the sum of the diagonal, 590,401, which no ordering changes and which is not in
our objective: it has been subtracted.
"""


@dataclass(frozen=True)
class About:
    """What a report and the choice of methods need to know of a problem."""

    text: str
    move: str
    """the move of the local search that fits it: swap or insertion"""
    heuristics: Mapping[str, str]
    """the domain's heuristics, from their name to that of the objective's method"""


def _published(what: str, move: str) -> About:
    return About(what, move, {})


PROBLEMS: dict[str, About] = {
    **{f"qap:{name}": _published("assignment", "swap") for name in ("kra30a", "sko42", "tho30")},
    **{f"fsp:{name}": _published("flow shop", "insertion") for name in ("reC05", "reC19", "reC31")},
    **{f"lop:{name}": _published("linear ordering", "insertion") for name in ("N-p40-01", "N-p50-01", "N-sgb75.01")},
    "asteroid:15": About("in which order to visit 15 asteroids, in km/s", "insertion", {"greedy": "greedy"}),
    "line:20": About(
        "20 jobs on a simulated production line with breakdowns, in weighted hours late; noisy",
        "insertion",
        {"NEH": "insertion", "earliest due date": "earliest_due"},
    ),
    "slots:30": About(
        "which of 30 articles lies where in a simulated warehouse, in seconds per order; noisy",
        "swap",
        {"turnover": "turnover", "quadratic assignment": "assigned"},
    ),
}
"""The problems by name."""


@cache
def problem(name: str) -> Any:
    """Return one of PROBLEMS by its name."""
    family, _, source = name.partition(":")
    return LinearOrdering(name, None, _gains(source)) if family == "lop" else load(name)


def _gains(source: str) -> FloatArray:
    """Read a linear ordering problem of LOLIB from the folder of the instances: n, and the matrix row by row."""
    path = Path(os.environ.get(FOLDER, "")) / source
    if not path.is_file():
        raise InputError(f"lop:{source} is not in {FOLDER}: put LOLIB's file {source} there")
    tokens = Tokens(path, read_lines(path))
    n = tokens.size("items")
    gains = tokens.numbers(n * n, "the matrix").reshape(n, n)
    tokens.end("the matrix")
    return gains


def is_noisy(name: str) -> bool:
    """Whether an objective takes a generator, and returns a value with its standard error."""
    return name.partition(":")[0] in ("line", "slots")


def observed(name: str, permutation: IntArray, rng: np.random.Generator) -> tuple[float, float]:
    """Return the value that a method sees, and its standard error: 0 for an exact one."""
    objective = problem(name)
    return objective(permutation, rng) if is_noisy(name) else (objective(permutation), 0.0)


def truth(name: str, permutation: IntArray) -> float:
    """Return the value by which methods are compared.

    For a noisy problem that is the mean of REPLICATES evaluations with the same random numbers for all orderings, none
    of which a method has seen.
    """
    if not is_noisy(name):
        return observed(name, permutation, np.random.default_rng())[0]
    rngs = [np.random.default_rng([2026, replicate]) for replicate in range(REPLICATES)]
    return float(np.mean([observed(name, permutation, rng)[0] for rng in rngs]))


def published() -> pd.DataFrame:
    """Return the rows of PUBLISHED: problem, method, evaluations, mean, error, runs."""
    return pd.read_csv(PUBLISHED)
