"""The user's callbacks: in the client, they get each trial that has ended, as the journal tells of it."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from law_ray.errors import InputError
from law_ray.runs import journal
from law_ray.runs.records import Record, from_json
from law_ray.trial import Trial

Callback = Callable[[Trial], object]


class CallbackError(Exception):
    """A callback raised `error`."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


class Callbacks:
    """Reads the journal in a folder as it grows, from its present end on, and calls the functions.

    Args:
        folder: The run folder, which may not exist yet.
        functions: Each is called with each trial.

    Raises:
        InputError: `functions` is not a list of functions.
    """

    def __init__(self, folder: Path, functions: Sequence[Callback]) -> None:
        if not isinstance(functions, Sequence) or not all(map(callable, functions)):
            raise InputError(f"callbacks is {functions!r}: give a list of functions, each of which takes a trial")
        self._functions = functions
        self._path = folder / journal.NAME
        self._read = 0  # bytes
        self._pending: dict[int, Trial] = {}  # by id
        self._ended_since()

    def catch_up(self) -> None:
        """Call the functions with the trials that have ended since the last call.

        Raises:
            CallbackError: A function raised.
        """
        for trial in self._ended_since():
            for function in self._functions:
                try:
                    function(trial)
                except Exception as error:
                    raise CallbackError(error) from error

    def _ended_since(self) -> list[Trial]:
        ended: list[Trial] = []
        for record in self._records() if self._functions else []:
            if record["type"] == "ask":
                for each in record["trials"]:
                    permutation = np.array(each["permutation"], dtype=np.int64)
                    self._pending[each["id"]] = Trial(each["id"], record["round"], permutation)
            elif record["type"] in ("tell", "fail"):
                trial, seconds = self._pending.pop(record["id"]), from_json(record["seconds"])
                if record["type"] == "tell":
                    ended.append(trial.told(record["value"], record["standard_error"], seconds))
                else:
                    ended.append(trial.failed(record["reason"], seconds))
        return ended

    def _records(self) -> list[Record]:
        """Return the whole records that the journal has gained."""
        if not self._path.exists():
            return []
        with open(self._path, "rb") as file:
            file.seek(self._read)
            lines = file.read().splitlines(keepends=True)
        whole = [line for line in lines if line.endswith(b"\n")]  # all but the last
        self._read += sum(map(len, whole))
        return [json.loads(line) for line in whole]
