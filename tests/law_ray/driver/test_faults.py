"""What `experiments.faults` provokes, as far as it is quick; what kills nodes does so in a process of its own."""

import json
import subprocess
import sys

import pytest

import law_ray
from experiments.ours.faults.__main__ import provoked
from experiments.ours.faults.faulty import Faulty
from experiments.ours.faults.striking import BEFORE, OPTIONS, struck
from law_ray.errors import RunError
from law_ray.optimizer import Optimizer
from law_ray.runs import journal
from law_ray.runs.evaluation import evaluate
from law_ray.utils.seeding import generator


def outcomes(folder):
    return [record for record in journal.read(folder) if record["type"] in ("tell", "fail")]


@pytest.mark.faults
@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("flaw", ["exit", "segfault", "kill worker", "kill driver"])
def test_an_evaluation_whose_process_dies_is_made_again(tmp_path, flaw, mode):
    objective = Faulty(tmp_path, 0.02, flaw)
    row = struck(flaw, objective, objective.arm, mode=mode)
    assert (row.survived, row.lost, objective.met()) == (True, 0, 1)
    assert {record["type"] for record in outcomes(tmp_path / "run")} == {"tell"}


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_what_no_worker_can_send_back_fails_alone(tmp_path):
    objective = Faulty(tmp_path, 0.02, "raise")
    assert struck("raise", objective, objective.arm).survived
    (fail,) = [record for record in outcomes(tmp_path / "run") if record["type"] == "fail"]
    assert fail["reason"].startswith("Unpicklable: unpicklable (faulty.py, line ")


@pytest.mark.faults
@pytest.mark.usefixtures("cluster")
def test_an_ordering_that_kills_its_workers_is_tried_twice_and_never_asked_for_again(tmp_path):
    objective = Faulty(tmp_path, 0.02, "kill worker", for_ever=True)
    assert struck("poison", objective, objective.arm).survived
    (fail,) = [record for record in outcomes(tmp_path / "run") if record["type"] == "fail"]
    assert (objective.met(), fail["reason"]) == (2, "WorkerCrashedError: the worker died or was lost, again")


@pytest.mark.faults
@pytest.mark.usefixtures("cluster")
def test_a_journal_that_cannot_be_written_ends_the_run_with_the_reason_and_nothing_lost(tmp_path):
    objective = Faulty(tmp_path, 0.02, "limit journal")
    objective.arm()
    with pytest.raises(RunError, match=r"the journal in .* cannot be written \(File too large\): .* resume it"):
        law_ray.minimize(objective, evals=40, out=tmp_path / "run", **OPTIONS)
    before = outcomes(tmp_path / "run")
    result = law_ray.resume(tmp_path / "run", objective, progress=False)
    assert outcomes(tmp_path / "run")[: len(before)] == before
    assert (result.history["state"] == "told").sum() == 40


@pytest.mark.faults
@pytest.mark.parametrize("scene", ["node-killed", "node-replaced", "node-frozen", "head"])
def test_nodes_that_die_or_freeze_lose_nothing(scene):
    row = provoked(scene)
    assert (row["survived"], row["lost"]) == (True, 0), str(row)
    assert row["before"] >= BEFORE


@pytest.mark.faults
@pytest.mark.parametrize("scene", ["deleted", "moved", "byte"])
def test_what_happens_to_the_run_folder_loses_nothing(scene):
    row = provoked(scene)
    assert (row["survived"], row["lost"]) == (True, 0), str(row)
    assert row["before"] >= BEFORE


@pytest.mark.faults
@pytest.mark.parametrize(
    "scene", ["interrupt-twice", "terminate", "hang-up", "client-stopped", "worker-terminate", "two-resumes"]
)
def test_signals_lose_nothing_and_leave_no_process(scene):
    row = provoked(scene)
    assert (row["survived"], row["lost"]) == (True, 0), str(row)
    assert row["before"] >= BEFORE


@pytest.mark.faults
@pytest.mark.parametrize(
    "scene",
    [
        "children",
        "prints",
        "pool",
        "forks",
        "breaks-numpy",
        "limits-files",
        "interrupts",
        "limits-recursion",
        "futures",
        "own-ray-hangs",
        "ignores-and-hangs",
        "unshowable",
        "leaks",
    ],
)
def test_objectives_that_misbehave_neither_hang_a_run_nor_leave_anything_behind(scene):
    row = provoked(scene)
    assert (row["survived"], row["lost"]) == (True, 0), str(row)


@pytest.mark.faults
@pytest.mark.parametrize(
    "scene", ["two-items", "one-ordering", "timeout", "max-time", "files", "home", "stdin", "task"]
)
def test_runs_as_small_and_machines_as_poor_as_can_be(scene):
    row = provoked(scene)
    assert row["survived"], str(row)


@pytest.mark.faults
@pytest.mark.parametrize("scene", ["interrupt-start", "interrupt-prepare", "interrupt-choose"])
def test_an_interrupt_before_the_first_evaluation_ends_in_one_line(scene):
    row = provoked(scene)
    assert row["survived"], str(row)


@pytest.mark.faults
@pytest.mark.parametrize("scene", ["returns", "missing", "misnamed", "named", "paths", "clock", "tables", "formulas"])
def test_odd_values_names_paths_clocks_and_tables_are_taken_or_refused_in_one_line(scene):
    row = provoked(scene)
    assert row["survived"], str(row)


KILLED = """
import json, os, tempfile
from pathlib import Path
import law_ray
from experiments.ours.faults.rays import three_nodes
from experiments.ours.faults.striking import struck
from experiments.ours.faults.faulty import Faulty
with tempfile.TemporaryDirectory() as folder, three_nodes() as cluster:
    objective = Faulty(Path(folder), 0.1)
    victim = cluster.list_all_nodes()[-1]
    struck("kill", objective, lambda: cluster.remove_node(victim, False), method="law-est", seed=3)
    history = law_ray.load(Path(folder) / "run").history
    print(json.dumps([history["permutation"].tolist(), history["value"].tolist()]))
"""


@pytest.mark.faults
def test_three_nodes_and_a_kill_make_the_history_that_the_optimiser_alone_makes(tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    # Ray writes to standard output as well.
    permutations, values = json.loads(next(line for line in done.stdout.splitlines() if line.startswith("[[")))
    optimizer, objective = Optimizer(8, "law-est", seed=3, n_init=10), Faulty(tmp_path, 0.0)
    while len(optimizer.trials) < len(values):
        for trial in optimizer.ask(10 if not optimizer.trials else min(4, len(values) - len(optimizer.trials))):
            optimizer.tell(trial.id, evaluate(objective, trial.permutation, generator(3, "evaluate", trial.id)).value)
    assert permutations == [trial.permutation.tolist() for trial in optimizer.trials]
    assert values == [trial.value for trial in optimizer.trials]
