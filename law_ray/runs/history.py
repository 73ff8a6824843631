"""A run as a table: one row per trial, as a data frame or a CSV file."""

import math
from pathlib import Path
from typing import TYPE_CHECKING

from law_ray.errors import InputError
from law_ray.runs.reevaluation import mean
from law_ray.utils.files import replacing
from law_ray.utils.spreadsheets import as_cell

if TYPE_CHECKING:
    import pandas as pd

    from law_ray.runs.run import Run

NAME = "history.csv"
"""The file in the run folder that `write_csv` writes by default."""


def history(run: "Run") -> "pd.DataFrame":
    """Return the table that `Run.history` describes."""
    import pandas as pd  # 0.4 s

    frame = run.optimizer.history
    ids = frame["id"].tolist()
    means = [mean(run.repeats.get(i, ())) or (math.nan, math.nan) for i in ids]
    counts = [sum(math.isfinite(repeat.value) for repeat in run.repeats.get(i, ())) for i in ids]
    return frame.assign(
        batch=pd.Series(run.batches, dtype="int64"),
        worker=pd.Series([run.workers.get(i) for i in ids], dtype="object"),  # None stays None
        repeats=pd.Series(counts, dtype="int64"),
        repeats_mean=pd.Series([value for value, _ in means], dtype="float64"),
        repeats_error=pd.Series([error for _, error in means], dtype="float64"),
        reason=pd.Series([trial.reason for trial in run.optimizer.trials], dtype="str"),
    )


def write_csv(run: "Run", path: Path) -> Path:
    """Write the history as `Run.to_csv` describes, and return the path.

    Raises:
        InputError: The file cannot be written.
    """
    frame = history(run)
    permutations = frame["permutation"]
    frame["permutation"] = [" ".join(map(str, permutation)) for permutation in permutations]
    if (names := run.item_names) is not None:
        orderings = [as_cell(", ".join(names[item] for item in permutation)) for permutation in permutations]
        frame.insert(frame.columns.get_loc("permutation") + 1, "ordering", orderings)
    try:
        with replacing(path) as partial:
            frame.to_csv(partial, index=False)
    except OSError as error:
        raise InputError(f"{path} cannot be written ({error.strerror or error}): give another path") from None
    return path
