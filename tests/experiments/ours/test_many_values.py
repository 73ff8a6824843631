import numpy as np
import pandas as pd
import pytest

from experiments import RESULTS
from experiments.ours.many_values import PROBLEM, VARIANTS, Assignment, play, report
from experiments.runs import COLUMNS, N_INIT, Budget, Run
from experiments.tasks import read
from tests.experiments.committed import check_committed


def test_costs_are_seen_with_noise_of_the_standard_error_that_comes_with_them():
    assignment, rng = Assignment.drawn(), np.random.default_rng(0)
    permutation = rng.permutation(30)
    direct = sum(
        assignment.flows[permutation[k], permutation[m]] * assignment.distances[k, m]
        for k in range(30)
        for m in range(30)
    )
    assert assignment.truth(permutation) == pytest.approx(direct)
    seen = np.array([assignment.observed(permutation, rng) for _ in range(2000)])
    assert seen[:, 0].mean() == pytest.approx(direct, abs=4 * assignment.error / 2000**0.5)
    assert seen[:, 0].std() == pytest.approx(assignment.error, rel=0.1)
    costs = [assignment.truth(rng.permutation(30)) for _ in range(1000)]
    assert np.std(costs) == pytest.approx(10 * assignment.error, rel=0.1)


def test_a_variant_gives_the_pairwise_model_what_the_process_is_given():
    of_all = {name: method.model is not None and method.model.of_all for name, method in VARIANTS.items()}
    assert list(of_all.values()) == [True, False, False]


def test_a_run_has_a_row(monkeypatch):
    monkeypatch.setattr(Assignment, "budget", Budget(batch_size=20, rounds=2))
    (row,) = play(Run(PROBLEM, "local-search", 0, 0))
    assert row["evaluations"] == N_INIT + 40 and row["megabytes"] > 50
    assert row["curve"].startswith(f"{N_INIT}:")


def test_the_report_has_a_line_for_each_variant_that_was_played():
    rows = [(PROBLEM, "law-auto", 0, r, 10_030, 60.0, f"30:900 600:{500 + r} 6000:400", 700.0 + r) for r in range(2)]
    text = report(pd.DataFrame(rows, columns=[*COLUMNS, "megabytes"]))
    line = "| 900.00 +- 0.00 | 500.50 +- 0.50 | 500.50 +- 0.50 | 500.50 +- 0.50 | 400.00 +- 0.00 | 60 | 701 |"
    assert f"| law-auto | 2 {line}" in text
    assert "local-search |" not in text


@pytest.mark.skipif(not (RESULTS / "many_values.csv").exists(), reason="not played yet")
def test_the_committed_report_is_that_of_the_committed_rows():
    check_committed("many_values", report(read(RESULTS / "many_values.csv", (*COLUMNS, "megabytes"))))
