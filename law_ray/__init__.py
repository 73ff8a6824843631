"""Batch Bayesian optimisation over permutations on Ray.

`Optimizer` proposes batches and learns from their values, without Ray; `minimize` does the whole run on a cluster.
"""

from typing import TYPE_CHECKING, Any

from law_ray.errors import InputError, RunError
from law_ray.methods import METHODS
from law_ray.optimizer import Optimizer, Trial

if TYPE_CHECKING:
    from law_ray.driver import Result, minimize, resume

__version__ = "0.1.0"
__all__ = ["METHODS", "InputError", "Optimizer", "Result", "RunError", "Trial", "minimize", "resume"]


def __getattr__(name: str) -> Any:
    if name in ("Result", "minimize", "resume"):  # importing the package must not import ray
        from law_ray import driver

        return getattr(driver, name)
    raise AttributeError(f"module 'law_ray' has no attribute {name!r}")
