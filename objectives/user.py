"""The user's own Python as an objective, found by module or file."""

import functools
import importlib
import importlib.util
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from law_ray.errors import InputError


def find(where: str, attribute: str) -> Any:
    """Return the object called `attribute` in a module ("package.module") or a file ("path/to/file.py").

    The file's folder, or for a module the current folder, goes to the front of sys.path. So the user's modules find
    each other now and when they are called.

    Raises:
        InputError: if there is no such file, module or object, or if importing it fails.
    """
    by_path = where.endswith(".py")
    path = Path(where)
    if by_path and not path.is_file():
        raise InputError(f"{where} does not exist: give the path of a Python file")
    root = path.resolve().parent if by_path else Path.cwd()
    if str(root) in sys.path:
        sys.path.remove(str(root))
    sys.path.insert(0, str(root))
    importlib.invalidate_caches()
    beside = Path(f"{where.replace('.', '/')}.py")
    hidden = InputError(f"{where} also names another module: give the path of your file, {beside}:{attribute}")
    if not by_path and not _exists(where):
        if beside.is_file():
            raise hidden
        raise InputError(f"objective {where}:{attribute} is unknown: no module {where} is found from here")
    try:
        module = _import_file(path.resolve()) if by_path else importlib.import_module(where)
    except (Exception, SystemExit) as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise InputError(f"importing {where} failed ({reason}): {_remedy(error, root)}") from error
    found_in = getattr(module, "__file__", None)
    if not by_path and beside.is_file() and (found_in is None or not beside.samefile(found_in)):
        raise hidden
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            own = [name for name, value in vars(module).items() if callable(value) and not name.startswith("_")]
            raise InputError(f"{where} has no {attribute!r}: choose {', '.join(own) or 'a file with a function'}")
        found = getattr(found, part)
    return found


def _remedy(error: BaseException, root: Path) -> str:
    """Say how to mend an import that failed in a user's folder, where our own name may hide a module of the user's."""
    package = __name__.partition(".")[0]
    if not isinstance(error, ImportError) or (error.name or "").partition(".")[0] != package:
        return "correct it there"
    own = next((path for path in (root / f"{package}.py", root / package) if path.exists()), None)
    return "correct it there" if own is None else f"rename {own.name}, because law-ray has a package of that name"


def _exists(module: str) -> bool:
    """Whether a dotted module can be found; looking for it imports its parent packages."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False
    except Exception:  # a parent package that fails to import is reported when the module is imported
        return True


def _import_file(path: Path) -> ModuleType:
    """Run a file as a new module, under a name that hides no other module."""
    held = getattr(sys.modules.get(path.stem), "__file__", str(path))
    name = path.stem if held == str(path) else f"{path.stem}_from_{path.parent.name}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def bind(function: Callable[..., Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    """Return the function with keyword options bound; its name and attributes, such as n_items, are kept."""
    bound = functools.partial(function, **options)
    vars(bound).update(vars(function), __name__=function.__name__, __qualname__=function.__qualname__)
    return bound
