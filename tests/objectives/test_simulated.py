from dataclasses import replace

import pytest

from law_ray.errors import InputError
from objectives.line import load
from objectives.simulated import read_size


def test_the_fingerprint_sees_every_number_also_of_large_data():
    line = load("300")
    assert line.fingerprint == load("300").fingerprint
    times = line.times.copy()
    times[150, 2] += 1e-9
    assert replace(line, times=times).fingerprint != line.fingerprint
    assert replace(line, buffer=3).fingerprint != line.fingerprint


def test_items_have_the_letter_of_their_family_and_names_of_their_own():
    line = load("200")  # more families than letters
    assert len(set(line.item_names)) == 200
    assert all("A" <= name[0] <= "Z" for name in line.item_names)


def test_the_size_is_read_from_the_name():
    assert read_size("line", "12", "jobs", 20) == 12
    with pytest.raises(InputError, match=r"line:x is unknown: give the number of jobs, 2 to 1000, as in line:20"):
        read_size("line", "x", "jobs", 20)
    assert read_size("line", "1000", "jobs", 20) == 1000
    for source in ("²", "1", "1001", "9" * 5000):
        with pytest.raises(InputError, match="give the number of jobs"):
            read_size("line", source, "jobs", 20)
