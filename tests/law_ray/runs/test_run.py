"""A run that is read from its journal: by anyone, at any time, without Ray, and without fitting anything."""

import dataclasses
import itertools
import json
import math
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import law_ray
from law_ray.errors import InputError
from law_ray.runs.active import ActiveRun
from law_ray.runs.evaluation import Outcome
from law_ray.runs.reevaluation import Repeat
from law_ray.runs.run import Run
from law_ray.runs.settings import Settings
from tests.law_ray.runs.working import OBJECTIVE, comparable, displacement, started, work

FIRST_VERSION = Path(__file__).parent / "data" / "journal-v1"
QUICK = Settings(n_items=8, evals=20, batch_size=5, n_init=10, method="random")


def header(**settings):
    return {
        "type": "run",
        "version": 1,
        "time": 100.0,
        "objective": OBJECTIVE,
        "settings": QUICK.to_record() | settings,
        "packages": {},
        "python": "3.11",
    }


def asked(*permutations, round=0, model=None, first=0, time=102.0, seconds=1.5):
    trials = [{"id": first + i, "permutation": list(each)} for i, each in enumerate(permutations)]
    return {"type": "ask", "time": time, "seconds": seconds, "round": round, "batch_size": len(trials),
            "model": model, "trials": trials}  # fmt: skip


def told(number, value, time=103.0, standard_error=0.0):
    return {"type": "tell", "id": number, "value": value, "standard_error": standard_error, "time": time,
            "seconds": 0.5}  # fmt: skip


def failed(number, reason, time=103.0):
    return {"type": "fail", "id": number, "reason": reason, "time": time, "seconds": None}


ORDERINGS = [[0, 1, 2, 3, 4, 5, 6, 7], [1, 0, 2, 3, 4, 5, 6, 7], [2, 1, 0, 3, 4, 5, 6, 7], [3, 1, 2, 0, 4, 5, 6, 7]]


def replayed(*records):
    return Run.replayed(Path("run"), [header(), *records])


def test_the_trials_are_those_of_the_records():
    run = replayed(asked(*ORDERINGS), told(2, 1.5, standard_error=0.25), failed(0, "no licence"))
    trials = run.optimizer.trials
    assert [trial.permutation.tolist() for trial in trials] == ORDERINGS
    assert [trial.state for trial in trials] == ["failed", "pending", "told", "pending"]
    assert (trials[2].value, trials[2].standard_error, trials[2].seconds) == (1.5, 0.25, 0.5)
    assert trials[0].reason == "no licence"
    assert math.isnan(trials[0].seconds)
    assert [trial.id for trial in run.ended] == [0, 2]
    assert run.best.id == 2


def test_failures_are_in_the_order_in_which_they_happened():
    run = replayed(asked(*ORDERINGS), failed(3, "first") | {"seconds": 2.5}, failed(0, "second"))
    assert run.failures == ["first", "second"]
    assert run.optimizer.trials[3].seconds == 2.5


def test_the_settings_are_those_in_force_after_the_last_resume():
    run = replayed(*({"type": "resume", "time": 200.0, "evals": evals} for evals in (30, 40)))
    assert run.settings == dataclasses.replace(QUICK, evals=40)


def test_a_larger_budget_counts_from_the_round_of_the_last_trial():
    first, second = asked(*ORDERINGS[:3], round=0), asked(ORDERINGS[3], first=3, round=1)
    larger = {"type": "resume", "time": 200.0, "evals": 30}
    assert replayed(first, second, larger).extension.round == 1
    assert replayed(first, second, larger | {"evals": 20}).extension.round == replayed().extension.round


def test_a_budget_may_be_left_or_raised_and_not_lowered():
    run = replayed()
    assert run.extended(None) == run.extended(20) == run.settings
    assert run.extended(30) == dataclasses.replace(QUICK, evals=30)
    for evals in ("30", 30.5):
        with pytest.raises(InputError, match=f"evals is {evals!r}: give an integer"):
            run.extended(evals)
    with pytest.raises(InputError, match=r"^evals is 19, but the run in run was given 20: give no fewer$"):
        run.extended(19)


def test_time_counts_for_choosing_and_for_waiting_and_not_between_a_runs_end_and_its_resume():
    run = replayed(
        asked(*ORDERINGS[:2], time=102.0, seconds=1.5),
        told(0, 1.0, time=105.0),
        failed(1, "", time=106.0),
        {"type": "resume", "time": 1000.0, "evals": 20},
        asked(*ORDERINGS[2:], first=2, time=1001.0, seconds=0.25),
        told(2, 1.0, time=1007.0),
        {"type": "ask again", "time": 1010.0, "repeats": [[2, 1]]},
        {"type": "tell again", "id": 2, "value": 1.0, "standard_error": 0.5, "reason": "", "time": 1012.0,
         "seconds": 1.0},
    )  # fmt: skip
    assert run.seconds_asking == 1.5 + 0.25
    assert run.seconds_evaluating == (105 - 102) + (106 - 105) + (1007 - 1001) + (1012 - 1010)


def test_repeats_are_due_until_they_are_told():
    ask_again = {"type": "ask again", "time": 104.0, "repeats": [[0, 1], [1, 1]]}
    noisy = [told(i, float(i), standard_error=0.5) for i in range(4)]
    tell_again = {"type": "tell again", "id": 1, "standard_error": 0.5, "reason": "", "time": 105.0, "seconds": 1.0}
    before = replayed(asked(*ORDERINGS), *noisy, ask_again)
    assert (before.due, dict(before.repeats)) == ([(0, 1), (1, 1)], {})
    after = replayed(asked(*ORDERINGS), *noisy, ask_again, tell_again | {"value": -3.0})
    assert (after.due, after.repeats) == ([(0, 1)], {1: [Repeat(-3.0, 0.5)]})
    assert (after.winner.trial_id, after.winner.value) == (1, -3.0)
    assert after.best.id == 1
    assert after.optimizer.best.id == 0  # by the first values
    lost = replayed(asked(*ORDERINGS), *noisy, ask_again, tell_again | {"value": None, "reason": "no licence"})
    assert math.isnan(lost.repeats[1][0].value)
    assert lost.best.id == 0


def test_exact_values_have_no_winner_of_repeats_and_no_value_has_no_best():
    exact = replayed(asked(*ORDERINGS), told(1, 3.0), told(0, 3.0))
    assert exact.winner is None
    assert exact.best.id == 0  # the first of equals
    with pytest.raises(InputError, match="no value"):
        assert replayed(asked(*ORDERINGS)).best


def test_orderings_of_the_initial_design_and_constraints_are_the_optimizers():
    record = header(before=[[0, 1]], fixed=[[7, 7]])
    run = Run.replayed(Path("run"), [record | {"starts": [ORDERINGS[0]]}])
    assert run.optimizer.start.tolist() == [ORDERINGS[0]]
    assert run.optimizer.constraints == run.settings.constraints
    assert (run.optimizer.constraints.before, run.optimizer.constraints.fixed) == (((0, 1),), ((7, 7),))


def test_the_key_and_the_prior_mean_of_the_objective_are_the_optimizers():
    def key(permutation):
        return int(permutation[0])

    def prior_mean(permutations):
        return permutations[:, 0].astype(float)

    run = Run.replayed(Path("run"), [header()], key, prior_mean)
    assert run.optimizer.key(np.array(ORDERINGS[3])) == 3
    assert run.optimizer.proxy is prior_mean
    assert Run.load(FIRST_VERSION, prior_mean).optimizer.proxy is prior_mean


def test_the_models_of_a_run_are_on_the_device_of_its_settings():
    assert Run.replayed(Path("run"), [header(device="auto")]).optimizer.device == "auto"
    assert replayed().optimizer.device == "cpu"


def test_a_noisy_objective_makes_a_noisy_optimizer():
    noisy = Run.replayed(Path("run"), [header() | {"objective": OBJECTIVE | {"noisy": True}}])
    assert noisy.optimizer.noisy
    assert not replayed().optimizer.noisy  # an older journal does not say


def test_a_journal_of_the_first_version_still_loads():
    run = law_ray.load(FIRST_VERSION)
    expected = json.loads((FIRST_VERSION / "expected.json").read_text())
    assert run.best.id == expected["best_id"]
    assert run.best.value == expected["best_value"]
    assert run.history["state"].value_counts().to_dict() == expected["states"]
    assert run.optimizer.model.to_record() == expected["model"]
    assert run.settings == Settings(n_items=6, evals=13, batch_size=3, method="law-est", seed=5, n_init=4, patience=9)
    assert run.objective["source"] == {"name": "my.py:displacement", "options": {"k": "2"}}
    assert run.failures == ["ValueError: no"]


def test_loading_a_run_imports_neither_ray_nor_pgmpy():
    code = (
        "import sys, law_ray\n"
        f"run = law_ray.load({str(FIRST_VERSION)!r})\n"
        "assert (run.best.id, len(run.history), run.settings.evals) == (8, 13, 13)\n"
        "print(*(name for name in ('ray', 'pgmpy', 'torch', 'matplotlib') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == ""


def test_a_folder_may_be_given_as_text_and_one_without_a_run_is_refused(tmp_path):
    assert law_ray.load(str(FIRST_VERSION)).folder == FIRST_VERSION
    with pytest.raises(InputError, match="nowhere holds no run"):
        law_ray.load(tmp_path / "nowhere")


def state(run):
    """All that a run knows, comparable with ==."""
    return {
        "settings": run.settings,
        "objective": run.objective,
        "trials": [
            (t.id, t.round, t.permutation.tolist(), t.state, repr(t.value), t.standard_error, repr(t.seconds), t.reason)
            for t in run.optimizer.trials
        ],
        "model": run.optimizer.model,
        "start": run.optimizer.start.tolist(),
        "repeats": {i: [(repr(value), error) for value, error in each] for i, each in run.repeats.items() if each},
        "due": run.due,
        "failures": run.failures,
        "seconds": (run.seconds_asking, run.seconds_evaluating),
        "winner": run.winner,
    }


class Compared(ActiveRun):
    """Compares its own state with that of its journal after every record."""

    compared = 0

    def _record(self, record):
        super()._record(record)
        assert state(self) == state(Run.load(self.folder))
        self.compared += 1


@pytest.mark.parametrize("method", ["random", "law-est", "law-auto"])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_run_that_goes_on_is_in_the_state_that_its_journal_describes_after_every_record(tmp_path, method, mode):
    def outcome(trial):
        if trial.id in (3, 11):
            return Outcome(reason="no licence", seconds=0.5 if trial.id == 3 else math.nan)
        return Outcome(displacement(trial.permutation) + 1.0, 6.0, 0.125)

    def go_on(run, limit):
        while run.stop_reason() is None and limit:
            trials = run.pending or (run.ask(3) if mode == "sync" else run.refill(3, {}))
            run.enter(trials[limit % len(trials)].id, outcome(trials[limit % len(trials)]))
            limit -= 1

    settings = Settings(n_items=6, evals=14, batch_size=3, n_init=6, method=method, mode=mode, reevaluations=7)
    run = Compared.start(tmp_path / "run", settings, OBJECTIVE, start=[[5, 4, 3, 2, 1, 0]])
    assert state(run) == state(Run.load(run.folder))
    assert (run.records, len(Run.load(run.folder).records)) == ([], 1)
    go_on(run, 9)
    run.journal.close()
    run = Compared.resume(tmp_path / "run", 16)
    go_on(run, 100)
    assert run.compared > 1 + 7
    repeats = 0
    while again := run.ask_again():
        for trial, repeat in again[::-1]:
            lost = repeats == 1
            run.enter_again(trial.id, Outcome(reason="lost") if lost else Outcome(10.0 * trial.id + repeat, 6.0, 0.25))
            repeats += 1
    assert repeats == 7
    assert (len(run.ended), run.failures) == (16, ["no licence"] * 2)


def test_a_run_can_be_read_while_it_is_written(tmp_path):
    run = started(tmp_path / "run", QUICK)
    work(run, limit=7)
    seen = law_ray.load(tmp_path / "run")
    assert len(seen.ended) == 7
    work(run)
    assert len(seen.ended) == 7
    assert len(law_ray.load(tmp_path / "run").ended) == 20


def test_a_run_tells_why_it_ended_until_it_is_resumed(tmp_path):
    run = started(tmp_path, QUICK)
    reason = work(run)
    assert run.end_reason == ""
    run.end(reason)
    assert law_ray.load(tmp_path).end_reason == reason == "all evaluations were made"
    assert "all evaluations were made" in repr(law_ray.load(tmp_path))
    run.journal.close()
    again = ActiveRun.resume(tmp_path, evals=30)
    assert again.end_reason == ""


WRONG = {
    "asked twice": [asked(*ORDERINGS), asked(*ORDERINGS)],
    "told twice": [asked(*ORDERINGS), told(1, 3.0), told(1, 3.0)],
    "told before it is asked": [told(0, 3.0), asked(*ORDERINGS)],
    "a run within the run": [asked(*ORDERINGS), header()],
    "of a newer version": [asked(*ORDERINGS), {"type": "thought", "time": 103.0}],
    "without its keys": [asked(*ORDERINGS), {"type": "tell"}],
    "of other types": [asked(*ORDERINGS), told(0, "low"), told([1], 1.0)],
    "no ordering": [asked([0, 0, 2, 3, 4, 5, 6, 7])],
    "no number": [asked(*ORDERINGS), told(0, math.nan)],
}
"""What a journal without checksums may hold after its first line."""
SAID = {
    "asked twice": r"its trials have the numbers \[0, 1, 2, 3\], but 4 comes next",
    "of a newer version": "there is no record of type 'thought': a newer law_ray wrote it, so upgrade law_ray",
}
"""What is said of it, where it does not come from a record that misses something."""


@pytest.mark.parametrize("what", WRONG)
def test_records_that_make_no_run_are_refused_by_their_line(tmp_path, what):
    lines = [json.dumps(record) + "\n" for record in [header(), *WRONG[what]]]
    (tmp_path / "journal.jsonl").write_text("".join(lines))
    with pytest.raises(InputError, match=rf"^{tmp_path}/journal\.jsonl, line [234]: {SAID.get(what, '.+')}$"):
        law_ray.load(tmp_path)


@pytest.mark.parametrize("settings", [{"n_items": "8"}, {"n_items": 10**12}, {"method": "x"}, {"before": [[9, 9]]}])
def test_a_first_line_that_makes_no_run_is_refused_by_its_line(tmp_path, settings):
    (tmp_path / "journal.jsonl").write_text(json.dumps(header(**settings)) + "\n")
    with pytest.raises(InputError, match=r"journal\.jsonl, line 1: ."):
        law_ray.load(tmp_path)


NO_TEXT = "the name or the folder of the objective is no text"
NO_SOURCE = "the source of the objective is neither null nor a name with options"


@pytest.mark.parametrize(
    ("missing", "objective", "said"),
    [
        (["settings", "packages"], OBJECTIVE, "it lacks packages, settings"),
        ([], {"name": "f", "source": None}, "it lacks fingerprint, folder"),
        (["python"], {"name": "f", "source": None, "folder": "."}, "it lacks fingerprint, python"),
        ([], OBJECTIVE | {"name": 1}, NO_TEXT),
        ([], OBJECTIVE | {"folder": None}, NO_TEXT),
        ([], OBJECTIVE | {"source": {"name": 1, "options": {}}}, NO_SOURCE),
        ([], OBJECTIVE | {"source": {"name": "f", "options": []}}, NO_SOURCE),
    ],
)
def test_a_first_line_without_what_others_rely_on_is_refused_with_the_reason(missing, objective, said):
    first = {key: value for key, value in header().items() if key not in missing} | {"objective": objective}
    with pytest.raises(InputError, match=f"^run/journal.jsonl, line 1: {said}$"):
        Run.replayed(Path("run"), [first])


def test_a_clock_that_goes_backwards_changes_no_value_and_the_run_goes_on(tmp_path, monkeypatch):
    clock = itertools.count(1e9, -60.0)
    monkeypatch.setattr(time, "time", lambda: next(clock))
    run = started(tmp_path / "run", QUICK)
    work(run, displacement, limit=12)
    run.journal.close()
    again = ActiveRun.resume(tmp_path / "run")
    work(again, displacement)
    monkeypatch.undo()
    whole = started(tmp_path / "whole", QUICK)
    work(whole, displacement)
    assert comparable(again).equals(comparable(whole))
    assert law_ray.load(tmp_path / "run").seconds_evaluating == 0.0


def test_a_run_is_complete_when_a_resume_would_have_nothing_to_do(tmp_path):
    run = started(tmp_path / "run", QUICK)
    work(run, displacement, limit=19)
    assert not run.is_complete(20)
    reason = work(run, displacement)
    assert not law_ray.load(tmp_path / "run").is_complete(20)  # it may have died before its re-evaluations
    run.end(reason)
    run.journal.close()
    assert law_ray.load(tmp_path / "run").is_complete(20)
    assert not law_ray.load(tmp_path / "run").is_complete(21)


def test_a_noisy_run_is_complete_when_the_winner_is_clear_or_the_repeats_are_used_up():
    close = [asked(*ORDERINGS), *(told(i, 1.0 + 0.01 * i, standard_error=1.0) for i in range(4))]
    end = {"type": "end", "time": 110.0, "reason": "the time was up"}
    clear = [asked(*ORDERINGS), *(told(i, 100.0 * i, standard_error=1.0) for i in range(4))]
    assert not replayed(*close, end).is_complete(4)
    assert replayed(*clear, end).is_complete(4)
    clear_from_above = [
        asked(*ORDERINGS),
        *(told(i, (0.0, 0.01, 0.02, 100.0)[i], standard_error=1.0) for i in range(4)),
    ]
    assert Run.replayed(Path("run"), [header(maximize=True), *clear_from_above, end]).is_complete(4)
    assert not replayed(*clear_from_above, end).is_complete(4)
    repeat = {"type": "ask again", "time": 104.0, "repeats": [[0, 1]]}
    assert not replayed(*clear, repeat, end).is_complete(4)
    for left, complete in ((0, True), (1, False)):
        assert Run.replayed(Path("run"), [header(rescore=left), *close, end]).is_complete(4) == complete
