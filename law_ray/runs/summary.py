"""What a run found, in a few lines: `repr` and the tables of notebooks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from law_ray.errors import InputError
from law_ray.runs.reevaluation import Reevaluated
from law_ray.trial import Trial
from law_ray.utils.showing import Facts, ordering, with_error

if TYPE_CHECKING:
    from law_ray.runs.run import Run


def about_best(best: Trial, winner: Reevaluated | None, names: Sequence[str] | None) -> Facts:
    """Return the best value and its ordering; of noisy values what is known after the repeated evaluations."""
    value = with_error(best.value, best.standard_error) if winner is None else about_winner(winner)
    return [("best value", value), ("ordering", ordering(best.permutation, names))]


def about_winner(winner: Reevaluated) -> str:
    """Return the value of the winner of the repeated evaluations, and how sure it is the best."""
    value = with_error(winner.value, winner.standard_error)
    return ", ".join(filter(None, [value, winner.sure]))


def about_run(run: "Run") -> tuple[str, Facts]:
    """Return a title, and what is known of a run so far."""
    try:
        best = about_best(run.best, run.winner, run.item_names)
    except InputError:
        best = [("best value", "none yet")]
    settings, trials, ended = run.settings, run.optimizer.trials, run.ended
    counts = {
        "failed": len(run.failures),
        "under way": len(run.optimizer.pending),
        "repeated": run.n_repeats,
    }
    facts = [
        *best,
        ("evaluations", counted(f"{len(ended)} of {settings.evals}", counts)),
        ("rounds", str(max((trial.round for trial in trials), default=0))),
        *([("ended", run.end_reason)] if run.end_reason else []),
        ("chosen by", f"{settings.method}, seed {settings.seed}"),
        ("folder", str(run.folder)),
    ]
    goal = "maximised" if settings.maximize else "minimised"
    return f"Run of {run.objective['name']}, {goal}, {settings.n_items} items", facts


def counted(first: str, counts: dict[str, int]) -> str:
    """Return a count followed by those of others that are not 0: "120, 3 failed"."""
    return ", ".join([first, *(f"{count} {what}" for what, count in counts.items() if count)])
