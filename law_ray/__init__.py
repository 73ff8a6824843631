"""Batch Bayesian optimisation over permutations on Ray.

`Optimizer` proposes batches and learns from their values, without Ray. `minimize` does a whole run on a cluster,
`resume` continues one, and `load` reads one.
"""

import importlib
from typing import TYPE_CHECKING, Any

from law_ray.errors import InputError, RunError

if TYPE_CHECKING:
    from pathlib import Path

    from law_ray.driver.api import minimize, resume
    from law_ray.methods.registry import METHODS, Method
    from law_ray.optimizer import Optimizer, Trial
    from law_ray.result import Result
    from law_ray.runs.run import Run
    from law_ray.space.constraints import Constraints

__version__ = "0.1.0"
__all__ = [
    "METHODS",
    "Constraints",
    "InputError",
    "Method",
    "Optimizer",
    "Result",
    "Run",
    "RunError",
    "Trial",
    "load",
    "minimize",
    "resume",
]

# Imported when first used: objectives import this package in every worker, which needs no numba, scipy or ray.
_HOMES = {
    "Constraints": "law_ray.space.constraints",
    "METHODS": "law_ray.methods.registry",
    "Method": "law_ray.methods.registry",
    "Optimizer": "law_ray.optimizer",
    "Trial": "law_ray.optimizer",
    "Run": "law_ray.runs.run",
    "Result": "law_ray.result",
    "minimize": "law_ray.driver.api",
    "resume": "law_ray.driver.api",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'law_ray' has no attribute {name!r}")


def load(folder: "str | Path") -> "Run":
    """Read a run from its folder, without Ray, also while it goes on.

    Args:
        folder: The run folder, `Result.out` or the option `out` of `minimize`.

    Returns:
        The run: its .history, .best, .settings and .optimizer, and plots of it.

    Raises:
        InputError: The folder holds no run, or its journal is damaged.
    """
    from law_ray.runs.run import Run

    return Run.load(folder)
