import os
import subprocess
import sys
from types import SimpleNamespace

import psutil
import pytest
import ray

from law_ray.driver import cluster
from law_ray.driver.cluster import check_request, slots
from law_ray.errors import InputError, RunError
from law_ray.runs.settings import Settings


def settings(**options):
    return Settings(n_items=5, evals=20, **options)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({"num_cpus": 1}, 2),
        ({"num_cpus": 0.5}, 4),
        ({"num_cpus": 2}, 1),
        ({"num_cpus": 1, "split": 2}, 1),
        ({"num_cpus": 0.5, "split": 2}, 2),
        ({"num_cpus": 1, "split": 64}, 1),
        ({"num_cpus": 0.1, "memory": 1}, 20),
    ],
)
def test_slots_are_for_whole_evaluations(options, count):
    assert slots(settings(**options)) == count


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        ({"num_cpus": 3}, "3 CPU, but no node has more than 2 CPU: ask for less"),
        ({"num_gpus": 1}, "1 GPU, but no node has more than 0 GPU"),
        ({"memory": 10**15}, r"9.31e\+05 GiB of memory, but no node has more than [0-9.]+ GiB of memory"),
        ({"resources": (("licence", 1.0),)}, "1 licence, but no node has more than 0 licence"),
    ],
)
def test_a_request_that_no_node_can_ever_satisfy_is_refused(options, culprit):
    check_request(settings(memory=1))
    with pytest.raises(InputError, match=f"an evaluation asks for {culprit}"):
        check_request(settings(**options))


def heard_by_others(permutation):
    """1000 for each port that the Ray of this evaluation has open on other addresses than loopback, 1 for one there."""
    client = psutil.Process(os.getppid()).parent()
    listening = []
    for process in [client, *client.children(recursive=True)]:
        try:
            listening += [c.laddr.ip for c in process.net_connections() if c.status == psutil.CONN_LISTEN]
        except psutil.NoSuchProcess:
            continue
    loopback = sum(ip in ("127.0.0.1", "::1", "::ffff:127.0.0.1") for ip in listening)
    return 1000.0 * (len(listening) - loopback) + loopback


@pytest.mark.slow
def test_a_ray_of_ones_own_listens_on_loopback_alone(tmp_path):
    code = (
        "import law_ray, test_cluster\n"
        f"run = law_ray.minimize(test_cluster.heard_by_others, 6, evals=2, n_init=2, out={str(tmp_path / 'run')!r})\n"
        "print(*run.history['value'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=os.path.dirname(__file__)
    )
    values = [float(value) for value in done.stdout.split()]
    assert len(values) == 2, done.stderr
    assert all(0 < value < 1000 for value in values)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("address", ["auto", None, "own", "10.0.0.1:6379"])
def test_another_address_than_that_of_the_cluster_joined_is_said_to_be_unused(address, caplog):
    joined = ray.get_runtime_context().gcs_address
    assert not cluster.connect(joined if address == "own" else address)
    unused = f"the address {address} is not used: this process has joined the Ray cluster at {joined}"
    assert caplog.messages == ([unused] if address == "10.0.0.1:6379" else [])


def test_a_ray_that_does_not_start_in_time_is_an_error_in_one_line_and_is_cleared_away(monkeypatch):
    def init(**options):
        raise Exception("The current node timed out during startup.\nMore of it")

    cleared = []
    stand_in = SimpleNamespace(init=init, is_initialized=lambda: False, shutdown=lambda: cleared.append(True))
    monkeypatch.setattr(cluster, "ray", stand_in)
    monkeypatch.setattr(cluster, "_listen_to_others", lambda wanted: None)
    with pytest.raises(RunError, match=r"^Ray did not start .* timed out during startup\.\): .*try again$"):
        cluster.connect(None)
    assert cleared == [True]
