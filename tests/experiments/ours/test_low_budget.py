import pandas as pd
import pytest

from experiments import RESULTS
from experiments.ours.low_budget import METHODS, PROBLEMS, report
from experiments.runs import COLUMNS, CONTESTANTS
from experiments.tasks import read
from objectives.instances.best_known import best_known
from tests.experiments.committed import check_committed


def test_the_methods_exist_and_the_problems_have_best_known_values():
    assert set(METHODS) <= set(CONTESTANTS)
    assert set(PROBLEMS) <= set(best_known())


def test_the_report_gives_means_after_each_budget_and_the_gap_to_the_best_known_value():
    rows = [
        ("qap:kra30a", "law-auto", 0, r, 400, 10.0, f"30:120000 150:{v} 300:97790")
        for r, v in [(0, 110000), (1, 112000)]
    ]
    text = report(pd.DataFrame(rows, columns=list(COLUMNS)))
    line = "| law-auto | 2 | 120000.00 +- 0.00 | 111000.00 +- 1000.00 | 97790.00 +- 0.00 | 10.0% | 10 |"
    assert line in text
    assert "Best known value: 88900." in text
    assert "| CEGO (published) |  | 117221.00 | 115549.00 | 113881.00 | 28.1% |  |" in text


@pytest.mark.skipif(not (RESULTS / "low_budget.csv").exists(), reason="not played yet")
def test_the_committed_report_is_that_of_the_committed_rows():
    check_committed("low_budget", report(read(RESULTS / "low_budget.csv", COLUMNS)))
