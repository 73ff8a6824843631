import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from experiments import tasks
from experiments.tasks import Row, append, read

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
