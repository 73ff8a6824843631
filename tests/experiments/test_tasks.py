import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import click
import pandas as pd
import pytest

from experiments import tasks
from experiments.machine import processor
from experiments.tasks import Row, append, complete, read
from law_ray.errors import InputError

COLUMNS = ("run", "value")


def play(run: int) -> list[Row]:
    return [{"run": run, "value": value} for value in (0.5, 1.25)]


class FakeRay:
    """Tasks run when their result is fetched, in the order in which they were submitted."""

    def __init__(self) -> None:
        self.running, self.most, self.started, self.stopped = 0, 0, False, False
        self.exceptions = SimpleNamespace(RayError=RuntimeError)

    def init(self, address: str, num_cpus: int, **options: Any) -> None:
        assert (address, num_cpus) == ("local", 3)
        self.started = True

    def remote(self, num_cpus: int) -> Any:
        assert num_cpus == 1

        def submit(function: Any, *arguments: Any) -> tuple[Any, ...]:
            self.running += 1
            self.most = max(self.most, self.running)
            return (function, *arguments)

        return lambda function: SimpleNamespace(remote=lambda *arguments: submit(function, *arguments))

    def wait(self, tasks: list[Any]) -> tuple[list[Any], list[Any]]:
        self.running -= 1
        return tasks[:1], tasks[1:]

    def get(self, task: tuple[Any, ...]) -> Any:
        function, *arguments = task
        return function(*arguments)

    def shutdown(self) -> None:
        self.stopped = True


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> FakeRay:
    fake = FakeRay()
    monkeypatch.setattr(tasks, "ray", fake)
    monkeypatch.setattr(tasks, "threads", SimpleNamespace(limit=lambda threads: None))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2})
    return fake


def test_every_run_is_played_and_no_more_at_once_than_there_are_cpus(ray: FakeRay, tmp_path: Path) -> None:
    assert tasks.play_all(play, range(7), tmp_path / "rows.csv") == 0
    rows = read(tmp_path / "rows.csv", COLUMNS)
    assert set(rows.pop("processor")) == {processor()}
    assert rows.to_numpy().tolist() == [[run, value] for run in range(7) for value in (0.5, 1.25)]
    assert ray.most == 3 and ray.stopped


def test_without_runs_nothing_is_started(ray: FakeRay, tmp_path: Path) -> None:
    assert tasks.play_all(play, [], tmp_path / "rows.csv") == 0
    assert not ray.started and not (tmp_path / "rows.csv").exists()


def test_a_run_that_raises_leaves_no_row_and_the_others_go_on(
    ray: FakeRay, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails_at_one(run: int) -> list[Row]:
        if run == 1:
            raise RuntimeError("boom")
        return play(run)

    assert tasks.play_all(fails_at_one, range(4), tmp_path / "rows.csv") == 1
    assert read(tmp_path / "rows.csv", COLUMNS)["run"].unique().tolist() == [0, 2, 3]
    assert "1 failed: boom" in capsys.readouterr().err


def test_rows_finished_before_an_interrupt_are_kept(ray: FakeRay, tmp_path: Path) -> None:
    def interrupted(run: int) -> list[Row]:
        if run == 2:
            raise KeyboardInterrupt
        return play(run)

    with pytest.raises(KeyboardInterrupt):
        tasks.play_all(interrupted, range(4), tmp_path / "rows.csv")
    assert read(tmp_path / "rows.csv", COLUMNS)["run"].unique().tolist() == [0, 1]
    assert ray.stopped


def test_a_task_has_one_thread(ray: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[int] = []
    monkeypatch.setattr(tasks, "threads", SimpleNamespace(limit=limits.append))

    def limited(run: int) -> list[Row]:
        assert limits.count(1) == len(limits) == run + 1
        return play(run)

    assert tasks.play_all(limited, range(2), tmp_path / "rows.csv") == 0


def test_a_missing_file_has_no_rows(tmp_path: Path) -> None:
    rows = read(tmp_path / "rows.csv", COLUMNS)
    assert rows.empty and tuple(rows.columns) == COLUMNS


@pytest.mark.parametrize(("kept", "whole"), [(0, []), (1, []), (2, [1])])
def test_a_torn_last_line_is_cut_off(kept: int, whole: list[int], tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    append(file, [{"run": 1, "value": 0.5}])
    append(file, [{"run": 2, "value": 0.5}])
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[: kept + 1])[:-3])  # torn: the header, the first row, or the second
    assert read(file, COLUMNS)["run"].tolist() == whole
    append(file, [{"run": 3, "value": 0.5}])
    assert read(file, COLUMNS)["run"].tolist() == [*whole, 3]
    assert file.read_text().startswith(lines[0])


def test_rows_of_other_columns_are_refused_and_those_in_another_order_put_right(tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    append(file, [{"run": 1, "value": 0.5}])
    append(file, [{"value": 0.25, "run": 2}])
    before = file.read_text()
    with pytest.raises(
        ValueError, match=r"has the columns \['run', 'value', 'processor'\], the new rows \['run', 'other', "
    ):
        append(file, [{"run": 3, "other": 0.5}])
    assert file.read_text() == before == f"run,value,processor\n1,0.500,{processor()}\n2,0.250,{processor()}\n"


def test_an_interrupt_leaves_all_rows_of_a_run_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "rows.csv"
    append(file, play(1))
    write = Path.write_text

    def interrupted(path: Path, text: str, **options: Any) -> int:
        write(path, text[:-5], **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", interrupted)
    with pytest.raises(KeyboardInterrupt):
        append(file, play(2))
    monkeypatch.undo()
    assert read(file, COLUMNS)["run"].tolist() == [1, 1]
    assert list(tmp_path.iterdir()) == [file]


class Case(NamedTuple):
    run: int


def test_an_experiment_plays_what_is_missing_and_reports_even_if_a_run_fails(
    ray: FakeRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[int] = []

    def fails_at_two(case: Case) -> list[Row]:
        played.append(case.run)
        if case.run == 2:
            raise RuntimeError("boom")
        return play(case.run)

    def report(rows: pd.DataFrame) -> str:
        return f"{len(rows)} rows"

    append(tmp_path / "some.csv", play(1))
    with pytest.raises(click.ClickException, match="1 runs failed"):
        complete(map(Case, range(4)), fails_at_two, report, tmp_path / "some", COLUMNS)
    assert played == [0, 2, 3]
    assert (tmp_path / "some.md").read_text() == "6 rows"
    complete([], fails_at_two, report, tmp_path / "some", COLUMNS)
    with pytest.raises(click.ClickException, match=r"none.csv has no rows to report: play some runs first"):
        complete([], fails_at_two, report, tmp_path / "none", COLUMNS)
    assert not (tmp_path / "none.md").exists()


def test_bad_input_is_told_in_one_line(
    ray: FakeRay, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class TaskError(RuntimeError):
        cause = InputError("no instance: fetch it")

    def without_instance(run: int) -> list[Row]:
        raise TaskError("a traceback\nof many lines")

    assert tasks.play_all(without_instance, [7], tmp_path / "rows.csv") == 1
    assert capsys.readouterr().err == "7 failed: no instance: fetch it\n"
