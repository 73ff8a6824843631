import numpy as np
import pandas as pd
import pytest

from experiments import RESULTS
from experiments.ours.initial_designs import PROBLEMS, VARIANTS, latin, play_alone, report
from experiments.runs import COLUMNS, Run, best_after, initial_permutations
from experiments.tasks import read
from tests.experiments.committed import check_committed


def test_rows_of_a_latin_square_never_have_an_item_at_one_position_twice():
    first, second = (latin(Run("tsp:burma14", "", *numbers), 14, 9) for numbers in [(0, 0), (1, 0)])
    for design in (first, second):
        assert design.shape == (9, 14)
        assert all(sorted(row) == list(range(14)) for row in design.tolist())
        assert all(len(set(column)) == 9 for column in design.T.tolist())
    assert not np.array_equal(first, second)


@pytest.mark.parametrize("name", ["5 random", "10 of a Latin square"])
def test_a_run_begins_with_its_design_and_ends_after_the_budget(name, monkeypatch):
    monkeypatch.setattr("experiments.ours.initial_designs.EVALUATIONS", 15)
    run = Run("fsp:ta001", name, 2, 1)
    (row,) = play_alone(run)
    counts = [int(pair.split(":")[0]) for pair in row["curve"].split()]
    assert counts[0] == VARIANTS[name].size and counts[-1] <= 15
    assert {name: row[name] for name in Run._fields} == run._asdict()
    assert VARIANTS[name].design(run, 20, 5).shape == (5, 20)


def test_random_designs_are_the_beginning_of_the_shared_initial_set():
    run = Run("qap:chr12a", "5 random", 2, 1)
    np.testing.assert_array_equal(
        VARIANTS["5 random"].design(run, 12, 5), initial_permutations("qap:chr12a", 12, 2)[:5]
    )


def test_the_report_has_a_table_for_each_number_of_evaluations():
    rows = [
        (problem, variant, 0, r, 100, 1.0, f"5:{900 + k} 50:{500 + k + r} 90:{100 + k}")
        for problem in PROBLEMS
        for k, variant in enumerate(VARIANTS)
        for r in range(2)
    ]
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    first, second = report(table).split("## After ")[1:]
    cells = len(PROBLEMS) * "| 500.50 +- 0.50 "
    assert first.startswith("50 ") and f"| 5 random {cells}| 1.00 |" in first
    cells = len(PROBLEMS) * "| 107.00 +- 0.00 "
    assert second.startswith("100 ") and f"| 30 random, one by one {cells}| 8.00 |" in second


def test_what_has_no_run_yet_has_an_empty_cell():
    first, variant = next(iter(PROBLEMS)), next(iter(VARIANTS))
    text = report(pd.DataFrame([(first, variant, 0, 0, 100, 1.0, "5:900 90:100")], columns=list(COLUMNS)))
    assert f"| {variant} | 900.00 {(len(PROBLEMS) - 1) * '|  '}| 1.00 |" in text


@pytest.mark.skipif(not (RESULTS / "initial_designs.csv").exists(), reason="not played yet")
def test_the_committed_report_is_that_of_the_committed_rows():
    rows = read(RESULTS / "initial_designs.csv", COLUMNS)
    check_committed("initial_designs", report(rows))
    assert all(best_after(curve, [100]) <= best_after(curve, [30]) for curve in rows["curve"])
