"""Ray Tune: the batches of `Optimizer` as a search algorithm. Needs the extra `tune`."""

import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ray.tune.search import Searcher
from ray.tune.search.variant_generator import parse_spec_vars
from ray.tune.utils import flatten_dict

from law_ray.errors import InputError
from law_ray.optimizer import Optimizer
from law_ray.runs.evaluation import Outcome, checked
from law_ray.space.exclusions import Key
from law_ray.space.naming import Item
from law_ray.trial import Trial

VERSION = 1
"""The version of what `save` writes."""

OPTIONS = ("method", "seed", "n_init", "key", "before", "fixed", "item_names")
"""Arguments of `Optimizer` that a search takes."""

Config = dict[str, Any]


class LAWSearch(Searcher):
    """A search algorithm of Ray Tune for the best permutation: give it as `search_alg` to `tune.TuneConfig`.

    Each trial's config holds the permutation as a list under the name `parameter`, beside the constants of the
    param_space. The initial design of `n_init` points is one batch. From then on `batch_size` points are chosen at
    once, when all earlier trials have ended. If `max_concurrent_trials`, or a ConcurrencyLimiter, allows more than
    batch_size trials, a batch is chosen as soon as batch_size more may run, given those that are running; batch_size=1
    then keeps every slot busy. A trial that fails, or reports no finite value, is not proposed again. The search ends
    when no permutation is left. Its state is in the attribute `optimizer`.

    Args:
        n_items: The number of items.
        metric: The metric to optimise. It may come from TuneConfig where a param_space is given: without one, Tune does
            not pass it on.
        mode: Tune's "min" or "max", which may come from TuneConfig too. It is not the mode of `law_ray.minimize`.
        batch_size: How many points are chosen at once.
        parameter: The name under which a config holds the permutation.
        standard_error: The metric that holds the standard error of the value, if there is one.
        start: Orderings that the initial design begins with, as for `Optimizer`.
        points_to_evaluate: The same under the name, and as the configs, that all search algorithms of Tune take.
        evaluated_rewards: The values of `points_to_evaluate`, which are then known and not evaluated.
        **options: `method`, `seed`, `n_init`, `key`, `before`, `fixed`, `item_names` as for `Optimizer`.

    Raises:
        InputError: A bad argument, or a param_space with anything in it to be searched.
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
        start: Sequence[Sequence[Item]] = (),
        points_to_evaluate: Sequence[Config] | None = None,
        evaluated_rewards: Sequence[float] | None = None,
        **options: Any,
    ) -> None:
        if not isinstance(batch_size, int) or batch_size < 1:
            raise InputError(f"batch_size is {batch_size!r}: give an integer of at least 1")
        if unknown := options.keys() - set(OPTIONS):
            raise InputError(f"LAWSearch has no option {min(unknown)}: choose among {', '.join(OPTIONS)}")
        super().__init__()
        self._batch_size = batch_size
        self._parameter = parameter
        self._standard_error = standard_error
        self._key: Key | None = options.get("key")
        self._max_concurrent = 0  # unlimited
        self._trials: dict[str, int] = {}  # by Tune's id, of those handed out
        points = [self._permutation(config) for config in points_to_evaluate or ()]
        orderings = [*start, *(points if evaluated_rewards is None else ())]
        self.optimizer = Optimizer(n_items, start=orderings, **options)
        if evaluated_rewards is not None:
            self.optimizer.add(points, evaluated_rewards)
        self._aim(metric, mode)

    def set_search_properties(self, metric: str | None, mode: str | None, config: Config, **spec: Any) -> bool:
        """Take the metric and the mode that Tune was given, unless this search has its own; check the param_space."""
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
        """Set how many trials may run at once."""
        self._max_concurrent = max_concurrent
        return True

    def suggest(self, trial_id: str) -> Config | None:
        """Return the next point; None while it depends on trials that have not ended, FINISHED when none is left.

        Every batch_size-th call takes as long as `Optimizer.ask`.
        """
        if self._metric is None or self._mode is None:
            raise InputError(
                "LAWSearch has no metric or no mode: pass both, because Tune forwards them only with a param_space"
            )
        handed_out = set(self._trials.values())
        pending = self.optimizer.pending
        waiting = [trial for trial in pending if trial.id not in handed_out]
        running = len(pending) - len(waiting)
        if self._max_concurrent and running >= self._max_concurrent:
            return None
        if not waiting:
            if running + self._batch_size > max(self._max_concurrent, self._batch_size):
                return None
            waiting = self.optimizer.ask_up_to(self._batch_size)
        if not waiting:
            return self.FINISHED  # type: ignore[return-value]  # as Tune has it
        self._trials[trial_id] = waiting[0].id
        return {self._parameter: waiting[0].permutation.tolist()}

    def on_trial_complete(self, trial_id: str, result: Config | None = None, error: bool = False) -> None:
        """Enter the result of a trial.

        The value of a trial that failed before, or that this search did not propose, is added: `Tuner.restore` has
        restarted it.
        """
        outcome = self._outcome(result or {}, error)
        number = self._trials.get(trial_id)
        state = None if number is None else self.optimizer.trials[number].state
        if number is not None and state == "pending":
            self._enter(number, outcome)
        elif state in (None, "failed") and not outcome.reason and result:
            permutation = result.get(f"config/{self._parameter}")
            if permutation is not None:
                self.optimizer.add([permutation], [outcome.value], [outcome.standard_error])

    def add_evaluated_point(
        self,
        parameters: Config,
        value: float | None,
        error: bool = False,
        pruned: bool = False,
        intermediate_values: list[float] | None = None,
    ) -> None:
        """Add a point that is known already, unless it failed, was stopped before its end or has no finite value."""
        known = checked(value, math.nan)
        if not error and not pruned and not known.reason:
            self.optimizer.add([self._permutation(parameters)], [known.value])

    def save(self, checkpoint_path: str) -> None:
        """Write the state as JSON."""
        model = self.optimizer.model
        state = {
            "version": VERSION,
            "settings": self._settings(),
            "model": None if model is None else model.to_record(),
            "trials": [_record(trial, self.optimizer.known_since(trial.id)) for trial in self.optimizer.trials],
        }
        Path(checkpoint_path).write_text(json.dumps(state, allow_nan=False))

    def restore(self, checkpoint_path: str) -> None:
        """Restore a saved state, to propose what the saved search would have; trials that had not ended come first.

        Raises:
            InputError: This search was created with other settings. Only batch_size may differ; that a key is the same
                cannot be checked.
        """
        state = json.loads(Path(checkpoint_path).read_text())
        if state["version"] > VERSION:
            raise InputError(f"{checkpoint_path} was written by a newer law_ray: upgrade law_ray")
        self._aim(self._metric or state["settings"]["metric"], self._mode or state["settings"]["mode"])
        for name, own in self._settings().items():
            if own != (saved := state["settings"].get(name, own)):  # an older version has not saved all of them
                raise InputError(
                    f"{name} is {own!r}, but {saved!r} in the search saved as {checkpoint_path}: give {saved!r}"
                )
        old = self.optimizer
        self._trials = {}
        self.optimizer = Optimizer(
            old.n_items, old.method, old.seed, old.n_init, old.maximize, self._key, old.constraints, old.start
        )
        ended = defaultdict(list)  # by how many trials there were when their values were first used: their numbers
        for number, record in enumerate(state["trials"]):
            if record["state"] in ("told", "failed"):
                ended[record.get("known_since", len(state["trials"]))].append(number)
        for number, record in enumerate(state["trials"]):
            self._enter_again(state["trials"], ended[number])
            if record["state"] == "added":
                known = Outcome(**record["outcome"])
                self.optimizer.add([record["permutation"]], [known.value], [known.standard_error])
            else:
                self.optimizer.replay([record["permutation"]], record["round"], state["model"])
        self._enter_again(state["trials"], ended[len(state["trials"])])

    def restore_from_dir(self, checkpoint_dir: str) -> None:
        """Restore as `restore` does, but leave the trials that Tune knows to Tune.

        Tune does not save its own state and this one at the same moment, so either may be the older one.
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
            raise InputError(f'mode is {mode!r}: give Tune\'s "min" or "max"; batch_size says when points are chosen')
        self._metric = self._metric or metric
        self._mode = self._mode or mode
        self.optimizer.maximize = self._mode == "max"

    def _settings(self) -> Config:
        """Return what the saved state depends on, as JSON would give it back."""
        optimizer = self.optimizer
        return {
            "metric": self._metric,
            "mode": self._mode,
            "parameter": self._parameter,
            "standard_error": self._standard_error,
            "n_items": optimizer.n_items,
            "method": optimizer.method if isinstance(optimizer.method, str) else optimizer.method.about,
            "seed": optimizer.seed,
            "n_init": optimizer.n_init,
            "before": [list(pair) for pair in optimizer.constraints.before],
            "fixed": [list(pair) for pair in optimizer.constraints.fixed],
            "points_to_evaluate": optimizer.start.tolist(),
        }

    def _permutation(self, config: Config) -> Any:
        if not isinstance(config, dict) or self._parameter not in config:
            raise InputError(f"the point {config!r} has no {self._parameter}: give configs as trials get them")
        return config[self._parameter]

    def _outcome(self, result: Config, error: bool) -> Outcome:
        seconds = result.get("time_total_s", math.nan)
        if error:
            return Outcome(seconds=seconds, reason="the trial failed")
        standard_error = 0.0 if self._standard_error is None else result.get(self._standard_error)
        return checked((result.get(str(self._metric)), standard_error), seconds)

    def _enter_again(self, records: Sequence[Config], numbers: Iterable[int]) -> None:
        for number in numbers:
            self._enter(number, Outcome(**records[number]["outcome"]))

    def _enter(self, number: int, outcome: Outcome) -> None:
        if outcome.reason:
            self.optimizer.fail(number, outcome.reason, outcome.seconds)
        else:
            self.optimizer.tell(number, outcome.value, outcome.standard_error, outcome.seconds)


def _record(trial: Trial, known_since: int | None) -> Config:
    """Return a trial for JSON, which has no NaN: NaN fields of its outcome are left out."""
    outcome = Outcome(trial.value, trial.standard_error, trial.seconds, trial.reason)
    return {
        "permutation": trial.permutation.tolist(),
        "round": trial.round,
        "state": trial.state,
        "outcome": {name: value for name, value in outcome._asdict().items() if value == value},
        **({} if known_since is None else {"known_since": known_since}),
    }


def _trials_of_tune(checkpoint_dir: Path) -> Iterator[tuple[str, str, Config, Config]]:
    """Yield the id, status, config and last result of each trial that Tune has saved; nothing is unpickled."""
    for path in sorted(checkpoint_dir.glob("experiment_state-*.json"))[-1:]:
        for state, metadata in json.loads(path.read_text())["trial_data"]:
            trial = json.loads(state)
            yield trial["trial_id"], trial["status"], trial["config"], flatten_dict(json.loads(metadata)["last_result"])
