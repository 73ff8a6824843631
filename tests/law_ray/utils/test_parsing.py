import pytest

from law_ray.errors import InputError
from law_ray.utils.parsing import read_fixed, read_item, read_orderings, read_pair

NAMES = ("a", "b b", "2")


def test_an_item_is_found_by_name_first_and_then_by_number():
    assert [read_item(text, 3, NAMES) for text in ("a", " b b ", "2", "1", "0")] == [0, 1, 2, 1, 0]
    assert read_item("2", 3, None) == 2
    assert read_item("2", 3, ("x", "2", "y")) == 1


@pytest.mark.parametrize("text", ["c", "3", "-1", "", "1.0", "9" * 5_000])
def test_unknown_items_are_refused(text):
    with pytest.raises(InputError, match="items are 0 to 2, or a name such as a"):
        read_item(text, 3, NAMES)


def test_pairs_and_fixed_positions_are_parsed_or_refused_with_their_form():
    assert read_pair("a<b b", 3, NAMES) == (0, 1)
    assert read_pair(" 2 < 0 ", 3, None) == (2, 0)
    assert read_fixed("b b=0", 3, NAMES) == (1, 0)
    assert read_fixed("x=1=2", 2, ("x=1", "y")) == (0, 2)
    with pytest.raises(InputError, match="A<B"):
        read_pair("a>b b", 3, NAMES)
    for text in ("a", "a=", "a=x", "a=-1", f"a={'9' * 5_000}"):
        with pytest.raises(InputError, match="ITEM=POSITION"):
            read_fixed(text, 3, NAMES)


def test_orderings_are_read_from_lines_with_commas_or_blanks(tmp_path):
    path = tmp_path / "start.txt"
    path.write_text("a, b b, 2\n\n2,0,1\n1 0 2\n")
    assert read_orderings(path, 3, NAMES) == [[0, 1, 2], [2, 0, 1], [1, 0, 2]]


@pytest.mark.parametrize(
    ("line", "culprit"),
    [("0 1", "line 2: 2 items, 2 different, of 3"), ("0 1 1", "3 items, 2 different"), ("0,1,c", "no item 'c'")],
)
def test_a_line_that_is_not_an_ordering_is_named(tmp_path, line, culprit):
    path = tmp_path / "start.txt"
    path.write_text(f"0 1 2\n{line}\n")
    with pytest.raises(InputError, match=culprit):
        read_orderings(path, 3, None)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    for name in ("absent.txt", "bytes"):
        with pytest.raises(InputError, match=name):
            read_orderings(tmp_path / name, 3, None)
