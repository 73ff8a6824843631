import pandas as pd
import pytest

from experiments.ablation import BUDGET, PROBLEMS, VARIANTS, WHOLE, report, varied
from experiments.benchmark_runs import COLUMNS
from law_ray import Optimizer, neighbourhoods
from law_ray.methods import FITS, METHODS, auto
from law_ray.moves import SWAP
from objectives import load


def proposals(variant):
    problem = load("fsp:ta001")
    with varied(variant):
        optimizer = Optimizer(problem.n_items, WHOLE, seed=0, n_init=60)
        for size in (60, 5):
            for trial in optimizer.ask(size):
                optimizer.tell(trial.id, problem(trial.permutation))
    return [tuple(trial.permutation.tolist()) for trial in optimizer.trials[60:]]


@pytest.mark.parametrize(
    "variant",
    [v for v in VARIANTS if v not in (WHOLE, "the best basin only", "plateaus like other ground", "no latent kernel")],
)
def test_a_variant_proposes_something_else(variant):
    """But for what has no say in the first batch on a flow shop."""
    assert proposals(variant) != proposals(WHOLE)


def test_a_variant_leaves_everything_as_it_was():
    before = METHODS.copy(), FITS.copy(), auto.PURPOSES, auto.incumbent, auto.ALL_NEIGHBOURS, auto.on_plateau
    whole = proposals(WHOLE)
    for variant in VARIANTS:
        with varied(variant):
            pass
    after = METHODS, FITS, auto.PURPOSES, auto.incumbent, auto.ALL_NEIGHBOURS, auto.on_plateau
    assert after == before
    assert proposals(WHOLE) == whole
    assert proposals("LAW-EST") != whole


def test_swaps_alone_are_swaps():
    with varied("swaps alone"):
        assert set(neighbourhoods._shuffled(7)[:, 0]) == {SWAP}
    assert len(set(neighbourhoods._shuffled(7)[:, 0])) > 1


def test_the_report_has_a_line_a_variant_and_tolerates_gaps():
    rows = [
        (PROBLEMS[0], WHOLE, 0, 0, BUDGET.evaluations(), 1.0, "30:300 100:10000"),
        (PROBLEMS[0], WHOLE, 1, 0, BUDGET.evaluations(), 1.0, "30:300 100:12000"),
        (PROBLEMS[0], "LAW-EST", 0, 0, BUDGET.evaluations(), 1.0, "30:15000"),
        (PROBLEMS[1], WHOLE, 0, 0, BUDGET.evaluations(), 1.0, "30:140"),
    ]
    text = report(pd.DataFrame(rows, columns=list(COLUMNS)))
    assert "| law-auto | 11000.00 +- 1000.00 | 140.00 |  |  | 1.00 |" in text
    assert "over 1 to 2 runs" in text
    assert "| best known | 9552.00 | 135.00 | 3323.00 | 1610.00 |" in text
