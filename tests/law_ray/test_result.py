import contextlib
import dataclasses

import pytest

from law_ray.errors import RunError
from law_ray.result import concluded, result_of
from law_ray.runs import backup
from law_ray.runs.evaluation import Outcome
from law_ray.runs.objective import BlackBox
from law_ray.runs.run import Run
from law_ray.runs.settings import Settings
from tests.law_ray.runs import working

SETTINGS = Settings(n_items=7, evals=20, n_init=10, batch_size=5, method="random")


class Writing:
    """An objective that writes a file about the best ordering."""

    n_items = 7
    item_names = "abcdefg"

    def __call__(self, permutation):
        return working.displacement(permutation)

    def write(self, permutation, folder, evaluated):
        (folder / "best.txt").write_text(" ".join(map(str, permutation)))
        return [folder / "best.txt"]


def finished(folder):
    objective = Writing()
    run = working.started(folder, SETTINGS)
    run.end(working.work(run, objective))
    run.journal.close()
    return Run.load(folder), BlackBox(objective)


def test_a_result_has_the_best_of_the_run_and_the_files_of_the_objective(tmp_path):
    run, box = finished(tmp_path / "run")
    result = result_of(run, box, "the time was up")
    values = run.history["value"]
    assert result.best.value == values.min() == working.displacement(result.best.permutation)
    assert result.history.equals(run.optimizer.history)
    assert (result.evaluations, result.rounds, result.stop_reason) == (20, 2, "the time was up")
    assert result.files == (tmp_path / "run" / "best.txt",)
    assert result.files[0].read_text() == " ".join(map(str, result.best.permutation))
    assert result.item_names == tuple("abcdefg")
    assert result.reevaluated is None


def test_the_backup_gets_what_was_written_last(tmp_path):
    run, box = finished(tmp_path / "run")
    result = concluded(run, box, f"file://{tmp_path}/kept", run.end_reason)
    assert {path.name for path in (tmp_path / "kept").iterdir()} >= {"journal.jsonl", "best.txt"}
    assert result == dataclasses.replace(result_of(run, box, run.end_reason), history=result.history)
    assert "incomplete" not in repr(result)


def test_a_backup_that_lacks_something_is_said(tmp_path, monkeypatch):
    class Full(contextlib.nullcontext):
        error = "no space left"

    monkeypatch.setattr(backup, "Backup", lambda *arguments: Full(Full()))
    run, box = finished(tmp_path / "run")
    result = concluded(run, box, "file:///kept", run.end_reason)
    assert result.backup_error == "no space left"
    assert repr(result).splitlines()[-1].split() == ["backup", "incomplete:", "no", "space", "left"]
    assert concluded(run, box, None, run.end_reason).backup_error == ""


def test_a_run_without_a_success_has_no_result(tmp_path):
    run, box = working.started(tmp_path / "run", SETTINGS), BlackBox(Writing())
    run.ask(10)
    with pytest.raises(RunError, match="no evaluation ended before the time was up: resume"):
        result_of(Run.load(tmp_path / "run"), box, "the time was up")
    for trial in run.pending:
        run.enter(trial.id, Outcome(reason="no licence"))
    with pytest.raises(
        RunError, match="no evaluation succeeded before the time was up: correct the objective, then resume"
    ):
        result_of(Run.load(tmp_path / "run"), box, "the time was up")
