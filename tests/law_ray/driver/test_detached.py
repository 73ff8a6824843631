"""Runs that go on without the client that started them."""

import signal
import threading
import time

import pytest
import ray

from law_ray.driver import detached
from law_ray.driver.actor import NAMESPACE
from law_ray.driver.api import launch
from law_ray.errors import InputError, Interrupted
from law_ray.runs import journal
from law_ray.runs.objective import BlackBox
from law_ray.runs.run import Run

pytestmark = pytest.mark.usefixtures("cluster", "clean_imports")

OBJECTIVE = """
import time

def score(permutation, seconds=0.05):
    time.sleep(float(seconds))
    return float(permutation[0])
"""


@pytest.fixture
def joined():
    """The cluster of the tests, which is joined already; named drivers that a failed test leaves are killed."""
    yield "auto"
    for each in ray.util.list_named_actors(all_namespaces=True):
        ray.kill(ray.get_actor(each["name"], each["namespace"]))


class Unready:
    """An objective whose `starts` fail, or wait."""

    n_items = 6

    def __init__(self, seconds=0.0):
        self.seconds = float(seconds)

    def __call__(self, permutation):
        return float(permutation[0])

    def starts(self, count, rng):
        time.sleep(self.seconds)
        raise ValueError("no idea")


def test_a_run_that_cannot_begin_says_why_and_frees_its_name(tmp_path, joined):
    objective = BlackBox.load(f"{__name__}:Unready")
    with pytest.raises(InputError, match=r"^the objective's starts failed \(ValueError: no idea\): correct them$"):
        launch(objective, "five", joined, out=tmp_path / "five")
    assert ray.util.list_named_actors(all_namespaces=True) == []


@pytest.mark.slow
def test_an_interrupt_while_a_run_is_prepared_ends_it(tmp_path, joined):
    objective = BlackBox.load(f"{__name__}:Unready", {"seconds": "60"})
    threading.Timer(5.0, signal.raise_signal, [signal.SIGINT]).start()
    with pytest.raises(Interrupted, match="interrupted while six was prepared: nothing goes on"):
        launch(objective, "six", joined, out=tmp_path / "six")
    assert ray.util.list_named_actors(all_namespaces=True) == []
    assert not (tmp_path / "six").exists()


def start(folder, name, address, evals=20, **options):
    (folder / "slow.py").write_text(OBJECTIVE)
    objective = BlackBox.load(f"{folder / 'slow.py'}:score", options)
    settings = {"evals": evals, "n_init": 10, "batch_size": 4, "method": "random", "out": folder / name}
    return launch(objective, name, address, n_items=6, **settings)


def test_a_run_goes_on_by_itself_and_gives_its_answer_to_whom_attaches(tmp_path, joined):
    folder = start(tmp_path, "one", joined)
    spec, reason = detached.attach("one", joined, progress=False)
    assert (spec.folder, reason) == (folder, "all evaluations were made")
    assert len([record for record in journal.read(folder) if record["type"] == "tell"]) == 20
    with pytest.raises(InputError, match="no driver named one is on this cluster: there is none"):
        detached.attach("one", joined, progress=False)


@pytest.mark.slow
def test_a_stopped_run_can_be_resumed_and_its_name_is_free(tmp_path, joined):
    folder = start(tmp_path, "two", joined, evals=600, seconds="0.2")
    (tmp_path / "other").mkdir()
    with pytest.raises(InputError, match="a driver named two is on this cluster already: attach to it, stop it"):
        start(tmp_path / "other", "two", joined)
    detached.stop_detached("two", joined)
    assert Run.load(folder).optimizer.pending
    journal.Journal(folder).close()  # nobody holds it


@pytest.mark.faults
def test_it_goes_on_when_its_process_dies(tmp_path, joined):
    folder = start(tmp_path, "three", joined, evals=40, seconds="0.3")
    driver = ray.get_actor("three", NAMESPACE)
    while ray.get(driver.status.remote()).evaluations < 12:
        time.sleep(0.1)
    ray.kill(driver, no_restart=False)
    assert detached.attach("three", joined, progress=False)[1] == "all evaluations were made"
    told = [record["id"] for record in journal.read(folder) if record["type"] == "tell"]
    assert sorted(told) == list(range(40))
    assert [record["type"] for record in journal.read(folder)].count("resume") == 1


def test_without_a_cluster_that_goes_on_it_is_refused(tmp_path):
    with pytest.raises(InputError, match="needs a Ray cluster that outlives this command: give its address"):
        start(tmp_path, "four", None)
