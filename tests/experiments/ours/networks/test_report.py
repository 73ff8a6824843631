import numpy as np
import pandas as pd
import pytest

from experiments import RESULTS
from experiments.ours.networks.playing import COLUMNS
from experiments.ours.networks.report import best_or_tied, by_rows, nearer, report, section, summary, whole
from experiments.tasks import read
from tests.experiments.committed import check_committed


def rows_of(totals: dict[str, list[float]], n_rows: int = 100, error: float = 0.01) -> pd.DataFrame:
    rows = [
        {
            **dict.fromkeys(COLUMNS, 0.0),
            **{"network": "net", "n_rows": n_rows, "seed": seed, "method": method, "total": total},
            **{"shd_total": total, "held_out": -total, "standard_error": error, "stopped": np.isnan(total)},
        }
        for method, of_method in totals.items()
        for seed, total in enumerate(of_method)
    ]
    return pd.DataFrame(rows)


def test_methods_tie_within_the_error_of_paired_differences() -> None:
    totals = {"law-nml": [10.0, 20.0, 30.0], "law-bic": [11.0, 18.9, 30.2], "greedy-qnml": [12.0, 22.5, 32.1]}
    assert best_or_tied(rows_of(totals), "total") == [{"law-nml", "law-bic"}]
    assert best_or_tied(rows_of(totals), "held_out") == [{"law-nml", "law-bic"}]


def test_totals_that_differ_by_less_than_their_errors_tie() -> None:
    totals = {"law-nml": [10.1, 20.1], "law-bic": [10.0, 20.0]}
    assert best_or_tied(rows_of(totals, error=0.001), "total") == [{"law-bic"}]
    assert best_or_tied(rows_of(totals, error=0.2), "total") == [{"law-bic", "law-nml"}]


def test_the_error_of_a_difference_is_that_of_the_data_sets_that_both_learned() -> None:
    totals = {"law-nml": [10.0, 10.0], "ges-bic": [np.nan, 10.25]}
    assert best_or_tied(rows_of(totals, error=0.2), "total") == [{"ges-bic", "law-nml"}]
    assert best_or_tied(rows_of(totals, error=0.17), "total") == [{"law-nml"}]


def test_likelihoods_that_differ_by_half_a_nat_tie() -> None:
    totals = {"law-nml": [10.4], "law-bic": [10.0]}
    assert best_or_tied(rows_of(totals), "held_out") == [{"law-bic", "law-nml"}]
    assert best_or_tied(rows_of(totals), "shd_total") == [{"law-bic"}]
    assert best_or_tied(rows_of({**totals, "law-nml": [10.6]}), "held_out") == [{"law-bic"}]


def test_the_truth_does_not_count_and_a_stopped_learner_only_where_it_ended() -> None:
    totals = {"true-network": [0.0, 0.0], "law-nml": [5.0, 5.0], "ges-bic": [np.nan, 4.0], "hc-bic": [np.nan, np.nan]}
    assert best_or_tied(rows_of(totals), "shd_total") == [{"ges-bic"}]


def test_the_page_counts_settings_and_shows_differences_from_law_nml() -> None:
    one = rows_of({"true-network": [3.0, 3.0], "law-nml": [5.0, 6.0], "law-bic": [7.0, 8.5]})
    both = pd.concat([one, rows_of({"law-nml": [5.0, 5.0], "law-bic": [4.0, 4.0]}, n_rows=200)])
    assert "| law-nml | 2 | 1 | 1 | 1 |" in summary(both)
    assert "| law-bic | 2 | 1 | 1 | 1 |" in summary(both)
    text = section("net", both)
    assert "| 100 | law-bic | 2.2 +- 0.2 |" in text
    assert "| 100 | law-nml | 0.0 +- 0.0 |" in text
    assert "| 200 | law-bic | -1.0 +- 0.0 |" in text
    assert text.index("| 100 | true-network") < text.index("| 100 | law-nml")
    alone = section("net", rows_of({"greedy-nml": [5.0], "greedy-bic": [7.0]}))
    assert "| 100 | greedy-bic | 2.0 |" in alone and "| 100 | greedy-nml | 0.0 |" in alone
    page = report(both)
    assert summary(both) in page and text in page


def test_differences_by_rows_are_means_over_networks_of_those_on_the_same_data() -> None:
    one = rows_of({"law-nml": [5.0, 6.0], "law-bic": [7.0, 8.5], "greedy-bic": [6.0]})
    other = rows_of({"law-nml": [1.0], "law-bic": [2.0]}).assign(network="other")
    more = rows_of({"law-nml": [5.0], "law-bic": [4.0]}, n_rows=200)
    alone = rows_of({"greedy-bic": [3.0]}, n_rows=10_000)
    rows = pd.concat([one, other, more, alone])
    lines = by_rows(rows, "shd_total").splitlines()
    assert lines[0] == "| method | 100 rows | 200 rows |"
    assert lines[2:] == ["| law-bic | +1.6 (2) | -1.0 (1) |"]  # greedy-bic learned one data set of two
    assert "| law-bic | -1.6 (2) | +1.0 (1) |" in by_rows(rows, "held_out").splitlines()


def test_a_page_without_law_nml_shows_what_was_played() -> None:
    part = rows_of({"probable-nml": [2.0, 3.0]}).assign(total=np.nan, held_out=np.nan, standard_error=np.nan)
    assert "| 100 | probable-nml |" in report(part)
    assert "| 200 | greedy-bic |" in report(pd.concat([part, rows_of({"greedy-bic": [1.0]}, n_rows=200)]))


def test_settings_count_where_law_nml_learned_the_most_data_sets() -> None:
    two = rows_of({"law-nml": [5.0, 6.0], "law-bic": [7.0]})
    rows = pd.concat([two, rows_of({"law-nml": [5.0]}, n_rows=200), rows_of({"law-bic": [1.0, 2.0]}, n_rows=500)])
    assert whole(rows).equals(two)


def test_settings_where_another_method_is_nearer_name_those_that_are() -> None:
    one = rows_of({"law-nml": [5.0, 6.0], "law-bic": [3.0, 4.0], "greedy-bic": [3.0, 4.0], "true-network": [0.0, 0.0]})
    alone = rows_of({"greedy-bic": [3.0]}, n_rows=10_000)
    both = pd.concat([one, rows_of({"law-nml": [5.0], "law-bic": [9.0]}, n_rows=200), alone])
    assert nearer(both).splitlines()[2:] == ["| net | 100 | 5.5 |  | law-bic 3.5, greedy-bic 3.5 |"]
    part = rows_of({"probable-nml": [2.0, 3.0]}).assign(total=np.nan, held_out=np.nan, standard_error=np.nan)
    more = pd.concat([both, part, part.assign(network="another")])  # where no other method was played
    assert nearer(more).splitlines()[2:] == ["| net | 100 | 5.5 | 2.5 | law-bic 3.5, greedy-bic 3.5 |"]
    lines = summary(pd.concat([both, part])).splitlines()
    assert "| probable-nml | 1 |  | 1 |  |" in lines
    assert "| law-bic | 2 | 1 | 1 | 1 |" in lines  # as without it
    assert lines[-1] == "| law-nml or probable-nml | 3 |  | 2 |  |"


@pytest.mark.skipif(not (RESULTS / "networks.csv").exists(), reason="not played yet")
def test_the_committed_report_is_that_of_the_committed_rows() -> None:
    check_committed("networks", report(read(RESULTS / "networks.csv", COLUMNS)))
