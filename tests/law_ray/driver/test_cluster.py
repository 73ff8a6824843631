import pytest

from law_ray.driver.cluster import check_request, slots
from law_ray.errors import InputError
from law_ray.settings import Settings

pytestmark = pytest.mark.usefixtures("cluster")


def settings(**options):
    return Settings(n_items=5, evals=20, **options)


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


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        ({"num_cpus": 3}, "3 CPUs, but the largest node has 2"),
        ({"num_gpus": 1}, "1 GPUs, but the largest node has 0"),
        ({"memory": 10**15}, r"1e\+15 bytes of memory, but the largest node has"),
        ({"resources": (("licence", 1.0),)}, "1 licence, but the largest node has 0"),
    ],
)
def test_a_request_that_no_node_can_ever_satisfy_is_refused(options, culprit):
    check_request(settings(memory=1))
    with pytest.raises(InputError, match=f"an evaluation asks for {culprit}"):
        check_request(settings(**options))
