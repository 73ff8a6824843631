"""A run as its journal describes it: the one place where the records of a journal are read."""

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from law_ray.errors import InputError
from law_ray.models.prior_mean import Proxy
from law_ray.optimizer import Optimizer
from law_ray.runs import journal
from law_ray.runs.plots import Plots
from law_ray.runs.records import AskRecord, ObjectiveRecord, Record, RunRecord, from_json
from law_ray.runs.reevaluation import Reevaluated, Repeat, contenders, reevaluated, score
from law_ray.runs.settings import Settings
from law_ray.runs.summary import about_run
from law_ray.space.exclusions import Key
from law_ray.trial import INITIAL, Trial
from law_ray.typing import FloatArray, IntArray
from law_ray.utils.showing import as_html, as_text

if TYPE_CHECKING:
    import pandas as pd


class Extension(NamedTuple):
    """What there was when the budget was last raised: the stop rules and the repeats count from there."""

    round: int = INITIAL
    repeats: int = 0
    reached_target: bool = False


class Run(Plots):
    """A run, replayed from its journal without fitting anything. `law_ray.load(folder)` makes one.

    Attributes:
        folder: The run folder.
        objective: What the journal says of the objective.
        settings: The options in force, after the last resume.
        optimizer: The optimizer in the state that the journal describes.
        repeats: The repeated evaluations, by trial id.
        extension: What there was when a resume last raised the budget.
        due: Repeated evaluations asked for and not told: pairs of a trial's id and the number of the repeat.
        failures: The reasons of the failed trials, in the order in which they failed.
        batches: The number of each trial's batch, by id.
        workers: The workers that made the evaluations, "HOST-NODE/PID" by trial id, where the journal says so.
        end_reason: Why the run ended; "" while it goes on, where its process was killed, and in older journals.
        records: Those of the journal, when it was read by `load`; empty in a run that goes on here.
        seconds_asking: Seconds spent on choosing batches.
        seconds_evaluating: Seconds spent on waiting for evaluations: the sum over the results of the time since the
            record before it. The time between a run's end and its resume does not count.
    """

    def __init__(
        self,
        folder: Path,
        objective: ObjectiveRecord,
        settings: Settings,
        start: Any = (),
        key: Key | None = None,
        prior_mean: Proxy | None = None,
    ) -> None:
        """Begin with no record. The arguments after the settings are those of `Optimizer`."""
        self.folder = folder
        self.objective = objective
        self.settings = settings
        self.optimizer = Optimizer(
            settings.n_items,
            settings.method,
            settings.seed,
            settings.n_init,
            settings.maximize,
            key=key,
            constraints=settings.constraints,
            start=start,
            prior_mean=prior_mean,
            noisy=objective.get("noisy", False),
            device=settings.device,
        )
        self.repeats: dict[int, list[Repeat]] = defaultdict(list)
        self.due: list[tuple[int, int]] = []
        self.failures: list[str] = []
        self.records: list[Record] = []
        self.end_reason = ""
        self.extension = Extension()
        self.batches: list[int] = []
        self.workers: dict[int, str] = {}
        self.seconds_asking = self.seconds_evaluating = 0.0
        self._last_time = 0.0  # of the record before; an ask comes before all results

    @classmethod
    def load(cls, folder: str | Path, prior_mean: Proxy | None = None) -> Self:
        """Read the run in a folder, also while a process is writing it; `prior_mean` is that of the objective.

        Raises:
            InputError: The folder holds no run, or its journal is damaged.
        """
        records = journal.read(Path(folder))
        run = cls.replayed(Path(folder), records, prior_mean=prior_mean)
        run.records = records
        return run

    @classmethod
    def replayed(
        cls, folder: Path, records: list[Record], key: Key | None = None, prior_mean: Proxy | None = None
    ) -> Self:
        """Return the run that a journal's records describe. `key` and `prior_mean` are those of the objective."""
        first, *others = records
        assert first["type"] == "run"
        with _naming(folder, 1):
            _check_header(first)
            settings = Settings.from_record(first["settings"])
            run = cls(folder, first["objective"], settings, first.get("starts", ()), key, prior_mean)
        for line, record in enumerate(others, start=2):
            with _naming(folder, line):
                if record["type"] == "ask":
                    run._replay_ask(record)
                run.apply(record)
        return run

    def _replay_ask(self, record: AskRecord) -> None:
        """Bring the optimizer to the state after an ask that an earlier process made."""
        ids, known = [trial["id"] for trial in record["trials"]], len(self.optimizer.trials)
        if ids != list(range(known, known + len(ids))):
            raise InputError(f"its trials have the numbers {ids}, but {known} comes next")
        permutations = [trial["permutation"] for trial in record["trials"]]
        self.optimizer.replay(permutations, record["round"], record["model"])

    def apply(self, record: Record) -> None:
        """Change the state as a record says. The trials of an ask are in the optimizer already."""
        if record["type"] in ("tell", "fail", "tell again"):
            self.seconds_evaluating += max(0.0, record["time"] - self._last_time)  # a clock may be set back
        if record["type"] in ("tell", "fail") and "worker" in record:
            self.workers[record["id"]] = record["worker"]
        self._last_time = record["time"]
        match record["type"]:
            case "ask":
                self.seconds_asking += record["seconds"]
                number = self.batches[-1] + 1 if self.batches else 0
                self.batches.extend([number] * len(record["trials"]))
            case "tell":
                seconds = from_json(record["seconds"])
                self.optimizer.tell(record["id"], record["value"], record["standard_error"], seconds)
            case "fail":
                self.optimizer.fail(record["id"], record["reason"], from_json(record["seconds"]))
                self.failures.append(record["reason"])
            case "ask again":
                self.due = [(trial_id, repeat) for trial_id, repeat in record["repeats"]]
            case "tell again":
                self.repeats[record["id"]].append(Repeat(from_json(record["value"]), record["standard_error"]))
                self.due = [each for each in self.due if each[0] != record["id"]]
            case "resume":
                if record["evals"] > self.settings.evals:
                    last = self.optimizer.trials[-1].round if self.optimizer.trials else INITIAL
                    self.extension = Extension(last, self.n_repeats, self.has_reached_target)
                backup = record.get("backup", self.settings.backup)
                self.settings = replace(self.settings, evals=record["evals"], backup=backup)
                self.end_reason = ""
            case "end":
                self.end_reason = record["reason"]
            case other:
                raise InputError(f"there is no record of type {other!r}: a newer law_ray wrote it, so upgrade law_ray")

    def __repr__(self) -> str:
        return as_text(*about_run(self))

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        return as_html(*about_run(self))

    @property
    def item_names(self) -> list[str] | None:
        """The (n_items,) names of the items, None where the journal has none."""
        names = self.objective.get("item_names")
        return names if names is not None and len(names) == self.settings.n_items else None

    @property
    def winner(self) -> Reevaluated | None:
        """What is known of the best trial after the repeated evaluations; None where values are exact."""
        return reevaluated(self.optimizer.trials, self.repeats, self.optimizer.maximize)

    @property
    def best(self) -> Trial:
        """The best trial; of noisy values the winner of the repeated evaluations. Raises InputError without a value."""
        winner = self.winner
        return self.optimizer.best if winner is None else self.optimizer.trials[winner.trial_id]

    @property
    def evaluated(self) -> tuple[IntArray, FloatArray]:
        """The orderings (m, n_items) that have a value, and the values (m,): means where there are repeats."""
        known = [trial for trial in self.optimizer.trials if trial.known]
        orderings = np.array([trial.permutation for trial in known]).reshape(-1, self.settings.n_items)
        return orderings, np.array([score(trial, self.repeats.get(trial.id, ()))[0] for trial in known])

    @property
    def history(self) -> "pd.DataFrame":
        """A row for each trial, by id: the columns of `Optimizer.history`, and what only a run knows.

        The other columns: batch (int64), the number of the batch in the order of the journal, from 0: trials with the
        same number were chosen together. worker ("HOST-NODE/PID" or None), the process that made the first evaluation;
        None in older journals. repeats (int64), how many re-evaluations have a value; repeats_mean and repeats_error
        (float64), their mean and its standard error, NaN without any. The mean leaves out the first value, for which
        the trial was chosen. reason (text), why it failed.
        """
        from law_ray.runs.history import history

        return history(self)

    def to_csv(self, path: str | Path | None = None) -> Path:
        """Write the history as CSV, by default to history.csv in the run folder, and return the path.

        A permutation is its items separated by blanks. Where the journal has names, the column `ordering` has them
        separated by commas; `law_ray.utils.spreadsheets` keeps a spreadsheet from computing it. Unknown numbers are
        empty cells.

        Raises:
            InputError: The file cannot be written.
        """
        from law_ray.runs.history import NAME, write_csv

        return write_csv(self, self.folder / NAME if path is None else Path(path))

    def extended(self, evals: int | None) -> Settings:
        """Return the settings with `evals`, if given, as the budget.

        Raises:
            InputError: `evals` is below the present budget of the run, or is not an integer.
        """
        given = self.settings.evals
        if isinstance(evals, Integral) and evals < given:
            raise InputError(f"evals is {evals}, but the run in {self.folder} was given {given}: give no fewer")
        return replace(self.settings, evals=given if evals is None else evals)

    def is_complete(self, evals: int) -> bool:
        """Return whether the run has ended with nothing left to do for a resume with the budget `evals`."""
        trials, settings = self.optimizer.trials, self.settings
        if not self.end_reason or len(trials) < evals or len(self.ended) < len(trials) or self.due:
            return False
        return self.repeats_left <= 0 or not contenders(trials, self.repeats, settings.maximize)

    @property
    def n_repeats(self) -> int:
        """How many repeated evaluations there were, failed ones included."""
        return sum(map(len, self.repeats.values()))

    @property
    def repeats_left(self) -> int:
        """How many repeated evaluations may be made yet. A larger budget brings as many again."""
        return self.settings.reevaluations - (self.n_repeats - self.extension.repeats)

    @property
    def has_value(self) -> bool:
        """Whether any trial has a value."""
        return any(trial.known for trial in self.optimizer.trials)

    @property
    def has_reached_target(self) -> bool:
        """Whether the best value is at least as good as the target, if there is one."""
        target = self.settings.target
        if target is None or not self.has_value:
            return False
        best = self.optimizer.best.value
        return best >= target if self.settings.maximize else best <= target

    @property
    def ended(self) -> list[Trial]:
        """The trials that were told or failed, by id."""
        return [trial for trial in self.optimizer.trials if trial.state in ("told", "failed")]


def _check_header(first: RunRecord) -> None:
    """Raise InputError unless the first record has all that others rely on."""
    objective: Any = first["objective"]
    missing = (RunRecord.__required_keys__ - first.keys()) | (ObjectiveRecord.__required_keys__ - objective.keys())
    if missing:
        raise InputError(f"it lacks {', '.join(sorted(missing))}")
    if not isinstance(objective["name"], str) or not isinstance(objective["folder"], str):
        raise InputError("the name or the folder of the objective is no text")
    source = objective["source"]
    if source is not None and not (isinstance(source["name"], str) and isinstance(source["options"], dict)):
        raise InputError("the source of the objective is neither null nor a name with options")


@contextmanager
def _naming(folder: Path, line: int) -> Iterator[None]:
    """Turn any error that a line of the journal causes into an InputError that names the line.

    A journal has checksums, but it may be older than these, or from somebody else.
    """
    try:
        yield
    except (InputError, LookupError, TypeError, ValueError, AttributeError, ArithmeticError, MemoryError) as error:
        reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        raise InputError(f"{folder / journal.NAME}, line {line}: {reason}") from error
