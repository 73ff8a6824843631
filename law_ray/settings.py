"""The resolved options of a run."""

import math
from dataclasses import dataclass

from law_ray.constraints import Constraints
from law_ray.errors import InputError
from law_ray.optimizer import Optimizer


@dataclass(frozen=True)
class Settings:
    """The resolved options of a run; a batch_size of None is "auto". Times in seconds. Checked at construction.

    Each evaluation, or each part of a split one, is given `num_cpus`, `num_gpus`, `memory` bytes and `resources`.
    `copy` is the URI where a copy of the run folder is kept.
    """

    n_items: int
    evals: int
    batch_size: int | None = None
    method: str = "law-auto"
    seed: int = 0
    n_init: int = 20
    maximize: bool = False
    mode: str = "sync"
    num_cpus: float = 1
    num_gpus: float = 0
    memory: int = 0
    resources: tuple[tuple[str, float], ...] = ()
    timeout: float | None = None
    max_time: float | None = None
    target: float | None = None
    patience: int | None = None
    threads: int = 1
    split: int = 1
    rescore: int = 20
    before: tuple[tuple[int, int], ...] = ()
    fixed: tuple[tuple[int, int], ...] = ()
    copy: str | None = None

    def __post_init__(self) -> None:
        for name in ("before", "fixed", "resources"):  # lists, where they come from a journal
            object.__setattr__(self, name, tuple(tuple(pair) for pair in getattr(self, name)))
        Optimizer(self.n_items, self.method, self.seed, self.n_init, constraints=self.constraints)  # checks those
        if self.mode not in ("sync", "async"):
            raise InputError(
                f"mode is {self.mode!r}: give sync, for batches, or async, to refill each free CPU at once"
            )
        for name, amount in (("num_gpus", self.num_gpus), ("memory", self.memory), *self.resources):
            if not (isinstance(amount, int | float) and 0 <= amount < math.inf):
                raise InputError(f"{name} is {amount!r}: give how much an evaluation needs, 0 for none")
        if not isinstance(self.rescore, int) or self.rescore < 0:
            raise InputError(f"rescore is {self.rescore!r}: give a number of evaluations, 0 for none")
        for name in ("evals", "batch_size", "patience", "threads", "split"):
            number = getattr(self, name)
            if number is not None and not (isinstance(number, int) and number >= 1):
                raise InputError(f"{name} is {number!r}: give an integer of at least 1")
        for name in ("num_cpus", "timeout", "max_time"):
            number = getattr(self, name)
            if number is not None and not (isinstance(number, int | float) and 0 < number < math.inf):
                raise InputError(f"{name} is {number!r}: give a positive number")
        if self.target is not None and not math.isfinite(self.target):
            raise InputError(f"target is {self.target!r}: give a finite number")
        if self.evals < self.n_init:
            raise InputError(f"evals is {self.evals}, less than the {self.n_init} of the initial design: give more")
        left = math.factorial(self.n_items) - self.n_init
        if self.batch_size is not None and self.batch_size > left:
            raise InputError(
                f"batch_size is {self.batch_size}, but the initial design (n_init) of {self.n_init} leaves "
                f"{max(left, 0)} of the {math.factorial(self.n_items)} permutations: give a smaller one"
            )

    @property
    def request(self) -> dict[str, float]:
        """What a task asks of a node, by Ray's names of the resources."""
        asked = {"CPU": self.num_cpus, "GPU": self.num_gpus, "memory": self.memory, **dict(self.resources)}
        return {name: amount for name, amount in asked.items() if amount}

    @property
    def constraints(self) -> Constraints:
        """On the orderings, from `before` and `fixed`."""
        return Constraints(self.n_items, self.before, self.fixed)
