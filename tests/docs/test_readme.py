"""The README is short, and the figures of the results' first page are those of the benchmarks."""

import re

from tests.docs.documents import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
RESULTS = (ROOT / "docs" / "results" / "index.md").read_text(encoding="utf-8")
BENCHMARKS = (ROOT / "experiments" / "results" / "benchmarks.md").read_text(encoding="utf-8")


def section(problem):
    """The part of the benchmarks' page about a problem after all its evaluations: the first one."""
    return re.search(rf"^### \w+:{problem} after .*?(?=^##)", BENCHMARKS, re.MULTILINE | re.DOTALL)[0]


def mean(problem, method):
    found = re.search(rf"^\| {method} \| \d+ \| (\S+) \+-", section(problem), re.MULTILINE)
    return found and found[1]


def test_the_readme_has_at_most_120_lines():
    assert len(README.splitlines()) <= 120


def test_the_table_of_the_results_is_that_of_the_benchmarks():
    rows = re.findall(r"^\| (?:assignment|flow shop) (\w+) \| (.+) \|$", RESULTS, re.MULTILINE)
    assert len(rows) >= 4
    for problem, cells in rows:
        evaluations, auto, paper, random, best = (cell.strip() for cell in cells.split("|"))
        method = "law-auto without pairs" if auto.endswith("*") else "law-auto"
        published = re.search(r"the paper's best: \S+ (\S+) \+-", section(problem))[1]
        known = re.search(r"^Optimum (\S+);", section(problem), re.MULTILINE)[1]
        assert f"after {evaluations} evaluations" in section(problem)
        for shown, exact in ((auto.rstrip("* "), mean(problem, method)), (paper, published), (best, known)):
            assert rounds_to(shown, exact), (problem, shown, exact)
        assert rounds_to(random, mean(problem, "random")), problem


def rounds_to(shown, exact):
    digits = len(shown.partition(".")[2])
    return f"{float(exact):.{digits}f}" == f"{float(shown):.{digits}f}"
