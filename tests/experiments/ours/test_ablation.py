import pandas as pd
import pytest

from experiments import RESULTS
from experiments.ours.ablation import BUDGET, PROBLEMS, VARIANTS, WHOLE, report
from experiments.ours.swaps_alone import swaps
from experiments.runs import COLUMNS
from experiments.tasks import read
from law_ray import Optimizer
from law_ray.acquisition.additive_moves import SWAP
from objectives import load
from tests.experiments.committed import check_committed


def proposals(variant):
    problem = load("fsp:ta001")
    optimizer = Optimizer(problem.n_items, VARIANTS[variant], seed=0, n_init=60)
    for size in (60, 5):
        for trial in optimizer.ask(size):
            optimizer.tell(trial.id, problem(trial.permutation))
    return [tuple(trial.permutation.tolist()) for trial in optimizer.trials[60:]]


@pytest.fixture(scope="module")
def whole():
    return proposals(WHOLE)


SAME_AT_FIRST = {
    *("no known distances", "no pairwise model", "no tour kernel"),
    *("the incumbent is the best point", "plateaus like other ground"),
}


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v != WHOLE and v not in SAME_AT_FIRST])
def test_a_variant_proposes_something_else(variant, whole):
    """The variants left out make no difference to the first batch on a flow shop."""
    assert proposals(variant) != whole


def test_variants_leave_law_auto_as_it_was(whole):
    assert proposals("LAW-EST") != whole
    assert proposals(WHOLE) == whole


def test_the_search_of_swaps_alone_only_swaps():
    assert set(swaps(7)[:, 0]) == {SWAP}


def test_the_report_has_a_line_per_variant_and_tolerates_missing_runs():
    rows = [
        (PROBLEMS[0], WHOLE, 0, 0, BUDGET.evaluations(), 1.0, "30:300 100:10000"),
        (PROBLEMS[0], WHOLE, 1, 0, BUDGET.evaluations(), 1.0, "30:300 100:12000"),
        (PROBLEMS[0], "LAW-EST", 0, 0, BUDGET.evaluations(), 1.0, "30:15000"),
        (PROBLEMS[2], WHOLE, 0, 0, BUDGET.evaluations(), 1.0, "30:140"),
    ]
    text = report(pd.DataFrame(rows, columns=list(COLUMNS)))
    assert "| law-auto | 11000.00 +- 1000.00 |  | 140.00 |  |  | 1.00 |" in text
    assert "over 1 to 2 runs" in text
    assert "| best known | 9552.00 | 3596.00 | 135.00 | 3323.00 | 1610.00 |" in text


def test_the_committed_report_is_that_of_the_committed_rows():
    check_committed("ablation", report(read(RESULTS / "ablation.csv", COLUMNS)))


def test_no_two_variants_were_played_alike():
    """A variant that is lost on the way to the workers has the rows of another one."""
    rows = read(RESULTS / "ablation.csv", COLUMNS).sort_values(["problem", "initial_set", "repeat"])
    rows = rows[(rows["repeat"] == 0) & (rows["initial_set"] < 3)]
    played = {variant: tuple(of_variant["curve"]) for variant, of_variant in rows.groupby("method")}
    assert len(played) == len(VARIANTS)
    assert len(set(played.values())) == len(played)
