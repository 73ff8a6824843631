"""How an objective reaches the driver and the workers, which cannot import the user's modules."""

import os
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import cloudpickle

import law_ray
import objectives
from law_ray.errors import InputError

# Installed on every node, if here perhaps as a checkout.
OUR_FOLDERS = [Path(str(package.__file__)).parent for package in (law_ray, objectives)]
PART = 64_000  # bytes


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


def parts(pickled: bytes) -> list[bytes]:
    """The bytes cut small, to be the arguments of one call.

    Ray sends up to 10 MiB of arguments of up to 100 kB with the call. What is larger it stores on this node, and where
    the node's Ray dies before this process, Ray ends this process without a word.
    """
    return [pickled[i : i + PART] for i in range(0, len(pickled), PART)]


def load_as(about: dict[str, Any]) -> Any:
    """The objective that a run record is about, loaded by its name from where the run was started."""
    from objectives import load

    if about["source"] is None:
        raise InputError(
            f"the objective {about['name']} was given in Python: resume it with law_ray.resume(out, objective)"
        )
    here = Path.cwd()
    try:
        if Path(about["folder"]).is_dir():
            os.chdir(about["folder"])  # where relative paths and modules were found
        return load(about["source"]["name"], **about["source"]["options"])
    finally:
        os.chdir(here)


def is_users(file: str) -> bool:
    """Whether a module's file is the user's own, and not part of an installed package."""
    installed = map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))
    path = Path(file).resolve()
    return not any(path.is_relative_to(Path(folder).resolve()) for folder in [*installed, *map(str, OUR_FOLDERS)])


def _users_modules() -> list[ModuleType]:
    found = [(name, module, getattr(module, "__file__", None)) for name, module in list(sys.modules.items())]
    return [module for name, module, file in found if file and name != "__main__" and is_users(file)]


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
