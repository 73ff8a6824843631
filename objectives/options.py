"""Options of an objective: which ones it takes, and how text from a command line becomes a value."""

import inspect
from collections.abc import Callable, Collection, Mapping
from numbers import Integral
from types import NoneType
from typing import Any, get_args

import numpy as np

from law_ray.errors import InputError


def seeded(seed: int) -> np.random.Generator:
    """Return the generator of a problem that is drawn at random. Raises InputError for no whole number, or below 0."""
    if not isinstance(seed, Integral) or seed < 0:
        raise InputError(f"seed={seed!r} is no seed: give a whole number, 0 or more")
    return np.random.default_rng(int(seed))


def function_options(function: Callable[..., Any], given: Collection[str] = ()) -> dict[str, inspect.Parameter]:
    """Return the parameters that options may set: all but the permutation and the generator.

    The second parameter is taken for the generator if it is called `rng`, or has no default and is not among the names
    of the options that are given.
    """
    parameters = list(inspect.signature(function).parameters.values())[1:]
    by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if parameters and parameters[0].kind in by_position:
        second = parameters[0]
        is_generator = second.default is second.empty and second.name not in given
        parameters = parameters[1:] if second.name == "rng" or is_generator else parameters
    return {parameter.name: parameter for parameter in parameters}


def read_options(owner: str, options: Mapping[str, Any], parameters: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    """Return the options, with strings read as the types of their parameters.

    Args:
        owner: what the options belong to, for error messages.
        options: the values by name; a value that is not a string is passed on as it is.
        parameters: what may be set, by name. The type is the annotation, or that of the default if there is none.

    Raises:
        InputError: if an option is unknown or unreadable, or a parameter without a default has no option.
    """
    catch_all = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    keyword = {name: parameter for name, parameter in parameters.items() if parameter.kind not in catch_all}
    takes_any = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    for option in options:
        if option not in keyword and not takes_any:
            known = f"choose {', '.join(keyword)}" if keyword else "it takes none"
            raise InputError(f"option {option!r} of {owner} is unknown: {known}")
    missing = [name for name, each in keyword.items() if each.default is each.empty and name not in options]
    if missing:
        raise InputError(f"{owner} needs the option {missing[0]!r}: give it a value")
    return {option: _read(option, value, keyword.get(option)) for option, value in options.items()}


def _read(option: str, value: Any, parameter: inspect.Parameter | None) -> Any:
    """Return one option, read as its parameter's type if it is a string."""
    if not isinstance(value, str) or parameter is None:
        return value
    type_ = parameter.annotation
    alternatives = [each for each in get_args(type_) if each is not NoneType]
    type_ = alternatives[0] if len(alternatives) == 1 else type_  # int | None is read as int
    name = getattr(type_, "__name__", type_) if type_ is not parameter.empty else type(parameter.default).__name__
    readers: dict[Any, tuple[Callable[[str], Any], str]] = {
        "int": (int, "an integer"),
        "float": (float, "a number"),
        "bool": (lambda text: {"true": True, "false": False}[text.lower()], "true or false"),
    }
    if name not in readers:
        return value
    read, what = readers[name]
    try:
        return read(value)
    except (ValueError, KeyError):
        raise InputError(f"option {option}={value!r} is not {what}: give one") from None
