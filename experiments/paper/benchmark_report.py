"""The report on the rows of `benchmarks`: means, differences from the paper's, ranks and figures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments import markdown
from experiments.machine import played_on
from experiments.markdown import plus_minus
from experiments.paper import published
from experiments.paper.problems import PROBLEMS
from experiments.runs import N_INIT, WITHOUT_PAIRS, Run, values_after
from experiments.statistics import average_ranks, in_combined_errors, standard_error

COLUMNS = (
    *("problem", "method", "evaluations", "runs", "mean", "standard_error", "at_optimum", "seconds"),
    *("paper_evaluations", "paper_mean", "paper_standard_error", "difference"),
)
SHOWN = (
    *("law-est", "law-auto", WITHOUT_PAIRS, "q-ei", "q-est", "mace-ucb", "dpp-max-est", "ga", "local-search"),
    "random",
)
"""The methods that the figures show."""
DPI = 130
ABOUT = """\
# Table 1 of the paper, run again

{machine} Regenerate with `python -m experiments.paper.benchmarks`.

Best value: mean +- standard error over the runs. There are at most 15 runs, three from each of five initial sets of 30
random permutations that all methods share; the paper's figures are over 15. Difference: our mean minus the paper's,
divided by the root of the sum of their squared standard errors. Below -2, ours is better beyond chance. Where the
paper's figure is after fewer evaluations, ours is taken at that number too. Ranks: those of the means, 1 for the
lowest, averaged over the problems. The ranks among the paper's nine methods compare with its own; in these, bucb counts
only on the problems where it was run. Seconds: processor time spent choosing batches in a run, on one thread, where it
was measured; the runs of law-auto end where they find a proven optimum. The paper does not round the distances of
att48, which makes a tour some 24 shorter. Why law-est ends above the paper on reC19 is examined in climb_starts.md.

"law-auto without pairs" is law-auto without its pairwise model. The seconds of the two are from different machines.
"""


def write(rows: pd.DataFrame, objectives: Mapping[str, Any], folder: Path, fractions: Sequence[float]) -> str:
    """Write the report: benchmarks.md, benchmarks_table.csv and two figures.

    Args:
        rows: The rows of the runs.
        objectives: The problems by name, for their optima.
        folder: Where the files go.
        fractions: After which fractions of the paper's rounds the methods are compared.

    Returns:
        The text of benchmarks.md.
    """
    tables = [summary(rows, objectives, fraction) for fraction in fractions]
    pd.concat(tables).to_csv(folder / "benchmarks_table.csv", index=False, float_format="%.2f")
    parts = [ABOUT.format(machine=played_on(rows))]
    for fraction, table in zip(fractions, tables, strict=True):
        parts += [f"## After {fraction:.0%} of the rounds\n", rank_table(table)]
        parts += [section(of_problem, objectives) for _, of_problem in table.groupby("problem", sort=False)]
    text = "\n".join(parts)
    markdown.publish(folder / "benchmarks.md", text)
    for against in ("evaluations", "rounds"):
        draw(rows, objectives, against, folder / f"benchmarks_{against}.png")
    return text


def summary(rows: pd.DataFrame, objectives: Mapping[str, Any], fraction: float) -> pd.DataFrame:
    """Return one row per problem and method with runs that reach this fraction of the rounds.

    A longer run counts with its best value at that point, but not in the seconds. What is unknown is NaN.
    """
    figures = {(row["problem"], row["method"]): row for row in published.figures().to_dict("records")}
    found: list[dict[str, Any]] = []
    for problem, budget in PROBLEMS.items():
        evaluations = budget.evaluations(fraction)
        reaching = rows[(rows["problem"] == problem) & (rows["evaluations"] >= evaluations)]
        for method, runs in reaching.drop_duplicates(list(Run._fields)).groupby("method", sort=False):
            values = values_after(runs, [evaluations])[:, 0]
            row = {
                **{"problem": problem, "method": method, "evaluations": evaluations, "runs": len(runs)},
                **{"mean": values.mean(), "standard_error": standard_error(values)},
                "at_optimum": int((values == objectives[problem].optimum).sum()),
                "seconds": runs.loc[runs["evaluations"] == evaluations, "seconds"].mean(),
            }
            if theirs := figures.get((problem, method)):
                row |= {f"paper_{name}": theirs[name] for name in ("evaluations", "mean", "standard_error")}
                values = values_after(runs, [min(evaluations, theirs["evaluations"])])[:, 0]
                row["difference"] = in_combined_errors(values, theirs["mean"], theirs["standard_error"])
            found.append(row)
    return pd.DataFrame(found, columns=list(COLUMNS))


def rank_table(table: pd.DataFrame) -> str:
    """Return a Markdown table of the average ranks, the best first."""
    if table.empty:
        return "No run is long enough yet.\n"
    figures = published.figures()
    figures = figures[figures["problem"].isin(list(PROBLEMS)) & figures["method"].isin(published.TABLE_1)]
    among = table[table["method"].isin(published.TABLE_1)]
    ranks = pd.DataFrame(
        {
            "problems": table.groupby("method").size(),
            "rank among all": average_ranks(table),
            "among the paper's nine": average_ranks(among),
            "in the paper": average_ranks(figures),
        }
    )
    ranks = ranks.dropna(subset="problems").astype({"problems": int}).sort_values("rank among all")
    return markdown.table(["method", *ranks], [[method, *row] for method, row in ranks.astype(object).iterrows()])


def section(table: pd.DataFrame, objectives: Mapping[str, Any]) -> str:
    """Return a heading for one problem, and a Markdown table of its methods, the best first."""
    problem, evaluations = table[["problem", "evaluations"]].iloc[0]
    figures = published.figures()
    theirs = figures[figures["problem"] == problem].sort_values("mean").iloc[0]
    best = f"{theirs['method']} {plus_minus(theirs['mean'], theirs['standard_error'])}"
    header = ["method", "runs", "best value", "at optimum", "paper", "after", "difference", "seconds"]
    lines = []
    for row in table.sort_values("mean").to_dict("records"):
        after = row["paper_evaluations"]
        lines.append(
            [
                *(row["method"], row["runs"], plus_minus(row["mean"], row["standard_error"]), row["at_optimum"]),
                *(plus_minus(row["paper_mean"], row["paper_standard_error"]), "" if np.isnan(after) else int(after)),
                *(row["difference"], row["seconds"]),
            ]
        )
    known = f"Optimum {objectives[problem].optimum:.0f}; the paper's best: {best}.\n"
    return f"### {problem} after {evaluations} evaluations\n\n{known}\n{markdown.table(header, lines)}"


def draw(rows: pd.DataFrame, objectives: Mapping[str, Any], against: str, path: Path) -> None:
    """Draw the mean best value +- standard error against the evaluations or the rounds, one panel per problem."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 9.5), layout="constrained")
    for axes, (problem, budget) in zip(figure.subplots(3, 3).flat, PROBLEMS.items(), strict=True):
        axes.set_title(problem, fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        of_problem = rows[rows["problem"] == problem]
        for color, method in enumerate(SHOWN):
            runs = of_problem[of_problem["method"] == method]
            runs = runs[runs["evaluations"] == runs["evaluations"].max()].drop_duplicates(list(Run._fields))
            if runs.empty:
                continue
            evaluations = np.arange(N_INIT, runs["evaluations"].iloc[0] + 1, budget.batch_size)
            x = evaluations if against == "evaluations" else (evaluations - N_INIT) // budget.batch_size
            values = values_after(runs, evaluations.tolist())
            mean, error = values.mean(axis=0), pd.DataFrame(values).sem().fillna(0.0)
            axes.plot(x, mean, color=f"C{color}", lw=1.4, label=method)
            axes.fill_between(x, mean - error, mean + error, color=f"C{color}", alpha=0.2, lw=0)
        if not of_problem.empty:
            axes.axhline(objectives[problem].optimum, color="k", lw=0.8, ls=":", label="optimum")
    for axes in figure.axes[-3:]:
        axes.set_xlabel(against)
    labelled = {line.get_label(): line for axes in figure.axes for line in axes.get_lines()}
    figure.legend(handles=labelled.values(), loc="outside lower center", ncols=5, frameon=False)
    figure.supylabel("best value, mean +- standard error", fontsize=10)
    figure.savefig(path, dpi=DPI)
