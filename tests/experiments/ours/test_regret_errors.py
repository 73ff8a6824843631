import numpy as np
import pandas as pd
import pytest

from experiments import RESULTS
from experiments.ours.regret_errors import COLUMNS, Case, play, report
from experiments.tasks import read
from tests.experiments.committed import check_committed


def test_estimates_of_a_network_scatter_as_their_errors_say():
    (row,) = play(Case("sachs", 100, "random 0"), 12)
    assert set(row) == set(COLUMNS)
    assert 0.4 < row["scatter"] / row["standard_error"] < 1.8
    assert -0.1 < row["bias"] <= 0.0  # Jensen's inequality
    (greedy,) = play(Case("sachs", 100, "greedy"), 2)
    assert greedy["regret"] != row["regret"] and greedy["repeats"] == 2


def test_the_report_marks_networks_that_scatter_more_than_they_say():
    rows = pd.DataFrame(
        [
            ("sachs", 100, "greedy", 9, 8, 100.0, 0.1, 0.1, 50.0, -0.01, 0.1),
            ("sachs", 100, "random 0", 20, 8, 200.0, 0.2, 0.1, 5.0, -0.02, 1.0),
            ("child", 100, "greedy", 9, 8, 100.0, 0.0, 0.0, np.inf, 0.0, 0.1),
        ],
        columns=list(COLUMNS),
    )
    text = report(rows)
    assert f"Over all 2 networks the scatter is {np.sqrt(2.5):.2f} times" in text
    assert "| sachs | 100 | random 0 | 20 | 200.0 | 0.20 | 0.10 | 5 | -0.02 | 1.00 | yes |" in text
    assert text.count("yes") == 1
    assert text.index("| child ") < text.index("| sachs ")


@pytest.mark.skipif(not (RESULTS / "regret_errors.csv").exists(), reason="not played yet")
def test_the_committed_report_is_that_of_the_committed_rows():
    check_committed("regret_errors", report(read(RESULTS / "regret_errors.csv", COLUMNS)))
