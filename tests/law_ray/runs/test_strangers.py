"""What a run folder from somebody else can do: its journal may name any code, its files may be links."""

import json
import logging
import os
import sys

import pytest

import law_ray
from law_ray.driver import api
from law_ray.driver.capture import path_of, prints_folder
from law_ray.errors import InputError
from law_ray.runs.objective import BlackBox, code_of, say_what_runs
from law_ray.runs.printed import Prints
from law_ray.runs.report import page
from law_ray.runs.settings import Settings
from tests.law_ray.runs.working import OBJECTIVE, displacement, started, work

SETTINGS = Settings(n_items=6, evals=12, batch_size=4, n_init=8, method="local-search")
MARKS = """
import pathlib
pathlib.Path("ran").touch()
raise RuntimeError("the code ran")
"""


@pytest.fixture
def stranger(tmp_path, monkeypatch):
    """A function that makes a finished run whose journal says of its objective what it is given."""
    monkeypatch.chdir(tmp_path)

    def made(settings=SETTINGS, **objective):
        (tmp_path / "evil.py").write_text(MARKS)
        folder = tmp_path / "run"
        run = started(folder, settings)
        run.end(work(run, displacement))
        run.journal.close()
        first, *others = (json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines())
        first["objective"] = OBJECTIVE | {"folder": str(tmp_path)} | objective
        for record in (first, *others):
            del record["check"]  # the stranger's tools know the format too
        (folder / "journal.jsonl").write_text("".join(json.dumps(record) + "\n" for record in (first, *others)))
        return folder

    return made


EVIL = [
    {"name": "evil.py:score", "options": {}},
    {"name": "nml:evil.py:score", "options": {}},
    {"name": "evil:score", "options": {}},
    {"name": "subprocess:Popen", "options": {"args": "touch ran", "shell": "True"}},
    {"name": "os:system", "options": {}},
]


@pytest.mark.parametrize("source", EVIL, ids=lambda source: source["name"])
def test_reading_and_reporting_runs_no_code_that_a_journal_names(stranger, tmp_path, source):
    folder = stranger(source=source, tells_more=True)
    before = set(sys.modules)
    with pytest.warns(UserWarning, match=f"--import runs '{source['name']}' in "):
        run, objective = page.load(folder)
    assert objective is None
    assert page.write(run, objective) == folder / "report.html"
    law_ray.load(folder).history  # noqa: B018 - computes it
    assert "evil" not in set(sys.modules) - before
    assert sorted(os.listdir(tmp_path)) == ["evil.py", "run"]


def test_a_report_that_the_objective_adds_nothing_to_says_nothing(stranger):
    page.load(stranger(source=EVIL[0]))  # pytest makes a warning an error


def test_with_leave_the_report_imports_the_code(stranger, tmp_path):
    folder = stranger(source=EVIL[0])
    with pytest.warns(UserWarning, match="the code ran"):
        page.load(folder, with_code=True)
    assert (tmp_path / "ran").exists()


def test_what_a_resume_will_run_is_said_before_it_runs(stranger, caplog, monkeypatch):
    folder = stranger(source=EVIL[0] | {"options": {"a\x1b[2J": "1"}})
    said = []

    def note(record):
        said.extend(caplog.messages)
        raise InputError("here it would run")

    monkeypatch.setattr(BlackBox, "from_record", note)
    with caplog.at_level(logging.WARNING), pytest.raises(InputError, match="here it would run"):
        api.resume(folder)
    (line,) = said
    assert line.startswith("resuming runs the code that the journal names: 'evil.py:score' in '/")
    assert line.endswith(r"with the options 'a\x1b[2J'")  # nothing that a terminal would obey


def test_where_a_resume_will_write_a_backup_is_said_unless_the_user_named_it(stranger, caplog):
    with caplog.at_level(logging.WARNING):
        say_what_runs(OBJECTIVE, "file:///home/somebody")
        say_what_runs(OBJECTIVE, None)
    assert caplog.messages == ["resuming writes the backup that the journal names: 'file:///home/somebody'"]


@pytest.mark.parametrize(("options", "said"), [({}, ""), ({"a": "1", "b": "2"}, " with the options 'a', 'b'")])
def test_the_code_of_a_record_is_its_name_folder_and_options(options, said):
    record = OBJECTIVE | {"folder": "/there", "source": {"name": "f.py:f", "options": options}}
    assert code_of(record) == f"'f.py:f' in '/there'{said}"


@pytest.mark.parametrize("name", ["nml:sachs", "nml:table.csv", "qap:chr12a", "tsp:plane9", "slots:8"])
def test_objectives_of_our_own_run_no_code_of_others(name):
    assert code_of(OBJECTIVE | {"source": {"name": name, "options": {}}}) is None


@pytest.mark.parametrize(
    "source", [3, {"name": 3, "options": {}}, {"name": "nml:sachs"}, {"name": "x:y", "options": 1}]
)
def test_a_source_of_another_kind_is_refused(stranger, source):
    with pytest.raises(InputError, match="line 1: "):
        page.load(stranger(source=source))


@pytest.mark.parametrize("name", ["report.html", "history.csv", "convergence.png"])
def test_nothing_is_written_where_a_link_in_the_folder_points(stranger, tmp_path, name):
    folder = stranger()
    mine = tmp_path / "mine"
    mine.write_text("precious")
    (folder / name).symlink_to(mine)
    run = law_ray.load(folder)
    run.write_page()
    run.to_csv()
    run.plot_convergence(folder / "convergence.png")
    assert mine.read_text() == "precious"
    assert not (folder / name).is_symlink()


def test_prints_are_not_written_where_a_link_in_the_folder_points(stranger, tmp_path):
    folder, mine, others = stranger(), tmp_path / "mine", tmp_path / "others"
    mine.write_text("precious")
    others.mkdir()
    (folder / "prints.log").symlink_to(mine)
    (folder / ".prints").symlink_to(others)
    Prints(folder).add("trial 1", "hello")
    with prints_folder(folder) as captured:
        path_of(captured, "1").write_text("hello")
        assert list(others.iterdir()) == []
    assert mine.read_text() == "precious"
    assert (folder / "prints.log").read_text() == "trial 1: hello\n"
    assert others.is_dir()


def test_a_journal_that_is_a_link_to_another_file_leaves_that_as_it_is(tmp_path):
    (tmp_path / "mine").write_text("precious")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "journal.jsonl").symlink_to(tmp_path / "mine")
    with pytest.raises(InputError, match="is not a journal of law_ray"):
        law_ray.load(tmp_path / "run")
    with pytest.raises(InputError, match="is not a journal of law_ray"):
        law_ray.runs.journal.Journal(tmp_path / "run")
    assert (tmp_path / "mine").read_text() == "precious"


@pytest.mark.parametrize(
    ("option", "secret"), [("token", True), ("DB_PASSWORD", True), ("api_key", True), ("n", False)]
)
def test_options_that_look_like_secrets_are_named_since_the_journal_keeps_them(caplog, option, secret):
    box = BlackBox(displacement, {"name": "f.py:f", "options": {option: "hunter2"}})
    with caplog.at_level(logging.WARNING):
        box.to_record("one")
    assert [option in message and "hunter2" not in message for message in caplog.messages] == [True] * secret


def test_all_options_that_look_like_secrets_are_named_in_one_line(caplog):
    BlackBox(displacement, {"name": "f.py:f", "options": {"token": "hunter2", "api_key": "x"}}).to_record("one")
    assert caplog.messages == [
        "the journal keeps token, api_key in clear: let the objective read secrets from the environment"
    ]
