"""Ask, tell, fail: the state of one optimisation. No I/O, no Ray, no global state."""

import dataclasses
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import ThreadpoolController

from law_ray import prior_mean
from law_ray.choice import ChoiceHyperparameters
from law_ray.constraints import Constraints
from law_ray.errors import InputError, UsedUpError
from law_ray.gp import AnyHyperparameters, GaussianProcess, Hyperparameters, fit
from law_ray.kernels import FloatArray
from law_ray.methods import FITS, METHODS
from law_ray.methods.state import State
from law_ray.permutations import IntArray, validate
from law_ray.prior_mean import PriorMean, Proxy, proxied
from law_ray.seeding import generator
from law_ray.taken import Key, Taken, draw_free

if TYPE_CHECKING:
    import pandas as pd

INITIAL, ADDED = 0, -1  # rounds that no model chose
MAX_POINTS = 1_500  # that the model is given: of more, the best half of so many, and others at random


@dataclass(frozen=True, eq=False)
class Trial:
    """One permutation and what became of it; a snapshot, which later tells do not change."""

    id: int
    round: int
    permutation: IntArray  # (n_items,), read-only
    state: str = "pending"  # then "told" or "failed"; "added" from the start
    value: float = math.nan
    standard_error: float = 0.0
    seconds: float = math.nan
    reason: str = ""

    def __post_init__(self) -> None:
        self.permutation.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()  # a pickle does not keep the flag


class Optimizer:
    """Batch Bayesian optimisation over the permutations of `n_items` items.

    Until `n_init` points were asked for or added, and while no value is known, batches are drawn at random, after the
    orderings `starts`, (m, n_items), m <= n_init; from then on `method` (a name in METHODS) chooses them, most from a
    Gaussian process fitted anew at each ask. `key(permutation)` declares permutations with one key to be one point,
    which is never proposed twice; without it each permutation is its own. Orderings that break the `constraints` are
    neither proposed nor accepted. `prior_mean(permutations)` foretells the (m,) values of (m, n_items) permutations: a
    cheap proxy of the objective, right but for its scale and what the values teach. It is called with thousands at
    once, and weighted as `law_ray.prior_mean` says: a useless one by nothing. Everything follows from `seed` and from
    what was told, in whatever order it was told.
    Can be pickled if `key` and `prior_mean` can.
    """

    def __init__(
        self,
        n_items: int,
        method: str = "law-auto",
        seed: int = 0,
        n_init: int = 20,
        maximize: bool = False,
        key: Key | None = None,
        constraints: Constraints | None = None,
        starts: ArrayLike = (),
        prior_mean: Proxy | None = None,
    ) -> None:
        if not isinstance(n_items, Integral) or n_items < 2:
            raise InputError(f"n_items is {n_items!r}: give an integer of at least 2")
        if method not in METHODS:
            raise InputError(f"unknown method {method!r}: choose one of {', '.join(METHODS)}")
        for name, number in (("seed", seed), ("n_init", n_init)):
            if not isinstance(number, Integral) or number < 0:
                raise InputError(f"{name} is {number!r}: give an integer of at least 0")
        self.n_items: int = int(n_items)
        self.constraints: Constraints = Constraints(self.n_items) if constraints is None else constraints
        if self.constraints.n_items != self.n_items:
            raise InputError(f"the constraints are on {self.constraints.n_items} items: give them for {self.n_items}")
        self.method: str = method
        self.seed: int = int(seed)
        self.proxy: Proxy | None = prior_mean
        if self.proxy is not None:  # a bad one is told before anything is evaluated
            proxied(self.proxy, self.constraints.sample(2, generator(self.seed, "prior mean", 0)))
        self.n_init: int = int(n_init)
        self.maximize: bool = maximize
        self.model: AnyHyperparameters | None = None  # the last fit
        self.starts: IntArray = self._validated(starts)
        if len(self.starts) > self.n_init:
            raise InputError(f"{len(self.starts)} starts do not fit an initial design (n_init) of {n_init}: enlarge it")
        self._round: int = INITIAL
        self._trials: list[Trial] = []  # by id
        self._pending_ids: set[int] = set()
        self._taken: Taken = Taken(key)

    def ask(self, batch_size: int, joining: bool = False) -> list[Trial]:
        """Propose exactly `batch_size` new points; each must be told or failed later.

        Points still pending, and failed ones, are conditioned on with their predicted mean. If `joining`, the points
        join the round of the last ask instead of making one of their own, which is how a freed worker is given work:
        LAW then chooses the next points of a batch and not the first, the acquisition's maximum. Raises UsedUpError
        when fewer points are left. Cost of a model-based ask: a fit, O(n^3), and the method's choice; of more than
        MAX_POINTS values the model is given a part, the best among them.
        """
        if not isinstance(batch_size, Integral) or batch_size < 1:
            raise InputError(f"the batch size is {batch_size!r}: give an integer of at least 1")
        left = math.factorial(self.n_items) - len(self._taken)
        if batch_size > left:
            raise UsedUpError(f"the batch size is {batch_size}, but only {left} permutations are left")
        # One thread for BLAS: its results hang on the number, and its waiting threads would hinder the compiled loops.
        with _blas().limit(limits=1, user_api="blas"):
            return self._ask(int(batch_size), self._round + (not joining))

    def _ask(self, batch_size: int, round: int) -> list[Trial]:
        initial = len(self._trials) < self.n_init
        known = [trial for trial in self._trials if trial.state in ("told", "added")]
        if initial or not known:
            permutations = self._draw(batch_size, self.starts if initial else self.starts[:0])
            return self._enter(permutations, INITIAL if initial else round)
        state = self._state(known, round)
        permutations = METHODS[self.method](state, batch_size)
        self.model = state.fitted or self.model  # only now: a refused ask leaves no trace
        return self._enter(permutations, state.round)

    def _state(self, known: list[Trial], round: int) -> State:
        X = np.array([trial.permutation for trial in known])
        y = (-1.0 if self.maximize else 1.0) * np.array([trial.value for trial in known])
        standard_errors = np.array([trial.standard_error for trial in known])

        waiting = [trial.permutation for trial in self._trials if trial.state in ("pending", "failed")]
        busy = np.array(waiting, dtype=np.int64).reshape(-1, self.n_items)

        def posterior() -> GaussianProcess:
            part = self._modelled(y)
            rng = generator(self.seed, "fit", len(self._trials))
            mean = self._prior_mean(X[part], y[part], standard_errors[part])
            unforeseen = y[part] if mean is None else y[part] - mean(X[part])
            model = FITS.get(self.method, fit)(X[part], unforeseen, rng, self.model, standard_errors[part])
            given = GaussianProcess(X[part], y[part], model, standard_errors[part], prior_mean=mean)
            return given.condition(busy) if len(busy) else given

        rng = generator(self.seed, "choose", len(self._trials))
        joining = round == self._round
        return State(X, y, standard_errors, round, self._taken, self.constraints, rng, posterior, busy, joining)

    def _prior_mean(self, X: IntArray, y: FloatArray, standard_errors: FloatArray) -> PriorMean | None:
        """Its weight hangs on the values and the last fit, so that a resumed run has the same."""
        if self.proxy is None:
            return None
        if self.model is None:
            return prior_mean.fit(self.proxy, X, y, lambda errors: errors)
        process = GaussianProcess(X, y, self.model, standard_errors)
        return prior_mean.fit(self.proxy, X, y, process.decorrelate)

    def _modelled(self, y: FloatArray) -> IntArray:
        """Which of the values the model is given, in order: a fit costs O(n^3), and an ask O(n^2) in many places."""
        if len(y) <= MAX_POINTS:
            return np.arange(len(y))
        best, others = np.split(np.argsort(y, kind="stable"), [MAX_POINTS // 2])
        rng = generator(self.seed, "model", len(self._trials))
        return np.sort(np.concatenate([best, rng.choice(others, MAX_POINTS - len(best), replace=False)]))

    def _draw(self, batch_size: int, first: IntArray) -> IntArray:
        """Those of `first` that are free, and then random permutations."""
        taken = self._taken.copy()
        chosen: list[IntArray] = []
        for permutation in first:
            if len(chosen) < batch_size and permutation not in taken:
                taken.add(permutation)
                chosen.append(permutation)
        if len(chosen) < batch_size:
            rng = generator(self.seed, "draw", len(self._trials))
            chosen.extend(draw_free(self.constraints, batch_size - len(chosen), taken, rng))
        return np.array(chosen)

    def replay(self, permutations: ArrayLike, round: int, model: dict[str, Any] | None) -> list[Trial]:
        """Enter a batch that was asked for earlier, and the model fitted for it; nothing is fitted anew."""
        if model is not None:
            self.model = ChoiceHyperparameters.of(model) if "mixture" in model else Hyperparameters(**model)
        return self._enter(self._validated(permutations), round)

    def tell(self, trial_id: int, value: float, standard_error: float | None = None, seconds: float = math.nan) -> None:
        """Report the finite value of a pending trial, its standard error if known, and the seconds it took."""
        trial = self._pending(trial_id)
        error = _finite("the standard error", 0.0 if standard_error is None else standard_error)
        if error < 0:
            raise InputError(f"the standard error of trial {trial_id} is {error}: give at least 0")
        value = _finite(f"the value of trial {trial_id}", value)
        self._end(trial, state="told", value=value, standard_error=error, seconds=seconds)

    def fail(self, trial_id: int, reason: str, seconds: float = math.nan) -> None:
        """Report that a pending trial has no value: it is never proposed again."""
        self._end(self._pending(trial_id), state="failed", reason=reason, seconds=seconds)

    def add(self, permutations: ArrayLike, values: ArrayLike) -> None:
        """Enter (m, n_items) permutations and their (m,) values that are known already; they count towards n_init."""
        rows = self._validated(permutations)
        finite = [_finite(f"value {i}", value) for i, value in enumerate(_listed("values", values))]
        if len(finite) != len(rows):
            raise InputError(f"{len(rows)} permutations were added with {len(finite)} values: give one each")
        for permutation, value in zip(rows, finite, strict=True):
            self._append(Trial(len(self._trials), ADDED, permutation, "added", value))

    @property
    def best(self) -> Trial:
        """The trial with the best value, the earliest of equals. Raises InputError when no value is known."""
        known = [trial for trial in self._trials if trial.state in ("told", "added")]
        if not known:
            raise InputError("there is no best trial: no value was told yet")
        return (max if self.maximize else min)(known, key=lambda trial: trial.value)

    @property
    def trials(self) -> Sequence[Trial]:
        """All trials by id."""
        return tuple(self._trials)

    @property
    def pending(self) -> list[Trial]:
        """The trials asked for that were neither told nor failed, by id."""
        return [self._trials[i] for i in sorted(self._pending_ids)]

    @property
    def history(self) -> "pd.DataFrame":
        """One row a trial: id round permutation value state seconds. Round 0 is the initial design, -1 were added."""
        import pandas as pd  # 0.4 s, and workers import this package

        columns: dict[str, Any] = {name: [getattr(t, name) for t in self._trials] for name in ("id", "round")}
        columns["permutation"] = [tuple(t.permutation.tolist()) for t in self._trials]
        for name in ("value", "state", "seconds"):
            columns[name] = [getattr(t, name) for t in self._trials]
        return pd.DataFrame(columns)

    def key(self, permutation: IntArray) -> Hashable:
        """What makes two permutations one point."""
        return self._taken.key(permutation)

    def _enter(self, permutations: IntArray, round: int) -> list[Trial]:
        self._round = round
        first = len(self._trials)
        for permutation in permutations:
            self._append(Trial(len(self._trials), round, permutation.copy()))
        return self._trials[first:]

    def _append(self, trial: Trial) -> None:
        self._taken.add(trial.permutation)
        self._trials.append(trial)
        if trial.state == "pending":
            self._pending_ids.add(trial.id)

    def _end(self, trial: Trial, **outcome: Any) -> None:
        self._trials[trial.id] = dataclasses.replace(trial, **outcome)
        self._pending_ids.remove(trial.id)

    def _validated(self, permutations: ArrayLike) -> IntArray:
        rows = [validate(row, self.n_items) for row in _listed("permutations", permutations)]
        for row in rows:
            if broken := self.constraints.broken_by(row):
                raise InputError(f"{row.tolist()} is not allowed: {broken}")
        return np.array(rows, dtype=np.int64).reshape(-1, self.n_items)

    def _pending(self, trial_id: int) -> Trial:
        if not isinstance(trial_id, Integral) or not 0 <= trial_id < len(self._trials):
            raise InputError(f"there is no trial {trial_id!r}: tell or fail an id that ask returned")
        trial = self._trials[int(trial_id)]
        if trial.state != "pending":
            raise InputError(f"trial {trial_id} is {trial.state} already: tell or fail each trial once")
        return trial


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def _finite(what: str, number: float) -> float:
    try:
        if isinstance(number, Real) and math.isfinite(number):
            return float(number)
    except OverflowError:  # an integer beyond the floats
        pass
    raise InputError(f"{what} is {number!r}: give a finite number")


def _listed(what: str, values: ArrayLike) -> list[Any]:
    items = values.tolist() if isinstance(values, np.ndarray) else values
    if not isinstance(items, Iterable):
        raise InputError(f"{what} is {values!r}: give a list")
    return list(items)
