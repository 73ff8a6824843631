"""Call a function for several arguments at once in threads, or another function beside these calls."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import partial
from typing import Any, TypeVar

from numba import get_num_threads

from law_ray.utils.threads import limit_loops

Argument = TypeVar("Argument")
Result = TypeVar("Result")
Other = TypeVar("Other")

_own_threads: ContextVar[int | None] = ContextVar("own_threads", default=None)
"""How many threads a call within `each` may use for calls of its own."""


def each(function: Callable[[Argument], Result], arguments: Iterable[Argument], pays: bool = True) -> list[Result]:
    """Return the function's result for each argument, computed by as many threads as the compiled loops use.

    A call that itself calls `each` shares them with the others.

    It helps where most of the work is done by compiled loops, matrix products and Cholesky factors, during which other
    threads can run. The function must not draw from a generator that another call draws from. At most one of
    the calls may use loops that are compiled with `parallel=True`: not all of numba's threading layers allow these in
    several threads.

    Args:
        function: What to call; the results must not depend on the order of the calls.
        arguments: Of the calls.
        pays: Whether a call takes long enough, some milliseconds, for threads to pay.
    """
    arguments = list(arguments)
    available = _available()
    n_threads = min(available, len(arguments)) if pays else 1
    if n_threads <= 1:
        return [function(argument) for argument in arguments]
    context = copy_context()  # its threads have the context of this one, and so its device
    context.run(_own_threads.set, available // n_threads)
    with ThreadPoolExecutor(n_threads, initializer=limit_loops, initargs=(available // n_threads,)) as pool:
        calls = [pool.submit(context.copy().run, function, argument) for argument in arguments]
        return [call.result() for call in calls]


def beside(
    first: Callable[[], Other], function: Callable[[Argument], Result], arguments: Iterable[Argument], pays: bool = True
) -> tuple[Other, list[Result]]:
    """Return the result of `first`, and those of `each`, called at the same time.

    Where there are threads for all calls, `first` has half of them; where there are fewer, it has one, as each call.

    Args:
        first: Called without arguments.
        function: As for `each`.
        arguments: As for `each`.
        pays: Whether a call of the function takes long enough for threads to pay; else one thread makes all of them.
    """
    arguments = list(arguments)
    calls: list[Callable[[], Any]] = [first]
    if pays and _available() <= len(arguments):
        calls += [partial(function, argument) for argument in arguments]
        result, *results = each(lambda call: call(), calls)
        return result, results
    if arguments:
        calls.append(lambda: each(function, arguments, pays))
    result, *others = each(lambda call: call(), calls)
    return result, others[0] if others else []


def _available() -> int:
    return _own_threads.get() or get_num_threads()
