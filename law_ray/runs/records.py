"""The records of a journal, one JSON object per line. Their keys never change: old journals must load."""

import math
from typing import Any, Literal, NotRequired, TypedDict


class ObjectiveRecord(TypedDict):
    """What is optimised, so that a resume notices another objective."""

    name: str
    fingerprint: str | None
    """a hash of the data and options behind the values"""
    code: NotRequired[str | None]
    """a hash of the user's source file"""
    source: dict[str, Any] | None
    """the name and options by which `objectives.load` finds it, None if it was given in Python"""
    folder: str
    """where relative paths and modules are found"""
    launch: NotRequired[str]
    """identifies the start of the run, for a driver that restarts"""
    prior_mean: NotRequired[bool]
    """whether it has a prior mean; absent from older journals"""
    noisy: NotRequired[bool]
    """whether its values are noisy; absent from older journals"""
    tells_more: NotRequired[bool]
    """whether the page of the run can say more with the objective at hand; absent from older journals"""
    item_names: NotRequired[list[str] | None]
    """(n_items,) names of the items, if they have any; absent from older journals"""


class RunRecord(TypedDict):
    """The first line."""

    type: Literal["run"]
    version: int
    time: float
    objective: ObjectiveRecord
    settings: dict[str, Any]
    starts: NotRequired[list[list[int]]]
    """orderings of the initial design"""
    packages: dict[str, str]
    python: str


class TrialRecord(TypedDict):
    """A trial of an ask."""

    id: int
    permutation: list[int]


class AskRecord(TypedDict):
    """A batch, written before any of its evaluations is submitted."""

    type: Literal["ask"]
    time: float
    seconds: float
    """seconds that choosing took"""
    round: int
    batch_size: int
    model: dict[str, Any] | None
    """the fitted hyperparameters, None in the initial design"""
    trials: list[TrialRecord]


class Made(TypedDict):
    """How an evaluation was made; absent from older journals."""

    worker: NotRequired[str]
    """HOST-NODE/PID of the process that made it; NODE is the beginning of the node's id in Ray"""
    attempts: NotRequired[int]
    """how often it was submitted, if more than once"""
    traceback: NotRequired[str]
    """of what the objective raised, from the user's code on"""


class TellRecord(Made):
    """The value of a trial."""

    type: Literal["tell"]
    id: int
    value: float
    standard_error: float
    time: float
    seconds: float | None


class FailRecord(Made):
    """A trial that has no value."""

    type: Literal["fail"]
    id: int
    reason: str
    time: float
    seconds: float | None


class AskAgainRecord(TypedDict):
    """Repeated evaluations of the best trials."""

    type: Literal["ask again"]
    time: float
    repeats: list[tuple[int, int]]
    """pairs of a trial's id and the number of the repeat, from 1"""


class TellAgainRecord(Made):
    """The outcome of a repeated evaluation; the value is null if it failed."""

    type: Literal["tell again"]
    id: int
    value: float | None
    standard_error: float
    reason: str
    time: float
    seconds: float | None


class ResumeRecord(TypedDict):
    """The run was resumed, perhaps with a larger budget."""

    type: Literal["resume"]
    time: float
    evals: int
    backup: NotRequired[str]
    """where the backup is from then on, if it is given or another one"""


class EndRecord(TypedDict):
    """The run ended; a later resume may continue it. Absent where its process was killed, and from older journals."""

    type: Literal["end"]
    time: float
    reason: str


Record = RunRecord | AskRecord | TellRecord | FailRecord | AskAgainRecord | TellAgainRecord | ResumeRecord | EndRecord


def to_json(number: float) -> float | None:
    """Return a number as a record stores it: JSON has no NaN, which is null there."""
    return number if math.isfinite(number) else None


def from_json(number: float | None) -> float:
    """Return a number that a record stores."""
    return math.nan if number is None else number
