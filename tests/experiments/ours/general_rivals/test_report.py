import pandas as pd
import pytest

from experiments import RESULTS
from experiments.ours.general_rivals.compared import longest
from experiments.ours.general_rivals.curves import draw
from experiments.ours.general_rivals.methods import METHODS
from experiments.ours.general_rivals.playing import COLUMNS
from experiments.ours.general_rivals.report import ranks, report
from experiments.statistics import critical_difference
from experiments.tasks import read
from tests.experiments.committed import check_committed


def made_up(*rows):
    """Rows of (problem, method, budget, seed, curve), in batches of 5."""
    return pd.DataFrame(
        [(p, m, 5, budget, seed, budget, 2.0, 1.0, 4.0, curve) for p, m, budget, seed, curve in rows],
        columns=list(COLUMNS),
    )


def cells_of(text):
    """The cells of the one table in a text, row by row, without its header."""
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("|")][2:]


ROWS = made_up(
    ("qap:kra30a", "law-auto", 100, 0, "1:125000 90:100000"),
    ("qap:kra30a", "law-auto", 100, 1, "1:125000 80:102000"),
    ("qap:kra30a", "random", 100, 0, "1:125000 90:120000"),
    ("line:20", "law-auto", 100, 0, "1:500 40:200 70:220"),
    ("line:20", "random", 100, 0, "1:500 40:400"),
    ("line:20", "DEAP", 100, 0, "1:500 40:300"),
    ("line:20", "NEH", 1, 0, "1:250"),
)


def test_a_table_has_means_errors_seconds_heuristics_and_published_figures_by_value():
    text = report(ROWS)
    cells = cells_of(text.partition("## qap:kra30a")[2].partition("## line:20")[0])
    assert cells[0] == ["law-auto", "2", "101000.00 +- 1000.00", "2.0", "1.0", "4.0"]
    assert [row[0] for row in cells] == [
        *("law-auto", "FAT-RLS (published)", "CEGO (published)", "UMM (published)", "random")
    ]
    names = [row[0] for row in cells_of(text.partition("## line:20")[2].partition("##")[0])]
    assert names == ["law-auto", "NEH (heuristic)", "DEAP", "random"]
    assert "| law-auto | 1 | 220.00 |" in text


def test_the_page_says_what_has_not_been_played_and_how_each_method_was_used():
    text = report(ROWS)
    assert "- Evaluations: 200, 400." in text
    assert "- Batch sizes: 1, 20." in text
    assert "- Runs of each kind: 1 to 2, of 10 planned." in text
    assert "- In batches of 5: DEAP on qap:kra30a.\n" in text
    text = report(pd.concat([ROWS, made_up(("slots:30", "random", 100, 0, "1:100")).assign(batch_size=1)]))
    for line in (
        "- In batches of 1: random on qap:kra30a, line:20.",
        "- In batches of 1: law-auto, DEAP on all problems.",
        "- In batches of 5: law-auto, random on slots:30.",
        "- In batches of 5: DEAP on qap:kra30a, slots:30.",
    ):
        assert f"{line}\n" in text
    assert "Nevergrad NGOpt" in text.partition("- Methods: ")[2].splitlines()[0]
    uses = text.partition("## How each method was used")[2]
    assert [name for name, each in METHODS.items() if f"| {name} | {each.how} |" not in uses] == []


def test_a_page_without_rows_can_be_written(tmp_path):
    empty = read(tmp_path / "none.csv", COLUMNS)
    assert "qap:kra30a" in report(empty).partition("- Problems: ")[2].splitlines()[0]
    draw(empty, tmp_path / "none.png")


def test_methods_with_runs_on_every_problem_that_law_auto_played_are_ranked():
    rows = pd.concat([ROWS, made_up(("slots:30", "random", 100, 0, "1:100"))])
    mean_ranks, problems = ranks(rows, 100, 5)
    assert problems == ["line:20", "qap:kra30a"]
    assert mean_ranks.to_dict() == {"law-auto": 1.0, "random": 2.0}
    assert ranks(rows, 200, 5)[1] == []
    table = report(rows).partition("## Mean ranks")[2].partition("\n## ")[0]
    assert "In batches of 5, on line:20, qap:kra30a. Ranks that differ by less than" in table
    assert "| method | after 100 |\n| --- | --- |\n| law-auto | 1.00 |\n| random | 2.00 |\n" in table


def test_the_critical_difference_is_that_of_the_methods_and_problems_of_a_column():
    short = made_up(*((problem, "DEAP", 100, 0, "1:9") for problem in ("line:20", "qap:kra30a")))
    long = made_up(
        *((p, m, 400, 0, "1:9") for p in ("line:20", "qap:kra30a") for m in ("law-auto", "random", "local search"))
    )
    text = report(pd.concat([short, long]))
    of_four, of_three = (f"{critical_difference(k, 2):.2f}" for k in (4, 3))
    assert f"differ by less than {of_four} after 100, {of_three} after 200, {of_three} after 400 do not" in text
    assert "- After more than 100 evaluations: DEAP.\n" in text


def test_a_problem_that_hardly_any_method_played_leaves_no_method_out_of_the_ranks():
    alone = made_up(("slots:30", "law-auto", 100, 0, "1:100"))
    both = pd.concat([ROWS, alone, made_up(("line:20", "DEAP", 100, 0, "1:9"), ("qap:kra30a", "DEAP", 100, 0, "1:9"))])
    mean_ranks, problems = ranks(both, 100, 5)
    assert problems == ["line:20", "qap:kra30a"]
    assert set(mean_ranks.index) == {"law-auto", "random", "DEAP"}


def test_a_longer_run_replaces_a_shorter_one_of_the_same_seed():
    rows = made_up(
        ("line:20", "DEAP", 400, 0, "1:9 400:1"),
        ("line:20", "DEAP", 100, 0, "1:9 100:5"),
        ("line:20", "DEAP", 100, 1, "1:9 100:7"),
    )
    assert longest(rows)["curve"].tolist() == ["1:9 400:1", "1:9 100:7"]
    assert "| DEAP | 2 | 8.00 +- 1.00 | 9.00 | 1.00 |" in report(rows)


def test_the_figure_is_drawn(tmp_path):
    draw(ROWS, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 10_000


@pytest.mark.skipif(not (RESULTS / "general_rivals.csv").exists(), reason="not played yet")
def test_the_committed_report_is_that_of_the_committed_rows():
    check_committed("general_rivals", report(read(RESULTS / "general_rivals.csv", COLUMNS)))
