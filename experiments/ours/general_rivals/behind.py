"""The section that lists where another method has a lower mean than law-auto."""

from typing import Any, NamedTuple

import pandas as pd

from experiments import markdown
from experiments.markdown import plus_minus
from experiments.ours.general_rivals.compared import CHECKED, SETTING, checked
from experiments.ours.general_rivals.methods import METHODS
from experiments.ours.general_rivals.problems import published
from experiments.statistics import in_combined_errors, standard_error

TIED = 2.0
"""Means that differ by no more than this many combined standard errors count as tied."""
OWN = ("law-auto", "law-auto informed")


class Rival(NamedTuple):
    """The other method with the lowest mean."""

    mean: float
    error: float
    name: str


def behind(rows: pd.DataFrame) -> str:
    """Return the section: how often law-auto has the lowest mean, and a line for each setting where it has not.

    A setting is a problem, a batch size and a number of evaluations. The other methods include those with published
    figures, but not the heuristics of a domain, which know more than values.
    """
    lines: list[list[Any]] = []
    settings = tied = 0
    for (problem, batch_size), runs in rows[rows["method"].isin(list(METHODS))].groupby(SETTING, sort=False):
        for evaluations in CHECKED:
            long = checked(runs, evaluations)
            own = long.loc[long["method"] == OWN[0], "value"].to_numpy(dtype=float)
            rival = _lowest_other(str(problem), evaluations, long)
            if not len(own) or rival is None:
                continue
            settings += 1
            if own.mean() <= rival.mean:
                continue
            combined_errors = in_combined_errors(own, rival.mean, rival.error)
            tied += combined_errors <= TIED
            values = plus_minus(own.mean(), standard_error(own)), plus_minus(rival.mean, rival.error)
            lines.append([problem, batch_size, evaluations, values[0], rival.name, values[1], combined_errors])
    if not settings:
        return ""
    lines.sort(key=lambda line: (line[1], line[2]))
    text = TEXT.format(settings=settings, lowest=settings - len(lines), tied=tied)
    return f"{text}\n{markdown.table(HEADER, lines, 1)}" if lines else text


def _lowest_other(problem: str, evaluations: int, long: pd.DataFrame) -> Rival | None:
    """Return the lowest mean of the methods beside law-auto, with the published ones; None if none has played."""
    found = [
        Rival(float(values.mean()), standard_error(values.to_numpy(dtype=float)), str(method))
        for method, values in long[~long["method"].isin(OWN)].groupby("method")["value"]
    ]
    figures = published()
    figures = figures[(figures["problem"] == problem) & (figures["evaluations"] == evaluations)]
    for mean, error, method in figures[["mean", "error", "method"]].itertuples(index=False, name=None):
        found.append(Rival(float(mean), float(error), f"{method} (published)"))
    return min(found, key=lambda rival: rival.mean, default=None)


HEADER = ["problem", "in batches of", "evaluations", "law-auto", "lowest", "its mean", "combined errors"]
TEXT = """
## Where law-auto is not the lowest

A setting is a problem, a batch size, and 100, 200 or 400 evaluations. law-auto has the lowest mean in {lowest} of
{settings} settings, and in {tied} others one that is at most two combined standard errors above the lowest. Heuristics
that know the problem are not counted; `law-auto informed` begins with them. The published methods are sequential: each
choice knows all values before it. In batches of 20, four choices bring a run from its 20 random orderings to 100
evaluations.
"""
