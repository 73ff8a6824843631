"""Call a function for several arguments at once, in threads."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from numba import get_num_threads

Argument = TypeVar("Argument")
Result = TypeVar("Result")


def each(function: Callable[[Argument], Result], arguments: Iterable[Argument], pays: bool = True) -> list[Result]:
    """Return the function of each argument, computed by as many threads as the compiled loops use.

    It helps where most of the work is done by compiled loops, matrix products and Cholesky factors, during which other
    threads can run. The function must not draw from a generator that another call draws from, nor call a loop that
    is compiled with `parallel=True`.

    Args:
        function: What to call; the results must not depend on the order of the calls.
        arguments: Of the calls.
        pays: Whether a call takes long enough, some milliseconds, for threads to pay.
    """
    arguments = list(arguments)
    n_threads = min(get_num_threads(), len(arguments)) if pays else 1
    if n_threads <= 1:
        return [function(argument) for argument in arguments]
    with ThreadPoolExecutor(n_threads) as pool:  # its threads have the context of this one, and so its device
        calls = [pool.submit(copy_context().run, function, argument) for argument in arguments]
        return [call.result() for call in calls]
