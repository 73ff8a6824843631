"""What `repr` and notebooks show of runs and results."""

import dataclasses

import law_ray
from law_ray.result import result_of
from law_ray.runs.active import ActiveRun
from law_ray.runs.evaluation import Outcome
from law_ray.runs.objective import BlackBox
from law_ray.runs.run import Run
from law_ray.runs.settings import Settings
from tests.law_ray.runs import working

SETTINGS = Settings(n_items=3, evals=6, n_init=4, batch_size=2, method="random", seed=7, reevaluations=4)


class Jobs:
    n_items = 3
    name = "jobs"
    item_names = ("cut", "<dye>", "sew & pack")

    def __call__(self, permutation):
        return 0.0


def made(folder, outcomes, settings=SETTINGS, objective=None):
    box = BlackBox(objective or Jobs())
    run = ActiveRun.start(folder, settings, box.to_record(launch=""))
    for trial, outcome in zip(run.ask(4), outcomes, strict=False):
        run.enter(trial.id, outcome)
    return run, box


def facts(shown):
    """What is shown below the title, by name."""
    pairs = (line.strip().split("  ", 1) for line in shown.splitlines()[1:])
    return {name: text.strip() for name, text in pairs}


def test_a_run_with_exact_values_says_where_it_stands(tmp_path):
    run, _ = made(tmp_path / "run", [Outcome(3.5), Outcome(reason="no licence"), Outcome(1.25)])
    shown = repr(law_ray.load(tmp_path / "run"))
    best = run.optimizer.trials[2].permutation
    assert shown.splitlines()[0] == "Run of jobs, minimised, 3 items"
    assert facts(shown) == {
        "best value": "1.25",
        "ordering": ", ".join(Jobs.item_names[item] for item in best),
        "evaluations": "3 of 6, 1 failed, 1 under way",
        "rounds": "0",
        "chosen by": "random, seed 7",
        "folder": str(tmp_path / "run"),
    }


def test_a_run_that_has_ended_says_why_and_a_best_value_has_its_error(tmp_path):
    run, _ = made(tmp_path / "run", [Outcome(3.5, 0.25)])
    assert facts(repr(run))["best value"] == "3.50 ± 0.25"
    assert "ended" not in facts(repr(run))
    run.end_reason = "reached the target"
    assert facts(repr(run))["ended"] == "reached the target"


def test_a_run_that_looks_for_the_largest_value_says_so(tmp_path):
    run, _ = made(tmp_path / "run", [Outcome(3.5), Outcome(1.25)], dataclasses.replace(SETTINGS, maximize=True))
    assert repr(run).splitlines()[0] == "Run of jobs, maximised, 3 items"
    assert facts(repr(run))["best value"] == "3.5"


def test_a_run_without_a_value_or_without_names_has_a_repr_too(tmp_path):
    working.started(tmp_path / "run", SETTINGS).journal.close()
    assert facts(repr(Run.load(tmp_path / "run")))["best value"] == "none yet"
    assert facts(repr(Run.load(tmp_path / "run")))["rounds"] == "0"
    assert "ordering" not in facts(repr(Run.load(tmp_path / "run")))
    run = working.started(tmp_path / "plain", SETTINGS)
    working.work(run, working.displacement)
    assert facts(repr(run))["ordering"] == "0, 1, 2"
    assert facts(repr(run))["rounds"] == "1"


def noisy(folder):
    run, box = made(folder, [Outcome(float(i), 2.0) for i in range(4)])
    while again := run.ask_again():
        for trial, _ in again:
            run.enter_again(trial.id, Outcome(float(trial.id), 2.0))
    run.journal.close()
    return Run.load(folder), box


def test_of_noisy_values_the_repeated_mean_is_shown_with_its_error_and_probability(tmp_path):
    run, box = noisy(tmp_path / "run")
    result = result_of(run, box, "all evaluations were made")
    winner = run.winner
    expected = f"{winner.value:.1f} ± {winner.standard_error:.1f}, the best of 4 finalists with probability "
    for shown in (repr(run), repr(result)):
        assert facts(shown)["best value"] == f"{expected}{winner.confidence:.2f}"
    assert winner.repeats == 4
    assert facts(repr(run))["evaluations"] == "4 of 6, 4 repeated"
    assert facts(repr(result)) == {
        "best value": facts(repr(run))["best value"],
        "ordering": facts(repr(run))["ordering"],
        "evaluations": "4, 4 repeated",
        "rounds": "0",
        "stopped": "all evaluations were made",
        "folder": str(tmp_path / "run"),
    }
    assert repr(result).splitlines()[0] == "Result"


def test_the_names_of_items_stay_text_in_a_notebook(tmp_path):
    run, box = noisy(tmp_path / "run")
    for shown in (run, result_of(run, box, "it was <b>interrupted</b>")):
        table = shown._repr_html_()
        assert "&lt;dye&gt;" in table
        assert "sew &amp; pack" in table
        assert "<dye>" not in table
        assert "<b>" not in table
        assert table.count("<tr>") == len(facts(repr(shown)))
