"""How an objective reaches the driver and the workers, which cannot import the user's modules."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.reduction import ForkingPickler
from types import FunctionType, ModuleType
from typing import Any

import cloudpickle

from law_ray.errors import InputError
from law_ray.runs.objective import built_in
from law_ray.utils.code import installed_folders, is_users

PART = 64_000
"""Bytes of an argument."""


def dumps(objective: Any) -> bytes:
    """Pickle an objective together with the code of the user's own modules, which no worker could import.

    If one of these modules holds something that cannot be pickled, all of them are pickled by name, without their code.

    Raises:
        InputError: The objective cannot be pickled either way.
    """
    try:
        with _by_value(_users_modules()):
            return cloudpickle.dumps(objective)
    except Exception:
        try:
            return cloudpickle.dumps(objective)
        except Exception as error:
            raise InputError(
                f"the objective cannot be sent to workers, {error}: keep what cannot be pickled out of it"
            ) from None


def loads(pickled: bytes) -> Any:
    """Unpickle an objective; what it needs of the package `objectives` is not taken from a user's file of that name."""
    with suppress(InputError):
        built_in()
    ForkingPickler.reducer_override = _reduced  # type: ignore[assignment, method-assign]
    return cloudpickle.loads(pickled)


def _reduced(pickler: ForkingPickler, value: Any) -> Any:
    """Let `multiprocessing` and `concurrent.futures` pickle with its code what no import would find under its name.

    Such are the functions and classes of the user's modules that came here by `dumps`.
    """
    if not isinstance(value, FunctionType | type):
        return NotImplemented
    found: Any = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return NotImplemented if found is value else (cloudpickle.loads, (cloudpickle.dumps(value),))


def parts(pickled: bytes) -> list[bytes]:
    """Cut the bytes into small parts, to be the arguments of one call.

    Ray sends up to 10 MiB of arguments of up to 100 kB with the call. Larger ones it stores on this node; if the node's
    Ray then dies before this process, Ray ends this process without a message.
    """
    return [pickled[i : i + PART] for i in range(0, len(pickled), PART)]


def _users_modules() -> list[ModuleType]:
    installed = installed_folders()
    found = [(name, module, getattr(module, "__file__", None)) for name, module in list(sys.modules.items())]
    return [module for name, module, file in found if file and name != "__main__" and is_users(file, installed)]


@contextmanager
def _by_value(modules: list[ModuleType]) -> Iterator[None]:
    registered = []
    try:
        for module in modules:
            # An alias under another name cannot be registered, and one that the user registered stays so.
            known = module.__name__ in cloudpickle.list_registry_pickle_by_value()
            if sys.modules.get(module.__name__) is module and not known:
                cloudpickle.register_pickle_by_value(module)
                registered.append(module)
        yield
    finally:
        for module in registered:
            cloudpickle.unregister_pickle_by_value(module)
