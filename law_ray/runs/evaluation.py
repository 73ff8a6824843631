"""One evaluation of an objective. Whatever the objective does, nothing is raised: a failure is an outcome."""

import inspect
import math
import sys
import traceback
from collections.abc import Callable, Sequence
from decimal import Decimal
from numbers import Real
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from law_ray.typing import IntArray
from law_ray.utils.code import installed_folders, is_users

MAX_REASON = 500
"""Characters that are kept of a failure's reason (heuristic)."""
MAX_TRACEBACK, MAX_TRACEBACK_HEAD = 4_000, 1_000
"""Characters that are kept of a failure's traceback, and how many of them at its beginning (heuristic)."""


class Outcome(NamedTuple):
    """What became of an evaluation: a finite value, or the reason why there is none."""

    value: float = math.nan
    standard_error: float = 0.0
    seconds: float = math.nan
    reason: str = ""
    traceback: str = ""
    """of what the objective raised, from the user's code on"""
    worker: str = ""
    """HOST-NODE/PID of the process that evaluated it, see `law_ray.driver.worker`; empty where none did"""
    attempts: int = 1
    """how often it was submitted"""
    printed: str = ""
    """what the objective printed, or the end of that"""


class Part(NamedTuple):
    """What one part of a split evaluation returned, or the reason why it did not."""

    value: Any = None
    seconds: float = math.nan
    reason: str = ""
    traceback: str = ""
    worker: str = ""
    printed: str = ""

    @property
    def failure(self) -> Outcome:
        """The outcome of an evaluation that failed with this part."""
        return Outcome(seconds=self.seconds, reason=self.reason, traceback=self.traceback, worker=self.worker)


def evaluate(objective: Callable[..., Any], permutation: IntArray, rng: np.random.Generator) -> Outcome:
    """Call objective(permutation) or objective(permutation, rng), see `generator_name`, and check what it returns."""
    part = _call(lambda: objective, permutation, rng)
    return part.failure if part.reason else checked(part.value, part.seconds)


def evaluate_part(objective: Any, index: int, split: int, permutation: IntArray, rng: np.random.Generator) -> Part:
    """Call one of the `objective.split(split)` parts in the same way."""
    return _call(lambda: objective.split(split)[index], permutation, rng)


def combine(objective: Any, parts: Sequence[Part]) -> Outcome:
    """Return the outcome of an evaluation from its parts, all of them or those up to one that failed.

    Its worker is that of the part that failed, else that of the slowest part; its seconds are those of the slowest.
    """
    slowest = max(parts, key=lambda part: part.seconds)
    failed = next((part for part in parts if part.reason), None)
    if failed is not None:
        outcome = failed.failure
    else:
        try:
            outcome = checked(objective.combine([part.value for part in parts]), slowest.seconds)
        except BaseException as error:
            outcome = Outcome(reason=_reason(error), traceback=traceback_of(error))
        outcome = outcome._replace(worker=slowest.worker)
    return outcome._replace(seconds=slowest.seconds, printed="".join(part.printed for part in parts))


def _call(function: Callable[[], Callable[..., Any]], permutation: IntArray, rng: np.random.Generator) -> Part:
    start, recursion = perf_counter(), sys.getrecursionlimit()
    try:
        try:
            called = function()
            takes_rng = generator_name(called) is not None
            value = called(permutation.copy(), rng) if takes_rng else called(permutation.copy())
        finally:
            sys.setrecursionlimit(recursion)  # here, since our own code may need more than the objective has left
    except BaseException as error:  # also SystemExit, and the KeyboardInterrupt of an interactive library
        return Part(seconds=perf_counter() - start, reason=_reason(error), traceback=traceback_of(error))
    return Part(value, perf_counter() - start)


def traceback_of(error: BaseException) -> str:
    """Return the traceback of an error as Python prints it, with its causes, from the user's first frame on.

    It has at most MAX_TRACEBACK characters: the beginning and the end. Without a frame of the user it begins below the
    function that caught the error. Empty for an error that Python cannot print.
    """
    try:
        installed = installed_folders()
        begin = error.__traceback__
        while begin is not None and not is_users(begin.tb_frame.f_code.co_filename, installed):
            begin = begin.tb_next
        if begin is None and error.__traceback__ is not None:
            begin = error.__traceback__.tb_next
        text = "".join(traceback.format_exception(type(error), error, begin)).rstrip()
        text = text.encode(errors="backslashreplace").decode()
    except BaseException:
        return ""
    if len(text) <= MAX_TRACEBACK:
        return text
    gap = "\n...\n"
    return text[:MAX_TRACEBACK_HEAD] + gap + text[len(gap) + MAX_TRACEBACK_HEAD - MAX_TRACEBACK :]


def _reason(error: BaseException) -> str:
    """Return the error in one line of at most MAX_REASON characters, and where in the user's code it was raised."""
    try:
        text = str(error)
    except BaseException:
        text = "it cannot be shown"
    where = _where(error)
    return _shown(f"{type(error).__name__}: {text[:MAX_REASON]}")[: MAX_REASON - len(where)] + where


def _shown(text: str) -> str:
    """Return a text in one line that any terminal can show."""
    return "".join(character if character.isprintable() else " " for character in text)


def _where(error: BaseException) -> str:
    installed = installed_folders()
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if is_users(frame.filename, installed):
            return f" ({Path(frame.filename).name[-100:]}, line {frame.lineno})"
    return ""


def generator_name(objective: Callable[..., Any]) -> str | None:
    """Return the name of the objective's parameter for a generator; None if it takes none.

    That is a second positional parameter named `rng`, or without a default.
    """
    try:
        parameters = list(inspect.signature(objective).parameters.values())
    except (TypeError, ValueError):  # some built-in callables have no signature
        return None
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    second = positional[1] if len(positional) > 1 else None
    if second is None or (second.name != "rng" and second.default is not inspect.Parameter.empty):
        return None
    return second.name


def checked(result: Any, seconds: float) -> Outcome:
    """Return the outcome of an evaluation that returned `result`: a number, or a pair (number, standard error)."""
    try:
        numbers = _numbers(result)
    except BaseException:  # a number's own code may raise anything
        numbers = None
    if numbers is None:
        reason = f"returned {_short(result)}, not a number or (number, standard error)"
        return Outcome(seconds=seconds, reason=reason)
    value, error = numbers
    if not math.isfinite(value) or not math.isfinite(error):
        return Outcome(seconds=seconds, reason=f"returned {_short(result)}, not finite")
    if error < 0:
        return Outcome(seconds=seconds, reason=f"returned {_short(result)}, whose standard error is negative")
    return Outcome(value, error, seconds)


def _numbers(result: Any) -> tuple[float, float] | None:
    """Return a value and its standard error as floats, infinite where one is too large; None if they are no numbers."""
    value, error = result if isinstance(result, tuple) and len(result) == 2 else (result, 0.0)
    value, error = (x.item() if isinstance(x, np.ndarray | np.generic) and x.size == 1 else x for x in (value, error))
    if not isinstance(value, Real | Decimal) or not isinstance(error, Real | Decimal):
        return None
    try:
        return float(value), float(error)
    except OverflowError:
        return math.inf, math.inf


def _short(result: Any) -> str:
    try:
        return _shown(repr(result)[:80])
    except BaseException:  # its own code may raise anything
        return f"a {type(result).__name__}"
