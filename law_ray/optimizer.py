"""Ask, tell, fail: the state of one optimisation. No I/O, no Ray, no global state."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import ThreadpoolController

from law_ray.errors import InputError, UsedUpError
from law_ray.kernels.protocol import Hyperparameters
from law_ray.ledger import Ledger
from law_ray.methods.context import BatchContext
from law_ray.methods.fitting import fitted
from law_ray.methods.registry import METHODS, Method
from law_ray.models.prior_mean import Proxy, evaluate_proxy
from law_ray.space.constraints import MAX_ITEMS, Constraints
from law_ray.space.exclusions import Exclusions, Key, draw_free
from law_ray.space.naming import Item, by_name, named_constraints, named_orderings
from law_ray.space.permutations import validate
from law_ray.trial import ADDED, INITIAL, Trial, checked_error, finite
from law_ray.typing import IntArray
from law_ray.utils import algebra
from law_ray.utils.seeding import generator

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["INITIAL", "Optimizer", "Trial"]


class Optimizer:
    """Batch Bayesian optimisation over the permutations of `n_items` items.

    The initial design lasts until `n_init` points have been asked for or added. It begins with the orderings of
    `start`; its other points are random, as are later points while no value is known. After that, `method` chooses
    them, in most cases with a Gaussian process that is refitted as values come in. The proposals depend only on `seed`,
    on the sizes of the batches, and on what was told before each ask, in whatever order it was told. An optimizer can
    be pickled if `key` and `prior_mean` can.

    Args:
        n_items: The number of items, from 2 to 10,000.
        method: A name in METHODS, or a `Method` of your own.
        seed: The seed of all random choices.
        n_init: The number of points of the initial design.
        maximize: Whether larger values are better.
        key: Permutations with equal key(permutation) are one point, which is never proposed twice. Without it, each
            permutation is a point of its own.
        constraints: Orderings that violate them are neither proposed nor accepted.
        start: (m, n_items) orderings that the initial design begins with, m <= n_init.
        prior_mean: A cheap proxy of the objective: prior_mean(permutations) predicts the (m,) values of (m, n_items)
            permutations, up to scale and offset. The model learns its weight, 0 if it is of no use, and the difference
            (`law_ray.models.prior_mean`). It is called with thousands of permutations at once.
        before: Pairs (a, b), in addition to the constraints: item a must come before item b.
        fixed: {item: position}, in addition to the constraints.
        item_names: The (n_items,) names by which `before`, `fixed` and `start` may refer to items, besides numbers.
        noisy: Whether the values are noisy. Once a positive standard error has been told, they are taken to be noisy in
            any case. law-auto, however, treats values as exact if their standard errors are negligible.
        device: Where the models' matrices are: "cpu", "cuda" (torch, on a GPU), or "auto" (a GPU if torch finds one).

    Raises:
        InputError: An argument is invalid. The message names it.

    Example:
        >>> optimizer = Optimizer(5, seed=1, n_init=10)
        >>> for _ in range(5):
        ...     for trial in optimizer.ask(10):
        ...         optimizer.tell(trial.id, sum(abs(item - k) for k, item in enumerate(trial.permutation)))
        >>> optimizer.best.value, optimizer.best.permutation.tolist()
        (0.0, [0, 1, 2, 3, 4])
    """

    def __init__(
        self,
        n_items: int,
        method: str | Method = "law-auto",
        seed: int = 0,
        n_init: int = 20,
        maximize: bool = False,
        key: Key | None = None,
        constraints: Constraints | None = None,
        start: ArrayLike | Sequence[Sequence[Item]] = (),
        prior_mean: Proxy | None = None,
        before: Iterable[tuple[Item, Item]] = (),
        fixed: Mapping[Any, int] | Iterable[tuple[Item, int]] = (),
        item_names: Sequence[str] | None = None,
        noisy: bool = False,
        device: str = "cpu",
    ) -> None:
        if not isinstance(n_items, Integral) or not 2 <= n_items <= MAX_ITEMS:
            raise InputError(f"n_items is {n_items!r}: give an integer from 2 to {MAX_ITEMS}")
        if not isinstance(method, str | Method) or (isinstance(method, str) and method not in METHODS):
            raise InputError(f"unknown method {method!r}: choose one of {', '.join(METHODS)}")
        for name, number in (("seed", seed), ("n_init", n_init)):
            if not isinstance(number, Integral) or number < 0:
                raise InputError(f"{name} is {number!r}: give an integer of at least 0")
        self.n_items: int = int(n_items)
        if constraints is not None and not isinstance(constraints, Constraints):
            raise InputError(f"constraints is {constraints!r}: give law_ray.Constraints, or pairs as before and fixed")
        if constraints is not None and constraints.n_items != self.n_items:
            raise InputError(f"the constraints are on {constraints.n_items} items: give them for {self.n_items}")
        if isinstance(item_names, str) or not isinstance(item_names, Iterable | None):
            raise InputError(f"item_names is {item_names!r}: give a list of names")
        item_names = None if item_names is None else tuple(map(str, item_names))
        if item_names is not None and not len(item_names) == len(set(item_names)) == self.n_items:
            raise InputError(
                f"item_names has {len(item_names)} names, {len(set(item_names))} of them different: give "
                f"{self.n_items}, a name of its own for each item"
            )
        given = (constraints.before, constraints.fixed) if constraints is not None else ((), ())
        self.constraints: Constraints = named_constraints(self.n_items, before, fixed, item_names, *given)
        self.method: str | Method = method
        self.seed: int = int(seed)
        self.proxy: Proxy | None = prior_mean
        if self.proxy is not None:  # refuse an unusable one before anything is evaluated
            evaluate_proxy(self.proxy, self.constraints.sample(2, generator(self.seed, "prior mean", 0)))
        self.n_init: int = int(n_init)
        self.maximize: bool = bool(maximize)
        self.model: Hyperparameters | None = None  # the last fit
        self.noisy: bool = noisy
        self.device: str = algebra.checked(device)
        self._item_names: Sequence[str] | None = item_names
        self.start: IntArray = self._validated(named_orderings(_listed("start", start), self.n_items, item_names))
        if len(self.start) > self.n_init:
            raise InputError(
                f"start has {len(self.start)} orderings, more than the initial design (n_init) of {n_init}: enlarge it"
            )
        self._round: int = INITIAL
        self._ledger: Ledger = Ledger()
        self._excluded: Exclusions = Exclusions(key)

    def ask(self, batch_size: int, continue_round: bool = False) -> list[Trial]:
        """Propose new points; each must be told or failed later.

        The model is conditioned on points that are pending or failed, as if they had their predicted mean. Cost of a
        model-based ask: a fit, O(n^3), and the method's choice. Beyond `fitting.MAX_POINTS` values, the process gets
        a part of them that includes the best.

        Args:
            batch_size: The number of points; exactly this many are returned.
            continue_round: Whether the points belong to the round of the last ask instead of a new one, as when a
                worker becomes free. LAW then chooses further points of a batch, without the acquisition's maximum,
                which is the first of each batch. The first points after the initial design begin a round in any case.

        Returns:
            The new pending trials, in the order in which they were chosen. Their ids continue those of `trials`.

        Raises:
            InputError: The batch size is not an integer of at least 1.
            UsedUpError: Fewer points are left.
        """
        if not isinstance(batch_size, Integral) or batch_size < 1:
            raise InputError(f"the batch size is {batch_size!r}: give an integer of at least 1")
        left = math.factorial(self.n_items) - len(self._excluded)
        if batch_size > left:
            raise UsedUpError(f"the batch size is {batch_size}, but only {left} permutations are left: ask for fewer")
        # BLAS gets one thread: its results depend on their number, and waiting ones would slow the compiled loops.
        with _blas().limit(limits=1, user_api="blas"), algebra.on(algebra.device(self.device)):
            return self._ask(int(batch_size), self._round + (not continue_round))

    def ask_up_to(self, batch_size: int, continue_round: bool = False, evals: int | None = None) -> list[Trial]:
        """Propose at most `batch_size` points: fewer when the budget or the space is nearly used up, and then none.

        Until the initial design is complete, the rest of it is proposed as one batch.

        Args:
            batch_size: The largest number of points after the initial design.
            continue_round: As for `ask`.
            evals: The largest number of trials in all, added and failed ones included.
        """
        done = len(self._ledger)
        size = self.n_init - done if done < self.n_init else batch_size
        size = size if evals is None else min(size, evals - done)
        while size > 0:
            try:
                return self.ask(size, continue_round)
            except UsedUpError:
                size //= 2
        return []

    def _ask(self, batch_size: int, round: int) -> list[Trial]:
        initial = len(self._ledger) < self.n_init
        round = INITIAL if initial else max(round, INITIAL + 1)  # nothing joins the initial design
        if initial or not any(trial.known for trial in self._ledger):
            permutations = self._draw(batch_size, self.start if initial else self.start[:0])
            return self._enter(permutations, round)
        context = self._context(round)
        permutations = self._method.choose(context, batch_size)
        if context.process is not None:
            self.model = context.process.hyperparameters  # only now, so that a refused ask changes nothing
        return self._enter(permutations, round)

    @property
    def _method(self) -> Method:
        return METHODS[self.method] if isinstance(self.method, str) else self.method

    def _context(self, round: int) -> BatchContext:
        """Return what the method chooses from, with its model fitted if it has one."""
        known = self._ledger.known
        X = np.array([trial.permutation for trial in known])
        y = (-1.0 if self.maximize else 1.0) * np.array([trial.value for trial in known])
        standard_errors = np.array([trial.standard_error for trial in known])
        waiting = [trial.permutation for trial in self._ledger if trial.state in ("pending", "failed")]
        without_value = np.array(waiting, dtype=np.int64).reshape(-1, self.n_items)
        process = None
        if self._method.model is not None:
            rng = generator(self.seed, "fit", len(self._ledger))
            process = fitted(self._method.model, X, y, standard_errors, rng, self.model, self.proxy, self.device)
            if len(without_value):
                process = process.condition(without_value)
        return BatchContext(
            X=X,
            y=y,
            standard_errors=standard_errors,
            round=round,
            excluded=self._excluded,
            constraints=self.constraints,
            rng=generator(self.seed, "choose", len(self._ledger)),
            without_value=without_value,
            process=process,
            noisy=self.noisy or bool(standard_errors.any()),
            continue_round=round == self._round,
        )

    def _draw(self, batch_size: int, first: IntArray) -> IntArray:
        """Return `batch_size` permutations: the free ones of `first`, and then random ones."""
        excluded = self._excluded.copy()
        chosen: list[IntArray] = []
        for permutation in first:
            if len(chosen) < batch_size and permutation not in excluded:
                excluded.add(permutation)
                chosen.append(permutation)
        if len(chosen) < batch_size:
            rng = generator(self.seed, "draw", len(self._ledger))
            chosen.extend(draw_free(self.constraints, batch_size - len(chosen), excluded, rng))
        return np.array(chosen)

    def replay(self, permutations: ArrayLike, round: int, model: dict[str, Any] | None) -> list[Trial]:
        """Enter a batch that was asked for earlier, as a journal stores it, without fitting anything.

        Args:
            permutations: (m, n_items) the batch.
            round: Its round.
            model: The record of the hyperparameters that were fitted for it, if any.
        """
        if model is not None:
            if self._method.model is None:
                raise InputError(f"there is a fitted model, but {self.method} has none")
            self.model = self._method.model.read(model)
        return self._enter(self._validated(permutations), round)

    def tell(self, trial_id: int, value: float, standard_error: float | None = None, seconds: float = math.nan) -> None:
        """Report the value of a pending trial.

        Args:
            trial_id: Its id.
            value: A finite number.
            standard_error: The standard error of the value, if known.
            seconds: How long the evaluation took.

        Raises:
            InputError: The trial is unknown or not pending, or the value or its standard error is invalid.
        """
        self._ledger.end(self._ledger.pending_trial(trial_id).told(value, standard_error, seconds))

    def fail(self, trial_id: int, reason: str, seconds: float = math.nan) -> None:
        """Report that a pending trial has no value. It is never proposed again.

        Raises:
            InputError: The trial is unknown or not pending.
        """
        self._ledger.end(self._ledger.pending_trial(trial_id).failed(reason, seconds))

    def add(self, permutations: ArrayLike, values: ArrayLike, standard_errors: ArrayLike | None = None) -> None:
        """Enter permutations whose values are already known. They count towards n_init.

        Args:
            permutations: (m, n_items).
            values: (m,).
            standard_errors: (m,) of the values; 0 or None for those that are exact or unknown.

        Raises:
            InputError: A permutation, a value or a standard error is invalid; then none is entered.
        """
        rows = self._validated(permutations)
        known = [finite(f"value {i}", value) for i, value in enumerate(_listed("values", values))]
        if len(known) != len(rows):
            raise InputError(f"{len(rows)} permutations were added with {len(known)} values: give one each")
        given = [None] * len(rows) if standard_errors is None else _listed("standard_errors", standard_errors)
        errors = [checked_error(f"standard error {i}", error) for i, error in enumerate(given)]
        if len(errors) != len(rows):
            raise InputError(f"{len(rows)} permutations were added with {len(errors)} standard errors: give one each")
        self._exclude(rows)
        for permutation, value, error in zip(rows, known, errors, strict=True):
            self._ledger.enter(ADDED, permutation, value, error)

    @property
    def best(self) -> Trial:
        """The trial with the best value, the earliest among equals.

        Raises:
            InputError: No value is known yet.
        """
        return self._ledger.best(self.maximize)

    @property
    def trials(self) -> Sequence[Trial]:
        """All trials by id."""
        return tuple(self._ledger)

    @property
    def pending(self) -> list[Trial]:
        """The trials that were asked for and neither told nor failed, by id."""
        return self._ledger.pending

    @property
    def history(self) -> "pd.DataFrame":
        """A row for each trial, by id.

        Columns: id and round (int64; round 0 is the initial design, -1 holds the values that were added), permutation
        (a tuple of n_items integers), value (float64, NaN without one), state (text: pending, told, failed or added),
        seconds that the evaluation took (float64, NaN where unknown) and standard_error (float64, 0 where unknown).
        """
        return self._ledger.to_frame()

    def known_since(self, trial_id: int) -> int | None:
        """Return how many trials there were when an ask first knew the value of this one; None before that.

        To replay the asks and the values in this order leads to the same proposals.
        """
        return self._ledger.known_since(trial_id)

    def key(self, permutation: IntArray) -> Hashable:
        """Return the key of a permutation. Permutations with equal keys are one point."""
        return self._excluded.key(permutation)

    def _enter(self, permutations: IntArray, round: int) -> list[Trial]:
        self._exclude(permutations)
        self._round = round
        self._ledger.note_ask()
        return [self._ledger.enter(round, permutation.copy()) for permutation in permutations]

    def _exclude(self, permutations: IntArray) -> None:
        """Never propose these again. To be called before they are entered, since the user's key may raise."""
        for permutation in permutations:
            self._excluded.add(permutation)

    def _validated(self, permutations: ArrayLike) -> IntArray:
        rows = [validate(row, self.n_items) for row in _listed("permutations", permutations)]
        for row in rows:
            if broken := self.constraints.broken_by(row):
                raise InputError(f"{row.tolist()} is not allowed: {by_name(broken, self._item_names)}")
        return np.array(rows, dtype=np.int64).reshape(-1, self.n_items)


@cache
def _blas() -> ThreadpoolController:
    return ThreadpoolController()


def _listed(what: str, values: ArrayLike) -> list[Any]:
    items = values.tolist() if isinstance(values, np.ndarray) else values
    if not isinstance(items, Iterable):
        raise InputError(f"{what} is {values!r}: give a list")
    return list(items)
