from math import nan

from experiments import markdown


def test_floats_get_their_digits_and_nan_an_empty_cell() -> None:
    lines = markdown.table(["a", "b", "c", "d"], [["x", 3, 1.256, nan], ["", "y", -0.5, 2.0]]).splitlines()
    assert lines == ["| a | b | c | d |", "| --- | --- | --- | --- |", "| x | 3 | 1.26 |  |", "|  | y | -0.50 | 2.00 |"]
    assert "| 1.3 |" in markdown.table(["a"], [[1.256]], digits=1)


def test_a_mean_is_written_with_its_error_unless_that_is_nan() -> None:
    assert markdown.plus_minus(1.256, 0.125, 1) == "1.3 +- 0.1"
    assert markdown.plus_minus(1.256, nan) == "1.26"
    assert markdown.plus_minus(nan, nan) == ""
