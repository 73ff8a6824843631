import numpy as np
import pytest

from experiments import RESULTS
from experiments.ours import edge_confidence
from experiments.ours.edge_confidence import (
    BINS,
    CLIP,
    COLUMNS,
    METHODS,
    Run,
    binned,
    bootstrap,
    calibration,
    play,
    report,
    scores,
)
from experiments.tasks import append, read
from objectives.nml.data.networks import sample_network
from tests.experiments.committed import check_committed


def test_a_bin_sums_its_pairs_and_both_scores() -> None:
    directed, truth = np.zeros((3, 3)), np.zeros((3, 3), dtype=bool)
    directed[0, 1], directed[1, 0], directed[0, 2], directed[1, 2] = 0.5, 0.2, 1.0, 0.99
    truth[0, 1] = truth[1, 0] = truth[0, 2] = truth[2, 0] = True
    first, last = binned(directed, truth)
    assert BINS[first["bin"]] <= 0.7 < BINS[first["bin"] + 1]
    assert (first["pairs"], first["joined"]) == (1, 1)
    assert first["log_score"] == pytest.approx(-np.log(0.7))
    assert (last["pairs"], last["joined"]) == (2, 1)
    assert last["log_score"] == pytest.approx(-np.log(1 - CLIP) - np.log(0.01))
    assert last["brier"] == pytest.approx(0.99**2)


def test_the_bootstrap_of_a_clear_network_is_sure_of_it() -> None:
    table = sample_network("sachs", 2000, 0)
    found = bootstrap(table, 3, np.random.default_rng(0))
    assert found.max() == 1
    np.testing.assert_allclose(found * 3, np.round(found * 3))
    assert ((found + found.T)[table.true_dag] == 1).mean() > 0.7


@pytest.mark.slow
def test_a_data_set_leaves_rows_of_every_method_over_the_same_pairs(tmp_path) -> None:
    rows = play(Run("sachs", 100, 0), 2)
    assert {row["method"] for row in rows} == set(METHODS)
    for method in METHODS:
        mine = [row for row in rows if row["method"] == method]
        assert sum(row["pairs"] for row in mine) == 55
        assert sum(row["joined"] for row in mine) == 17
    append(tmp_path / "rows.csv", rows)
    known = read(tmp_path / "rows.csv", COLUMNS)
    assert tuple(known.columns) == (*COLUMNS, "processor")
    text = edge_confidence.report(known)
    assert calibration(known) in text and scores(known) in text
    assert scores(known).count("| sachs | 100 |") == len(METHODS)


def test_the_committed_report_is_that_of_the_committed_rows() -> None:
    check_committed("edge_confidence", report(read(RESULTS / "edge_confidence.csv", COLUMNS)))
