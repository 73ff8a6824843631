from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner

from experiments.paper import benchmark_report, benchmarks
from experiments.paper.benchmarks import missing
from experiments.paper.problems import PROBLEMS
from experiments.runs import COLUMNS, CONTESTANTS, Run
from experiments.tasks import append, read
from law_ray.errors import InputError
from law_ray.typing import IntArray

SIZES = {problem: SimpleNamespace(n_items=10 + number, optimum=1.0) for number, problem in enumerate(PROBLEMS)}
RUN = Run("qap:chr12a", "random", 0, 0)


def row_of(run: Run, fraction: float) -> dict[str, Any]:
    evaluations = PROBLEMS[run.problem].evaluations(fraction)
    return {**run._asdict(), "evaluations": evaluations, "seconds": 0.5, "curve": "30:9"}


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[Run, float]]:
    """The runs that the command asks to be played; no Ray is started and no figures are drawn."""
    played: list[tuple[Run, float]] = []

    def play_all(play: Any, runs: Sequence[Run], file: Path) -> int:
        (fraction,) = play.args
        played.extend((run, fraction) for run in runs)
        if runs:
            append(file, [row_of(run, fraction) for run in runs])
        return 0

    monkeypatch.setattr(benchmarks, "play_all", play_all)
    monkeypatch.setattr(benchmarks, "load", SIZES.get)
    monkeypatch.setattr(benchmark_report, "draw", lambda *arguments: None)
    monkeypatch.setattr(benchmarks, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(benchmarks, "QUICK", tmp_path / "quick")
    return played


def invoke(*arguments: str) -> str:
    result = CliRunner().invoke(benchmarks.main, arguments)
    assert result.exit_code == 0, result.output
    return result.output


def test_quick_plays_everything_each_time_and_does_not_touch_the_results(asked: list[Any], tmp_path: Path) -> None:
    for _ in range(2):
        asked.clear()
        report = invoke("--quick")
        assert {run for run, _ in asked} == {
            Run(problem, method, 0, 0) for problem in PROBLEMS for method in CONTESTANTS
        }
        assert len(asked) == len(PROBLEMS) * len(CONTESTANTS)
    assert {PROBLEMS[run.problem].evaluations(fraction) for run, fraction in asked} == {30 + 2 * 5, 30 + 2 * 10}
    assert all(f"### {problem} after" in report for problem in PROBLEMS)
    assert all(f"| {method} | 9 |" in report for method in CONTESTANTS)
    assert not (tmp_path / "results").exists()


def test_only_what_is_missing_is_run(asked: list[Any], tmp_path: Path) -> None:
    some = ("--problems", "qap:chr12a", "--methods", "random")
    invoke(*some, "--runs", "2", "--fraction", "0.25")
    assert asked == [(RUN, 0.25), (RUN._replace(initial_set=1), 0.25)]
    asked.clear()
    invoke(*some, "--runs", "1")
    assert asked == [(RUN, 1.0)]
    asked.clear()
    invoke(*some, "--runs", "3", "--fraction", "0.25")
    assert asked == [(RUN._replace(initial_set=2), 0.25)]
    asked.clear()
    assert "benchmarks.md" in invoke("--runs", "0")
    assert not asked
    report = (tmp_path / "results" / "benchmarks.md").read_text()
    assert "## After 100% of the rounds" in report and "## After 25% of the rounds" in report


def test_a_longer_run_counts_as_a_shorter_one_but_not_the_other_way(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    assert missing([RUN], read(file, COLUMNS), 1.0) == [RUN]
    full, quarter, none = (RUN._replace(initial_set=number) for number in range(3))
    append(file, [row_of(full, 1.0), row_of(quarter, 0.25), row_of(none._replace(method="ga"), 1.0)])
    assert missing([full, quarter, none], read(file, COLUMNS), 0.25) == [none]
    assert missing([full, quarter, none], read(file, COLUMNS), 1.0) == [quarter, none]
    append(file, [row_of(quarter, 1.0)])
    assert missing([full, quarter, none], read(file, COLUMNS), 1.0) == [none]


def test_failures_show_in_the_exit_status(asked: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks, "play_all", lambda play, runs, file: 2)
    result = CliRunner().invoke(benchmarks.main, ["--runs", "1"])
    assert result.exit_code == 1 and "2 runs failed" in result.output
    assert (tmp_path / "results" / "benchmarks.md").exists()


def test_an_instance_that_cannot_be_loaded_is_reported_in_one_line(
    asked: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(problem: str) -> Any:
        raise InputError(f"{problem} is nowhere: set LAW_RAY_INSTANCES")

    monkeypatch.setattr(benchmarks, "load", load)
    result = CliRunner().invoke(benchmarks.main, [])
    assert result.exit_code == 1 and result.output == "Error: qap:chr12a is nowhere: set LAW_RAY_INSTANCES\n"
    assert not asked


def test_the_longest_runs_come_first_but_no_second_run_before_all_first_ones() -> None:
    runs = [
        RUN._replace(method="local-search"),
        RUN._replace(problem="tsp:att48", repeat=1),
        RUN._replace(problem="tsp:att48"),
        RUN._replace(method="law-est"),
        RUN._replace(method="law-est", problem="tsp:att48"),
    ]
    expected = [runs[4], runs[3], runs[2], runs[0], runs[1]]
    assert benchmarks.longest_first(runs, SIZES) == expected


class FirstItem:
    n_items = 12

    def __call__(self, permutation: IntArray) -> float:
        return float(permutation[0])


def test_a_run_plays_its_fraction_of_the_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmarks, "load", {"qap:chr12a": FirstItem()}.get)
    (row,) = benchmarks.play_fraction(0.25, RUN)
    assert row["evaluations"] == 155 and row["curve"].endswith(":0")
