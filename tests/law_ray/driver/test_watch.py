"""Following a driver: it is ended while it prepares or chooses, and its messages and prints arrive."""

import os
import signal
import socket
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
import ray

import law_ray
from law_ray.driver import api, client
from law_ray.driver.actor import start_driver
from law_ray.driver.api import _black_box, _spec
from law_ray.driver.client import stop, watch
from law_ray.driver.progress import CHOOSING, EVALUATING, PREPARING, Status
from law_ray.driver.serialization import dumps
from law_ray.errors import Interrupted, RunError
from law_ray.runs import journal
from law_ray.runs.printed import NAME
from law_ray.runs.run import Run

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("cluster")]

OPTIONS = {"evals": 8, "n_init": 4, "batch_size": 4, "method": "random"}
FOR_EVER = 1000


class Waiting:
    """The displacement; it prepares, or chooses, for as long as a file of that name is in the folder."""

    n_items, name = 7, "waiting"

    def __init__(self, folder, what):
        self.file = folder / what
        self.file.touch()

    def __call__(self, permutation):
        return float(np.abs(permutation - np.arange(7)).sum())

    def starts(self, count, rng):
        self._wait(PREPARING)
        return np.arange(7)[None]

    def key(self, permutation):
        self._wait(CHOOSING)
        return permutation.tobytes()

    def _wait(self, what):
        while self.file.name == what and self.file.exists():
            time.sleep(0.05)


@pytest.fixture(autouse=True)
def short_grace(monkeypatch):
    monkeypatch.setattr(client, "GRACE", 0.5)


@pytest.fixture(params=[PREPARING, CHOOSING])
def waiting(request, tmp_path):
    return Waiting(tmp_path, request.param)


def minimize(objective, folder, n_items=None, **options):
    return law_ray.minimize(objective, n_items, out=folder, progress=False, **OPTIONS | options)


def started(objective, folder):
    driver = start_driver(_spec(_black_box(objective), None, "auto", folder, **OPTIONS))
    driver.result.remote(dumps(objective))
    return driver


def check_goes_on(waiting, folder):
    """Check that the run can be continued at once, if it has begun."""
    waiting.file.unlink()
    assert (folder / journal.NAME).exists() == (waiting.file.name == CHOOSING)
    if waiting.file.name == CHOOSING:
        assert law_ray.resume(folder, waiting, progress=False).evaluations == 8


def test_a_driver_says_what_it_does_from_the_start_and_is_stopped_while_it_does(waiting, tmp_path):
    driver = started(waiting, tmp_path / "run")
    while (status := ray.get(driver.status.remote())).doing != waiting.file.name:
        assert status.doing != PREPARING or status == Status(elapsed=status.elapsed)
        time.sleep(0.05)
    assert (status.evaluations, status.best, status.left) == (0, None, None)
    stop(driver, tmp_path / "run")
    check_goes_on(waiting, tmp_path / "run")


def test_max_time_bounds_preparing_and_choosing(waiting, tmp_path):
    driver = started(waiting, tmp_path / "run")
    while ray.get(driver.status.remote()).doing != waiting.file.name:
        time.sleep(0.05)
    assert watch(driver, b"", tmp_path / "run", 0.1, threading.Event(), False) == "the time was up"
    check_goes_on(waiting, tmp_path / "run")


class Slow(Waiting):
    """The first choice after the replay of eight trials takes longer than max_time and the grace."""

    calls = 0

    def key(self, permutation):
        self.calls += 1
        if self.calls == OPTIONS["evals"] + 1:
            time.sleep(4.0)
        return permutation.tobytes()


def test_a_run_that_was_resumed_may_end_its_first_choice_after_max_time(tmp_path):
    objective, folder = Slow(tmp_path, "nothing"), tmp_path / "run"
    minimize(Waiting(tmp_path, "nothing"), folder)
    spec = _spec(_black_box(objective), None, "auto", tmp_path / "other", **OPTIONS | {"evals": 20})
    driver = start_driver(spec._replace(folder=folder, objective=None))
    reason = watch(driver, dumps(objective), folder, 3.0, threading.Event(), False)
    assert reason == "all evaluations were made"
    assert max(record["seconds"] for record in Run.load(folder).records if record["type"] == "ask") > 3.5


def test_a_run_that_did_not_begin_in_time_says_so(tmp_path):
    begun = time.monotonic()
    with pytest.raises(RunError, match="the time was up while the run was prepared, before it began: give more than 0"):
        minimize(Waiting(tmp_path, PREPARING), tmp_path / "run", max_time=0.5)
    assert time.monotonic() - begun < FOR_EVER / 10


def test_an_interrupt_while_ray_starts_begins_no_run(tmp_path, monkeypatch):
    @contextmanager
    def connected(*_):
        os.kill(os.getpid(), signal.SIGINT)
        yield

    monkeypatch.setattr(api, "connected", connected)
    monkeypatch.setattr(api, "start_driver", lambda spec: pytest.fail("a driver is started"))
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(Interrupted, match="interrupted before the run began"):
        minimize(Waiting(tmp_path, "nothing"), tmp_path / "run")
    assert signal.getsignal(signal.SIGINT) is before


def test_an_interrupt_while_it_prepares_or_chooses_says_how_to_go_on(waiting, tmp_path):
    def interrupt():
        deadline = time.monotonic() + FOR_EVER
        awaited = tmp_path / "run" / journal.NAME if waiting.file.name == CHOOSING else waiting.file
        while not awaited.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    noticing = threading.Event()  # the handler of `minimize` must be there before the signal comes
    waited = threading.Thread(target=lambda: (_wait_for_another_handler(before), noticing.set(), interrupt()))
    waited.start()
    with pytest.raises(Interrupted) as interrupted:
        minimize(waiting, tmp_path / "run")
    waited.join()
    how = {
        PREPARING: f"interrupted before the run began: nothing is in {tmp_path / 'run'}",
        CHOOSING: "interrupted: every finished evaluation is kept, "
        f"law_ray.resume({str(tmp_path / 'run')!r}, objective) continues",
    }
    assert str(interrupted.value) == how[waiting.file.name]
    assert signal.getsignal(signal.SIGINT) is before
    check_goes_on(waiting, tmp_path / "run")


def _wait_for_another_handler(handler):
    while signal.getsignal(signal.SIGINT) is handler:
        time.sleep(0.01)


@ray.remote(num_cpus=0, max_concurrency=4)
class Late:
    """A driver, long after max_time, that does one thing, and ends when its status was asked for often enough."""

    def __init__(self, doing):
        self.doing, self.asked = doing, 0

    def result(self, *objective):
        while self.asked < 5:
            time.sleep(0.05)
        return "all evaluations were made"

    def status(self):
        self.asked += self.doing == EVALUATING
        return Status(self.doing, 1e6)

    def messages(self, after):
        return []


@pytest.mark.parametrize(
    ("doing", "reason"),
    [
        (PREPARING, "the time was up"),
        (CHOOSING, "the time was up"),
        (EVALUATING, "all evaluations were made"),
    ],
)
def test_only_a_driver_that_prepares_or_chooses_is_ended_from_outside(tmp_path, doing, reason):
    driver, looks = Late.remote(doing), []
    arguments = (driver, b"", tmp_path, 1.0, threading.Event(), False, lambda: looks.append(1))
    assert watch(*arguments) == reason
    assert looks


def test_without_max_time_no_driver_is_ended_from_outside(tmp_path):
    interrupted = threading.Event()
    with pytest.raises(KeyboardInterrupt):
        watch(Late.remote(CHOOSING), b"", tmp_path, None, interrupted, False, interrupted.set)


class Suggesting:
    """The first item; its `starts` print two lines in the driver, and do not end the second."""

    n_items = 5

    def __call__(self, permutation):
        return float(permutation[0])

    def starts(self, count, rng):
        print("looking around", "found none", sep="\n", end="")
        return np.empty((0, 5), dtype=int)


def test_what_is_printed_in_the_driver_is_kept_to_the_last_letter(tmp_path):
    minimize(Suggesting(), tmp_path)
    assert (tmp_path / NAME).read_text() == "driver: looking around\ndriver: found none\n"


def talking(permutation):
    print("item", permutation[0], "is first")
    os.system("echo from a shell 1>&2")
    return float(os.getpid())


def test_prints_are_kept_by_trial_and_the_journal_says_which_process_evaluated(tmp_path, capfd):
    minimize(talking, tmp_path, 7)
    run = Run.load(tmp_path)
    lines = (tmp_path / NAME).read_text().splitlines()
    pairs = [lines[i : i + 2] for i in range(0, len(lines), 2)]
    assert sorted(pairs) == sorted(
        [f"trial {trial.id}: item {trial.permutation[0]} is first", f"trial {trial.id}: from a shell"]
        for trial in run.ended
    )
    host = f"{socket.gethostname()}-{ray.get_runtime_context().get_node_id()[:4]}"
    records = [record for record in journal.read(tmp_path) if record["type"] == "tell"]
    assert len(records) == 8
    for record in records:
        assert record["worker"] == f"{host}/{record['value']:.0f}"
        assert not record.keys() & {"attempts", "traceback"}
    assert "is first" not in "".join(capfd.readouterr())


def test_what_the_driver_logs_and_warns_reaches_the_loggers_here(tmp_path, caplog):
    def breaks(permutation):
        if permutation[0] == 0:
            raise KeyError("machine 3")
        return 1.0

    breaks.starts = lambda count, rng: np.arange(7)[None]
    with caplog.at_level("INFO", "law_ray"):
        minimize(breaks, tmp_path, 7)
    (failed,) = [each for each in caplog.messages if each.startswith("trial 0 failed: ")]
    assert failed.splitlines()[1] == "Traceback (most recent call last):"
    assert failed.splitlines()[-1] == "KeyError: 'machine 3'"
    assert "round 1: all evaluations have ended, the best value is 1" in caplog.messages
    assert {record.name.split(".")[0] for record in caplog.records} == {"law_ray"}


@pytest.mark.slow
def test_a_hanging_evaluation_leaves_its_prints_its_worker_and_a_warning(tmp_path, caplog):
    def hangs(permutation):
        if permutation[0] == 0:
            print("about to hang", flush=True)
            time.sleep(FOR_EVER)
        return 1.0

    hangs.starts = lambda count, rng: np.arange(7)[None]
    minimize(hangs, tmp_path, 7, timeout=10.0)
    assert "trial 0: about to hang" in (tmp_path / NAME).read_text().splitlines()
    fails = {record["id"]: record for record in journal.read(tmp_path) if record["type"] == "fail"}
    assert "/" in fails[0]["worker"]
    assert "traceback" not in fails[0]
    assert "trial 0 timed out after 10 s" in [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]


@pytest.mark.faults
def test_a_crash_leaves_the_last_words_of_each_attempt(tmp_path, caplog):
    def dies(permutation):
        if permutation[0] == 0:
            print("last words", flush=True)
            os._exit(3)  # so soon that the driver may not have heard of the worker
        return 1.0

    dies.starts = lambda count, rng: np.arange(7)[None]
    minimize(dies, tmp_path, 7)
    assert (tmp_path / NAME).read_text().splitlines().count("trial 0: last words") == 2
    fails = {record["id"]: record for record in journal.read(tmp_path) if record["type"] == "fail"}
    assert fails[0]["attempts"] == 2
    warned = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert "trial 0: WorkerCrashedError: the worker died or was lost, it is evaluated again" in warned
