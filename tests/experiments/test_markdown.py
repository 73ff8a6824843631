from math import nan

import pytest

from experiments import markdown


def test_floats_get_their_digits_and_nan_an_empty_cell() -> None:
    lines = markdown.table(["a", "b", "c", "d"], [["x", 3, 1.256, nan], ["", "y", -0.5, 2.0]]).splitlines()
    assert lines == ["| a | b | c | d |", "| --- | --- | --- | --- |", "| x | 3 | 1.26 |  |", "|  | y | -0.50 | 2.00 |"]
    assert "| 1.3 |" in markdown.table(["a"], [[1.256]], digits=1)


def test_a_mean_is_written_with_its_error_unless_that_is_nan() -> None:
    assert markdown.plus_minus(1.256, 0.125, 1) == "1.3 +- 0.1"
    assert markdown.plus_minus(1.256, nan) == "1.26"
    assert markdown.plus_minus(nan, nan) == ""


def test_a_part_of_a_page_is_redrawn_and_the_rest_kept(tmp_path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- table -->\nold\nlines\n<!-- end of table -->\nafter\n")
    for text in ("new\n", "newer\n", "newer\n"):
        markdown.redraw(page, "table", text)
        assert page.read_text() == f"before\n<!-- table -->\n{text}<!-- end of table -->\nafter\n"


@pytest.mark.parametrize(
    "text",
    ["", "<!-- table -->\n", "<!-- end of table -->\n<!-- table -->\n", 2 * "<!-- table -->\n<!-- end of table -->\n"],
)
def test_a_page_without_such_a_part_is_refused_and_left_as_it_was(text, tmp_path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(ValueError, match="has no part 'table'"):
        markdown.redraw(page, "table", "new\n")
    assert page.read_text() == text
