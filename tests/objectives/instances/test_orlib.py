from pathlib import Path

import numpy as np
import pytest

from law_ray.errors import InputError
from objectives.instances.orlib import read_flow_shop

RULE = " +++++++++++++++\n \n"


def section(name: str, times: np.ndarray) -> str:
    lines = [" ".join(f"{machine} {time}" for machine, time in enumerate(row)) for row in times]
    return f"{RULE} instance {name}\n \n{RULE} A shop of 2 machines\n {len(times)}  {times.shape[1]}\n" + "\n".join(
        lines
    )


def write(folder: Path, text: str) -> Path:
    path = folder / "shops.txt"
    path.write_text(text)
    return path


def test_each_of_several_instances_is_read(tmp_path: Path) -> None:
    shops = {name: np.random.default_rng(i).integers(0, 99, (3 + i, 2 + i)) for i, name in enumerate(("car1", "reC19"))}
    text = "An instance is\n 2 2\n \n" + "\n".join(section(name, times) for name, times in shops.items())
    path = write(tmp_path, text + f"\n{RULE} ++++ END OF DATA ++++\n")
    for name, times in shops.items():
        np.testing.assert_array_equal(read_flow_shop(path, name), times)
    for name in ("car9", None):
        with pytest.raises(InputError, match=f"no instance {name!r}: set instance to car1, reC19"):
            read_flow_shop(path, name)


@pytest.mark.parametrize("head", ["", "a description\n", " instance it\n"])
def test_the_only_instance_of_a_file_needs_no_name(tmp_path: Path, head: str) -> None:
    assert read_flow_shop(write(tmp_path, f"{head}2 2\n0 1 1 2\n0 3 1 4\n"), None).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("", "line 1: no line with the numbers of jobs and machines"),
        ("instance a\ninstance b\n1 1\n0 1\n", "line 2: no line with the numbers"),
        ("0 2\n", "'0' is not a number of jobs"),
        ("2 2\n0 1 1 2\n0 3 1", "line 3: the data end after 3 of 4 numbers, job 2's machines and times"),
        ("1 2\n0 1 1 x\n", "line 2: 'x' among job 1's machines and times"),
        ("1 2\n0 1 1 2\n0 1 1 2\n", "line 3: '0' follows the end of job 1"),
        ("2 2\n0 1 1 2\n1 1 0 2\n", r"job 2 does not visit the machines 0\.\.1 in this order: only flow shops"),
        ("1 2\n1 5 2 6\n", "job 1 does not visit"),
    ],
)
def test_files_that_do_not_parse_are_refused(tmp_path: Path, text: str, culprit: str) -> None:
    with pytest.raises(InputError, match=culprit) as caught:
        read_flow_shop(write(tmp_path, text), "a" if "instance" in text else None)
    assert "shops.txt" in str(caught.value)
    assert "\n" not in str(caught.value)
