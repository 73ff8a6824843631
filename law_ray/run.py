"""One run: an optimiser whose every step is in the journal before it counts, and the rules that end it. No Ray."""

import dataclasses
import itertools
import math
import platform
import time
from collections import defaultdict
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Self

from law_ray.errors import RunError, UsedUpError
from law_ray.evaluation import Outcome
from law_ray.journal import Journal, Record
from law_ray.optimizer import INITIAL, Optimizer, Trial
from law_ray.prior_mean import Proxy
from law_ray.rescore import Repeat, Rescored, contenders, rescored
from law_ray.settings import Settings
from law_ray.taken import Key

PACKAGES = ("law-ray", "numpy", "scipy", "ray", "pgmpy")
Repeats = dict[int, list[Repeat]]  # by trial id

FAILED_ROUNDS = 2  # in a row, all of whose evaluations failed: the objective is broken, not unlucky


class Run:
    """The state of a run and its journal. `start` begins one, `resume` takes one up again."""

    def __init__(self, journal: Journal, settings: Settings, optimizer: Optimizer) -> None:
        self.journal = journal
        self.settings = settings
        self.optimizer = optimizer
        self.repeats: Repeats = defaultdict(list)
        self._due: list[tuple[int, int]] = []  # repeats asked for and not told: trial, number
        self.used_up = False
        self.began = time.monotonic()
        self._asked_before = len(optimizer.trials)  # by an earlier process
        self._entered = 0

    @classmethod
    def start(
        cls,
        folder: Path,
        settings: Settings,
        objective: Record,
        key: Key | None = None,
        starts: Sequence[Sequence[int]] = (),
        prior_mean: Proxy | None = None,
    ) -> Self:
        """Begin a run in `folder`. `objective` says what is optimised, so that a resume can tell another one.

        `starts`: orderings for the initial design. This, `key` and `prior_mean` are those of `Optimizer`.
        """
        header = {
            "time": time.time(),
            "objective": objective,
            "settings": dataclasses.asdict(settings),
            "starts": starts,
            "packages": {name: metadata.version(name) for name in PACKAGES},
            "python": platform.python_version(),
        }
        optimizer = _optimizer(settings, key, starts, prior_mean)  # what it refuses leaves no folder
        return cls(Journal.create(folder, header), settings, optimizer)

    @classmethod
    def resume(
        cls, folder: Path, evals: int | None = None, key: Key | None = None, prior_mean: Proxy | None = None
    ) -> Self:
        """Take up the run in `folder` where its journal ends; `evals`, if given, is its new budget."""
        journal = Journal(folder)
        records = journal.records.copy()
        settings = settings_of(records)
        if evals is not None:
            settings = dataclasses.replace(settings, evals=evals)
        run = cls(journal, settings, replayed(records, key, prior_mean))
        run.repeats, run._due = repeats_of(records)
        journal.append({"type": "resume", "time": time.time(), "evals": settings.evals})
        return run

    @property
    def pending(self) -> list[Trial]:
        """Asked, and neither told nor failed."""
        return self.optimizer.pending

    @property
    def _known(self) -> bool:
        """Whether any value is."""
        return any(trial.state == "told" for trial in self.optimizer.trials)

    @property
    def late(self) -> bool:
        """Whether max_time is up; each process gets at least one result, so resuming always leads on."""
        limit = self.settings.max_time
        return limit is not None and time.monotonic() - self.began >= limit and self._entered > 0

    def ask(self, batch_size: int, joining: bool = False) -> list[Trial]:
        """The next batch, on disk before it is returned; empty when the space is used up.

        At most `batch_size` points, and within the budget; the initial design is one batch.
        """
        done = len(self.optimizer.trials)
        size = min(
            self.settings.n_init - done if done < self.settings.n_init else batch_size, self.settings.evals - done
        )
        start = time.perf_counter()
        trials: list[Trial] = []
        while size and not trials:
            try:
                trials = self.optimizer.ask(size, joining)
            except UsedUpError:
                size //= 2
        self.used_up = not trials
        if trials:
            model = self.optimizer.model if trials[0].round != INITIAL else None
            self.journal.append(
                {
                    "type": "ask",
                    "time": time.time(),
                    "seconds": time.perf_counter() - start,
                    "round": trials[0].round,
                    "batch_size": len(trials),
                    "model": None if model is None else dataclasses.asdict(model),
                    "trials": [{"id": trial.id, "permutation": trial.permutation.tolist()} for trial in trials],
                }
            )
        return trials

    def refill(self, batch_size: int) -> list[Trial]:
        """What keeps `batch_size` trials pending, in asynchronous mode; empty when nothing more should be asked for.

        Each `batch_size` trials in turn make a round, whether or not those of the round before have ended: LAW chooses
        the first of a round as the acquisition's maximum and the others as further points of that batch.
        """
        trials = self.optimizer.trials
        if not trials or len(trials) < self.settings.n_init:
            return self.ask(batch_size)
        free = batch_size - len(self.pending)
        if free <= 0 or self.enough() is not None:
            return []
        begun = sum(trial.round == trials[-1].round for trial in trials[-batch_size:])
        joining = trials[-1].round != INITIAL and begun < batch_size
        return self.ask(min(free, batch_size - begun) if joining else free, joining)

    def enter(self, trial_id: int, outcome: Outcome) -> None:
        """A trial's outcome: on disk, then told to the optimiser."""
        self._entered += 1
        common = {"id": trial_id, "time": time.time(), "seconds": _json(outcome.seconds)}
        if outcome.reason:
            self.journal.append({"type": "fail", "reason": outcome.reason, **common})
            self.optimizer.fail(trial_id, outcome.reason, outcome.seconds)
        else:
            told = {"value": outcome.value, "standard_error": outcome.standard_error}
            self.journal.append({"type": "tell", **told, **common})
            self.optimizer.tell(trial_id, outcome.value, outcome.standard_error, outcome.seconds)

    def ask_again(self) -> list[tuple[Trial, int]]:
        """The best trials to evaluate once more, each with the number of the repeat: none once the winner is clear.

        At most `settings.rescore` repeats are asked for in all; on disk before they are returned.
        """
        trials = self.optimizer.trials
        if not self._due:
            left = self.settings.rescore - sum(map(len, self.repeats.values()))
            ids = contenders(trials, self.repeats, self.settings.maximize)[: max(left, 0)]
            self._due = [(i, len(self.repeats[i]) + 1) for i in ids]
            if ids:
                self.journal.append({"type": "ask again", "time": time.time(), "repeats": self._due})
        return [(trials[i], repeat) for i, repeat in self._due]

    def enter_again(self, trial_id: int, outcome: Outcome) -> None:
        """The outcome of the repeat that a trial is due: on disk, then counted."""
        self.journal.append(
            {
                "type": "tell again",
                "id": trial_id,
                "value": _json(outcome.value),
                "standard_error": outcome.standard_error,
                "reason": outcome.reason,
                "time": time.time(),
                "seconds": _json(outcome.seconds),
            }
        )
        self.repeats[trial_id].append(Repeat(outcome.value, outcome.standard_error))
        self._due = [due for due in self._due if due[0] != trial_id]

    def stop_reason(self) -> str | None:
        """Why the run should end now, or None. Raises RunError when the objective only fails."""
        settings = self.settings
        if settings.target is not None and self._known:
            best = self.optimizer.best.value
            if best >= settings.target if settings.maximize else best <= settings.target:
                return "the target was reached"
        if self.late:
            return "the time was up"
        return None if self.pending else self.enough()

    def enough(self) -> str | None:
        """Why nothing more should be asked for, or None, by the rounds that have ended; errors as for `stop_reason`."""
        settings, trials, pending = self.settings, self.optimizer.trials, self.pending
        if not trials:
            return None
        last_round = min(trial.round for trial in pending) - 1 if pending else trials[-1].round
        new = reversed(trials[self._asked_before :])  # the objective may have been mended before a resume
        since = itertools.takewhile(lambda trial: trial.round > last_round - FAILED_ROUNDS, new)
        recent = [trial for trial in since if trial.round <= last_round]
        whole_rounds = len({trial.round for trial in recent})
        if whole_rounds == FAILED_ROUNDS and all(trial.state == "failed" for trial in recent):
            raise RunError(
                f"the last {len(recent)} evaluations, {FAILED_ROUNDS} whole rounds, all failed; trial {recent[0].id}: "
                f"{recent[0].reason}; mend the objective, then resume {self.journal.folder}"
            )
        if len(trials) >= settings.evals:
            return "all evaluations were made"
        if self.used_up:
            return "nothing new was left to evaluate"
        if (
            settings.patience is not None
            and self._known
            and last_round - self.optimizer.best.round >= settings.patience
        ):
            return f"{settings.patience} rounds brought nothing better"
        return None


def settings_of(records: list[Record]) -> Settings:
    """The settings in force at the end of a journal's records."""
    budgets = [record["evals"] for record in records if record["type"] == "resume"]
    return Settings(**{**records[0]["settings"], **({"evals": budgets[-1]} if budgets else {})})


def replayed(records: list[Record], key: Key | None, prior_mean: Proxy | None = None) -> Optimizer:
    """An optimiser in the state that a journal's records describe; nothing is fitted anew."""
    optimizer = _optimizer(settings_of(records), key, records[0].get("starts", ()), prior_mean)
    for record in records:
        match record["type"]:
            case "ask":
                permutations = [trial["permutation"] for trial in record["trials"]]
                optimizer.replay(permutations, record["round"], record["model"])
            case "tell":
                optimizer.tell(record["id"], record["value"], record["standard_error"], _nan(record["seconds"]))
            case "fail":
                optimizer.fail(record["id"], record["reason"], _nan(record["seconds"]))
    return optimizer


def repeats_of(records: list[Record]) -> tuple[Repeats, list[tuple[int, int]]]:
    """The repeated evaluations in a journal's records, by trial id, and those asked for but not told."""
    repeats: Repeats = defaultdict(list)
    due: list[tuple[int, int]] = []
    for record in records:
        match record["type"]:
            case "ask again":
                due = [(trial_id, repeat) for trial_id, repeat in record["repeats"]]
            case "tell again":
                repeats[record["id"]].append(Repeat(_nan(record["value"]), record["standard_error"]))
                due = [each for each in due if each[0] != record["id"]]
    return repeats, due


def best_of(optimizer: Optimizer, records: list[Record]) -> tuple[Trial, Rescored | None]:
    """The best trial after the repeats in a journal's records, and what they say of it where values are noisy."""
    winner = rescored(optimizer.trials, repeats_of(records)[0], optimizer.maximize)
    return (optimizer.best, None) if winner is None else (optimizer.trials[winner.trial_id], winner)


def _optimizer(
    settings: Settings, key: Key | None, starts: Sequence[Sequence[int]], prior_mean: Proxy | None
) -> Optimizer:
    return Optimizer(
        settings.n_items,
        settings.method,
        settings.seed,
        settings.n_init,
        settings.maximize,
        key,
        settings.constraints,
        starts,
        prior_mean,
    )


def spans(records: list[Record]) -> tuple[float, float]:
    """Seconds spent asking, and seconds spent waiting for evaluations, according to a journal's records.

    Waiting is the time from any record to a result that comes next; what passed before a resume is nobody's.
    """
    asking = sum(record["seconds"] for record in records if record["type"] == "ask")
    waiting = sum(
        record["time"] - previous["time"]
        for previous, record in itertools.pairwise(records)
        if record["type"] in ("tell", "fail", "tell again")
    )
    return asking, waiting


def folder_for(name: str, seed: int, parent: Path = Path("law-ray-runs")) -> Path:
    """A fresh folder for a run of the objective `name`."""
    stem = f"{''.join(c if c.isalnum() else '-' for c in name).strip('-')}-seed{seed}-{time.strftime('%Y%m%d-%H%M%S')}"
    candidates = (parent / f"{stem}{suffix}" for suffix in ("", *(f"-{i}" for i in range(1, 1000))))
    return next(path for path in candidates if not path.exists())


def _json(number: float) -> float | None:
    return number if math.isfinite(number) else None


def _nan(number: float | None) -> float:
    return math.nan if number is None else number
