from pathlib import Path

import numpy as np
import pytest

from law_ray.errors import InputError
from objectives.instances.qaplib import read_qap


def write(folder: Path, text: str) -> Path:
    path = folder / "a.dat"
    path.write_text(text)
    return path


@pytest.mark.parametrize("separator", [" ", "\n", "\t \r\n"])
def test_an_instance_is_two_matrices_with_any_white_space(tmp_path: Path, separator: str) -> None:
    A, B = np.random.default_rng(0).integers(-5, 100, (2, 4, 4))
    A_read, B_read = read_qap(write(tmp_path, separator.join(map(str, [4, *A.flat, *B.flat]))))
    np.testing.assert_array_equal(A_read, A)
    np.testing.assert_array_equal(B_read, B)


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("", "line 1: the data end after 0 of 1 numbers, the number of facilities"),
        ("-2 1 1", "'-2' is not a number of facilities"),
        ("2\n1 2 3 4\n1 2 3", "line 3: the data end after 3 of 4 numbers, matrix B"),
        ("2\n1 2 3 x\n1 2 3 4", "line 2: 'x' among matrix A is not a finite number"),
        ("1\n1\n1\n\n7", "line 5: '7' follows the end of matrix B"),
    ],
)
def test_instances_that_do_not_parse_are_refused(tmp_path: Path, text: str, culprit: str) -> None:
    with pytest.raises(InputError, match=culprit) as caught:
        read_qap(write(tmp_path, text))
    assert "a.dat" in str(caught.value)
    assert "\n" not in str(caught.value)
