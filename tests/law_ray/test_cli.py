"""The command line as a user meets it: a process of its own, its streams and its exit code."""

import contextlib
import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import psutil
import pytest

from law_ray.methods.registry import METHODS
from law_ray.runs.settings import Settings

LAW_RAY = Path(sys.executable).with_name("law-ray")
OBJECTIVE = """
import numpy as np
from helper import displacement

def score(permutation, rng):
    print("printed by a worker")
    return displacement(permutation) + 0.1 * rng.normal()

def slow(permutation, rng):
    import time
    time.sleep(0.1)
    return score(permutation, rng)

def broken(permutation):
    raise OSError("no licence")
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


def law_ray(*arguments, cwd, code=0):
    command = [str(LAW_RAY), *map(str, arguments)]
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=240)
    assert done.returncode == code, done.stderr
    return done


def history(folder):
    """Ids, permutations and values, in the order of the ids."""
    records = [json.loads(line) for line in (folder / "journal.jsonl").read_text().splitlines()]
    permutations = {trial["id"]: trial["permutation"] for r in records if r["type"] == "ask" for trial in r["trials"]}
    tells = [record for record in records if record["type"] == "tell"]
    values = {record["id"]: record["value"] for record in tells}
    assert len(values) == len(tells)  # nothing was told twice
    return [(i, permutations[i], values.get(i)) for i in sorted(permutations)]


def test_a_users_function_runs_from_a_file_and_from_a_module(project, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    options = ["--n-items", 12, "--evals", 12, "--init", 6, "--batch-size", 3, "--json"]
    by_file = law_ray("run", project / "my_objective.py:score", *options, "--out", elsewhere / "a", cwd=elsewhere)
    by_module = law_ray("run", "my_objective:score", *options, "--out", elsewhere / "b", cwd=project)
    answers = [json.loads(done.stdout) for done in (by_file, by_module)]  # one JSON object is all of stdout
    for answer in answers:
        assert {"best_value", "best_permutation", "evaluations", "rounds", "out"} <= answer.keys()
        assert {"seconds_asking", "seconds_evaluating"} <= answer.keys()
        assert (answer["evaluations"], answer["rounds"]) == (12, 2)
        assert sorted(answer["best_permutation"]) == list(range(12))
    assert history(elsewhere / "a") == history(elsewhere / "b")
    assert "printed by a worker" in by_file.stderr


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


@pytest.mark.parametrize("integers", [False, True])
def test_a_users_table_gives_a_network(tmp_path, integers):
    table(tmp_path / "plant.csv", integers)
    done = law_ray("run", "nml:plant.csv", "-o", "n_samples=200", "--evals", 6, "--init", 3, "--batch-size", 3,
                   "--json", "--out", "run", cwd=tmp_path)  # fmt: skip
    answer = json.loads(done.stdout)
    assert {frozenset(edge) for edge in answer["edges"]} == {frozenset(("load", "heat")), frozenset(("heat", "alarm"))}
    assert answer["best_value"] == pytest.approx(answer["neg_log_likelihood"] + answer["regret"], abs=1e-9)
    assert sorted(answer["ordering"]) == ["alarm", "heat", "load"]
    with (tmp_path / "run" / "best_dag.csv").open() as file:
        assert [[row["parent"], row["child"]] for row in csv.DictReader(file)] == answer["edges"]
    assert "network" in (tmp_path / "run" / "best_model.bif").read_text()
    drawn = law_ray("report", "run", cwd=tmp_path).stdout.split()
    assert [Path(path).name for path in drawn] == ["convergence.png", "dag.png"]
    for path in drawn:
        assert (tmp_path / path).read_bytes().startswith(b"\x89PNG")


def kill_tree(process):
    tree = [process, *psutil.Process(process.pid).children(recursive=True)]
    for each in tree:
        with contextlib.suppress(ProcessLookupError):
            os.kill(each.pid, signal.SIGKILL)
    process.wait(timeout=30)


@pytest.mark.timeout(300)
def test_a_run_killed_at_three_random_moments_ends_as_one_never_touched(project):
    options = ["--n-items", 8, "--evals", 60, "--init", 10, "--batch-size", 5, "--quiet"]
    law_ray("run", "my_objective.py:slow", *options, "--out", "whole", cwd=project)
    journal = project / "killed" / "journal.jsonl"
    command = ["run", "my_objective.py:slow", *map(str, options), "--out", "killed"]
    moments = sorted(random.sample(range(3, 60), 3))
    print(f"killed after {moments} evaluations")  # shown when the test fails
    for moment in moments:
        process = subprocess.Popen([str(LAW_RAY), *command], cwd=project, stderr=subprocess.DEVNULL)
        while not journal.exists() or journal.read_bytes().count(b'"tell"') < moment:
            assert process.poll() is None
            time.sleep(random.random() * 0.02)
        kill_tree(process)
        command = ["resume", "killed", "--quiet"]
    killed = history(project / "killed")
    assert sum(value is not None for _, _, value in killed) < 60
    law_ray(*command, cwd=project)
    assert history(project / "killed") == history(project / "whole")


@pytest.mark.timeout(120)
def test_an_interrupt_leaves_a_run_that_resume_continues(project):
    options = ["--n-items", "8", "--evals", "40", "--init", "10", "--batch-size", "5"]
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
    assert 12 <= sum(value is not None for _, _, value in before) < 40
    law_ray("resume", "run", "--quiet", cwd=project)
    after = history(project / "run")
    assert len(after) == 40
    assert all(told in after for told in before if told[2] is not None)


def wrong_tables(folder):
    rows = ["load,heat", "low,1", "high,2", "low,2"]
    (folder / "missing.csv").write_text("\n".join([*rows, ",1"]))
    (folder / "constant.csv").write_text(
        "\n".join([*(row + (",same" if i else ",dull") for i, row in enumerate(rows))])
    )


BAD = {
    "unknown objective": (["run", "nml:nowhere"], "nml:nowhere"),
    "unknown family": (["run", "sudoku"], "sudoku"),
    "missing file": (["run", "nml:gone.csv"], "gone.csv"),
    "missing script": (["run", "gone.py:score", "--n-items", "5"], "gone.py"),
    "missing function": (["run", "my_objective.py:gone", "--n-items", "5"], "gone"),
    "missing module": (["run", "gone_module:score", "--n-items", "5"], "gone_module"),
    "column with missing values": (["run", "nml:missing.csv"], "load"),
    "column with one state": (["run", "nml:constant.csv"], "dull"),
    "n_items below 2": (["run", "my_objective.py:score", "--n-items", "1"], "n_items is 1"),
    "n_items unknown": (["run", "my_objective.py:score"], "n_items"),
    "evals below init": (["run", "my_objective.py:score", "--n-items", "9", "--evals", "5"], "evals is 5"),
    "batch larger than what is left": (
        ["run", "my_objective.py:score", "--n-items", "4", "--evals", "24", "--batch-size", "20"],
        "batch_size is 20",
    ),
    "batch size that is no number": (["run", "my_objective.py:score", "--batch-size", "many"], "'many'"),
    "unknown method": (["run", "my_objective.py:score", "--n-items", "9", "--method", "magic"], "magic"),
    "unknown option": (["run", "nml:sachs", "--fast"], "--fast"),
    "unknown objective option": (["run", "nml:sachs", "-o", "speed=1"], "speed"),
    "malformed objective option": (["run", "nml:sachs", "-o", "seed"], "-o seed"),
    "unreadable objective option": (["run", "nml:sachs", "-o", "seed=x"], "seed"),
    "no command": (["walk"], "walk"),
    "no run to resume": (["resume", "nowhere"], "nowhere"),
    "no run to report": (["report", "nowhere"], "nowhere"),
    "address nobody answers": (
        ["run", "my_objective.py:score", "--n-items", "9", "--address", "127.0.0.1:1"],
        "127.0.0.1:1",
    ),
    "folder that holds a run": (["run", "my_objective.py:score", "--n-items", "9", "--out", "done"], "done"),
    "journal of another objective": (["resume", "changed"], "another objective"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_gets_one_line_that_names_it_and_exit_2(project, case):
    wrong_tables(project)
    for folder, name, fingerprint in (("done", "score", None), ("changed", "score", "of other data")):
        (project / folder).mkdir()
        objective = {"name": name, "fingerprint": fingerprint, "folder": str(project),
                     "source": {"name": "my_objective.py:score", "options": {}}}  # fmt: skip
        run = {"type": "run", "version": 1, "objective": objective, "settings": {"n_items": 9, "evals": 20}}
        (project / folder / "journal.jsonl").write_text(json.dumps(run) + "\n")
    arguments, culprit = BAD[case]
    done = law_ray(*arguments, cwd=project, code=2)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert culprit in done.stderr


def test_an_objective_that_only_fails_ends_the_run_with_exit_1_and_its_reason(project):
    done = law_ray("run", "my_objective.py:broken", "--n-items", 9, "--quiet", cwd=project, code=1)
    assert "no licence" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_a_cluster_that_is_gone_does_not_stand_in_the_way(project):
    environment = {**os.environ, "RAY_ADDRESS": "127.0.0.1:1"}
    command = [str(LAW_RAY), "run", "my_objective.py:score", "--n-items", "9", "--evals", "6", "--init", "6", "--quiet"]
    subprocess.run(command, cwd=project, env=environment, check=True, capture_output=True, timeout=120)


def test_without_a_command_the_help_is_shown(tmp_path):
    assert "resume" in law_ray(cwd=tmp_path).stdout


def test_list_names_the_objectives_and_the_methods(tmp_path):
    listed = law_ray("list", cwd=tmp_path).stdout
    for name in ("nml:sachs", "nml:alarm", *METHODS):
        assert f"\n  {name} " in listed
    assert re.findall("^  (.*?)  +the default", listed, re.MULTILINE) == [Settings.method]


def test_what_is_known_of_a_users_table_holds_in_the_answer(tmp_path):
    table(tmp_path / "plant.csv", False)
    (tmp_path / "start.txt").write_text("alarm, load, heat\n2 0 1\n")
    known = ["-o", "tiers=alarm | load", "--before", "load<heat", "--fix", "heat=2", "--start", "start.txt"]
    budget = ["--evals", 6, "--init", 3]
    done = law_ray("run", "nml:plant.csv", *known, *budget, "--json", "--out", "run", cwd=tmp_path)
    assert json.loads(done.stdout)["ordering"] == ["alarm", "load", "heat"]
    refused = law_ray("run", "nml:plant.csv", "--before", "load<heat", "--before", "heat<load", cwd=tmp_path, code=2)
    assert refused.stderr.count("\n") == 1
    assert "load before heat" in refused.stderr


def test_a_run_that_died_with_its_machine_goes_on_from_its_copy(project):
    options = ["my_objective.py:slow", "--n-items", 12, "--evals", 24, "--init", 6, "--batch-size", 3, "--seed", 5]
    law_ray("run", *options, "--out", "whole", "--json", cwd=project)
    uri = f"file://{project}/far/run1"
    command = [str(LAW_RAY), "run", *map(str, options), "--out", "lost", "--copy", uri]
    process = subprocess.Popen(command, cwd=project, stderr=subprocess.PIPE)
    copy = project / "far" / "run1" / "journal.jsonl"
    while not copy.exists() or copy.read_text().count('"tell"') < 3:
        time.sleep(0.1)
    process.kill()
    process.communicate()
    shutil.rmtree(project / "lost")
    again = law_ray("resume", uri, "--json", cwd=project)
    folder = project / "law-ray-runs" / "run1"
    assert Path(json.loads(again.stdout)["out"]) == folder
    assert history(folder) == history(project / "whole")
    assert copy.read_bytes() == (folder / "journal.jsonl").read_bytes()
    assert "already holds a run" in law_ray("run", *options, "--copy", uri, cwd=project, code=2).stderr


def test_a_run_ends_well_though_its_copy_does_not(project, monkeypatch):
    (project / "full").mkdir()
    options = ["my_objective.py:score", "--n-items", 12, "--evals", 6, "--init", 6, "--out", "run", "--json"]
    code = f"""
import sys
from law_ray import cli, copies
copies.PATIENCE = copies.INTERVAL = 0.1
def full(self, name, content):
    raise OSError("no space left")
copies._Place.write = full
sys.argv = ["law-ray", "run", *{list(map(str, options))!r}, "--copy", "file://{project}/full"]
cli.main()
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, timeout=240)
    assert done.returncode == 1
    assert json.loads(done.stdout)["evaluations"] == 6
    assert "its copy is behind (OSError: no space left): bring" in done.stderr
