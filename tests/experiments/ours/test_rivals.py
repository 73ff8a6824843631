import functools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from experiments import RESULTS
from experiments.ours import rivals
from experiments.ours.isolated import Learned
from objectives.nml.data.networks import sample_network
from objectives.nml.data.tables import Table
from objectives.nml.graphs.structure import topological_order
from objectives.nml.objective import NML
from objectives.nml.regret.estimators import nml_regret
from objectives.nml.scores.contingency import max_log_likelihood
from tests.experiments.committed import check_committed

pytestmark = pytest.mark.oracles

FORWARD = np.array([[False, True], [False, False]])


@pytest.fixture
def table() -> Table:
    rng = np.random.default_rng(0)
    first = rng.integers(2, size=500)
    second = np.where(rng.random(500) < 0.9, first, 2)
    return Table("pair", ("NA", "b"), (("0", "1"), ("0", "1", "2")), np.column_stack([first, second]), FORWARD)


def rows_of(scores: dict[str, list[float]], shd: dict[str, int] | None = None) -> pd.DataFrame:
    """Rows of one network; a NaN score means that the learner was stopped."""
    return pd.DataFrame(
        [
            {
                **{"network": "net", "seed": seed, "method": method, "score": score, "standard_error": 0.03},
                **{f"shd_{part}": (shd or {}).get(method, 0) for part in rivals.DISTANCE},
                **{"edges": 5, "seconds": 1.0, "stopped": np.isnan(score)},
            }
            for method, of_method in scores.items()
            for seed, score in enumerate(of_method)
        ]
    )


def test_a_score_is_the_closed_form_and_the_same_for_equivalent_dags(table: Table) -> None:
    regret = nml_regret(FORWARD, table.cardinalities, 500, "exact").value
    exact = regret - max_log_likelihood(table.codes, table.cardinalities, FORWARD)
    forward, backward = (rivals.measured(table, Learned(dag, 1.0), FORWARD) for dag in (FORWARD, FORWARD.T))
    assert forward["score"] == pytest.approx(exact, abs=1e-8)
    assert backward["score"] == pytest.approx(exact, abs=1e-8)
    assert (forward["shd_total"], backward["shd_total"], forward["edges"]) == (0, 0, 1)
    empty = rivals.measured(table, Learned(np.zeros_like(FORWARD), 1.0), FORWARD)
    assert (empty["shd_total"], empty["shd_skeleton"], empty["shd_orientation"], empty["edges"]) == (1, 1, 0, 0)
    assert empty["score"] > exact


def test_the_dag_of_a_run_is_read_as_it_was_written(table: Table, tmp_path: Path) -> None:
    NML(table).write(np.array([1, 0]), tmp_path)
    assert (rivals.read_dag(tmp_path / "best_dag.csv", table.names) == FORWARD.T).all()


def test_law_ray_gets_the_same_data_and_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = sample_network("sachs", rivals.N_ROWS, 3)
    assert table.true_dag is not None
    order = np.array(topological_order(table.true_dag))
    calls: list[str] = []

    def fake(name: str, objective: Any, folder: Path, evals: int) -> Any:
        calls.append(name)
        assert (objective.table.fingerprint, evals) == (table.fingerprint, 40)
        folder.mkdir(exist_ok=True)
        (folder / "journal.jsonl").touch()
        objective.write(order, folder)
        return SimpleNamespace(seconds_asking=1.0, seconds_evaluating=2.0)

    def minimize(objective: Any, *, evals: int, out: Path, **options: Any) -> Any:
        assert options == {"method": "law-est", "n_init": 20, "batch_size": 20, "progress": False}
        return fake("minimize", objective, out, evals)

    def resume(out: Path, objective: Any, *, evals: int, progress: bool) -> Any:
        assert not progress
        return fake("resume", objective, out, evals)

    monkeypatch.setattr(rivals, "RUNS", tmp_path)
    monkeypatch.setattr(rivals, "load", functools.cache(rivals.load))
    monkeypatch.setattr(rivals, "law_ray", SimpleNamespace(minimize=minimize, resume=resume))
    for _ in range(2):
        learned = rivals.law(table, 3, 40)
        assert (learned.dag == table.true_dag).all() and learned.seconds == 3
    assert calls == ["minimize", "resume"]


def test_only_what_is_missing_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    monkeypatch.setattr(rivals, "RESULTS", tmp_path)
    monkeypatch.setattr(rivals, "ROWS", tmp_path / "rivals.csv")
    monkeypatch.setattr(rivals, "compare", lambda *arguments: calls.append(arguments))
    stopped = {"seconds": 7.0, "stopped": True}
    rivals.append({"network": "sachs", "seed": 1, "method": "ges-bic", **stopped})
    rivals.append({"network": "child", "seed": 0, "method": "hc-bic", **stopped})
    options = ["--networks", "sachs", "--networks", "child", "--seeds", "2", "--evals", "30", "--limit", "7"]
    result = CliRunner().invoke(rivals.main, [*options, "--methods", "hc-bic", "--methods", "ges-bic"])
    assert result.exit_code == 0, result.output
    assert calls == [
        ("sachs", 0, ["hc-bic", "ges-bic"], 30, 7.0),
        ("sachs", 1, ["hc-bic"], 30, 7.0),
        ("child", 0, ["ges-bic"], 30, 7.0),
        ("child", 1, ["hc-bic", "ges-bic"], 30, 7.0),
    ]
    assert len(pd.read_csv(tmp_path / "rivals.csv")) == 2
    assert "| ges-bic |  |  |  |  |  | 7.0 | 1, stopped on 1 |" in (tmp_path / "rivals.md").read_text()


def test_every_method_leaves_a_row_in_order(table: Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rivals, "ROWS", tmp_path / "rivals.csv")
    monkeypatch.setattr(rivals, "sample_network", lambda name, n_rows, seed: table)
    monkeypatch.setattr(rivals, "learn", lambda learner, table, limit: None)
    monkeypatch.setattr(rivals, "law", lambda table, seed, evals: Learned(np.zeros_like(FORWARD), float(evals)))
    rivals.compare("pair", 3, ["ges-bic", "true-network"], 30, 7.0)
    rivals.compare("pair", 4, ["law_ray"], 30, 7.0)
    rows = pd.read_csv(tmp_path / "rivals.csv")
    assert tuple(rows.columns) == rivals.COLUMNS
    assert rows[["method", "seed"]].to_numpy().tolist() == [["ges-bic", 3], ["true-network", 3], ["law_ray", 4]]
    assert rows["stopped"].tolist() == [True, False, False]
    assert rows["score"].isna().tolist() == [True, False, False]
    assert rows["seconds"].tolist() == [7, 0, 30]
    assert rows["shd_total"].tolist()[1:] == [0, 1]


def test_scores_are_relative_to_the_true_network_on_the_same_data() -> None:
    scores = {"true-network": [100.0, 200.0, 300.0], "law_ray": [101.0, 203.0, 305.0], "hc-bic": [110.0, 220.0, np.nan]}
    lines = rivals.tabulate(rows_of(scores)).splitlines()
    assert lines[2].startswith("| true-network | 0.0 +- 0.0 |")
    assert lines[3].startswith("| hc-bic | 15.0 +- 5.0 |") and lines[3].endswith("| 3, stopped on 1 |")
    assert lines[4].startswith("| law_ray | 3.0 +- 1.2 |") and lines[4].endswith("| 3 |")


GOOD = "law_ray is the lowest within its error, and at most one edge further from the truth than the best rival.\n"


@pytest.mark.parametrize(
    ("scores", "shd", "expected"),
    [
        ({"law_ray": [101.0, 200.0], "true-network": [101.0, 200.0]}, {}, GOOD),
        ({"law_ray": [101.0, 200.0], "ges-bic": [110.0, 190.2]}, {}, GOOD),  # 0.1 lower, +- 9.9
        ({"law_ray": [100.02, 200.02], "ges-bic": [100.0, 200.0]}, {}, GOOD),  # less than the errors of the regrets
        ({"law_ray": [100.0, 200.0], "ges-bic": [np.nan, np.nan]}, {"law_ray": 9}, GOOD),
        ({"law_ray": [100.0, 200.0], "ges-bic": [200.0, 300.0]}, {"law_ray": 1}, GOOD),
        ({"law_ray": [100.0, 200.0], "true-network": [100.0, 200.0]}, {"law_ray": 9}, GOOD),
        (
            {"law_ray": [103.0, 200.0], "ges-bic": [100.0, np.nan]},
            {},
            "law_ray is not the lowest: 3.0 +- 0.0 nats above ges-bic.\n",
        ),
        (
            {"law_ray": [103.0, 205.0], "true-network": [100.0, 200.0]},
            {},
            "law_ray is not the lowest: 4.0 +- 1.0 nats above true-network.\n",
        ),
        (
            {"law_ray": [100.0, 200.0], "ges-bic": [200.0, 300.0], "hc-bic": [200.0, 300.0]},
            {"law_ray": 6, "ges-bic": 3, "hc-bic": 4},
            "law_ray is 3.0 edges further from the truth than ges-bic.\n",
        ),
        ({"ges-bic": [1.0, 2.0]}, {}, "law_ray has not run.\n"),
    ],
)
def test_the_report_says_where_law_ray_falls_short(
    scores: dict[str, list[float]], shd: dict[str, int], expected: str
) -> None:
    assert rivals.shortfalls(rows_of(scores, shd)) == expected


def test_the_committed_report_is_that_of_the_committed_rows() -> None:
    check_committed("rivals", rivals.report(pd.read_csv(RESULTS / "rivals.csv"), evals=620))
