import pandas as pd

from experiments import RESULTS
from experiments.paper.climb_starts import METHOD, N_POOL, PROBLEM, play_alone, report
from experiments.paper.problems import PROBLEMS
from experiments.runs import COLUMNS, Budget, Run
from experiments.tasks import read
from law_ray.methods import greedy
from tests.experiments.committed import check_committed


def test_a_run_has_the_other_number_of_permutations_and_leaves_the_usual_one(monkeypatch):
    usual, drawn = greedy.N_POOL, []
    pool = greedy.Pool

    def counted(posterior, gauge, sources, batch_size):
        drawn.append(len(sources[-1]))
        return pool(posterior, gauge, sources, batch_size)

    monkeypatch.setattr(greedy, "Pool", counted)
    monkeypatch.setitem(PROBLEMS, "fsp:ta001", Budget(batch_size=2, rounds=2))
    (row,) = play_alone(Run("fsp:ta001", METHOD, 1, 0))
    assert drawn == [N_POOL, N_POOL]
    assert greedy.N_POOL == usual != N_POOL
    assert row["evaluations"] == 34


def test_the_report_compares_runs_that_began_alike():
    usual = read(RESULTS / "benchmarks.csv", COLUMNS)
    usual = usual[(usual["problem"] == PROBLEM) & (usual["method"] == METHOD)]
    lower = usual.assign(curve=[" ".join([curve, f"820:{_last(curve) - 10}"]) for curve in usual["curve"]])
    text = report(lower.iloc[:6])
    assert (
        "Mean difference of 6 pairs of runs that began alike, 20,000 permutations against fewer: -10.00 +- 0.00."
        in text
    )
    assert f"| {greedy.N_POOL:,} | {len(usual)} |" in text
    assert "| 20,000 | 6 |" in text


def test_runs_of_a_quarter_of_the_rounds_do_not_count():
    rows = read(RESULTS / "climb_starts.csv", COLUMNS)
    quarter = rows.assign(evaluations=230, curve="30:9999 230:1")
    assert report(pd.concat([quarter, rows, rows.iloc[:2]])) == report(rows)


def test_the_committed_report_is_that_of_the_committed_rows():
    check_committed("climb_starts", report(read(RESULTS / "climb_starts.csv", COLUMNS)))


def _last(curve: str) -> float:
    return float(pd.Series(curve.split()).iloc[-1].split(":")[1])
