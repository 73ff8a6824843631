import math
import os
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from law_ray.utils.showing import WIDTH, as_html, as_text, ordering, shell_word, with_error


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (0.1 + 0.2, 0.0, "0.3"),
        (123456.789012, 0.0, "123456.789"),
        (12.3456, 0.567, "12.35 ± 0.57"),
        (12.3456, 0.0996, "12.346 ± 0.100"),
        (-12.3456, 3.0, "-12.3 ± 3.0"),
        (12345.6, 789.0, "12346 ± 789"),
        (1.0, 1e-300, "1 ± 1e-300"),
        (1e300, 1e290, "1e+300 ± 1e+290"),
    ],
)
def test_a_value_has_the_digits_that_its_error_leaves(value, error, text):
    assert with_error(value, error) == text


@given(st.floats(-1e15, 1e15), st.floats(1e-20, 1e15))
def test_what_is_shown_is_the_value_to_a_twentieth_of_its_error(value, error):
    shown, of_error = map(float, with_error(value, error).split(" ± "))
    assert math.isclose(shown, value, rel_tol=1e-9, abs_tol=error / 20 * (1 + 1e-6))
    assert math.isclose(of_error, error, rel_tol=0.06)
    assert len(with_error(value, error)) < 45


def test_an_ordering_is_shown_whole_if_it_is_short_and_else_its_beginning():
    assert ordering([2, 0, 1]) == "2, 0, 1"
    assert ordering([2, 0, 1], ["a", "b\nc", "d"]) == "d, a, b c"
    long = ordering(range(300), [f"machine {i}" for i in range(300)])
    assert long.startswith("machine 0, machine 1, ")
    assert long.endswith(", ... (300 items)")
    assert len(long) < WIDTH + 20
    assert len(ordering([0, 1], ["x" * 1000] * 2)) < WIDTH + 20


def test_facts_are_aligned_lines():
    assert as_text("Title", [("a", "1"), ("long", "2")]) == "Title\n  a     1\n  long  2"
    assert as_text("Title", []) == "Title"


@given(st.lists(st.tuples(st.text("<>&'\"ab", max_size=9), st.text("<>&'\"/ab", max_size=9)), max_size=4))
def test_a_table_is_well_formed_and_gives_back_its_texts(facts):
    root = ElementTree.fromstring(as_html("<b>&", facts))
    assert root.findtext("caption") == "<b>&"
    assert [tuple(cell.text or "" for cell in row) for row in root.iter("tr")] == facts


@pytest.mark.parametrize("name", ["run", "a  b", "a'b\"$HOME`", "a\nb'c\\d\te", "-rf", "zürich\u202e東京", "\udcff\n"])
def test_a_shell_reads_a_path_that_is_shown_as_it_is_in_one_line(name):
    word = shell_word(Path(name))
    assert len(word.splitlines()) == 1
    said = subprocess.run(["bash", "-c", f"printf %s {word}"], stdout=subprocess.PIPE, check=True).stdout
    assert os.fsdecode(said) == (f"./{name}" if name.startswith("-") else name)
