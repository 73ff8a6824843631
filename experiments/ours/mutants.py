"""Which small changes of the core do the tests not notice?

`python -m experiments.ours.mutants` writes results/mutants.md from results/mutants.csv, whose rows
`python tools/mutants.py core --out experiments/results/mutants.csv` replaces in hours. The verdicts on the survivors
are written into that file by hand, and stay there.
"""

import pandas as pd

from experiments import RESULTS, markdown

PACKAGES = (
    *("law_ray/acquisition", "law_ray/methods", "law_ray/models", "law_ray/runs", "law_ray/space"),
    "objectives/nml/regret",
)
"""The core, as `tools.mutants` has it."""
NOT_CHECKED = "not checked"
"""The status of the mutants that were left out where a part of them was judged."""
NOTICED_NOW = "noticed by "
"""How the verdict on a survivor begins that a newer test notices."""


def main() -> None:
    """Write the page."""
    rows = pd.read_csv(RESULTS / "mutants.csv", keep_default_na=False)
    markdown.publish(RESULTS / "mutants.md", report(rows))


def report(rows: pd.DataFrame) -> str:
    """Return the page: the counts by package and module, then the survivors with a verdict each.

    Args:
        rows: The columns of `tools.mutants`: module, status, count, mutant, change, verdict.
    """
    rows = rows.assign(
        package=rows["module"].str.rpartition("/")[0],
        judged=rows["count"].where(rows["status"] != NOT_CHECKED, 0),
        survived=rows["count"].where(rows["mutant"] != "", 0),
        noticed_now=rows["count"].where(rows["verdict"].str.startswith(NOTICED_NOW), 0),
    )
    counts = ["count", "judged", "survived", "noticed_now"]
    by_package = rows.groupby("package")[counts].sum()
    by_package.loc["all"] = by_package.sum()
    absent = [package for package in PACKAGES if not any(rows["module"].str.startswith(f"{package}/"))]
    parts = [HEAD, f"Not judged yet: {', '.join(absent)}.\n\n" if absent else "", _table(by_package, "package")]
    parts.append("\n## Modules\n\n")
    parts.append(_table(rows.groupby("module")[counts].sum(), "module"))
    parts.append("\n## Survivors\n")
    for module, survivors in rows[rows["mutant"] != ""].groupby("module"):
        lines = [[_function(row.mutant), _code(row.change), row.verdict] for row in survivors.itertuples()]
        parts.append(f"\n### {module}\n\n{markdown.table(['function', 'change', 'verdict'], lines)}")
    return "".join(parts)


def _table(counts: pd.DataFrame, of: str) -> str:
    lines = []
    for name, (mutants, judged, survived, noticed_now) in counts.iterrows():
        noticed, now = [f"{1 - missed / judged:.1%}" if judged else "" for missed in (survived, survived - noticed_now)]
        lines.append([name, mutants, judged, survived, noticed, noticed_now, now])
    return markdown.table([of, "mutants", "judged", "survivors", "noticed", "by newer tests", "noticed now"], lines)


def _function(mutant: str) -> str:
    """Return the name of the changed function, of `module.x_name__mutmut_3` or `module.xǁClassǁname__mutmut_3`."""
    name = mutant.rpartition("__mutmut_")[0].rpartition(".")[2]
    return ".".join(name.split("ǁ")[1:]) if "ǁ" in name else name.removeprefix("x_")


def _code(change: str) -> str:
    """Return the lines of a change as code, in one cell of a table."""
    return "<br>".join(f"`{line}`" for line in change.replace("|", "\\|").replace("`", "'").splitlines())


HEAD = """# What the tests notice

Mutation testing by [mutmut](https://github.com/boxed/mutmut): each function of the core is changed in every small way
that it knows, one change at a time, and the default tests of the package that call the function are run. A change that
none of them notices survives. Functions with decorators, such as compiled loops and properties, are not changed.
Regenerate the rows with `python tools/mutants.py core --out experiments/results/mutants.csv`, which takes hours, and
the page with `python -m experiments.ours.mutants`.

The rows are of the code as it was when its module was judged. All modules were judged whole, but for a quarter of
`runs/active.py`.

A survivor whose change was looked at has a verdict: `equivalent` if no caller can see it; `noticed by` the test that
was added since; or why there is no test.

"""


if __name__ == "__main__":
    main()
