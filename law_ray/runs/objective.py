"""A user's objective behind one interface: whether it has an optional attribute is decided here.

Workers call the objective itself, its `split` and its `combine` (`law_ray.runs.evaluation`).
"""

import hashlib
import inspect
import json
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import numpy as np

from law_ray.errors import InputError, RunError
from law_ray.models.prior_mean import Proxy
from law_ray.runs.evaluation import generator_name
from law_ray.runs.records import ObjectiveRecord
from law_ray.space.constraints import MAX_ITEMS, Constraints
from law_ray.space.exclusions import Key
from law_ray.space.naming import named_constraints
from law_ray.trial import Trial
from law_ray.typing import FloatArray, IntArray
from law_ray.utils.code import HOME, is_users
from law_ray.utils.seeding import generator

Evaluated = tuple[IntArray, FloatArray]
"""Orderings (m, n_items) and their values (m,)."""


SECRET = re.compile("passw|secret|token|api_?key|credential", re.IGNORECASE)
"""Names of options that say that the value is a secret."""
GENERATOR_NAMES = ("rng", "generator", "random_state", "_", "_rng")
"""Of an argument that is plainly meant for the random generator."""
ON_THE_PAGE = ("explain", "drawing", "unit", "prior_mean")
"""Attributes of an objective that the page of a run uses."""

log = logging.getLogger(__name__)


class BlackBox:
    """An objective, with defaults for what it does not have. `objectives.Objective` describes the attributes."""

    def __init__(self, objective: Any, source: dict[str, Any] | None = None) -> None:
        """Wrap an objective; `source` is the name and options by which `objectives.load` finds it again."""
        if not callable(objective):
            raise InputError(f"the objective is a {type(objective).__name__}: give a function, or a name to load")
        if inspect.isclass(objective):
            raise InputError(
                f"the objective is the class {objective.__name__}: give an instance, {objective.__name__}(...)"
            )
        self.objective = objective
        self.source = source
        qualified = getattr(objective, "__qualname__", type(objective).__qualname__)
        self.name: str = getattr(objective, "name", None) or str(qualified)
        self.item_names: list[str] | None = getattr(objective, "item_names", None)
        self.key: Key | None = getattr(objective, "key", None)
        self.prior_mean: Proxy | None = getattr(objective, "prior_mean", None)
        self.has_parts: bool = hasattr(objective, "split")
        self._explained: tuple[Any, dict[str, Any]] | None = None

    @classmethod
    def load(cls, name: str, options: Mapping[str, Any] | None = None) -> Self:
        """Load an objective by name, such as "nml:sachs" or "path/to/file.py:cost"."""
        options = dict(options or {})
        return cls(built_in().load(name, **options), {"name": name, "options": options})

    @classmethod
    def from_record(cls, record: ObjectiveRecord) -> Self:
        """Load the objective that a journal names, from the folder where the run was started.

        That runs code which the journal names, see `code_of`.
        """
        if record["source"] is None:
            raise InputError(
                f"the objective {record['name']} was given in Python: resume it with law_ray.resume(out, objective)"
            )
        here = Path.cwd()
        try:
            if Path(record["folder"]).is_dir():
                os.chdir(record["folder"])  # where relative paths and modules were found
            return cls.load(record["source"]["name"], record["source"]["options"])
        finally:
            os.chdir(here)

    def to_record(self, launch: str) -> ObjectiveRecord:
        """Return what a journal stores of the objective; `launch` identifies the start of the run."""
        options = {} if self.source is None else self.source["options"]
        if secrets := [name for name in options if SECRET.search(name)]:
            log.warning(
                "the journal keeps %s in clear: let the objective read secrets from the environment", ", ".join(secrets)
            )
        if (second := generator_name(self.objective)) not in (None, *GENERATOR_NAMES):
            log.warning(
                "the argument %r of the objective is given the random generator, and values count as noisy: "
                "name it rng, or give it a default if it is something else",
                second,
            )
        return {
            "name": self.name,
            "fingerprint": self.fingerprint,
            "code": self._code,
            "source": self.source,
            "folder": os.getcwd(),
            "launch": launch,
            "prior_mean": self.prior_mean is not None,
            "noisy": self.is_noisy,
            "tells_more": any(hasattr(self.objective, name) for name in ON_THE_PAGE),
            "item_names": None if self.item_names is None else [str(name) for name in self.item_names],
        }

    @property
    def is_noisy(self) -> bool:
        """Whether values are noisy: as the objective's `noisy` says, or else whether it takes a generator."""
        return bool(getattr(self.objective, "noisy", generator_name(self.objective) is not None))

    @property
    def fingerprint(self) -> str | None:
        """A hash of the data and options behind the values, if the objective has one."""
        found = getattr(self.objective, "fingerprint", None)
        return None if found is None else str(found)

    @property
    def _code(self) -> str | None:
        """A hash of the user's source file, None for what is installed or has no file."""
        function = getattr(self.objective, "func", self.objective)  # within a functools.partial
        module = inspect.getmodule(function if inspect.isroutine(function) else type(function))
        file = getattr(module, "__file__", None)
        if not file or not is_users(file) or not Path(file).is_file():  # "<stdin>", for example
            return None
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()

    def check_same(self, record: ObjectiveRecord, folder: Path) -> None:
        """Raise InputError unless this is the objective of a journal; warn if only its code has changed."""
        if self.name != record["name"]:
            raise InputError(
                f"{folder} is a run of another objective, {record['name']}, and this one is {self.name}: give that "
                "one, or begin a new run in another folder"
            )
        if self.fingerprint != record["fingerprint"]:
            raise InputError(
                f"{folder} is a run of another objective: the data or options of {self.name} have changed; restore "
                "them, or begin a new run in another folder"
            )
        if self._code != record.get("code", self._code):
            warnings.warn(f"the code of {self.name} has changed since the run began; old values stay", stacklevel=3)

    def n_items(self, given: int | None = None) -> int:
        """Return the number of items, from the objective or as given.

        Raises:
            InputError: The two differ, neither is given, or the objective has not one name for each item.
        """
        own: int | None = getattr(self.objective, "n_items", None)
        if given is None and own is None:
            raise InputError("n_items is not known: give the number of items to order (n_items=, or --n-items)")
        if given is not None and own is not None and given != own:
            raise InputError(f"n_items is {given}, but the objective {self.name} has {own} items")
        number = own if given is None else given
        assert number is not None
        if not isinstance(number, Integral) or not 2 <= number <= MAX_ITEMS:
            raise InputError(f"n_items is {number!r}: give an integer from 2 to {MAX_ITEMS}")
        _check_names(self.item_names, int(number))
        return int(number)

    def constraints(self, n_items: int, before: Any = (), fixed: Any = ()) -> Constraints:
        """Return the objective's constraints together with the user's, whose items may be given by name."""
        own = getattr(self.objective, "constraints", {})
        if isinstance(own, Constraints):
            own = {"before": own.before, "fixed": own.fixed}
        return named_constraints(n_items, before, fixed, self.item_names, own.get("before", ()), own.get("fixed", {}))

    def good_orderings(self, constraints: Constraints, seed: int, count: int) -> list[list[int]]:
        """Return at most `count` allowed orderings that the objective suggests to begin with (`starts`)."""
        if not hasattr(self.objective, "starts"):
            return []
        try:
            found = np.asarray(self.objective.starts(count, generator(seed, "starts", 0)), dtype=np.int64)
        except Exception as error:
            raise InputError(
                f"the objective's starts failed ({type(error).__name__}: {error}): correct them"
            ) from error
        if found.size == 0:
            return []
        identity = np.arange(constraints.n_items)
        if found.shape[1:] != identity.shape or (np.sort(found, axis=1) != identity).any():
            raise InputError(
                f"the objective's starts returned {str(found.tolist())[:80]}: return a list of orderings of "
                f"{constraints.n_items} items"
            )
        return found[constraints.allows(found)][:count].tolist()

    def explain(self, best: Trial, seed: int, evaluated: Evaluated | None = None) -> dict[str, Any]:
        """Return what the objective says of the best trial, ready for JSON, and the ordering by names if it has names.

        Empty if it says nothing. It can cost an evaluation, so the last one is kept: both the answer and the page ask.
        All orderings with a value, if given, are passed on to an objective that takes them.
        """
        asked = (best.id, best.permutation.tobytes(), seed, None if evaluated is None else len(evaluated[1]))
        if self._explained is None or self._explained[0] != asked:
            names = self.item_names
            found = {} if names is None else {"ordering": [str(names[item]) for item in best.permutation]}
            with self._failing_alone("explain"):
                if hasattr(self.objective, "explain"):
                    rng = generator(seed, "evaluate", best.id)
                    explain = self.objective.explain
                    found |= _for_json(explain(best.permutation.copy(), rng, **_evaluated(explain, evaluated)))
            self._explained = asked, found
        return dict(self._explained[1])

    def drawing(self, best: Trial) -> dict[str, Any]:
        """Return what the objective draws of the best trial, see `objectives.Objective`; empty if it draws nothing."""
        found: dict[str, Any] = {}
        with self._failing_alone("drawing"):
            if hasattr(self.objective, "drawing"):
                found = _for_json(self.objective.drawing(best.permutation.copy()))
        return found

    def write(self, best: Trial, folder: Path, evaluated: Evaluated | None = None) -> tuple[Path, ...]:
        """Let the objective write its files about the best trial into the run folder, and return their paths."""
        if not hasattr(self.objective, "write"):
            return ()
        try:
            with self._failing_alone("write", OSError):
                write = self.objective.write
                return tuple(write(best.permutation.copy(), folder, **_evaluated(write, evaluated)))
        except OSError as error:
            raise RunError(
                f"cannot write the answer to {folder} ({error.strerror or error}): correct that, then resume it"
            ) from None
        return ()

    @contextmanager
    def _failing_alone(self, name: str, *raised: type[Exception]) -> Iterator[None]:
        """Turn errors of a method that only adds to the answer into warnings, except `raised`: the run is over."""
        try:
            yield
        except raised:
            raise
        except Exception as error:
            what = f"the objective's {name} failed ({type(error).__name__}: {error})"
            warnings.warn(f"{what}, so the answer lacks it", stacklevel=4)


def _for_json(found: Any) -> Any:
    """Return what an objective says as JSON would give it back; NumPy's arrays and numbers as lists and numbers."""
    return json.loads(json.dumps(found, default=lambda each: each.tolist() if hasattr(each, "tolist") else str(each)))


def _evaluated(function: Callable[..., Any], evaluated: Evaluated | None) -> dict[str, Any]:
    """The keyword argument for a method of the objective that takes all evaluated orderings."""
    takes = evaluated is not None and "evaluated" in inspect.signature(function).parameters
    return {"evaluated": evaluated} if takes else {}


def code_of(record: ObjectiveRecord) -> str | None:
    """Return what code `BlackBox.from_record` would import, in words; None if it would import none but our own."""
    source = record["source"]
    if source is None or not built_in().is_code(source["name"]):
        return None
    options = f" with the options {', '.join(map(repr, source['options']))}" if source["options"] else ""
    return f"{source['name']!r} in {record['folder']!r}{options}"


def say_what_runs(record: ObjectiveRecord, backup: str | None) -> None:
    """Say what a journal, which may be a stranger's, makes this process import, and where it makes it write."""
    if code := code_of(record):
        log.warning("resuming runs the code that the journal names: %s", code)
    if backup is not None:
        log.warning("resuming writes the backup that the journal names: %r", backup)


def _check_names(names: Any, n_items: int) -> None:
    """Raise InputError unless `item_names` is None, or n_items different names that can be written to a file."""
    if names is None:
        return
    if not isinstance(names, Iterable) or len(texts := [str(name) for name in names]) != n_items:
        raise InputError(f"item_names is {str(names)[:80]!r}: give a list of {n_items} names, one for each item")
    if len(set(texts)) < n_items:
        twice = next(text for text in texts if texts.count(text) > 1)
        raise InputError(f"item_names has {twice[:80]!r} more than once: give each item a name of its own")
    for text in texts:
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InputError(f"item_names has {text[:80]!r}, which no file can hold: give it valid Unicode") from None


def known_objectives() -> dict[str, str]:
    """Return the forms of name that `BlackBox.load` takes, each with a line on what it is."""
    return built_in().families()


def built_in() -> ModuleType:
    """Import the package `objectives` beside `law_ray`, and nothing else of that name. Only here the library knows it.

    With `python -m`, in a script's folder and on Ray's workers, a user's own `objectives.py` comes first in sys.path.

    Raises:
        InputError: Another module of that name was imported before.
    """
    held = sys.modules.get("objectives")
    if held is None:
        sys.path.insert(0, str(HOME))
        try:
            import objectives
        finally:
            sys.path.remove(str(HOME))
        return objectives
    if not any(Path(folder).resolve() == HOME / "objectives" for folder in getattr(held, "__path__", ())):
        raise InputError(
            f"{getattr(held, '__file__', held)} hides the package objectives of law-ray, which loads objectives by "
            "their names: rename that file, or pass the function itself"
        )
    return held
