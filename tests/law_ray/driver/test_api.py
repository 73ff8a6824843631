"""`minimize` and `resume` on Ray: what a run finds, and what is refused before it begins."""

import os
import sys
import time
import types

import pytest

import law_ray
from law_ray.driver import api
from law_ray.errors import InputError, RunError
from law_ray.optimizer import Optimizer
from law_ray.runs import journal
from law_ray.runs.active import ActiveRun
from law_ray.runs.evaluation import evaluate
from law_ray.runs.objective import BlackBox
from law_ray.runs.run import Run
from law_ray.utils import algebra
from law_ray.utils.seeding import generator
from objectives import load
from tests.law_ray.runs import working
from tests.law_ray.runs.working import displacement

pytestmark = pytest.mark.usefixtures("cluster", "clean_imports")

OPTIONS = {"evals": 20, "n_init": 10, "batch_size": 5, "method": "random", "progress": False}


def noisy(permutation, rng):
    return displacement(permutation) + rng.normal()


def other(permutation):
    return 0.0


def minimize(objective, folder, n_items=7, **options):
    return law_ray.minimize(objective, n_items, out=folder, **OPTIONS | options)


def begun(folder, objective, evals, **more):
    """Make a run of so many evaluations in this process: nothing in its folder differs from one made on Ray."""
    options = {name: value for name, value in OPTIONS.items() if name != "progress"} | {"evals": evals} | more
    box = api._black_box(objective)
    spec = api._spec(box, 7, "auto", folder, **options)
    run = ActiveRun.start(folder, spec.settings, spec.objective)
    working.work(run, box.objective)
    run.journal.close()
    return folder


@pytest.mark.parametrize(("n_items", "method", "warns"), [(200, "law-est", 0), (201, "law-est", 1), (201, "random", 0)])
def test_more_items_than_a_model_is_quick_for_are_warned_of(tmp_path, caplog, n_items, method, warns):
    api._spec(BlackBox(other), n_items, "auto", tmp_path / "run", method=method)
    assert caplog.text.count(f"{n_items} items: {method} is likely to take minutes") == warns


def test_an_objective_whose_module_is_on_no_node_is_refused_in_one_line(tmp_path, monkeypatch):
    module = types.ModuleType("nowhere_installed")
    exec("def score(permutation): return 0.0", module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with pytest.raises(InputError, match=r"unpickled where .* \(ModuleNotFoundError: .*'nowhere_installed'\): install"):
        minimize(module.score, tmp_path / "run")
    assert not (tmp_path / "run").exists()


class Writing:
    n_items, name = 7, "writing"

    def __call__(self, permutation):
        return displacement(permutation)

    def write(self, permutation, folder):
        path = folder / "best.txt"
        path.write_text(str(permutation.tolist()))
        return [path]


def without_seconds(history):
    return history.drop(columns="seconds")


def by_the_optimizer(objective, sizes, **options):
    """The optimizer after batches of these sizes, evaluated in this process."""
    optimizer = Optimizer(7, n_init=10, **options)
    for size in sizes:
        for trial in optimizer.ask(size):
            rng = generator(optimizer.seed, "evaluate", trial.id)
            optimizer.tell(trial.id, evaluate(objective, trial.permutation, rng).value)
    return optimizer


def test_a_run_on_ray_makes_the_history_that_the_optimiser_alone_makes(tmp_path):
    result = minimize(noisy, tmp_path, method="law-est", seed=3)
    optimizer = by_the_optimizer(noisy, (10, 5, 5), method="law-est", seed=3)
    assert without_seconds(result.history).equals(without_seconds(optimizer.history))
    assert result.best.id == optimizer.best.id
    assert (result.evaluations, result.rounds, result.out) == (20, 2, tmp_path)
    assert result.stop_reason == "all evaluations were made"
    assert 0 < result.seconds_asking < 60
    assert 0 < result.seconds_evaluating < 60
    assert result.backup_error == ""


@pytest.mark.slow
def test_an_asynchronous_run_evaluates_each_trial_once_and_replaces_it_at_once(tmp_path):
    result = minimize(noisy, tmp_path, method="law-est", seed=3, mode="async", batch_size=2)
    assert result.stop_reason == "all evaluations were made"
    assert (result.history["state"] == "told").all()
    values = [evaluate(noisy, t.permutation, generator(3, "evaluate", t.id)).value for t in Run.load(tmp_path).ended]
    assert result.history["value"].tolist() == values
    records = journal.read(tmp_path)
    assert [record["id"] for record in records if record["type"] == "tell"] != []
    refills = [record for record in records if record["type"] == "ask"][1:]
    assert {record["batch_size"] for record in refills} <= {1, 2}
    assert sum(record["batch_size"] for record in refills) == 10


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
    assert all(reasons[i].startswith("ValueError: zero (") for i in history["id"][firsts == 0])


@pytest.mark.slow  # the time-out is long beside what an evaluation takes on a busy machine; see test_tasks.py
def test_an_evaluation_that_hangs_is_stopped_at_its_timeout_and_the_rest_go_on(tmp_path):
    stuck = Optimizer(7, "random").ask(6)[3].permutation.tolist()

    def hangs(permutation):
        if permutation.tolist() == stuck:
            time.sleep(1000)
        return displacement(permutation)

    result = minimize(hangs, tmp_path, evals=6, n_init=6, timeout=10.0)
    assert result.history["permutation"].map(list).tolist()[3] == stuck
    assert result.history["state"].tolist() == ["told"] * 3 + ["failed"] + ["told"] * 2
    assert {r["reason"] for r in journal.read(tmp_path) if r["type"] == "fail"} == {"timed out after 10 s"}


@pytest.mark.slow
def test_many_timeouts_leave_the_driver_alive(tmp_path):
    def hangs(permutation):
        time.sleep(1000 if permutation[0] < 4 else 0)
        return displacement(permutation)

    result = minimize(hangs, tmp_path, evals=8, n_init=8, timeout=10.0)
    firsts = result.history["permutation"].map(lambda permutation: permutation[0])
    assert (firsts < 4).sum() > 2
    assert (result.history["state"] == "failed").tolist() == (firsts < 4).tolist()


@pytest.mark.slow
def test_waiting_for_a_cpu_does_not_count_towards_the_timeout(tmp_path):
    def slow(permutation):
        time.sleep(2.0)
        return 0.0

    result = minimize(slow, tmp_path, evals=14, timeout=10.0)  # 2 CPUs: the last begin after 12 s
    assert (result.history["state"] == "told").all()


@pytest.mark.slow
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


@pytest.mark.parametrize("address", ["ftp://host/folder", "s3://key:secret@bucket/run"])
def test_an_address_that_no_backup_can_have_is_refused_before_the_journal_keeps_it(tmp_path, address):
    begun(tmp_path / "run", displacement, 10)
    before = (tmp_path / "run" / journal.NAME).read_bytes()
    with pytest.raises(InputError, match=r"is no URI for a backup|has a password in it"):
        law_ray.resume(tmp_path / "run", displacement, backup=address, progress=False)
    assert (tmp_path / "run" / journal.NAME).read_bytes() == before


@pytest.mark.slow
def test_a_finished_run_is_extended_under_the_same_seed(tmp_path):
    begun(tmp_path / "run", displacement, evals=15)
    with pytest.raises(InputError, match="evals is 5"):
        law_ray.resume(tmp_path / "run", displacement, evals=5, progress=False)
    extended = law_ray.resume(tmp_path / "run", displacement, evals=25, progress=False)
    whole = by_the_optimizer(displacement, (10, 5, 5, 5), method="random")
    assert without_seconds(extended.history).equals(without_seconds(whole.history))


@pytest.mark.slow
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


@pytest.mark.slow
def test_evaluations_get_the_threads_of_their_cpus(tmp_path):
    def threads(permutation):
        from threadpoolctl import threadpool_info

        return float(max(pool["num_threads"] for pool in threadpool_info()))

    for cpus in (1, 2):
        assert set(minimize(threads, tmp_path / str(cpus), num_cpus=cpus).history["value"]) == {float(cpus)}


def test_batch_size_auto_fills_the_cluster_and_files_are_in_the_run_folder(tmp_path):
    result = minimize(Writing(), tmp_path, None, batch_size="auto", num_cpus=0.5, evals=18)
    assert result.history["round"].value_counts().to_dict() == {0: 10, 1: 4, 2: 4}
    assert result.files == (tmp_path / "best.txt",)
    assert result.files[0].read_text() == str(result.best.permutation.tolist())


def test_a_request_no_node_can_satisfy_is_refused(tmp_path):
    with pytest.raises(InputError, match="asks for 3 CPU, but no node has more than 2 CPU: ask for less"):
        minimize(displacement, tmp_path, num_cpus=3)


def test_a_folder_already_used_is_refused(tmp_path):
    begun(tmp_path / "run", displacement, evals=10)
    with pytest.raises(InputError, match="already holds a run"):
        minimize(displacement, tmp_path / "run")


@pytest.mark.slow
def test_a_folder_in_use_is_refused(tmp_path):
    begun(tmp_path / "run", displacement, evals=10)
    with journal.Journal(tmp_path / "run"), pytest.raises(InputError, match="in use by another process"):
        law_ray.resume(tmp_path / "run", displacement, evals=25, progress=False)


def test_a_run_of_another_objective_is_not_resumed(tmp_path):
    begun(tmp_path / "run", displacement, evals=10)
    with pytest.raises(InputError, match="another objective, displacement, and this one is other"):
        law_ray.resume(tmp_path / "run", other, progress=False)


@pytest.mark.slow  # by the command line it is tested in the default tier
def test_a_broken_objective_ends_the_run_and_says_why(tmp_path):
    def broken(permutation):
        raise OSError("no licence")

    with pytest.raises(RunError, match="no licence"):
        minimize(broken, tmp_path)


@pytest.mark.slow
def test_a_broken_objective_that_has_little_time_ends_the_run_too(tmp_path):
    def broken(permutation):
        raise OSError("no licence")

    with pytest.raises(RunError, match="no evaluation succeeded"):
        minimize(broken, tmp_path, max_time=1e-3)


def test_the_number_of_items_must_be_known_and_agree(tmp_path):
    with pytest.raises(InputError, match="n_items is not known"):
        minimize(displacement, tmp_path, None)

    class Five:
        n_items, name = 5, "five"

        def __call__(self, permutation):
            return 0.0

    with pytest.raises(InputError, match="n_items is 4, but the objective five has 5"):
        minimize(Five(), tmp_path, 4)
    with pytest.raises(InputError, match="out is 5: give the path of a folder"):
        law_ray.minimize(Five(), out=5)
    with pytest.raises(InputError, match="batch_size is 'many'"):
        minimize(displacement, tmp_path, batch_size="many")


SCORE = "def score(permutation):\n    return float(permutation[0])\n"


def test_an_objective_may_be_given_by_name_and_the_run_resumed_without_it(tmp_path, monkeypatch):
    (tmp_path / "named.py").write_text(SCORE)
    monkeypatch.chdir(tmp_path)
    begun(tmp_path / "run", "named.py:score", evals=10)
    monkeypatch.chdir("/")
    result = law_ray.resume(tmp_path / "run", evals=15, progress=False)  # found where the run was started
    assert result.history["value"].tolist() == [permutation[0] for permutation in result.history["permutation"]]
    assert result.best.value == 0.0


@pytest.fixture
def no_ray(monkeypatch):
    """Fail if anything connects to Ray."""
    monkeypatch.setattr(api, "connected", lambda *arguments: pytest.fail("Ray was started"))


@pytest.mark.usefixtures("no_ray")
@pytest.mark.parametrize(
    ("name", "culprit"),
    [
        ("named.py:gone", "named.py has no 'gone': choose score"),
        ("gone.py:score", "gone.py does not exist"),
        ("nml:nowhere", "nml:nowhere"),
        ("sudoku", "sudoku"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused_before_ray_is_started(tmp_path, monkeypatch, name, culprit):
    (tmp_path / "named.py").write_text(SCORE)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=culprit) as refused:
        minimize(name, tmp_path / "run")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("no_ray")
@pytest.mark.parametrize(
    ("unknown", "advice"),
    [
        ("rescore", "choose among"),
        ("source", "choose among"),
        ("batchsize", r"do you mean batch_size\? There are"),
        ("evls", r"do you mean evals\? There are"),
        ("nitems", r"do you mean n_items\? There are"),
    ],
)
def test_an_unknown_option_is_refused_in_one_line_before_ray_is_started(tmp_path, unknown, advice):
    expected = f"^there is no option {unknown}: {advice} n_items, start, out, .*batch_size.*$"
    with pytest.raises(InputError, match=expected) as refused:
        minimize(displacement, tmp_path / "run", **{unknown: 3})
    assert "\n" not in str(refused.value)


@pytest.mark.usefixtures("no_ray")
def test_items_may_be_given_by_name_where_the_objective_has_names(tmp_path):
    class Named(Writing):
        item_names = tuple("abcdefg")

    box = BlackBox(Named())
    options = {"before": [("a", "b"), ("c", 1)], "fixed": {"g": 0}}
    spec = api._spec(box, None, [["g", "a", "c", "b", "d", "e", "f"]], tmp_path, **options)
    assert (spec.settings.before, spec.settings.fixed) == (((0, 1), (2, 1)), ((6, 0),))
    assert spec.start.orderings == [[6, 0, 2, 1, 3, 4, 5]]
    with pytest.raises(InputError, match="there is no item 'h': items are 0 to 6, or a name such as a"):
        minimize(Named(), tmp_path, None, before=[("a", "h")])
    with pytest.raises(InputError, match=r"there is no item 'a': items are 0 to 6$"):
        minimize(displacement, tmp_path, fixed={"a": 0})


@pytest.mark.slow
def test_changed_code_is_noticed_on_resume(tmp_path):
    path = tmp_path / "changing.py"
    path.write_text("def score(permutation):\n    return 1.0\n")
    begun(tmp_path / "run", load(f"{path}:score"), evals=12)
    path.write_text("def score(permutation):\n    return 2.00\n")  # of another size, else Python may not notice
    objective = load(f"{path}:score")
    with pytest.warns(UserWarning, match="the code of score has changed"):
        result = law_ray.resume(tmp_path / "run", objective, evals=15, progress=False)
    assert result.history["value"].tolist() == [1.0] * 12 + [2.0] * 3


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_run_that_is_resumed_with_a_backup_is_copied_while_it_goes_on(tmp_path):
    copied = tmp_path / "copy" / journal.NAME

    def sees_the_copy(permutation):
        deadline = time.monotonic() + (120 if (tmp_path / "resumed").exists() else 0)
        while not copied.exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        return float(copied.exists())

    begun(tmp_path / "run", sees_the_copy, evals=10)
    (tmp_path / "resumed").touch()
    uri = f"file://{tmp_path / 'copy'}"
    result = law_ray.resume(tmp_path / "run", sees_the_copy, evals=12, backup=uri, progress=False)
    assert result.history["value"].tolist() == [0.0] * 10 + [1.0] * 2
    assert copied.read_bytes() == (tmp_path / "run" / journal.NAME).read_bytes()


def no_gpu():
    """Skip the test where there is a GPU, or no torch that could look for one."""
    if pytest.importorskip("torch").cuda.is_available():
        pytest.skip("there is a GPU")


def test_cuda_without_a_gpu_is_refused_before_anything_is_evaluated(tmp_path):
    no_gpu()
    with pytest.raises(InputError, match="device is 'cuda', but torch finds no GPU; on the CPU, give device='cpu'"):
        minimize(displacement, tmp_path, device="cuda")
    assert not (tmp_path / journal.NAME).exists()


def test_auto_is_the_cpu_where_there_is_no_gpu(tmp_path):
    no_gpu()
    result = minimize(displacement, tmp_path, method="law-est", device="auto")
    assert without_seconds(result.history).equals(
        without_seconds(minimize(displacement, tmp_path / "cpu", method="law-est").history)
    )


def test_a_run_that_began_on_a_gpu_goes_on_without_one(tmp_path, monkeypatch):
    no_gpu()
    with monkeypatch.context() as there_is_a_gpu:
        there_is_a_gpu.setattr(algebra, "device", lambda name: algebra.CPU)
        begun(tmp_path, displacement, 15, device="cuda")
    result = law_ray.resume(tmp_path, displacement, evals=20, progress=False)
    assert len(result.history) == 20
