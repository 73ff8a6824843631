from pathlib import Path

import numpy as np
import pytest

from law_ray.errors import InputError
from objectives.instances.tokens import Tokens, read_lines, whole_number

PATH = Path("shop.txt")


def test_tokens_come_one_after_another_across_lines() -> None:
    tokens = Tokens(PATH, ["  3 1", "", "\t2.5e1  -4", "2 3 1"])
    assert tokens.size("rows") == 3
    np.testing.assert_array_equal(tokens.numbers(3, "weights"), [1, 25, -4])
    np.testing.assert_array_equal(tokens.numbers(3, "the order"), [2, 3, 1])
    tokens.end("the order")


@pytest.mark.parametrize("text", ["0", "-3", "2.5", "x", "1e3", "1000001"])
def test_sizes_are_positive_integers(text: str) -> None:
    with pytest.raises(
        InputError, match=rf"shop.txt, line 7: '{text}' is not a number of rows: give an integer from 1 to 1000000"
    ):
        Tokens(PATH, [text], first_line=7).size("rows")


@pytest.mark.parametrize(("text", "expected"), [("7", 7), ("0007", 7), ("2", 2), ("9", 9), ("1", None), ("10", None)])
def test_a_positive_number_has_bounds(text: str, expected: int | None) -> None:
    assert whole_number(text, least=2, most=9) == expected


def test_a_number_of_more_digits_than_python_reads_is_refused() -> None:
    assert whole_number("9" * 5000) is None
    assert whole_number("0" * 5000 + "7") == 7
    with pytest.raises(InputError, match=r"line 1: '99999999999999999999' is not a number of rows"):
        Tokens(PATH, ["9" * 5000]).size("rows")


@pytest.mark.parametrize("text", ["x", "nan", "inf", "1,2"])
def test_a_token_that_is_not_a_number_is_named_with_its_line(text: str) -> None:
    with pytest.raises(InputError, match=rf"shop.txt, line 3: '{text}' among weights is not a finite number"):
        Tokens(PATH, ["1 2", "", f"3 {text} nan 5"]).numbers(4, "weights")


def test_data_that_end_early_or_late_are_named_with_their_line() -> None:
    with pytest.raises(InputError, match="line 2: the data end after 3 of 4 numbers, weights: complete it"):
        Tokens(PATH, ["1 2", "3"]).numbers(4, "weights")
    tokens = Tokens(PATH, ["1 2", "3"])
    tokens.numbers(2, "weights")
    with pytest.raises(InputError, match="line 2: '3' follows the end of weights"):
        tokens.end("weights")


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
