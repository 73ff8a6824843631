"""The table of the README: which methods it names, with which values."""

import pandas as pd
import pytest

from experiments import RESULTS, markdown
from experiments.ours.general_rivals import overview as module
from experiments.ours.general_rivals.__main__ import WITH_TABLE
from experiments.ours.general_rivals.overview import overview
from experiments.ours.general_rivals.playing import COLUMNS
from experiments.ours.general_rivals.problems import PROBLEMS
from experiments.tasks import read


def made_up(*rows):
    """Rows of (problem, method, batch size, evaluations, seed, curve)."""
    return pd.DataFrame(
        [(p, m, size, budget, seed, budget, 2.0, 1.0, 4.0, curve) for p, m, size, budget, seed, curve in rows],
        columns=list(COLUMNS),
    )


def cells(text):
    return [line.strip("| ").split(" | ") for line in text.splitlines()[2:]]


def test_a_line_names_the_library_and_the_heuristic_with_the_least_means():
    rows = made_up(
        *(("line:20", "law-auto", 5, 400, seed, f"1:500 300:{value}") for seed, value in enumerate((10.0, 12.0))),
        *(("line:20", "DEAP", 5, 400, seed, f"1:500 300:{value}") for seed, value in enumerate((9.0, 30.0))),
        ("line:20", "SMAC", 5, 400, 0, "1:500 399:18"),
        ("line:20", "local search", 5, 400, 0, "1:15"),
        ("line:20", "random", 5, 400, 0, "1:40"),
        ("line:20", "NEH", 1, 1, 0, "1:25"),
        ("line:20", "earliest due date", 1, 1, 0, "1:24"),
    )
    (line,) = cells(overview(rows))
    assert line[0] == f"line:20: {PROBLEMS['line:20'].text}"
    assert line[1:] == ["11.00 +- 1.00", "18.00 (SMAC)", "15.00", "40.00", "24.00 (earliest due date)"]


def test_published_means_stand_in_where_there_is_no_heuristic_and_digits_are_as_many_as_say_something():
    rows = made_up(("qap:kra30a", "law-auto", 5, 400, 0, "1:88900"))
    (line,) = cells(overview(rows))
    assert line == ["qap:kra30a: assignment", "88900", "", "", "", "110171 (FAT-RLS)"]
    assert [module._digits(value) for value in (0.5, 9.99, 10.0, 120.0, 1200.0, -130.0)] == [2, 2, 2, 1, 0, 1]


def test_shorter_runs_and_other_batches_do_not_count_nor_problems_without_law_auto():
    rows = made_up(
        ("qap:kra30a", "law-auto", 5, 200, 0, "1:1"),
        ("qap:sko42", "law-auto", 20, 400, 0, "1:1"),
        ("qap:tho30", "random", 5, 400, 0, "1:1"),
    )
    assert cells(overview(rows)) == []


@pytest.mark.parametrize("shown", WITH_TABLE, ids=lambda page: page.name)
def test_the_table_of_a_page_is_that_of_the_committed_rows(shown, tmp_path):
    page = tmp_path / "page.md"
    committed = shown.read_text(encoding="utf-8")
    page.write_text(committed, encoding="utf-8")
    markdown.redraw(page, "general rivals", overview(read(RESULTS / "general_rivals.csv", COLUMNS)))
    assert page.read_text(encoding="utf-8") == committed
