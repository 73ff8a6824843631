import math
from importlib.util import find_spec

import numpy as np
import pytest

from experiments.ours.networks import playing
from experiments.ours.networks.methods import METHODS, Method, installed, learner
from experiments.ours.networks.playing import COLUMNS, Effort, Run, held_out, law, measured, planned, play
from law_ray.utils.seeding import generator
from objectives.nml import NML
from objectives.nml.data.networks import sample_network
from objectives.nml.data.tables import Table
from objectives.nml.graphs.structure import structural_hamming_distance
from objectives.nml.regret.estimators import nml_regret
from objectives.nml.scores.contingency import max_log_likelihood
from objectives.nml.scores.decomposable import SCORES

EFFORT = Effort(evals=30, limit=60.0)
RUN = Run("sachs", 100, 0, "greedy-qnml")
TABLE = sample_network("sachs", 100, 0)


def test_the_runs_are_planned_by_seeds_and_small_data_first() -> None:
    runs = planned(["sachs", "child"], [500, 100], ["a", "b"], 2)
    assert len(runs) == len(set(runs)) == 16
    assert [run.seed for run in runs] == [0] * 8 + [1] * 8
    assert runs[:3] == [Run("sachs", 100, 0, "a"), Run("sachs", 100, 0, "b"), Run("sachs", 500, 0, "a")]


@pytest.mark.parametrize("method", ["true-network", "greedy-bic", "law-bic", "law-nml"])
@pytest.mark.slow
def test_a_run_leaves_a_row_with_all_its_columns(method: str) -> None:
    (row,) = play(RUN._replace(method=method), EFFORT)
    assert set(row) == set(COLUMNS)
    assert row["method"] == method
    assert math.isfinite(row["total"]) and math.isfinite(row["held_out"])
    assert row["shd_total"] == row["shd_skeleton"] + row["shd_orientation"]
    assert (row["shd_total"] == 0) == (method == "true-network")


def test_the_probable_edges_are_those_of_the_greedy_network_that_the_chain_has_in_half_of_its_steps() -> None:
    (row,) = play(RUN._replace(method="probable-nml"), EFFORT)
    objective = NML(TABLE)
    ordering = objective.starts(20, generator(0, "starts", 0))[0]
    dag, probabilities = objective.dag(ordering), objective.edge_probabilities(ordering)
    adjacent = probabilities + probabilities.T
    assert row["edges"] == (adjacent[dag] >= 0.5).sum() < dag.sum()
    true = TABLE.true_dag | TABLE.true_dag.T
    assert row["shd_skeleton"] == np.triu(((dag | dag.T) & (adjacent >= 0.5)) != true).sum()
    assert set(row) == set(COLUMNS)
    assert math.isnan(row["total"])


def test_measures_are_those_of_the_definitions() -> None:
    assert TABLE.true_dag is not None
    found = measured(TABLE, TABLE.true_dag, RUN)
    fit = max_log_likelihood(TABLE.codes, TABLE.cardinalities, TABLE.true_dag)
    regret = nml_regret(TABLE.true_dag, TABLE.cardinalities, 100, target_se=0.02)
    assert found["total"] == pytest.approx(regret.value - fit, abs=0.4)
    empty = measured(TABLE, np.zeros_like(TABLE.true_dag), RUN)
    assert empty["shd_total"] == structural_hamming_distance(np.zeros_like(TABLE.true_dag), TABLE.true_dag).total == 17
    assert empty["held_out"] < found["held_out"]


def test_fresh_rows_are_predicted_with_the_counts_of_the_table_alone() -> None:
    codes = np.array([[0, 0], [0, 0], [0, 1], [1, 1]])
    table = Table("t", ("a", "b"), (("0", "1"), ("0", "1", "2")), codes)
    forward = np.array([[False, True], [False, False]])
    fresh = np.array([[0, 0], [1, 2]])
    first = math.log(3.5 / 5) + math.log(2.5 / 4.5)
    second = math.log(1.5 / 5) + math.log(0.5 / 2.5)
    assert held_out(table, forward, fresh) == pytest.approx(1000 * (first + second) / 2)
    assert held_out(table, forward, fresh[:1]) == pytest.approx(1000 * first)


def test_the_fresh_rows_have_the_columns_of_the_table_in_its_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The true network predicts rows in its own order far better than rows whose columns were shuffled."""
    assert TABLE.true_dag is not None
    fresh = sample_network("sachs", 2000, 77)
    order = [fresh.names.index(name) for name in TABLE.names]
    assert order != sorted(order)
    seen = []
    monkeypatch.setattr(playing, "held_out", lambda table, dag, rows: seen.append(rows) or 0.0)
    monkeypatch.setattr(playing, "sample_network", lambda name, n_rows, seed: fresh)
    measured(TABLE, TABLE.true_dag, RUN)
    np.testing.assert_array_equal(seen[0], fresh.codes[:, order])


def test_law_ray_is_at_least_as_good_as_the_greedy_search_of_its_own_score() -> None:
    score = SCORES["qnml"](TABLE.codes, TABLE.cardinalities)
    for seed in range(3):
        assert score.dag(law(TABLE, "qnml", seed, 30)) <= score.dag(playing.greedy(TABLE, "qnml", seed))


def test_a_learner_that_is_stopped_leaves_a_row_without_a_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "slow", Method("learner", module="m"))
    monkeypatch.setattr(playing, "learner", lambda name: None)
    monkeypatch.setattr(playing, "learn", lambda *arguments: None)
    (row,) = play(RUN._replace(method="slow"), EFFORT)
    assert set(row) == set(COLUMNS)
    assert (row["stopped"], row["seconds"], row["method"]) == (True, 60.0, "slow")
    assert math.isnan(row["total"])


def test_only_installed_methods_are_played(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    monkeypatch.setitem(METHODS, "absent", Method("learner", needs=("no_such_module",), distributions="no-such"))
    assert installed(["law-nml", "absent"]) == ["law-nml"]
    assert "pip install no-such" in capsys.readouterr().err
    assert "absent" not in installed([])


@pytest.mark.skipif(find_spec("pyagrum") is None, reason="needs the extra `rivals`")
@pytest.mark.parametrize("name", [name for name in METHODS if name.startswith("agrum")])
def test_the_learners_of_pyagrum_find_a_network_near_the_truth(name: str) -> None:
    table = sample_network("sachs", 5000, 0)
    assert table.true_dag is not None
    assert structural_hamming_distance(learner(name)(table), table.true_dag).skeleton <= 4
