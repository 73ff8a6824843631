"""The page: tables per problem, mean ranks with their critical difference, and how each method was used."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from experiments import markdown
from experiments.machine import played_on
from experiments.markdown import plus_minus
from experiments.ours.general_rivals.behind import behind
from experiments.ours.general_rivals.compared import CHECKED, SETTING, checked, longest
from experiments.ours.general_rivals.methods import METHODS, methods_for
from experiments.ours.general_rivals.playing import SEEDS
from experiments.ours.general_rivals.problems import PROBLEMS, REPLICATES, published
from experiments.runs import values_after
from experiments.statistics import critical_difference, standard_error


def report(rows: pd.DataFrame) -> str:
    """Return the page on all rows."""
    rows = longest(rows)
    parts = [
        HEAD.format(machine=played_on(rows), replicates=REPLICATES),
        _missing(rows),
        _ranks(rows),
        behind(rows),
    ]
    for name, about in PROBLEMS.items():
        of_problem = rows[rows["problem"] == name]
        if of_problem.empty:
            continue
        parts.append(f"\n## {name}\n\n{about.text[0].upper()}{about.text[1:]}.\n")
        heuristics = of_problem[~of_problem["method"].isin(list(METHODS))]
        for batch_size, runs in of_problem[of_problem["method"].isin(list(METHODS))].groupby("batch_size"):
            parts.append(f"\nIn batches of {batch_size}:\n\n{_table(name, runs, heuristics)}")
    parts.append(f"\n## How each method was used\n\n{_uses()}")
    return "".join(parts)


def ranks(rows: pd.DataFrame, evaluations: int, batch_size: int) -> tuple[pd.Series, list[str]]:
    """Return the mean ranks of methods by their mean value after this many evaluations, and the problems that count.

    Those are the problems that law-auto has played with runs of this length, and so have more than half of the methods
    that were played at all; the methods are those with runs on each of them. Equal means share the mean of their ranks,
    as the test of Nemenyi supposes.

    Returns:
        The mean rank by method, the best first; and the names of the problems. Both empty where law-auto did not play.
    """
    own = checked(rows[(rows["batch_size"] == batch_size) & rows["method"].isin(list(METHODS))], evaluations)
    means = own.pivot_table("value", "problem", "method").reindex(columns=list(METHODS))
    means = means[means["law-auto"].notna() & (2 * means.notna().sum(axis=1) > means.notna().any().sum())]
    mean_ranks = means.dropna(axis=1).rank(axis=1).mean().sort_values()
    return mean_ranks, [str(name) for name in means.index]


def _ranks(rows: pd.DataFrame) -> str:
    """Return a table for each batch size that law-auto played: the mean ranks after 100, 200 and 400 evaluations."""
    parts = ["\n## Mean ranks\n"]
    for batch_size in sorted(rows["batch_size"].unique()):
        found = {count: ranks(rows, count, int(batch_size)) for count in CHECKED}
        columns = {f"after {count}": of_methods for count, (of_methods, problems) in found.items() if problems}
        if not columns:
            continue
        problems = max((names for _, names in found.values()), key=len)
        table = pd.DataFrame(columns).sort_values(list(columns)[-1])
        lines = markdown.table(["method", *columns], table.round(2).reset_index().to_numpy(dtype=object).tolist())
        parts.append(f"\nIn batches of {batch_size}, on {_listed(problems)}. {_significant(found)}\n\n{lines}")
    return "".join(parts)


def _significant(found: Mapping[int, tuple[pd.Series, list[str]]]) -> str:
    """Say by how much ranks must differ, given the mean ranks and the problems by the number of evaluations."""
    differences = {
        count: f"{critical_difference(len(of_methods), len(problems)):.2f}"
        for count, (of_methods, problems) in found.items()
        if problems
    }
    if len(different := set(differences.values())) == 1:
        least = different.pop()
    else:
        least = _listed(f"{difference} after {count}" for count, difference in differences.items())
    return f"Ranks that differ by less than {least} do not differ significantly."


def _table(problem: str, rows: pd.DataFrame, heuristics: pd.DataFrame) -> str:
    """Return the table of one problem and batch size, the best at the last budget first."""
    counts = [count for count in CHECKED if len(checked(rows, count))]
    lines: list[tuple[float, list[Any]]] = []
    for method, runs in rows.groupby("method"):
        cells, mean = [], np.nan
        for count in counts:
            values = checked(runs, count)["value"].to_numpy(dtype=float)
            mean = values.mean() if len(values) else np.nan
            cells.append(plus_minus(mean, standard_error(values)))
        seconds = [f"{runs[name].mean():.1f}" for name in ("choosing", "evaluating", "wall")]
        lines.append((mean, [method, len(runs), *cells, *seconds]))
    for method, runs in heuristics.groupby("method"):
        value = float(values_after(runs, [1])[0, 0])
        lines.append((value, [f"{method} (heuristic)", "", *len(counts) * [f"{value:.2f}"], "", "", ""]))
    lines += _published(problem, counts)
    lines.sort(key=lambda line: (np.isnan(line[0]), line[0]))
    header = ["method", "runs", *(f"after {count}" for count in counts), "choosing, s", "evaluating, s", "wall, s"]
    return markdown.table(header, [cells for _, cells in lines])


def _published(problem: str, counts: list[int]) -> list[tuple[float, list[Any]]]:
    """Return the lines of the published figures."""
    figures = published()
    lines = []
    for method, runs in figures[figures["problem"] == problem].groupby("method"):
        after = runs.set_index("evaluations").loc[counts]
        cells = [plus_minus(mean, error) for mean, error in zip(after["mean"], after["error"], strict=True)]
        lines.append(
            (float(after["mean"].iloc[-1]), [f"{method} (published)", runs["runs"].iloc[0], *cells, *3 * [""]])
        )
    return lines


def _missing(rows: pd.DataFrame) -> str:
    """Say what has not been played yet."""
    played = set(rows["problem"])
    problems = [name for name in PROBLEMS if name not in played]
    methods = [name for name in METHODS if name not in set(rows["method"])]
    budgets = [str(count) for count in CHECKED if rows.empty or count > rows["evaluations"].max()]
    batches = [str(size) for size in (1, 5, 20) if size not in set(rows.loc[rows["evaluations"] > 1, "batch_size"])]
    seeds = rows[rows["method"].isin(list(METHODS))].groupby([*SETTING, "method"]).size()
    counts = sorted({seeds.min(), seeds.max()}) if len(seeds) else []
    lists = {"Problems": problems, "Methods": methods, "Evaluations": budgets, "Batch sizes": batches}
    lines = [f"- {what}: {_listed(names)}." for what, names in lists.items() if names]
    if counts and counts[0] < SEEDS:
        lines.append(f"- Runs of each kind: {' to '.join(map(str, counts))}, of {SEEDS} planned.")
    lines += _together(rows[rows["method"].isin(list(METHODS))])
    return "\n".join(["\n## Not played yet\n", *lines, ""]) if lines else ""


def _together(rows: pd.DataFrame) -> list[str]:
    """Say which of the methods and problems that were played at all were not played together, or not as long."""
    lines = []
    methods = [name for name in METHODS if name in set(rows["method"])]
    for size, of_size in rows.groupby("batch_size"):
        played, absent = set(of_size[["problem", "method"]].itertuples(index=False, name=None)), dict[str, list[str]]()
        for method in methods:
            own = [name for name in PROBLEMS if name in set(rows["problem"]) and method in methods_for(name)]
            alone = [name for name in own if (name, method) not in played]
            if alone:
                absent.setdefault("all problems" if alone == own else _listed(alone), []).append(method)
        lines += [f"- In batches of {size}: {_listed(names)} on {alone}." for alone, names in absent.items()]
    budgets = rows.groupby("method")["evaluations"].max()
    for budget in sorted(set(budgets[budgets < budgets.max()])):
        lines.append(f"- After more than {budget} evaluations: {_listed(m for m in methods if budgets[m] == budget)}.")
    return lines


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _uses() -> str:
    lines = [[name, each.how, each.distributions or "law_ray"] for name, each in METHODS.items()]
    return markdown.table(["method", "how", "of"], lines) + ABSENT


ABSENT = """
All of these install on Python 3.11. Google Vizier (google-vizier 0.1.24) does not take part. With the versions that pip
chooses, its Gaussian process fails on import: equinox 0.11.7 does not know jax 0.10. Its public module of designers
needs cvxpy and evojax besides, which it does not declare. With jax 0.4.38 put in by hand it ran, but made fewer than 80
evaluations in 300 s. CEGO, UMM and FAT-RLS take part by their published figures.

Nevergrad's NGOpt chooses an algorithm by the budget and the batch. In batches of 1 the chosen one soon takes steps too
small to change the order, and repeats itself to the end. On asteroid:15 in batches of 5 its metamodel raises an error
with the NumPy of this project ("only 0-dimensional arrays can be converted to Python scalars").

The places of the three assignments are numbered along grids, which law-auto recognises; which shapes it knows was
decided with these instances in view.
"""

HEAD = """# Beside what users would pick

{machine} Regenerate with `python -m experiments.ours.general_rivals`, after `pip install '.[rivals]'`. The instances
are QAPLIB's, Reeves's and LOLIB's, in the folder LAW_RAY_INSTANCES.

Best values, mean +- standard error over the seeds; lower is better. `runs` counts the seeds at the least budget; a cell
without an error is of one run. Of noisy problems a method sees single evaluations; the value here is that of the
ordering with the least observed value, evaluated again: the mean of {replicates} evaluations with the same random
numbers for all orderings. An ordering that breaks the line's precedences is repaired before it is evaluated, for all
methods in the same way. One that was evaluated before costs nothing. All methods use their libraries' defaults, but for
the population of 20, which suits such budgets.

Seconds are those of a whole run on one thread, with other work on the machine: `choosing` and `evaluating` are
processor time, `wall` is what passed. Published figures are of sequential methods (CEGO and UMM: Irurozki and
Lopez-Ibanez, GECCO 2021; FAT-RLS: Santucci and Baioletti).

![Best value against evaluations, in batches of 5](general_rivals.png)
"""
