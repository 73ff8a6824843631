from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from experiments import RESULTS
from experiments.paper import published, structure_learning
from experiments.paper.structure_learning import (
    CLIMB,
    GUIDED,
    PAPER,
    Effort,
    Run,
    free_parameters,
    missing,
    planned,
    report,
    search,
)
from experiments.tasks import append, read
from law_ray.space.permutations import enumerate_all, swap_neighbours
from law_ray.typing import IntArray
from law_ray.utils.seeding import generator
from objectives.nml.data.networks import sample_network
from objectives.nml.data.tables import Table
from objectives.nml.graphs.structure import dag_from_order
from objectives.nml.objective import NML
from objectives.nml.scores.contingency import max_log_likelihood
from tests.experiments.committed import check_committed
from tests.oracles.graphs import dag_of

SMALL = Effort(evaluations=60, guided=40, restarts=3, fresh=2)


def row_of(run: Run, evaluations: int, score: float = 10.0, found: float = 9.0) -> dict[str, Any]:
    distance = {f"shd_{part}": 3 for part in structure_learning.SHD}
    known = {"score": score, "standard_error": 0.5, "neg_log_likelihood": 8.0, **distance, "permutation": "0 1"}
    return {**run._asdict(), "evaluations": evaluations, "seconds": 1.5, "found": found, **known}


@pytest.fixture(scope="module")
def objective() -> NML:
    """Six variables of sachs, whose skeleton has eight edges."""
    table = sample_network("sachs", 3000, 0)
    assert table.true_dag is not None
    some = [0, 1, 3, 4, 8, 9]
    names, states = (tuple(of_all[k] for k in some) for of_all in (table.names, table.states))
    part = Table("part", names, states, table.codes[:, some], table.true_dag[np.ix_(some, some)])
    return NML(part, score="nml-uniform", edges="skeleton", dof="full", n_samples=50)


class Recorder:
    """An objective that keeps what it was asked."""

    def __init__(self, objective: NML) -> None:
        self.objective, self.n_items, self.explain = objective, objective.n_items, objective.explain
        self.prior_mean = objective.prior_mean
        self.asked: list[tuple[tuple[int, ...], Any]] = []

    def __call__(self, permutation: IntArray, rng: np.random.Generator) -> Any:
        value = self.objective(permutation, rng)
        self.asked.append((tuple(permutation), value))
        return value


def test_the_budgets_are_those_of_the_paper() -> None:
    figures = published.figures()
    figures = figures[figures["problem"].str.startswith("nml:")]
    theirs = figures.groupby("method")["evaluations"].unique().map(sorted).to_dict()
    assert {method: PAPER.budgets(method) for method in structure_learning.TABLE_2} == theirs
    assert {f"nml:{network}" for network in structure_learning.NETWORKS} == set(figures["problem"])


def test_climbs_are_planned_first_and_then_one_seed_after_another() -> None:
    runs = planned(("sachs", "alarm"), ("ga", "law-est"), 2)
    assert runs[:2] == [Run("alarm", CLIMB, 0), Run("sachs", CLIMB, 0)]
    of_a_seed = [("alarm", "ga"), ("alarm", "law-est"), ("sachs", "ga"), ("sachs", "law-est")]
    assert runs[2:] == [Run(*of, seed) for seed in range(2) for of in of_a_seed]


def test_a_run_without_all_its_rows_is_missing() -> None:
    runs = [Run("sachs", method, 0) for method in (CLIMB, "ga", "q-ei")]
    assert missing(runs, pd.DataFrame(columns=list(structure_learning.COLUMNS)), PAPER) == runs
    rows = [row_of(runs[0], 0), row_of(runs[1], 620), row_of(runs[2], 620)]
    assert missing(runs, pd.DataFrame(rows), PAPER) == [runs[1]]
    assert missing(runs, pd.DataFrame([*rows, row_of(runs[1], 1240)]), PAPER) == []
    assert missing([runs[2]._replace(seed=1)], pd.DataFrame(rows), PAPER) == [runs[2]._replace(seed=1)]


@pytest.mark.parametrize(("method", "budgets"), [("law-est", [60]), ("ga", [60, 120])])
def test_a_run_reports_what_it_had_found_after_each_budget(method: str, budgets: list[int], objective: NML) -> None:
    recorder = Recorder(objective)
    rows = search(Run("part", method, 3), recorder, SMALL)
    assert [row["evaluations"] for row in rows] == budgets
    assert all(objective(np.array(p), generator(3, "evaluate", i)) == v for i, (p, v) in enumerate(recorder.asked[:60]))
    for row in rows:
        searched = [*recorder.asked[:60], *recorder.asked[62:122]][: row["evaluations"]]  # 60 and 61: evaluated again
        permutation, value = min(searched, key=lambda pair: pair[1])
        assert (row["permutation"], row["found"]) == (" ".join(map(str, permutation)), value)
        again = [objective(np.array(permutation), generator(i, "fresh", 0)) for i in range(2)]
        assert row["score"] == pytest.approx(np.mean(again))
        assert row["standard_error"] == pytest.approx(abs(again[0] - again[1]) / 2)
        assert tuple(row) == structure_learning.COLUMNS
    assert len({permutation for permutation, _ in recorder.asked[:60]}) == 60  # though few networks are possible
    assert len(recorder.asked) == budgets[-1] + 2 * len(budgets)


def test_all_methods_begin_alike_and_seeds_differently(objective: NML) -> None:
    begun = []
    for run in (Run("part", "law-est", 3), Run("part", "ga", 3), Run("part", "ga", 4)):
        recorder = Recorder(objective)
        search(run, recorder, SMALL)
        begun.append(recorder.asked[:20])
    assert begun[0] == begun[1]
    assert not {permutation for permutation, _ in begun[0]} >= {permutation for permutation, _ in begun[2]}


def test_the_prior_mean_guides_a_run_from_its_first_batch_on(objective: NML) -> None:
    plain, guided = Recorder(objective), Recorder(objective)
    search(Run("part", "law-auto", 3), plain, SMALL)
    rows = search(Run("part", GUIDED, 3), guided, SMALL)
    assert [row["evaluations"] for row in rows] == [40]
    assert guided.asked[:20] == plain.asked[:20]  # random ones
    chosen = [np.mean([value for _, value in recorder.asked[20:40]]) for recorder in (guided, plain)]
    assert chosen[0] < chosen[1]


def test_the_climb_is_the_best_of_its_descents(objective: NML, monkeypatch: pytest.MonkeyPatch) -> None:
    table = objective.table
    assert objective.skeleton is not None

    def proxy(permutation: IntArray) -> float:
        dag = dag_from_order(objective.skeleton, permutation)
        configurations = [np.prod(table.cardinalities[dag[:, child]]) for child in range(len(dag))]
        parameters = sum((table.cardinalities[child] - 1) * count for child, count in enumerate(configurations))
        return 0.6 * parameters - max_log_likelihood(table.codes, table.cardinalities, dag)

    everything = enumerate_all(6)
    values = {tuple(permutation): proxy(permutation) for permutation in everything}
    best = min(values.values())

    def is_local_optimum(permutation: IntArray) -> bool:
        around = [values[tuple(neighbour)] for neighbour in swap_neighbours(permutation[None])[0]]
        return best + 1e-6 < values[tuple(permutation)] < min(around) + 1e-6

    trap = next(permutation for permutation in everything if is_local_optimum(permutation))
    for starts, found in ([trap], values[tuple(trap)]), ([trap, everything[0]], best), ([everything[0], trap], best):
        monkeypatch.setattr(structure_learning, "sample", lambda n_items, size, rng, starts=starts: np.array(starts))
        end = structure_learning.climb(objective, len(starts), generator(0, "climb", 0))
        assert values[tuple(end)] == pytest.approx(found, abs=1e-6)


def test_the_objective_is_that_of_the_paper(objective: NML, monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str, **options: str) -> NML:
        assert (name, options) == ("nml:part", {"score": "nml-uniform", "edges": "skeleton", "dof": "full"})
        return objective

    monkeypatch.setattr(structure_learning, "load", load)
    (row,) = structure_learning.play(SMALL, Run("part", CLIMB, 0))
    assert tuple(row) == structure_learning.COLUMNS and np.isnan(row["found"])
    (row,) = structure_learning.play(SMALL, Run("part", "random", 0))
    assert tuple(row) == structure_learning.COLUMNS and row["evaluations"] == 60


def test_gaps_are_to_the_best_ordering_of_the_network() -> None:
    ga, law = Run("sachs", "ga", 0), Run("sachs", "law-est", 0)
    rows = [
        row_of(Run("sachs", CLIMB, 0), 0, score=76_120.0, found=np.nan),
        *(row_of(ga, evaluations, score=76_140.0 - evaluations / 124) for evaluations in (620, 1240)),
        row_of(law, 620, score=76_110.0, found=76_100.0),
        row_of(law._replace(seed=1), 620, score=76_112.0, found=76_104.0),
        row_of(law, 620, score=76_110.0, found=76_100.0),  # twice in the file: counted once
        row_of(Run("child", "ucb", 0), 620, score=5.0),
    ]
    sachs, child = report(pd.DataFrame(rows), PAPER).split("## sachs")[1].split("## child")
    assert "The best ordering known scores 76110.0 +- 0.5 nats." in sachs
    assert "| law-est | 620 | 2 | 1.0 +- 1.0 | 76102.0 +- 2.0 | 76129.6 +- 6.4 | 3.0 | 1.5 |" in sachs
    assert "| ga | 620 | 1 | 25.0 | 9.0 | 76153.5 +- 5.0 |" in sachs
    assert "| ga | 1240 | 1 | 20.0 | 9.0 | 76131.9 +- 5.9 |" in sachs
    assert "| hill-climb |  | 1 | 10.0 |  |  | 3.0 | 1.5 |" in sachs
    assert "| ucb | 620 | 1 | 0.0 | 9.0 |  |" in child


def test_only_what_is_missing_is_run_and_quick_does_not_touch_the_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[Run] = []

    def play_all(play: Any, runs: list[Run], file: Path) -> int:
        played.extend(runs)
        for run in runs:
            append(file, [row_of(run, evaluations) for evaluations in play.args[0].budgets(run.method)])
        return 0

    monkeypatch.setattr(structure_learning, "play_all", play_all)
    monkeypatch.setattr(structure_learning, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(structure_learning, "QUICK", tmp_path / "quick")

    def invoke(*arguments: str) -> list[Run]:
        played.clear()
        result = CliRunner().invoke(structure_learning.main, arguments)
        assert result.exit_code == 0, result.output
        return list(played)

    for _ in range(2):
        assert len(invoke("--quick")) == 4 * 7 and not (tmp_path / "results").exists()
    assert invoke("--networks", "sachs", "--seeds", "1", "--methods", "ga") == [
        Run("sachs", CLIMB, 0),
        Run("sachs", "ga", 0),
    ]
    assert invoke("--networks", "sachs", "--seeds", "2", "--methods", "ga") == [Run("sachs", "ga", 1)]
    assert "## sachs" in (tmp_path / "results" / "structure_learning.md").read_text()


def test_failures_show_in_the_exit_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure_learning, "play_all", lambda play, runs, file: 2)
    monkeypatch.setattr(structure_learning, "RESULTS", tmp_path)
    append(tmp_path / "structure_learning.csv", [row_of(Run("sachs", "ga", 0), 620)])
    result = CliRunner().invoke(structure_learning.main, [])
    assert result.exit_code == 1 and "2 runs failed" in result.output
    assert (tmp_path / "structure_learning.md").exists()


def test_the_committed_report_is_that_of_the_committed_rows() -> None:
    rows = read(RESULTS / "structure_learning.csv", structure_learning.COLUMNS)
    check_committed("structure_learning", report(rows, PAPER))


def test_free_parameters_are_exact_beyond_64_bits() -> None:
    assert free_parameters([2, 3, 4], dag_of(3, (0, 2), (1, 2))) == 1 + 2 + 3 * 6
    star = dag_of(80, *((parent, 0) for parent in range(1, 80)))
    assert free_parameters([2] * 80, star) == 79 + 2**79
