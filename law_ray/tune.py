"""Ray Tune: the batches of `Optimizer` as a search algorithm. Needs the extra `tune`."""

import dataclasses
import json
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ray.tune.search import Searcher
from ray.tune.search.variant_generator import parse_spec_vars
from ray.tune.utils import flatten_dict

from law_ray.constraints import Constraints
from law_ray.errors import InputError, UsedUpError
from law_ray.evaluation import Outcome, checked
from law_ray.optimizer import Optimizer, Trial
from law_ray.permutations import IntArray

VERSION = 1  # of what `save` writes

Config = dict[str, Any]


class LAWSearch(Searcher):
    """Search for the best permutation of `n_items` items; give it as `search_alg` to `tune.TuneConfig`.

    Each trial's config holds the permutation as a list under the name `parameter`, beside the constants of the
    param_space. metric and mode ("min" or "max") may come from TuneConfig instead where a param_space is given: without
    one, Tune does not pass them on. standard_error: the metric that holds the standard error of the value, if any.

    The initial design of `n_init` points is one batch; from then on `batch_size` points are chosen at once, when all
    earlier trials have ended. With `max_concurrent_trials`, or a ConcurrencyLimiter, of more than batch_size they are
    chosen as soon as so many may run, given the trials that are running; batch_size=1 then keeps every slot busy. A
    trial that fails, or reports no finite value, is not proposed again. The search ends when no permutation is left.

    points_to_evaluate: configs that the initial design holds, or with their values, evaluated_rewards, points that are
    known already. method, seed, before, fixed, key: as for `Optimizer` and `Constraints`. `optimizer` holds the state.

    Raises InputError for bad arguments, and for a param_space with anything in it to be searched.
    """

    CKPT_FILE_TMPL = "law-search-{}.json"

    def __init__(
        self,
        n_items: int,
        metric: str | None = None,
        mode: str | None = None,
        *,
        batch_size: int,
        parameter: str = "permutation",
        standard_error: str | None = None,
        method: str = "law-auto",
        seed: int = 0,
        n_init: int = 20,
        before: Iterable[tuple[int, int]] = (),
        fixed: Mapping[int, int] | None = None,
        key: Callable[[IntArray], Hashable] | None = None,
        points_to_evaluate: Sequence[Config] | None = None,
        evaluated_rewards: Sequence[float] | None = None,
    ) -> None:
        if not isinstance(batch_size, int) or batch_size < 1:
            raise InputError(f"batch_size is {batch_size!r}: give an integer of at least 1")
        super().__init__()
        self._batch_size = batch_size
        self._parameter = parameter
        self._standard_error = standard_error
        self._key = key
        self._max_concurrent = 0  # unlimited
        self._trials: dict[str, int] = {}  # by Tune's id, of those handed out
        points = [self._permutation(config) for config in points_to_evaluate or ()]
        starts = points if evaluated_rewards is None else ()
        constraints = Constraints(n_items, before, fixed or {})
        self.optimizer = Optimizer(n_items, method, seed, n_init, key=key, constraints=constraints, starts=starts)
        if evaluated_rewards is not None:
            self.optimizer.add(points, evaluated_rewards)
        self._aim(metric, mode)

    def set_search_properties(self, metric: str | None, mode: str | None, config: Config, **spec: Any) -> bool:
        """What Tune was given: a metric and a mode, unless this search has its own, and a param_space of constants."""
        _, domains, grids = parse_spec_vars(config)
        if unknown := ["/".join(map(str, path)) for path, _ in domains + grids]:
            raise InputError(
                f"param_space leaves {', '.join(unknown)} to be searched, but LAWSearch searches {self._parameter} "
                "alone: give constants"
            )
        if self._parameter in config:
            raise InputError(f"param_space has {self._parameter}, which LAWSearch gives to each trial: leave it out")
        self._aim(metric, mode)
        return True

    def set_max_concurrency(self, max_concurrent: int) -> bool:
        """How many trials may run at once."""
        self._max_concurrent = max_concurrent
        return True

    def suggest(self, trial_id: str) -> Config | None:
        """The next point; None while it hangs on trials that have not ended, FINISHED when none is left.

        Every batch_size-th call takes as long as `Optimizer.ask`.
        """
        if self._metric is None or self._mode is None:
            raise InputError("LAWSearch has no metric or no mode: give it both, as without a param_space Tune does not")
        handed_out = set(self._trials.values())
        pending = self.optimizer.pending
        waiting = [trial for trial in pending if trial.id not in handed_out]
        running = len(pending) - len(waiting)
        if self._max_concurrent and running >= self._max_concurrent:
            return None
        if not waiting:
            if running + self._batch_size > max(self._max_concurrent, self._batch_size):
                return None
            waiting = self._ask()
        if not waiting:
            return self.FINISHED  # type: ignore[return-value]  # as Tune has it
        self._trials[trial_id] = waiting[0].id
        return {self._parameter: waiting[0].permutation.tolist()}

    def on_trial_complete(self, trial_id: str, result: Config | None = None, error: bool = False) -> None:
        """Learn what a trial came to.

        A trial that has failed before, or that this search did not propose, was taken up again by `Tuner.restore`: its
        value is added.
        """
        outcome = self._outcome(result or {}, error)
        number = self._trials.get(trial_id)
        state = None if number is None else self.optimizer.trials[number].state
        if number is not None and state == "pending":
            self._enter(number, outcome)
        elif state in (None, "failed") and not outcome.reason and result:
            permutation = result.get(f"config/{self._parameter}")
            if permutation is not None:
                self.optimizer.add([permutation], [outcome.value])

    def add_evaluated_point(
        self,
        parameters: Config,
        value: float | None,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: list[float] | None = None,
    ) -> None:
        """Enter a point that is known already, unless it failed, was stopped before its end or has no finite value."""
        known = checked(value, math.nan)
        if not error and not pruned and not known.reason:
            self.optimizer.add([self._permutation(parameters)], [known.value])

    def save(self, checkpoint_path: str) -> None:
        """Write the state as JSON."""
        model = self.optimizer.model
        state = {
            "version": VERSION,
            "settings": self._settings(),
            "model": None if model is None else dataclasses.asdict(model),
            "trials": [_record(trial) for trial in self.optimizer.trials],
        }
        Path(checkpoint_path).write_text(json.dumps(state, allow_nan=False))

    def restore(self, checkpoint_path: str) -> None:
        """Take up a saved state, to propose what the saved search would have; trials that had not ended come first.

        Raises InputError unless this search was made with the same settings; batch_size may be another one.
        """
        state = json.loads(Path(checkpoint_path).read_text())
        if state["version"] > VERSION:
            raise InputError(f"{checkpoint_path} was written by a newer law_ray: upgrade law_ray")
        self._aim(self._metric or state["settings"]["metric"], self._mode or state["settings"]["mode"])
        for name, own in self._settings().items():
            if own != (saved := state["settings"][name]):
                raise InputError(
                    f"{name} is {own!r}, but {saved!r} in the search saved as {checkpoint_path}: give that"
                )
        old = self.optimizer
        self._trials = {}
        self.optimizer = Optimizer(
            old.n_items, old.method, old.seed, old.n_init, old.maximize, self._key, old.constraints, old.starts
        )
        for number, record in enumerate(state["trials"]):
            if record["state"] == "added":
                self.optimizer.add([record["permutation"]], [record["outcome"]["value"]])
                continue
            self.optimizer.replay([record["permutation"]], record["round"], state["model"])
            if record["state"] != "pending":
                self._enter(number, Outcome(**record["outcome"]))

    def restore_from_dir(self, checkpoint_dir: str) -> None:
        """As `restore`, but the trials that Tune knows are its own to take up again.

        Tune does not save and copy its state and this one at the same moment: either may be the older one.
        """
        super().restore_from_dir(checkpoint_dir)
        numbers = {tuple(trial.permutation.tolist()): trial.id for trial in self.optimizer.trials}
        for tune_id, status, config, result in _trials_of_tune(Path(checkpoint_dir)):
            number = numbers.get(tuple(config[self._parameter]))
            if number is not None:
                self._trials[tune_id] = number
                if status in ("TERMINATED", "ERROR"):
                    self.on_trial_complete(tune_id, result, error=status == "ERROR")

    def _aim(self, metric: str | None, mode: str | None) -> None:
        """Set the metric and the mode where they are not known yet; what is known must not change."""
        for name, own, given in (("metric", self._metric, metric), ("mode", self._mode, mode)):
            if given is not None and own not in (None, given):
                raise InputError(f"{name} is {given!r}, but LAWSearch was given {own!r}: give it once")
        if metric is not None and not isinstance(metric, str):
            raise InputError(f"metric is {metric!r}: give the name of one")
        if mode not in (None, "min", "max"):
            raise InputError(f'mode is {mode!r}: give "min" or "max"')
        self._metric = self._metric or metric
        self._mode = self._mode or mode
        self.optimizer.maximize = self._mode == "max"

    def _settings(self) -> Config:
        """What the state saved hangs on, as JSON would give it back."""
        optimizer = self.optimizer
        return {
            "metric": self._metric,
            "mode": self._mode,
            "n_items": optimizer.n_items,
            "method": optimizer.method,
            "seed": optimizer.seed,
            "n_init": optimizer.n_init,
            "before": [list(pair) for pair in optimizer.constraints.before],
            "fixed": [list(pair) for pair in optimizer.constraints.fixed],
            "points_to_evaluate": optimizer.starts.tolist(),
        }

    def _permutation(self, config: Config) -> Any:
        if not isinstance(config, dict) or self._parameter not in config:
            raise InputError(f"the point {config!r} has no {self._parameter}: give configs as trials get them")
        return config[self._parameter]

    def _ask(self) -> list[Trial]:
        """The initial design, or the next batch, smaller if fewer points are left."""
        done = len(self.optimizer.trials)
        size = self.optimizer.n_init - done if done < self.optimizer.n_init else self._batch_size
        while size:
            try:
                return self.optimizer.ask(size)
            except UsedUpError:
                size //= 2
        return []

    def _outcome(self, result: Config, error: bool) -> Outcome:
        seconds = result.get("time_total_s", math.nan)
        if error:
            return Outcome(seconds=seconds, reason="the trial failed")
        standard_error = 0.0 if self._standard_error is None else result.get(self._standard_error)
        return checked((result.get(str(self._metric)), standard_error), seconds)

    def _enter(self, number: int, outcome: Outcome) -> None:
        if outcome.reason:
            self.optimizer.fail(number, outcome.reason, outcome.seconds)
        else:
            self.optimizer.tell(number, outcome.value, outcome.standard_error, outcome.seconds)


def _record(trial: Trial) -> Config:
    """A trial for JSON, which has no NaN: the defaults of an `Outcome` are left out."""
    outcome = Outcome(trial.value, trial.standard_error, trial.seconds, trial.reason)
    return {
        "permutation": trial.permutation.tolist(),
        "round": trial.round,
        "state": trial.state,
        "outcome": {name: value for name, value in outcome._asdict().items() if value == value},
    }


def _trials_of_tune(checkpoint_dir: Path) -> Iterator[tuple[str, str, Config, Config]]:
    """The id, status, config and last result of each trial that Tune has saved; nothing is unpickled."""
    for path in sorted(checkpoint_dir.glob("experiment_state-*.json"))[-1:]:
        for state, metadata in json.loads(path.read_text())["trial_data"]:
            trial = json.loads(state)
            yield trial["trial_id"], trial["status"], trial["config"], flatten_dict(json.loads(metadata)["last_result"])
