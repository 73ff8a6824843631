import shlex

import pytest

from law_ray.cli import run as run_command
from law_ray.runs.active import ActiveRun
from law_ray.runs.evaluation import Outcome
from law_ray.runs.objective import BlackBox
from law_ray.runs.report.sections.answer import command, headline, section, state
from law_ray.runs.report.view import View
from law_ray.runs.run import Run
from law_ray.runs.settings import Settings
from law_ray.utils.parsing import read_fixed, read_pair
from tests.law_ray.runs.report.runs import made, view


def test_the_command_to_reproduce_a_run_gives_its_settings(tmp_path):
    objective = BlackBox.load("tsp:plane8", {"seed": "3"})
    settings = Settings(n_items=8, evals=33, batch_size=4, method="law-est", seed=5, before=((1, 2),), maximize=True)
    ActiveRun.start(tmp_path, settings, objective.to_record("")).journal.close()
    words = shlex.split(command(View.of(Run.load(tmp_path), objective)))
    assert words[:2] == ["law-ray", "run"]
    parsed = run_command.make_context("run", words[2:]).params
    assert parsed["objective"] == "tsp:plane8"
    assert parsed["options"] == ("seed=3",)
    expected = {"evals": 33, "batch_size": 4, "method": "law-est", "seed": 5, "before": ("1<2",), "maximize": True}
    assert {name: parsed[name] for name in expected} == expected


def test_items_are_named_in_the_command_as_the_command_line_reads_them(tmp_path):
    """A name may look like the number of another item, and one with a "<" is no side of "A<B"."""
    names = ["1", "2", "0", "a<b"]

    def f(permutation):
        return 0.0

    f.n_items, f.item_names = 4, names
    settings = Settings(n_items=4, before=((0, 1), (1, 3)), fixed=((2, 0),), resources=(("gpu_type", 0.5),))
    objective = BlackBox(f)
    record = {**objective.to_record(""), "source": {"name": "mine.py:f", "options": {}}}
    ActiveRun.start(tmp_path, settings, record, start=[[2, 0, 1, 3]]).journal.close()
    shown = View.of(Run.load(tmp_path), objective)
    parsed = run_command.make_context("run", shlex.split(command(shown))[2:]).params
    assert [read_pair(text, 4, names) for text in parsed["before"]] == list(settings.before)
    assert [read_fixed(text, 4, names) for text in parsed["fixed"]] == list(settings.fixed)
    assert parsed["resources"] == settings.resources
    assert any("began with one ordering that" in str(block) for block in section(shown).blocks)
    without_source = View.of(Run.load(tmp_path), None)
    without_source.run.objective["source"] = None
    assert "resources={'gpu_type': 0.5}" in command(without_source)


def test_a_function_of_the_users_is_reproduced_by_a_call(tmp_path):
    found = command(view(tmp_path))
    assert found.startswith("law_ray.minimize(f, n_items=6, seed=0, evals=30, ")
    assert "method='law-est'" in found
    assert "n_init=10" in found


@pytest.mark.parametrize(("mode", "batch_size", "expected"), [("sync", None, 3), ("sync", 4, 4), ("async", None, None)])
def test_a_batch_size_that_came_from_the_cluster_is_given_where_it_decides_the_result(
    tmp_path, mode, batch_size, expected
):
    objective = BlackBox.load("tsp:plane8")
    settings = Settings(n_items=8, evals=30, n_init=5, batch_size=batch_size, mode=mode)
    run = ActiveRun.start(tmp_path, settings, objective.to_record(""))
    for trial in run.ask(3):
        run.enter(trial.id, Outcome(1.0 + trial.id))
    if batch_size is None:  # there was no batch so far
        assert "--batch-size" not in command(View.of(Run.load(tmp_path), objective))
    run.ask(batch_size or 3)
    run.journal.close()
    found = command(View.of(Run.load(tmp_path), objective))
    assert (f"--batch-size {expected}" in found) if expected else ("--batch-size" not in found)


@pytest.mark.parametrize(("limit", "expected"), [(7, "unfinished"), (40, "ended: all evaluations were made")])
def test_the_state_is_told(tmp_path, limit, expected):
    assert state(view(tmp_path, limit=limit)) == expected


def test_the_headline_of_noisy_values_is_the_mean_of_repeats(tmp_path):
    run = made(tmp_path, error=2.0)
    assert run.repeats
    shown = headline(View.of(run))
    assert shown.startswith(f"{run.winner.value:.7g} ± ")
    repeats = [repeat.value for repeat in run.repeats[run.winner.trial_id]]
    assert run.winner.value == pytest.approx(sum(repeats) / len(repeats))
    assert ("confidence", run.winner.sure) in section(View.of(run)).blocks[0].pairs
