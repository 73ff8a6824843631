"""Which rows are compared, and after how many evaluations."""

import pandas as pd

from experiments.runs import values_after

CHECKED = (100, 200, 400)
"""Evaluations after which values are compared, those of the published figures."""
SETTING = ["problem", "batch_size"]
SHOWN_BATCH_SIZE = 5
"""Of the figure, and of the table in the README."""


def longest(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows without those that a longer run of the same method and seed replaces."""
    kinds = [*SETTING, "method", "seed"]
    return rows.sort_values("evaluations", kind="stable").drop_duplicates(kinds, keep="last").sort_index()


def checked(rows: pd.DataFrame, evaluations: int) -> pd.DataFrame:
    """Return the rows of at least this many evaluations, with their value after these in the column `value`."""
    long = rows[rows["evaluations"] >= evaluations]
    return long.assign(value=values_after(long, [evaluations])[:, 0] if len(long) else [])
