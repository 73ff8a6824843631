from pathlib import Path

import numpy as np
import pytest

from law_ray.errors import InputError
from objectives.fields import Fields, read_lines

PATH = Path("shop.txt")


def test_fields_come_one_after_another_across_lines() -> None:
    fields = Fields(PATH, ["  3 1", "", "\t2.5e1  -4", "2 3 1"])
    assert fields.size("rows") == 3
    np.testing.assert_array_equal(fields.numbers(3, "weights"), [1, 25, -4])
    assert fields.permutation(3, "the order").tolist() == [1, 2, 0]
    fields.end("the order")


@pytest.mark.parametrize("text", ["0", "-3", "2.5", "x", "1e3"])
def test_sizes_are_positive_integers(text: str) -> None:
    with pytest.raises(InputError, match=rf"shop.txt, line 7: '{text}' is no number of rows: give a positive integer"):
        Fields(PATH, [text], first_line=7).size("rows")


@pytest.mark.parametrize("text", ["x", "nan", "inf", "1,2"])
def test_what_is_no_number_is_named_with_its_line(text: str) -> None:
    with pytest.raises(InputError, match=rf"shop.txt, line 3: '{text}' among weights is not a finite number"):
        Fields(PATH, ["1 2", "", f"3 {text} nan 5"]).numbers(4, "weights")


@pytest.mark.parametrize("text", ["1 2 2", "0 1 2", "1 2 4", "1 2 2.5"])
def test_what_is_no_permutation_is_named_with_its_line(text: str) -> None:
    with pytest.raises(InputError, match=r"shop.txt, line 2: the order does not hold each of 1\.\.3 once"):
        Fields(PATH, ["", text]).permutation(3, "the order")


def test_data_that_end_early_or_late_are_named_with_their_line() -> None:
    with pytest.raises(InputError, match="line 2: the data end after 3 of 4 numbers, weights: complete it"):
        Fields(PATH, ["1 2", "3"]).numbers(4, "weights")
    fields = Fields(PATH, ["1 2", "3"])
    fields.numbers(2, "weights")
    with pytest.raises(InputError, match="line 2: '3' follows the end of weights"):
        fields.end("weights")
    with pytest.raises(InputError, match="line 2: '3' follows"):
        fields.end("weights", mark="-1")
    marked = Fields(PATH, ["-1", "-1"])
    marked.end("nothing", mark="-1")


def test_a_file_is_read_whatever_its_line_ends_and_encoding(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbf3\r\n1 \xe4 2\r\n")
    lines = read_lines(path)
    assert lines[0] == "3"
    assert len(lines) == 2
    with pytest.raises(
        InputError, match=r"b.txt cannot be read \(No such file or directory\): give the path of a file"
    ):
        read_lines(tmp_path / "b.txt")
    with pytest.raises(InputError, match="cannot be read"):
        read_lines(tmp_path)
