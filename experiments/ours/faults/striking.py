"""Run an objective, strike when some evaluations have finished, and count what was lost."""

import itertools
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import law_ray
from experiments.ours.faults.faulty import Faulty
from law_ray.runs import journal

BEFORE = 12  # evaluations that have finished when a fault strikes: the initial 10, and some of the first round
EVALS = 60
OPTIONS: dict[str, Any] = {"n_init": 10, "batch_size": 4, "method": "random", "progress": False}


@dataclass(frozen=True)
class Row:
    """What became of a run that a fault struck."""

    fault: str
    before: int
    """evaluations that had finished when the fault struck"""
    lost: int
    """how many of those are missing in the end, or have another value"""
    repeated: int
    """evaluations that were repeated although they had ended"""
    seconds: float
    """the longest time without a result after the fault struck"""
    survived: bool
    """whether the run ended with all its evaluations, none lost and none counted twice"""
    how: str
    """how the run went on, in words"""


def struck(fault: str, objective: Faulty, strike: Callable[[], None], **options: Any) -> Row:
    """Run the objective on the Ray that is running, and call `strike` when BEFORE evaluations have finished."""
    folder = objective.folder / "run"
    at_strike: dict[str, Any] = {}
    striking = threading.Thread(target=strike_when_due, args=(folder, strike, at_strike), daemon=True)
    striking.start()
    result = law_ray.minimize(objective, evals=EVALS, out=folder, **OPTIONS | options)
    striking.join()
    failed = int((result.history["state"] == "failed").sum())
    whole = len(result.history) == EVALS and not (result.history["state"] == "pending").any()
    how = "evaluated elsewhere or again" if not failed else f"{failed} failed: {_reasons(folder)}"
    return row(fault, objective, folder, at_strike, whole, how)


def row(fault: str, objective: Faulty, folder: Path, at_strike: dict[str, Any], whole: bool, how: str) -> Row:
    """Return the row of a run that has ended; `at_strike` has the time of the fault and the values known then."""
    told = told_values(folder)
    before: dict[int, float] = at_strike["told"]
    lost = sum(told.get(trial_id) != value for trial_id, value in before.items())
    twice = sum(count > 1 for count in _outcomes(folder).values())
    struck_at = objective.met_at() or at_strike["time"]
    ended = [r["time"] for r in journal.read(folder) if r["type"] in ("tell", "fail") and r["time"] > struck_at]
    seconds = round(max((b - a for a, b in itertools.pairwise([struck_at, *ended])), default=0.0), 1)
    return Row(fault, len(before), lost, objective.repeated(), seconds, whole and not lost and not twice, how)


def strike_when_due(folder: Path, strike: Callable[[], None], at_strike: dict[str, Any]) -> None:
    """Wait until BEFORE evaluations have finished, note the time and the values, and strike."""
    while len(told := told_values(folder)) < BEFORE:
        time.sleep(0.05)
    at_strike.update(time=time.time(), told=told)
    strike()


def told_values(folder: Path) -> dict[int, float]:
    """Return the values in the journal of a run, by trial id; none before the run has begun."""
    if not (folder / journal.NAME).exists() or not (folder / journal.NAME).stat().st_size:
        return {}
    return {record["id"]: record["value"] for record in journal.read(folder) if record["type"] == "tell"}


def _outcomes(folder: Path) -> Counter[int]:
    return Counter(record["id"] for record in journal.read(folder) if record["type"] in ("tell", "fail"))


def _reasons(folder: Path) -> str:
    reasons = {record["reason"] for record in journal.read(folder) if record["type"] == "fail"}
    return "; ".join(sorted(reasons))[:100]
