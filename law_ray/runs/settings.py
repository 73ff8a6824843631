"""The options of a run, declared in one place: their names, defaults, checks and help.

`minimize` takes them as keywords, the command line as `--name-with-dashes`, and a journal stores the resolved ones. To
add an option, add a field to `Settings`; where its default is None, add its type to `law_ray.parameters.FORMS` too.
"""

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from law_ray.errors import InputError
from law_ray.optimizer import Optimizer
from law_ray.space.constraints import Constraints

# What the options are about, in the order in which the help shows them.
WHAT, HOW, HOW_LONG, ON_WHAT, WHERE = (
    "What to optimise",
    "How to choose",
    "How long",
    "On what machines",
    "Where to store it",
)

LEAST_AMOUNT = 0.0001
"""Of a resource: Ray counts in such units."""
MODES = ("sync", "async")
"""The values of the option `mode`."""

OPTION_OF = {"CPU": "num_cpus", "GPU": "num_gpus", "memory": "memory"}
"""Ray's names of the resources that have an option of their own."""
Check = Callable[[str, Any], None]
"""(name, value) -> None; raises InputError"""


def _require(holds: Callable[[Any], bool], remedy: str) -> Check:
    def check(name: str, value: Any) -> None:
        if not holds(value):
            raise InputError(f"{name} is {value!r}: {remedy}")

    return check


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _or_none(check: Check) -> Check:
    return lambda name, value: None if value is None else check(name, value)


_count = _require(lambda v: isinstance(v, int) and v >= 1, "give an integer of at least 1")
_flag = _require(lambda v: isinstance(v, bool), "give True or False")
_positive = _require(lambda v: _is_number(v) and 0 < v < math.inf, "give a positive number")
_amount = _require(
    lambda v: _is_number(v) and (v == 0 or LEAST_AMOUNT <= v < math.inf),
    f"give how much an evaluation needs: 0 for none, or at least {LEAST_AMOUNT}",
)
_gpus = _require(
    lambda v: _is_number(v) and (v == 0 or LEAST_AMOUNT <= v < 1 or (1 <= v < math.inf and v == int(v))),
    f"give a whole number, or a share of one GPU, at least {LEAST_AMOUNT}",
)
_method = _require(
    lambda v: isinstance(v, str), "give the name of one, see `law-ray list`; a `Method` of your own is for `Optimizer`"
)
_cpus = _require(
    lambda v: _is_number(v) and LEAST_AMOUNT <= v < math.inf,
    f"give how many an evaluation needs, at least {LEAST_AMOUNT}",
)
_finite = _require(lambda v: _is_number(v) and math.isfinite(v), "give a finite number")
_repeats = _require(lambda v: isinstance(v, int) and v >= 0, "give a number of evaluations, 0 for none")
_mode = _require(
    lambda v: v in MODES,
    "give sync, for batches, or async, to refill each free CPU at once; to maximise, set maximize=True",
)


def option(default: Any, group: str, help: str, check: Check | None = None, key: str | None = None) -> Any:
    """Declare an option.

    Args:
        default: Its default.
        group: What it is about.
        help: One sentence for `--help` and the docstring of `minimize`.
        check: Raises InputError for a value that is of no use.
        key: Its name in a journal, if that is not its own.
    """
    return field(default=default, metadata={"group": group, "help": help, "check": check, "key": key})


@dataclass(frozen=True)
class Settings:
    """The resolved options of a run, checked at construction.

    Items are given by number. Each evaluation, or each part of a split one, is given `request` of a node.
    """

    n_items: int = field(metadata={"group": None})
    maximize: bool = option(False, WHAT, "Look for the largest value instead of the smallest.", _flag)
    before: tuple[tuple[int, int], ...] = option((), WHAT, "Item a must come before item b; any number of pairs.")
    fixed: tuple[tuple[int, int], ...] = option((), WHAT, "Items that must have a position, counted from 0.")
    method: str = option("law-auto", HOW, "How to choose a batch, see `law-ray list`.", _method)
    seed: int = option(0, HOW, "The seed of all random choices.")
    n_init: int = option(20, HOW, "Points of the initial design.")
    batch_size: int | None = option(
        None,
        HOW,
        'Points of a batch, or "auto": as many as the cluster can run at once, counted each round.',
        _or_none(_count),
    )
    device: str = option(
        "cpu",
        HOW,
        "Where the models' matrices are: cpu, cuda (torch, on a GPU of the driver's node), or auto (a GPU if any).",
    )
    mode: str = option(
        "sync", HOW, "sync: in rounds; async: refill each free CPU at once, if evaluations take unequal times.", _mode
    )
    evals: int = option(
        120, HOW_LONG, "Evaluations, initial design and failures included; re-evaluations are extra.", _count
    )
    timeout: float | None = option(
        None, HOW_LONG, "Seconds after which an evaluation is stopped and has failed.", _or_none(_positive)
    )
    max_time: float | None = option(
        None, HOW_LONG, "Stop after this many seconds; what still runs is left to a resume.", _or_none(_positive)
    )
    target: float | None = option(None, HOW_LONG, "Stop at a value at least this good.", _or_none(_finite))
    patience: int | None = option(None, HOW_LONG, "Stop after N rounds without a better value.", _or_none(_count))
    reevaluations: int = option(
        20,
        HOW_LONG,
        "At most this many repeated evaluations, to find the best trial if values are noisy.",
        _repeats,
        "rescore",
    )
    num_cpus: float = option(1, ON_WHAT, "CPUs, and threads, of one evaluation.", _cpus)
    num_gpus: float = option(0, ON_WHAT, "GPUs of one evaluation.", _gpus)
    memory: int = option(0, ON_WHAT, "Bytes of memory of one evaluation.", _amount)
    resources: tuple[tuple[str, float], ...] = option((), ON_WHAT, "Custom resources of Ray that one evaluation needs.")
    split: int = option(
        1, ON_WHAT, "Tasks of that size for each evaluation, if the objective has `split` and `combine`.", _count
    )
    backup: str | None = option(
        None, WHERE, "URI (s3://, gs://, file:///) where a copy of the run folder is kept.", key="copy"
    )
    threads: int = field(default=1, metadata={"group": None, "check": _count})
    """threads of the driver's compiled loops"""

    def __post_init__(self) -> None:
        for each in dataclasses.fields(self):
            object.__setattr__(self, each.name, _plain(getattr(self, each.name)))
        Optimizer(  # checks these
            self.n_items, self.method, self.seed, self.n_init, constraints=self.constraints, device=self.device
        )
        for each in dataclasses.fields(self):
            if check := each.metadata.get("check"):
                check(each.name, getattr(self, each.name))
        for name, amount in self.resources:
            if name in OPTION_OF:
                raise InputError(f"resources has {name}: say how much an evaluation needs by {OPTION_OF[name]}")
            _amount(name, amount)
        if self.evals < self.n_init:
            raise InputError(
                f"evals is {self.evals}, less than the {self.n_init} of the initial design: raise it, or lower n_init "
                "(--n-init)"
            )
        left = math.factorial(self.n_items) - self.n_init
        if self.batch_size is not None and self.batch_size > left:
            raise InputError(
                f"batch_size is {self.batch_size}, but the initial design (n_init) of {self.n_init} leaves "
                f"{max(left, 0)} of the {math.factorial(self.n_items)} permutations: give a smaller "
                f"{'one' if left > 0 else 'n_init'}"
            )

    @property
    def request(self) -> dict[str, float]:
        """What a task asks of a node, by Ray's names of the resources."""
        asked = {"CPU": self.num_cpus, "GPU": self.num_gpus, "memory": self.memory, **dict(self.resources)}
        return {name: amount for name, amount in asked.items() if amount}

    @property
    def constraints(self) -> Constraints:
        """The constraints of `before` and `fixed`."""
        return Constraints(self.n_items, self.before, self.fixed)

    def to_record(self) -> dict[str, Any]:
        """Return the settings as a journal stores them."""
        return {key: getattr(self, name) for name, key in _journal_keys()}

    @classmethod
    def from_record(cls, record: dict[str, Any]) -> Self:
        """Return the settings that a journal stored; an older journal lacks some, which have their defaults."""
        return cls(**{name: record[key] for name, key in _journal_keys() if key in record})


def _plain(value: Any) -> Any:
    """Return a value as a journal can store it: NumPy's numbers as Python's, and lists as tuples."""
    if isinstance(value, np.generic):
        return value.item()
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


def _journal_keys() -> Iterator[tuple[str, str]]:
    for each in dataclasses.fields(Settings):
        yield each.name, each.metadata.get("key") or each.name


def options() -> "dict[str, dataclasses.Field[Any]]":
    """Return the options that a user sets, by name, each with its default, and its group and help as metadata."""
    return {each.name: each for each in dataclasses.fields(Settings) if each.metadata["group"] is not None}
