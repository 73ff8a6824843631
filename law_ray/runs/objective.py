"""A user's objective behind one interface: whether it has an optional attribute is decided here.

Workers call the objective itself, its `split` and its `combine` (`law_ray.runs.evaluation`).
"""

import hashlib
import inspect
import os
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Self

import numpy as np

from law_ray.errors import InputError, RunError
from law_ray.models.prior_mean import Proxy
from law_ray.runs.evaluation import takes_rng
from law_ray.runs.records import ObjectiveRecord
from law_ray.space.constraints import Constraints
from law_ray.space.exclusions import Key
from law_ray.space.naming import Item, named_constraints
from law_ray.trial import Trial
from law_ray.utils.code import HOME, is_users
from law_ray.utils.seeding import generator


class BlackBox:
    """An objective, with defaults for what it does not have. `objectives.Objective` describes the attributes."""

    def __init__(self, objective: Any, source: dict[str, Any] | None = None) -> None:
        """Wrap an objective; `source` is the name and options by which `objectives.load` finds it again."""
        if not callable(objective):
            raise InputError(f"the objective is a {type(objective).__name__}: give a function, or a name to load")
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
        """Load the objective that a journal names, from the folder where the run was started."""
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
        return {
            "name": self.name,
            "fingerprint": self.fingerprint,
            "code": self._code,
            "source": self.source,
            "folder": os.getcwd(),
            "launch": launch,
            "prior_mean": self.prior_mean is not None,
            "noisy": self.is_noisy,
            "item_names": None if self.item_names is None else [str(name) for name in self.item_names],
        }

    @property
    def is_noisy(self) -> bool:
        """Whether values are noisy: as the objective's `noisy` says, or else whether it takes a generator."""
        return bool(getattr(self.objective, "noisy", takes_rng(self.objective)))

    @property
    def fingerprint(self) -> str | None:
        """A hash of the data and options behind the values, if the objective has one."""
        return getattr(self.objective, "fingerprint", None)

    @property
    def _code(self) -> str | None:
        """A hash of the user's source file, None for what is installed or has no file."""
        function = getattr(self.objective, "func", self.objective)  # within a functools.partial
        module = inspect.getmodule(function if inspect.isroutine(function) else type(function))
        file = getattr(module, "__file__", None)
        return hashlib.sha256(Path(file).read_bytes()).hexdigest() if file and is_users(file) else None

    def check_same(self, record: ObjectiveRecord, folder: Path) -> None:
        """Raise InputError unless this is the objective of a journal; warn if only its code has changed."""
        if self.name != record["name"]:
            raise InputError(
                f"{folder} is a run of another objective: of {record['name']}, and this one is {self.name}"
            )
        if self.fingerprint != record["fingerprint"]:
            raise InputError(f"{folder} is a run of another objective: the data or options of {self.name} have changed")
        if self._code != record.get("code"):
            warnings.warn(f"the code of {self.name} has changed since the run began; old values stay", stacklevel=3)

    def n_items(self, given: int | None = None) -> int:
        """Return the number of items, from the objective or as given. Raises InputError if they differ, or for none."""
        own: int | None = getattr(self.objective, "n_items", None)
        if given is None and own is None:
            raise InputError("n_items is not known: give it (--n-items), the number of items to order")
        if given is not None and own is not None and given != own:
            raise InputError(f"n_items is {given}, but the objective {self.name} has {own} items")
        number = own if given is None else given
        assert number is not None
        return number

    def constraints(self, n_items: int, before: Any = (), fixed: Any = ()) -> Constraints:
        """Return the objective's constraints together with the user's, whose items may be given by name."""
        own = getattr(self.objective, "constraints", {})
        pairs: list[tuple[Item, Item]] = [*own.get("before", ()), *before]
        positions = [*own.get("fixed", {}).items(), *dict(fixed).items()]
        return named_constraints(n_items, pairs, positions, self.item_names)

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
        return found[constraints.allows(found)][:count].tolist()

    def explain(self, best: Trial, seed: int) -> dict[str, Any]:
        """Return what the objective says of the best trial, ready for JSON, and the ordering by names if it has names.

        Empty if it says nothing. It can cost an evaluation, so the last one is kept: both the answer and the page ask.
        """
        asked = (best.id, best.permutation.tobytes(), seed)
        if self._explained is None or self._explained[0] != asked:
            names = self.item_names
            found = {} if names is None else {"ordering": [names[item] for item in best.permutation]}
            if hasattr(self.objective, "explain"):
                rng = generator(seed, "evaluate", best.id)
                found |= self.objective.explain(best.permutation.copy(), rng)
            self._explained = asked, found
        return dict(self._explained[1])

    def drawing(self, best: Trial) -> dict[str, Any]:
        """Return what the objective draws of the best trial, see `objectives.Objective`; empty if it draws nothing."""
        if not hasattr(self.objective, "drawing"):
            return {}
        found: dict[str, Any] = self.objective.drawing(best.permutation.copy())
        return found

    def write(self, best: Trial, folder: Path) -> tuple[Path, ...]:
        """Let the objective write its files about the best trial into the run folder, and return their paths."""
        if not hasattr(self.objective, "write"):
            return ()
        try:
            return tuple(self.objective.write(best.permutation.copy(), folder))
        except OSError as error:
            raise RunError(
                f"cannot write the answer to {folder} ({error.strerror}): correct that, then resume it"
            ) from None


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
