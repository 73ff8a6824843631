"""Call a function for several arguments at once, or two functions, in threads."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

from numba import get_num_threads

Argument = TypeVar("Argument")
Result = TypeVar("Result")
Other = TypeVar("Other")

_own_threads: ContextVar[int | None] = ContextVar("own_threads", default=None)
"""How many threads a call within `each` may use for calls of its own."""


def each(function: Callable[[Argument], Result], arguments: Iterable[Argument], pays: bool = True) -> list[Result]:
    """Return the function of each argument, computed by as many threads as the compiled loops use.

    A call that itself calls `each` shares them with the others.

    It helps where most of the work is done by compiled loops, matrix products and Cholesky factors, during which other
    threads can run. The function must not draw from a generator that another call draws from, nor call a loop that
    is compiled with `parallel=True`.

    Args:
        function: What to call; the results must not depend on the order of the calls.
        arguments: Of the calls.
        pays: Whether a call takes long enough, some milliseconds, for threads to pay.
    """
    arguments = list(arguments)
    available = _own_threads.get() or get_num_threads()
    n_threads = min(available, len(arguments)) if pays else 1
    if n_threads <= 1:
        return [function(argument) for argument in arguments]
    context = copy_context()  # its threads have the context of this one, and so its device
    context.run(_own_threads.set, available // n_threads)
    with ThreadPoolExecutor(n_threads) as pool:
        calls = [pool.submit(context.copy().run, function, argument) for argument in arguments]
        return [call.result() for call in calls]


def both(first: Callable[[], Result], second: Callable[[], Other]) -> tuple[Result, Other]:
    """Return the results of two functions without arguments, called at the same time as in `each`."""
    results: list[Any] = each(lambda call: call(), (first, second))
    return results[0], results[1]
