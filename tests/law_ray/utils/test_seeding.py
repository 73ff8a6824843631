import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.stats import kstest

from law_ray.utils.seeding import generator


def test_equal_keys_give_equal_streams():
    first, second = (generator(3, "choose", 17).random(8) for _ in range(2))
    assert np.array_equal(first, second)


@pytest.mark.parametrize(
    "key", [(4, "choose", 17), (3, "fit", 17), (3, "chosen", 17), (3, "choose", 18), (17, "choose", 3)]
)
def test_every_part_of_the_key_changes_the_stream(key):
    assert not np.any(generator(*key).random(8) == generator(3, "choose", 17).random(8))


@pytest.mark.parametrize("keys", [[(0, "evaluate", i) for i in range(2000)], [(i, "evaluate", 0) for i in range(2000)]])
def test_first_draws_of_consecutive_keys_are_uniform_and_uncorrelated(keys):
    draws = np.array([generator(*key).random() for key in keys])
    assert kstest(draws, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(draws[1:], draws[:-1])[0, 1]) < 4 / np.sqrt(len(draws))


def test_the_global_random_state_does_not_change_a_stream():
    np.random.seed(1)  # noqa: NPY002
    first = generator(0, "draw", 0).random(4)
    np.random.seed(2)  # noqa: NPY002
    assert np.array_equal(first, generator(0, "draw", 0).random(4))


def test_streams_are_the_same_in_another_process():
    code = "from law_ray.utils.seeding import generator; print(generator(5, 'fit', 6).integers(2**62))"
    environment = os.environ | {"PYTHONHASHSEED": "12345"}
    printed = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, check=True).stdout
    assert int(printed) == generator(5, "fit", 6).integers(2**62)
