"""Pickling an objective for workers that cannot import the user's modules."""

import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle

from law_ray.errors import InputError

OURS = ("law_ray", "objectives")  # installed on every node


def dumps(objective: Any) -> bytes:
    """Pickle an objective with the code of the user's own modules in it: what is not installed, no worker can import.

    A module that holds what cannot be pickled goes by its name. Raises InputError if that is no help either.
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


def _users_modules() -> list[ModuleType]:
    installed = [
        Path(path).resolve() for path in map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))
    ]
    found = []
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file is None or name == "__main__" or name.partition(".")[0] in OURS:
            continue
        path = Path(file).resolve()
        if not any(path.is_relative_to(folder) for folder in installed):
            found.append(module)
    return found


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
