import os
import time

import numpy as np
import pytest

import law_ray
from law_ray import journal
from law_ray.errors import InputError, RunError
from law_ray.evaluation import evaluate
from law_ray.optimizer import Optimizer
from law_ray.seeding import generator
from objectives import load

pytestmark = pytest.mark.usefixtures("cluster")


def displacement(permutation):
    return float(np.abs(permutation - np.arange(len(permutation))).sum())


def other(permutation):
    return 0.0


def minimize(objective, folder, n_items=7, **options):
    options = {"evals": 20, "n_init": 10, "batch_size": 5, "method": "random", "progress": False} | options
    return law_ray.minimize(objective, n_items, out=folder, **options)


def test_a_run_on_ray_makes_the_history_that_the_optimiser_alone_makes(tmp_path):
    def noisy(permutation, rng):
        return displacement(permutation) + rng.normal()

    result = minimize(noisy, tmp_path, method="law-est", seed=3)
    optimizer = Optimizer(7, "law-est", seed=3, n_init=10)
    for size in (10, 5, 5):
        for trial in optimizer.ask(size):
            optimizer.tell(trial.id, evaluate(noisy, trial.permutation, generator(3, "evaluate", trial.id)).value)
    assert result.history.drop(columns="seconds").equals(optimizer.history.drop(columns="seconds"))
    assert result.best.id == optimizer.best.id
    assert (result.evaluations, result.rounds, result.out) == (20, 2, tmp_path)
    assert result.stop_reason == "all evaluations were made"


def test_what_goes_wrong_in_one_evaluation_fails_that_trial_alone(tmp_path):
    def fragile(permutation):
        match permutation[0]:
            case 0:
                raise ValueError("zero")
            case 1:
                return float("nan")
            case 2:
                return "two"
        return displacement(permutation)

    history = minimize(fragile, tmp_path, evals=40).history
    firsts = history["permutation"].map(lambda permutation: permutation[0])
    assert (history["state"] == "failed").tolist() == firsts.isin([0, 1, 2]).tolist()
    reasons = {r["id"]: r["reason"] for r in journal.read(tmp_path) if r["type"] == "fail"}
    assert {reasons[i] for i in history["id"][firsts == 0]} == {"ValueError: zero"}


def test_an_evaluation_that_hangs_is_stopped_at_its_timeout_and_the_rest_go_on(tmp_path):
    def hangs(permutation):
        if permutation[0] == 0:
            time.sleep(1000)
        return displacement(permutation)

    result = minimize(hangs, tmp_path, evals=14, n_init=14, timeout=1.0)
    firsts = result.history["permutation"].map(lambda permutation: permutation[0])
    assert (firsts == 0).any()
    assert (result.history["state"] == "failed").tolist() == (firsts == 0).tolist()
    assert {r["reason"] for r in journal.read(tmp_path) if r["type"] == "fail"} == {"timed out after 1 s"}


def test_many_timeouts_leave_the_driver_alive(tmp_path):
    def hangs(permutation):
        time.sleep(1000 if permutation[0] < 4 else 0)
        return displacement(permutation)

    result = minimize(hangs, tmp_path, evals=12, n_init=12, timeout=0.2)
    firsts = result.history["permutation"].map(lambda permutation: permutation[0])
    assert (result.history["state"] == "failed").tolist() == (firsts < 4).tolist()


def test_waiting_for_a_cpu_does_not_count_towards_the_timeout(tmp_path):
    def slow(permutation):
        time.sleep(0.4)
        return 0.0

    result = minimize(slow, tmp_path, evals=10, timeout=1.0)  # 2 CPUs: the last begin after 1.6 s
    assert (result.history["state"] == "told").all()


def test_what_still_runs_when_time_is_up_is_left_to_a_resume(tmp_path):
    gate = tmp_path / "gate"

    def held_up(permutation):
        while permutation[0] > 3 and not gate.exists():
            time.sleep(0.05)
        return displacement(permutation)

    result = minimize(held_up, tmp_path / "run", evals=30, n_init=30, max_time=5.0)
    assert result.stop_reason == "the time was up"
    assert result.evaluations < 30
    gate.touch()
    for before in range(result.evaluations, 30):  # a slow machine may need its time more than once
        resumed = law_ray.resume(tmp_path / "run", held_up, progress=False)
        assert resumed.evaluations >= before
        if resumed.stop_reason != "the time was up":
            break
    assert resumed.stop_reason == "all evaluations were made"
    assert resumed.evaluations == 30


def test_a_finished_run_is_extended_under_the_same_seed(tmp_path):
    whole = minimize(displacement, tmp_path / "whole", evals=25)
    minimize(displacement, tmp_path / "part", evals=15)
    with pytest.raises(InputError, match="evals is 5"):
        law_ray.resume(tmp_path / "part", displacement, evals=5, progress=False)
    extended = law_ray.resume(tmp_path / "part", displacement, evals=25, progress=False)
    assert extended.history.drop(columns="seconds").equals(whole.history.drop(columns="seconds"))


def test_the_objective_is_unpickled_once_in_a_worker(tmp_path):
    class Counting:
        n_items = 7
        name = "counting"

        def __init__(self, unpickled=0):
            self.unpickled = unpickled

        def __reduce__(self):
            return _unpickle, (type(self),)

        def __call__(self, permutation):
            return float(self.unpickled)

    def _unpickle(cls):
        os.environ["UNPICKLED"] = str(int(os.environ.get("UNPICKLED", "0")) + 1)
        return cls(int(os.environ["UNPICKLED"]))

    result = minimize(Counting(), tmp_path, None)
    assert set(result.history["value"]) == {1.0}


def test_evaluations_get_the_threads_of_their_cpus(tmp_path):
    def threads(permutation):
        from threadpoolctl import threadpool_info

        return float(max(pool["num_threads"] for pool in threadpool_info()))

    for cpus in (1, 2):
        assert set(minimize(threads, tmp_path / str(cpus), num_cpus=cpus).history["value"]) == {float(cpus)}


def test_batch_size_auto_fills_the_cluster(tmp_path):
    history = minimize(displacement, tmp_path, batch_size="auto", num_cpus=0.5, evals=18).history
    assert history["round"].value_counts().to_dict() == {0: 10, 1: 4, 2: 4}


def test_a_request_no_node_can_satisfy_is_refused(tmp_path):
    with pytest.raises(InputError, match="asks for 3 CPUs, but the largest node has 2"):
        minimize(displacement, tmp_path, num_cpus=3)


def test_a_folder_in_use_or_already_used_is_refused(tmp_path):
    minimize(displacement, tmp_path)
    with pytest.raises(InputError, match="already holds a run"):
        minimize(displacement, tmp_path)
    with journal.Journal(tmp_path), pytest.raises(InputError, match="in use by another process"):
        law_ray.resume(tmp_path, displacement, evals=25, progress=False)


def test_a_run_of_another_objective_is_not_resumed(tmp_path):
    minimize(displacement, tmp_path)
    with pytest.raises(InputError, match="another objective: of displacement, and this one is other"):
        law_ray.resume(tmp_path, other, progress=False)


def test_a_broken_objective_ends_the_run_and_says_why(tmp_path):
    def broken(permutation):
        raise OSError("no licence")

    with pytest.raises(RunError, match="no licence"):
        minimize(broken, tmp_path)
    with pytest.raises(RunError, match="no evaluation succeeded"):
        minimize(broken, tmp_path / "time", max_time=1e-3)


def test_the_number_of_items_must_be_known_and_agree(tmp_path):
    with pytest.raises(InputError, match="n_items is not known"):
        minimize(displacement, tmp_path, None)

    class Five:
        n_items, name = 5, "five"

        def __call__(self, permutation):
            return 0.0

    with pytest.raises(InputError, match="n_items is 4, but the objective five has 5"):
        minimize(Five(), tmp_path, 4)
    with pytest.raises(InputError, match="batch_size is 'many'"):
        minimize(displacement, tmp_path, batch_size="many")


def test_the_files_of_the_objective_are_in_the_run_folder(tmp_path):
    class Writing:
        n_items, name = 7, "writing"

        def __call__(self, permutation):
            return displacement(permutation)

        def write(self, permutation, folder):
            path = folder / "best.txt"
            path.write_text(str(permutation.tolist()))
            return [path]

    result = minimize(Writing(), tmp_path, None)
    assert result.files == (tmp_path / "best.txt",)
    assert result.files[0].read_text() == str(result.best.permutation.tolist())


def test_changed_code_is_noticed_on_resume(tmp_path):
    path = tmp_path / "changing_for_checks.py"
    for code, count in (("return 1.0", 12), ("return 2.0", 15)):
        path.write_text(f"def score(permutation):\n    {code}\n")
        objective = load(f"{path}:score")
        if count == 12:
            minimize(objective, tmp_path / "run", evals=12)
        else:
            with pytest.warns(UserWarning, match="the code of score has changed"):
                result = law_ray.resume(tmp_path / "run", objective, evals=15, progress=False)
    assert result.history["value"].tolist() == [1.0] * 12 + [2.0] * 3


def test_batches_are_chosen_with_one_blas_thread(tmp_path):
    """More of them spin while the compiled loops run; the key is called in the midst of a choice."""

    class Keyed:
        n_items = 9
        name = "keyed"

        def __call__(self, permutation):
            return displacement(permutation)

        def key(self, permutation):
            from threadpoolctl import threadpool_info

            blas = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
            with (tmp_path / "threads").open("a") as file:
                file.write(f"{max(blas)}\n")
            return permutation.tobytes()

    minimize(Keyed(), tmp_path / "run", n_items=None, method="law-est", evals=12)
    assert set((tmp_path / "threads").read_text().split()[10:-12]) == {"1"}  # before and after it is the client's


def test_a_run_that_is_resumed_with_a_copy_is_copied_while_it_goes_on(tmp_path):
    copied = tmp_path / "copy" / journal.NAME

    def sees_the_copy(permutation):
        deadline = time.monotonic() + (20 if (tmp_path / "resumed").exists() else 0)
        while not copied.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        return float(copied.exists())

    minimize(sees_the_copy, tmp_path / "run", evals=10)
    (tmp_path / "resumed").touch()
    result = law_ray.resume(
        tmp_path / "run", sees_the_copy, evals=12, copy=f"file://{tmp_path / 'copy'}", progress=False
    )
    assert result.history["value"].tolist() == [0.0] * 10 + [1.0] * 2
    assert copied.read_bytes() == (tmp_path / "run" / journal.NAME).read_bytes()
