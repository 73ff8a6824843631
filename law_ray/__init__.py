"""Batch Bayesian optimisation over permutations on Ray.

`Optimizer` proposes batches and learns from their values, without Ray; `minimize` does the whole run on a cluster.
"""

import importlib
from typing import TYPE_CHECKING, Any

from law_ray.errors import InputError, RunError

if TYPE_CHECKING:
    from law_ray.constraints import Constraints
    from law_ray.driver import Result, minimize, resume
    from law_ray.methods import METHODS
    from law_ray.optimizer import Optimizer, Trial

__version__ = "0.1.0"
__all__ = ["METHODS", "Constraints", "InputError", "Optimizer", "Result", "RunError", "Trial", "minimize", "resume"]

# Imported when first asked for: objectives import this package in every worker, which needs no numba, scipy or ray.
_HOMES = {
    "Constraints": "law_ray.constraints",
    "METHODS": "law_ray.methods",
    "Optimizer": "law_ray.optimizer",
    "Trial": "law_ray.optimizer",
    "Result": "law_ray.driver",
    "minimize": "law_ray.driver",
    "resume": "law_ray.driver",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'law_ray' has no attribute {name!r}")
