"""One evaluation of an objective, as a record: whatever the objective does, nothing is raised."""

import inspect
import math
import time
from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from law_ray.permutations import IntArray

MAX_REASON = 500  # characters kept of a failure's reason


class Outcome(NamedTuple):
    """What became of an evaluation: a finite value, or the reason why there is none."""

    value: float = math.nan
    standard_error: float = 0.0
    seconds: float = math.nan
    reason: str = ""


def evaluate(objective: Callable[..., Any], permutation: IntArray, rng: np.random.Generator) -> Outcome:
    """Call objective(permutation) or objective(permutation, rng), see `takes_rng`, and check what it returns."""
    arguments = (permutation.copy(), rng) if takes_rng(objective) else (permutation.copy(),)
    start = time.perf_counter()
    try:
        result = objective(*arguments)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}".replace("\n", " ")[:MAX_REASON]
        return Outcome(seconds=time.perf_counter() - start, reason=reason)
    return _checked(result)._replace(seconds=time.perf_counter() - start)


def takes_rng(objective: Callable[..., Any]) -> bool:
    """Whether the objective wants a generator: a second positional parameter named `rng`, or one without a default."""
    try:
        parameters = list(inspect.signature(objective).parameters.values())
    except (TypeError, ValueError):  # some built-in callables have no signature
        return False
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(positional) > 1 and (positional[1].name == "rng" or positional[1].default is inspect.Parameter.empty)


def _checked(result: Any) -> Outcome:
    value, error = result if isinstance(result, tuple) and len(result) == 2 else (result, 0.0)
    value, error = (x.item() if isinstance(x, np.ndarray | np.generic) and x.size == 1 else x for x in (value, error))
    if not isinstance(value, Real) or not isinstance(error, Real):
        return Outcome(reason=f"returned {_short(result)}, not a number or (number, standard error)")
    if not math.isfinite(value) or not math.isfinite(error) or error < 0:
        return Outcome(reason=f"returned {_short(result)}, not finite")
    return Outcome(float(value), float(error))


def _short(result: Any) -> str:
    try:
        return repr(result)[:80].replace("\n", " ")
    except Exception:
        return f"a {type(result).__name__}"
