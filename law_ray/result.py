"""What a run found: the answer that `minimize` and `resume` return."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from law_ray.errors import RunError
from law_ray.runs import backup as backups
from law_ray.runs.journal import note_traceback
from law_ray.runs.objective import BlackBox
from law_ray.runs.reevaluation import Reevaluated
from law_ray.runs.run import Run
from law_ray.runs.summary import about_best, counted
from law_ray.trial import Trial
from law_ray.utils.showing import Facts, as_html, as_text

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Result:
    """What a run found."""

    best: Trial
    history: "pd.DataFrame"
    """as `Optimizer.history`; that of `law_ray.load(out)` also says who made each evaluation, and what repeats gave"""
    out: Path
    """the run folder"""
    evaluations: int
    """trials that were told or failed"""
    rounds: int
    """rounds after the initial design"""
    seconds_asking: float
    """seconds spent on choosing batches"""
    seconds_evaluating: float
    """seconds spent on waiting for evaluations (see `Run`), not the sum of their durations"""
    stop_reason: str
    """why the run ended, in words"""
    files: tuple[Path, ...]
    """files about the best ordering that the objective wrote into the run folder"""
    reevaluated: Reevaluated | None = None
    """what is known of the best after repeated evaluations, where values are noisy"""
    backup_error: str = ""
    """why the backup, if there is one, lacks something"""
    item_names: tuple[str, ...] | None = None
    """(n_items,) names of the items, if the objective has them"""

    def __repr__(self) -> str:
        return as_text("Result", self._facts())

    def _repr_html_(self) -> str:
        """Return a table for notebooks."""
        return as_html("Result", self._facts())

    def _facts(self) -> Facts:
        counts = {
            "failed": int((self.history["state"] == "failed").sum()),
            "repeated": 0 if self.reevaluated is None else self.reevaluated.repeats,
        }
        return [
            *about_best(self.best, self.reevaluated, self.item_names),
            ("evaluations", counted(str(self.evaluations), counts)),
            ("rounds", str(self.rounds)),
            ("stopped", self.stop_reason),
            ("folder", str(self.out)),
            *([("backup", f"incomplete: {self.backup_error}")] if self.backup_error else []),
        ]


def concluded(run: Run, objective: BlackBox, backup: str | None, reason: str) -> Result:
    """Return the result of a run that ended for a reason, and bring its backup up to date.

    Raises:
        RunError: No evaluation ended, or none succeeded.
    """
    result = result_of(run, objective, reason)
    if backup is not None:
        with backups.Backup(run.folder, backup) as copy:
            pass  # what the driver could not copy, and the files written since
        result = replace(result, backup_error=copy.error)
    return result


def result_of(run: Run, objective: BlackBox, reason: str) -> Result:
    """Return the result of a run that ended for a reason, after the objective has written its files.

    Raises:
        RunError: No evaluation ended, or none succeeded.
    """
    done = run.ended
    if not done:
        raise RunError(f"no evaluation ended before {reason}: resume {run.folder}")
    if all(trial.state == "failed" for trial in done):
        error = RunError(
            f"no evaluation succeeded before {reason}: correct the objective, then resume {run.folder} with more "
            "evals: failed ones count and are not made again; or begin a new run if another setting is wrong"
        )
        note_traceback(error, run.folder, {trial.id for trial in done})
        raise error
    best = run.best
    return Result(
        best,
        run.optimizer.history,
        run.folder,
        len(done),
        max(trial.round for trial in done),
        run.seconds_asking,
        run.seconds_evaluating,
        reason,
        objective.write(best, run.folder, run.evaluated),
        run.winner,
        item_names=None if objective.item_names is None else tuple(map(str, objective.item_names)),
    )
