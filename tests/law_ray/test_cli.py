"""The command line: its streams and exit codes.

Where no boundary of a process is the point, the command runs in this process and uses the Ray of the tests.
"""

import contextlib
import csv
import json
import logging
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time
import types
import warnings
from pathlib import Path

import numpy as np
import psutil
import pytest
import ray

import law_ray
from law_ray.cli import OLD_SPELLINGS, _die, cli, main
from law_ray.methods.registry import METHODS
from law_ray.runs import backup
from law_ray.runs.active import ActiveRun
from law_ray.runs.objective import BlackBox
from law_ray.runs.report import page
from law_ray.runs.settings import Settings, options
from tests.law_ray.runs import working

LAW_RAY = Path(sys.executable).with_name("law-ray")
OBJECTIVE = """
import numpy as np
from helper import displacement

def quiet(permutation, rng):
    return displacement(permutation) + 0.1 * rng.normal()

def score(permutation, rng):
    print("printed by a worker")
    return quiet(permutation, rng)

def slow(permutation, rng):
    import time
    time.sleep(0.1)
    return score(permutation, rng)

def slower(permutation, rng):
    import time
    time.sleep(0.6)
    return quiet(permutation, rng)

def broken(permutation):
    raise OSError("no licence")

class Written:
    def __call__(self, permutation):
        return displacement(permutation)

    def write(self, permutation, folder):
        (folder / "answer.txt").write_text(str(permutation.tolist()))
        return [folder / "answer.txt"]
"""
HELPER = """
import numpy as np

def displacement(permutation):
    return float(np.abs(permutation - np.arange(len(permutation))).sum())
"""


@pytest.fixture
def project(tmp_path):
    """A user's folder, from which nothing is installed."""
    (tmp_path / "my_objective.py").write_text(OBJECTIVE)
    (tmp_path / "helper.py").write_text(HELPER)
    return tmp_path


def in_a_process(*arguments, cwd, code=0):
    """The command in a process of its own, with a Ray of its own."""
    command = [str(LAW_RAY), *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=240)
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture
def here(monkeypatch, capsys, clean_imports):
    """The command in this process: a function like `in_a_process`."""

    def call(*arguments, cwd, code=0):
        monkeypatch.chdir(cwd)
        monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
        monkeypatch.setattr(sys, "argv", ["law-ray", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        stdout, stderr = capsys.readouterr()
        assert (ended.value.code or 0) == code, stderr
        return types.SimpleNamespace(stdout=stdout, stderr=stderr)

    return call


def answer_of(done):
    """The answer of a command that ran in this process, where lines of earlier workers may reach stdout as well."""
    (answer,) = [line for line in done.stdout.splitlines() if line.startswith("{")]
    return json.loads(answer)


def history(folder):
    """Ids, permutations and values, in the order of the ids."""
    records = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    permutations = {trial["id"]: trial["permutation"] for r in records if r["type"] == "ask" for trial in r["trials"]}
    tells = [record for record in records if record["type"] == "tell"]
    values = {record["id"]: record["value"] for record in tells}
    assert len(values) == len(tells)  # nothing was told twice
    return [(i, permutations[i], values.get(i)) for i in sorted(permutations)]


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_users_function_runs_from_a_file_and_from_a_module(project, tmp_path_factory, here):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    options = ["--n-items", 12, "--evals", 12, "--n-init", 6, "--batch-size", 3, "--json"]
    by_file = in_a_process("run", project / "my_objective.py:score", *options, "--out", elsewhere / "a", cwd=elsewhere)
    by_module = here("run", "my_objective:quiet", *options, "--out", elsewhere / "b", cwd=project)
    answers = [json.loads(by_file.stdout), answer_of(by_module)]  # one JSON object is all of stdout
    for answer in answers:
        assert {"best_value", "best_permutation", "evaluations", "rounds", "out"} <= answer.keys()
        assert {"seconds_asking", "seconds_evaluating"} <= answer.keys()
        assert (answer["evaluations"], answer["rounds"]) == (12, 2)
        assert sorted(answer["best_permutation"]) == list(range(12))
    assert history(elsewhere / "a") == history(elsewhere / "b")
    assert "printed by a worker" not in by_file.stderr
    prints = (elsewhere / "a" / "prints.log").read_text().splitlines()
    assert sorted(prints) == sorted(f"trial {i}: printed by a worker" for i in range(12))
    assert not (elsewhere / "b" / "prints.log").exists()


@pytest.mark.usefixtures("cluster")
def test_a_larger_budget_extends_a_finished_run(project, here, monkeypatch):
    monkeypatch.chdir(project)
    box = BlackBox.load("my_objective.py:quiet")
    settings = Settings(n_items=12, evals=9, n_init=6, batch_size=3, method="random")
    run = ActiveRun.start(project / "run", settings, box.to_record(launch=""))
    working.work(run, box.objective)
    run.journal.close()
    before = history(project / "run")
    (project / "copy").mkdir()
    options = ["--evals", 12, "--backup", f"file://{project}/copy"]
    extended = answer_of(here("resume", "run", *options, "--json", "--quiet", cwd=project))
    assert (extended["evaluations"], extended["rounds"], extended["out"]) == (12, 2, str(project / "run"))
    assert history(project / "run")[:9] == before
    assert history(project / "copy") == history(project / "run")  # which had no backup before


def table(path, integers):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 3, 500)
    b = (a + (rng.random(500) < 0.2)) % 3
    c = (b + (rng.random(500) < 0.2)) % 2
    names = ["low", "mid", "high"]
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["load", "heat", "alarm"])
        for row in zip(a, b, c, strict=True):
            writer.writerow([names[row[0]], names[row[1]], row[2] if integers else ["off", "on"][row[2]]])


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("integers", [False, pytest.param(True, marks=pytest.mark.slow)])
@pytest.mark.slow
def test_a_users_table_gives_a_network(tmp_path, here, integers):
    table(tmp_path / "plant.csv", integers)
    done = here("run", "nml:plant.csv", "-o", "n_samples=200", "--evals", 6, "--n-init", 3, "--batch-size", 3,
                "--method", "random", "--json", "--out", "run", cwd=tmp_path)  # fmt: skip
    answer = answer_of(done)
    assert {frozenset(edge) for edge in answer["edges"]} == {frozenset(("load", "heat")), frozenset(("heat", "alarm"))}
    assert answer["best_value"] == pytest.approx(answer["neg_log_likelihood"] + answer["regret"], abs=1e-9)
    assert sorted(answer["ordering"]) == ["alarm", "heat", "load"]
    with (tmp_path / "run" / "best_dag.csv").open() as file:
        assert [[row["parent"], row["child"]] for row in csv.DictReader(file)] == answer["edges"]
    assert "network" in (tmp_path / "run" / "best_model.bif").read_text()
    drawn = here("report", "--png", "run", cwd=tmp_path).stdout.split()
    assert [Path(path).name for path in drawn] == ["convergence.png", "dag.png"]
    for path in drawn:
        assert (tmp_path / path).read_bytes().startswith(b"\x89PNG")
    assert answer["page"] == str(tmp_path / "run" / "report.html")
    page = Path(answer["page"]).read_text(encoding="utf-8")
    assert 'id="network"' in page
    Path(answer["page"]).unlink()
    done = here("report", "run", "--out", "elsewhere.html", cwd=tmp_path)
    assert done.stdout.split() == ["elsewhere.html"]
    assert 'id="network"' in (tmp_path / "elsewhere.html").read_text(encoding="utf-8")


def kill_tree(process):
    tree = [process, *psutil.Process(process.pid).children(recursive=True)]
    for each in tree:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each.pid, signal.SIGKILL)
    process.wait(timeout=30)


@pytest.mark.slow
def test_a_users_file_may_have_the_name_of_our_package(tmp_path):
    (tmp_path / "objectives.py").write_text(HELPER.replace("displacement", "score"))
    options = ["--n-items", "6", "--evals", "25", "--quiet", "--json"]
    by_file = in_a_process("run", "objectives.py:score", *options, cwd=tmp_path)
    command = [sys.executable, "-m", "law_ray", "run", "objectives.py:score", *options]  # where that file comes first
    by_package = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True, timeout=240)
    for done in (by_file, by_package):
        answer = json.loads(done.stdout)
        assert answer["evaluations"] == 25
        order = answer["best_permutation"]
        assert answer["best_value"] == sum(abs(item - k) for k, item in enumerate(order))
    refused = in_a_process("run", "objectives:score", *options, cwd=tmp_path, code=2)
    check_refused(refused, "give the path of your file, objectives.py:score")
    in_a_process("run", "nml:sachs", "-o", "n_rows=200", "--evals", "4", "--n-init", "4", cwd=tmp_path)


@pytest.mark.faults
def test_a_run_killed_three_times_ends_as_one_never_touched(project):
    options = ["--n-items", 8, "--evals", 40, "--n-init", 10, "--batch-size", 5, "--quiet"]
    in_a_process("run", "my_objective.py:slow", *options, "--out", "whole", cwd=project)
    journal = project / "killed" / "journal.jsonl"
    command = ["run", "my_objective.py:slow", *map(str, options), "--out", "killed"]
    pause = np.random.default_rng(0)
    for moment in (4, 17, 28):  # in the initial design, and in two rounds; long before the end of the run
        process = subprocess.Popen([str(LAW_RAY), *command], cwd=project, stderr=subprocess.DEVNULL)
        while not journal.exists() or journal.read_bytes().count(b'"tell"') < moment:
            assert process.poll() is None
            time.sleep(0.02 * pause.random())
        kill_tree(process)
        command = ["resume", "killed", "--quiet"]
    killed = history(project / "killed")
    assert sum(value is not None for _, _, value in killed) < 40
    in_a_process(*command, cwd=project)
    assert history(project / "killed") == history(project / "whole")


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_an_interrupt_leaves_a_run_that_resume_continues(project):
    options = ["--n-items", "8", "--evals", "80", "--n-init", "10", "--batch-size", "5", "--method", "local-search"]
    process = subprocess.Popen([str(LAW_RAY), "run", "my_objective.py:slow", *options, "--out", "run"], cwd=project,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    journal = project / "run" / "journal.jsonl"
    while not journal.exists() or journal.read_bytes().count(b'"tell"') < 12:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.search(r"law-ray: interrupted: .*law-ray resume .*run", said.splitlines()[-1])
    assert "Traceback" not in said
    before = history(project / "run")
    assert 12 <= sum(value is not None for _, _, value in before) < 80
    in_a_process("resume", "run", "--quiet", cwd=project)
    after = history(project / "run")
    assert len(after) == 80
    assert all(told in after for told in before if told[2] is not None)


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("times", [1, 2])
def test_interrupts_while_it_chooses_name_the_folder_in_one_line(project, times):
    (project / "choosing.py").write_text("""
import pathlib, time

class Objective:
    n_items, name = 9, "choosing"

    def __call__(self, permutation):
        return 0.0

    def key(self, permutation):
        pathlib.Path("chooses").touch()
        time.sleep(1000)

objective = Objective()
""")
    process = subprocess.Popen([str(LAW_RAY), "run", "choosing.py:objective", "--out", "run"], cwd=project,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)  # fmt: skip
    while not (project / "chooses").exists():
        assert process.poll() is None
        time.sleep(0.05)
    for _ in range(times):
        process.send_signal(signal.SIGINT)
        time.sleep(0.5)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert re.fullmatch(r"law-ray: interrupted: .*law-ray resume .*run` continues", said.splitlines()[-1])
    assert "Traceback" not in said


def wrong_tables(folder):
    rows = ["load,heat", "low,1", "high,2", "low,2"]
    (folder / "missing.csv").write_text("\n".join([*rows, ",1"]))
    (folder / "constant.csv").write_text(
        "\n".join([*(row + (",same" if i else ",dull") for i, row in enumerate(rows))])
    )


SCORE = ["run", "my_objective.py:score"]
BAD = {
    "unknown objective": (["run", "nml:nowhere"], "nml:nowhere"),
    "unknown family": (["run", "sudoku"], "sudoku"),
    "missing file": (["run", "nml:gone.csv"], "gone.csv"),
    "missing script": (["run", "gone.py:score", "--n-items", "5"], "gone.py"),
    "missing function": (["run", "my_objective.py:gone", "--n-items", "5"], "gone"),
    "missing module": (["run", "gone_module:score", "--n-items", "5"], "gone_module"),
    "column with missing values": (["run", "nml:missing.csv"], "load"),
    "column with one state": (["run", "nml:constant.csv"], "dull"),
    "n_items below 2": ([*SCORE, "--n-items", "1"], "n_items is 1"),
    "n_items unknown": (SCORE, "n_items"),
    "evals below n_init": ([*SCORE, "--n-items", "9", "--evals", "5"], "evals is 5"),
    "batch larger than what is left": (
        [*SCORE, "--n-items", "4", "--evals", "24", "--batch-size", "20"],
        "batch_size is 20",
    ),
    "batch size that is no number": ([*SCORE, "--batch-size", "many"], "'many'"),
    "memory that is no number of bytes": ([*SCORE, "--memory", "much"], "'much' is not a number of bytes"),
    "resources without an amount": ([*SCORE, "--resources", "licence"], "'licence' is not of the form NAME=AMOUNT"),
    "resources without a number": ([*SCORE, "--resources", "licence=x"], "'licence=x' is not of the form NAME=AMOUNT"),
    "malformed precedence": ([*SCORE, "--n-items", "9", "--before", "1>0"], "'1>0' is not of the form A<B"),
    "malformed position": ([*SCORE, "--n-items", "9", "--fixed", "1"], "'1' is not of the form ITEM=POSITION"),
    "unknown item": ([*SCORE, "--n-items", "9", "--fixed", "9=1"], "there is no item '9'"),
    "missing file of orderings": ([*SCORE, "--n-items", "9", "--start", "gone.txt"], "gone.txt cannot be read"),
    "unknown method": ([*SCORE, "--n-items", "9", "--method", "magic"], "'magic' is not one of 'law-est', 'law-ei'"),
    "unknown mode": ([*SCORE, "--n-items", "9", "--mode", "min"], "'min' is not one of 'sync', 'async'"),
    "unknown option": (["run", "nml:sachs", "--fast"], "--fast"),
    "unknown objective option": (["run", "nml:sachs", "-o", "speed=1"], "speed"),
    "malformed objective option": (["run", "nml:sachs", "-o", "seed"], "-o seed"),
    "unreadable objective option": (["run", "nml:sachs", "-o", "seed=x"], "seed"),
    "no command": (["walk"], "walk"),
    "no run to resume": (["resume", "nowhere"], "nowhere"),
    "a place to fetch a folder to": (["resume", "done", "--out", "there"], "--out there is where to fetch a run"),
    "figures that are watched": (["report", "done", "--png", "--watch"], "leave out --watch and --out"),
    "figures in a file": (["report", "done", "--png", "--out", "x.html"], "leave out --watch and --out"),
    "no run to report": (["report", "nowhere"], "nowhere"),
    "folder that holds a run": ([*SCORE, "--n-items", "9", "--out", "done"], "done"),
    "no cluster to go on": ([*SCORE, "--n-items", "9", "--detach", "night"], "give its address (--address)"),
}


def check_refused(done, culprit):
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert culprit in done.stderr


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_line_that_names_it_and_exit_2(project, here, case):
    wrong_tables(project)
    begun(project / "done")
    arguments, culprit = BAD[case]
    check_refused(here(*arguments, cwd=project, code=2), culprit)


def begun(folder, **objective):
    """A run of my_objective.py:score beside the folder, of which the journal has the first line alone."""
    source = {"name": "my_objective.py:score", "options": {}}
    record = {"name": "score", "fingerprint": None, "folder": str(folder.parent), "source": source} | objective
    run = {"type": "run", "version": 1, "time": 0.0, "objective": record, "settings": {"n_items": 9, "evals": 20},
           "packages": {}, "python": ""}  # fmt: skip
    folder.mkdir()
    (folder / "journal.jsonl").write_text(json.dumps(run) + "\n")


def test_a_resume_says_what_code_it_runs_before_it_refuses_another_objective(project, here):
    begun(project / "changed", fingerprint="of other data")
    said, refused = here("resume", "changed", cwd=project, code=2).stderr.splitlines()
    assert said == f"law-ray: resuming runs the code that the journal names: 'my_objective.py:score' in '{project}'"
    assert "changed is a run of another objective" in refused


def test_a_resume_refuses_a_smaller_budget_before_it_says_what_code_it_runs(project, here):
    begun(project / "spent")
    (line,) = here("resume", "spent", "--evals", "19", cwd=project, code=2).stderr.splitlines()
    assert "evals is 19, but the run in spent was given 20: give no fewer" in line


def test_a_report_runs_no_code_of_the_user_unless_told_to(project, here):
    (project / "telling.py").write_text("raise RuntimeError('the code ran')\n")
    begun(project / "run", source={"name": "telling.py:score", "options": {}})
    silent = here("report", "run", cwd=project)
    assert (silent.stdout.split(), silent.stderr) == (["run/report.html"], "")
    assert "the code ran" in here("report", "run", "--import", cwd=project).stderr


def test_what_an_objective_prints_when_it_is_imported_is_none_of_the_answer(project, here):
    (project / "talking.py").write_text("print('LOADING DATA')\ndef score(permutation):\n    return 0.0\n")
    run = ["run", "talking.py:score", "--n-items", "5", "--evals", "4", "--n-init", "9", "--json"]
    refused = here(*run, cwd=project, code=2)
    assert refused.stdout == ""
    assert "LOADING DATA" in refused.stderr


def test_a_watched_run_that_ends_while_its_page_is_written_gets_its_last_page(project, here, monkeypatch):
    run = working.started(project / "run", Settings(n_items=6, evals=10, n_init=4, batch_size=3, method="random"))
    working.work(run, limit=5)
    pages, write = [], page.write

    def writing(*arguments):
        pages.append(write(*arguments))
        if len(pages) == 1:
            run.end("it was interrupted")
        return pages[-1]

    monkeypatch.setattr(page, "write", writing)
    monkeypatch.setattr(time, "sleep", lambda seconds: pytest.fail("nothing is to be waited for"))
    assert here("report", "run", "--watch", cwd=project).stdout.split() == 2 * ["run/report.html"]


def test_a_watch_ends_where_nothing_goes_on_with_the_run(project, here, monkeypatch):
    run = working.started(project / "run", Settings(n_items=6, evals=10, n_init=4, batch_size=3, method="random"))
    working.work(run, limit=5)
    slept = []

    def sleep(seconds):
        slept.append(seconds)
        if len(slept) == 5:
            run.journal.close()  # its process is killed

    monkeypatch.setattr(time, "sleep", sleep)
    ended = here("report", "run", "--watch", cwd=project, code=1)
    assert slept == 8 * [10]
    assert ended.stderr == "law-ray: no process is working on the run: law_ray.resume('run', objective) continues it\n"


def test_an_address_that_nobody_answers_is_refused_too_by_a_process_of_its_own(project):
    done = in_a_process(*SCORE, "--n-items", "9", "--address", "127.0.0.1:1", cwd=project, code=2)
    check_refused(done, "127.0.0.1:1")


@pytest.mark.usefixtures("cluster")
def test_an_objective_that_only_fails_ends_the_run_with_exit_1_its_first_traceback_and_its_reason(project, here):
    done = here("run", "my_objective.py:broken", "--n-items", 9, "--quiet", cwd=project, code=1)
    *traceback, last = done.stderr.splitlines()
    assert last.startswith("law-ray: the last ")
    assert "no licence" in last
    assert traceback[:2] == ["trial 0 failed:", "Traceback (most recent call last):"]
    assert traceback[-1] == "OSError: no licence"
    assert done.stderr.count("Traceback") == 1


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_with_verbose_each_failure_has_its_traceback_and_prints_are_shown(project, here):
    level = logging.getLogger("law_ray").level
    options = ["--n-items", 9, "--evals", 6, "--n-init", 6, "--quiet"]
    done = here("run", "my_objective.py:broken", *options, "-v", cwd=project, code=1)
    assert done.stderr.count("OSError: no licence\n") == 6 + 1
    assert "law-ray: trial 5 failed: OSError: no licence (my_objective.py, line " in done.stderr
    assert "the fitted model" not in done.stderr
    done = here("run", "my_objective.py:score", *options, "-vv", cwd=project)
    assert "law-ray: trial 0: printed by a worker\n" in done.stderr
    assert "law-ray: prepared in " in done.stderr
    assert (logging.getLogger("law_ray").level, logging.getLogger("law_ray").handlers) == (level, [])


@pytest.mark.slow
def test_a_cluster_that_is_gone_does_not_stand_in_the_way(project):
    environment = {**os.environ, "RAY_ADDRESS": "127.0.0.1:1"}
    command = [str(LAW_RAY), *SCORE, "--n-items", "9", "--evals", "6", "--n-init", "6", "--quiet"]
    subprocess.run(command, cwd=project, env=environment, check=True, capture_output=True, timeout=120)


def test_without_a_command_the_help_is_shown(tmp_path, here):
    assert "resume" in here(cwd=tmp_path).stdout


def test_the_package_is_the_same_command(monkeypatch, capsys):
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(sys, "argv", ["law_ray", "--version"])  # as by `python -m law_ray --version`
    with pytest.raises(SystemExit) as ended:
        runpy.run_module("law_ray", run_name="__main__")
    assert not ended.value.code
    assert capsys.readouterr().out == f"law-ray, version {law_ray.__version__}\n"


def test_the_command_line_imports_ray_only_when_it_needs_it():
    code = "import sys, law_ray.__main__; print(*(name for name in ('ray', 'pgmpy', 'torch') if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize("ignored", [False, True])
def test_an_interrupt_while_python_imports_ends_the_command_without_a_traceback(ignored):
    code = f"""
import importlib.abc, os, signal, sys
class Interrupts(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == "law_ray.optimizer":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupts())
signal.signal(signal.SIGINT, signal.{"SIG_IGN" if ignored else "default_int_handler"})  # whatever was inherited
import law_ray.__main__
print(signal.getsignal(signal.SIGINT).name)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == ((0, "SIG_IGN\n") if ignored else (-signal.SIGINT, ""))
    assert done.stderr == ""


def test_a_message_is_one_line_that_keeps_the_blanks_of_a_path(capsys):
    with pytest.raises(SystemExit):
        _die("no  run\n  is\u2028here\n", 2)
    assert capsys.readouterr().err == "law-ray: no  run is here\n"


def test_list_names_the_objectives_and_the_methods(tmp_path, here):
    listed = here("list", cwd=tmp_path).stdout
    for name in ("nml:sachs", "nml:alarm", *METHODS):
        assert f"\n  {name} " in listed
    assert re.findall("^  (.*?)  +the default", listed, re.MULTILINE) == [Settings.method]


@pytest.fixture
def given(monkeypatch, here, project):
    """A function that returns what `minimize` is given by `law-ray run` with these arguments."""
    found = {}

    def minimize(objective, **settings):
        found.update(settings)
        raise law_ray.RunError("seen")

    monkeypatch.setattr(law_ray, "minimize", minimize)

    def call(*arguments):
        found.clear()
        here(*SCORE, "--n-items", "9", *arguments, cwd=project, code=1)
        return dict(found)

    return call


SPELLINGS = {
    "n-init": ("init", ["7"], {"n_init": 7}),
    "num-cpus": ("eval-cpus", ["0.5"], {"num_cpus": 0.5}),
    "num-gpus": ("eval-gpus", ["2"], {"num_gpus": 2.0}),
    "memory": ("eval-memory", ["1.5G"], {"memory": 3 * 2**29}),
    "resources": ("eval-resource", ["licence=2"], {"resources": {"licence": 2.0}}),
    "fixed": ("fix", ["3=0"], {"fixed": [(3, 0)]}),
    "reevaluations": ("rescore", ["4"], {"reevaluations": 4}),
    "backup": ("copy", ["file:///far"], {"backup": "file:///far"}),
}


@pytest.mark.parametrize("new", SPELLINGS)
def test_an_option_is_understood_in_its_old_spelling_too_but_only_the_new_one_is_shown(given, here, tmp_path, new):
    old, arguments, expected = SPELLINGS[new]
    assert OLD_SPELLINGS[old] == new
    found = given(f"--{new}", *arguments)
    assert found.items() >= expected.items()
    assert given(f"--{old}", *arguments) == found
    assert given(f"--{old}={arguments[0]}") == found
    help = here("run", "--help", cwd=tmp_path).stdout
    assert re.search(rf"--{new}\b", help)
    assert not re.search(rf"--{old}\b(?!-)", help)


def test_every_old_spelling_is_tested():
    assert {new: old for old, new in OLD_SPELLINGS.items()} == {new: old for new, (old, *_) in SPELLINGS.items()}


def test_without_options_minimize_gets_its_own_defaults(given):
    found = given()
    defaults = {name: "auto" if name == "batch_size" else each.default for name, each in options().items()}
    assert {name: found[name] for name in options()} == defaults | {"before": [], "fixed": [], "resources": {}}
    assert found.keys() - options().keys() == {"n_items", "start", "out", "address", "progress"}
    assert (found["n_items"], found["start"], found["out"], found["address"]) == (9, "auto", None, None)
    assert found["progress"]


def test_options_that_repeat_are_collected(given):
    found = given("--before", "0<1", "--before", "1 < 2", "--fixed", "4=8", "--fixed", "5=0", "--resources", "a=1",
                  "--resources", "b=0.5", "--maximize", "--batch-size", "6", "--quiet")  # fmt: skip
    assert found["before"] == [(0, 1), (1, 2)]
    assert found["fixed"] == [(4, 8), (5, 0)]
    assert found["resources"] == {"a": 1.0, "b": 0.5}
    assert (found["maximize"], found["batch_size"], found["progress"]) == (True, 6, False)


def test_the_help_shows_every_option_in_a_group(here, tmp_path):
    help = here("run", "--help", cwd=tmp_path).stdout
    for group in {each.metadata["group"] for each in options().values()}:
        assert f"\n{group}:\n" in help
    shown = set(re.findall(r"^  (?:-\w, )?--([\w-]+)", help, re.MULTILINE))
    expected = {name.replace("_", "-") for name in options()}
    assert expected <= shown
    assert {option for each in cli.commands["run"].params for option in each.opts if option.startswith("--")} == {
        f"--{name}" for name in shown - {"help"}
    }


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_what_is_known_of_a_users_table_holds_in_the_answer(tmp_path, here):
    table(tmp_path / "plant.csv", False)
    (tmp_path / "start.txt").write_text("alarm, load, heat\n2 0 1\n")
    known = ["-o", "tiers=alarm | load", "--before", "load<heat", "--fixed", "heat=2", "--start", "start.txt"]
    budget = ["--evals", 6, "--n-init", 3]
    done = here("run", "nml:plant.csv", *known, *budget, "--json", "--out", "run", cwd=tmp_path)
    assert answer_of(done)["ordering"] == ["alarm", "load", "heat"]


def test_constraints_that_contradict_each_other_are_refused_by_the_names_of_the_items(tmp_path, here):
    table(tmp_path / "plant.csv", False)
    refused = here("run", "nml:plant.csv", "--before", "load<heat", "--before", "heat<load", cwd=tmp_path, code=2)
    assert refused.stderr.count("\n") == 1
    assert "load before heat" in refused.stderr


@pytest.mark.faults
def test_a_run_that_died_with_its_machine_goes_on_from_its_backup(project, monkeypatch, clean_imports):
    monkeypatch.chdir(project)
    box = BlackBox.load("my_objective.py:quiet")
    settings = Settings(n_items=12, evals=24, n_init=6, batch_size=3, seed=5, method="local-search")
    whole = ActiveRun.start(project / "whole", settings, box.to_record(launch=""))
    working.work(whole, box.objective)
    options = ["my_objective.py:slower", "--n-items", 12, "--evals", 24, "--n-init", 6, "--batch-size", 3, "--seed", 5,
               "--method", "local-search"]  # fmt: skip
    uri = f"file://{project}/far/run1"
    command = [str(LAW_RAY), "run", *map(str, options), "--out", "lost", "--backup", uri]
    process = subprocess.Popen(command, cwd=project, stderr=subprocess.PIPE)
    copy = project / "far" / "run1" / "journal.jsonl"
    while not copy.exists() or copy.read_text().count('"tell"') < 3:
        time.sleep(0.1)
    process.kill()
    process.communicate()
    shutil.rmtree(project / "lost")
    assert copy.read_text().count('"tell"') < 24
    again = in_a_process("resume", uri, "--json", cwd=project)
    folder = project / "law-ray-runs" / "run1"
    assert Path(json.loads(again.stdout)["out"]) == folder
    assert history(folder) == history(project / "whole")
    assert copy.read_bytes() == (folder / "journal.jsonl").read_bytes()
    assert "already holds a run" in in_a_process("run", *options, "--backup", uri, cwd=project, code=2).stderr


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_run_ends_well_though_its_backup_does_not(project, here, monkeypatch):
    (project / "full").mkdir()
    uri = f"file://{project}/full"

    def full(self, name, content):
        raise OSError("no space left")

    monkeypatch.setattr(backup, "PATIENCE", 0.1)
    monkeypatch.setattr(backup, "INTERVAL", 0.1)
    monkeypatch.setattr(backup._Storage, "write", full)
    done = here("run", "my_objective.py:quiet", "--n-items", 12, "--evals", 6, "--n-init", 6, "--out", "run", "--json",
                "--backup", uri, cwd=project, code=1)  # fmt: skip
    assert answer_of(done)["evaluations"] == 6
    assert "its backup is behind: OSError: no space left: copy" in done.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_a_detached_run_is_attached_to_and_stopped_by_its_name(project, here):
    options = ["--n-items", 8, "--n-init", 6, "--batch-size", 3, "--method", "random", "--detach"]
    try:
        begun = here("run", "my_objective.py:Written", *options, "one", "--evals", 12, "--address", "auto",
                     "--out", "one", "--backup", f"file://{project}/copy", "--json", cwd=project)  # fmt: skip
        assert answer_of(begun) == {"name": "one", "out": str(project / "one"), "progress": "law-ray attach one"}
        found = answer_of(here("attach", "one", "--quiet", "--json", cwd=project))
        assert (found["evaluations"], found["stopped"]) == (12, "all evaluations were made")
        assert (project / "copy" / "answer.txt").read_text() == str(found["best_permutation"])
        here("run", "my_objective.py:slow", *options, "two", "--evals", 200, "--address", "auto", "--out", "two",
             cwd=project)  # fmt: skip
        stopped = here("stop", "two", cwd=project).stdout
        assert f"stopped: `law-ray resume {project / 'two'} --address auto` continues it" in stopped
        refused = here("attach", "two", cwd=project, code=2)
        assert "no driver named two is on this cluster: there is none" in refused.stderr
    finally:
        for each in ray.util.list_named_actors(all_namespaces=True):
            ray.kill(ray.get_actor(each["name"], each["namespace"]))
