import pytest
from hypothesis import given
from hypothesis import strategies as st

from law_ray.utils.spreadsheets import as_cell, from_cell


@given(st.text(alphabet="=+-@\t\r'ab1", max_size=6))
def test_a_cell_is_no_formula_and_reads_back_as_it_was(text):
    cell = as_cell(text)
    assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    assert from_cell(cell) == text


@pytest.mark.parametrize("plain", ["age", "2nd", "", "a=b", "<0.5"])
def test_what_is_no_formula_stays_as_it_is(plain):
    assert as_cell(plain) == from_cell(plain) == plain
