"""Names with separators in texts."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from objectives.nml.data.quoting import names, quote, split, unquote


@pytest.mark.parametrize(
    ("text", "separator", "expected"),
    [
        ("a, b ,c", ",", ["a", "b", "c"]),
        ('"Income, annual", id', ",", ["Income, annual", "id"]),
        ('"a -> b"->c', "->", ["a -> b", "c"]),
        ('5" pipe, 6" pipe', ",", ['5" pipe', '6" pipe']),  # quotes within a name are characters of it
        ('the "big", small', ",", ['the "big"', "small"]),
        ('"a" and "b", c', ",", ['"a" and "b"', "c"]),
        ('"say ""x, y""",z', ",", ['say "x, y"', "z"]),
        ('"", a', ",", ["", "a"]),
        ('"open, a', ",", ['"open', "a"]),
    ],
)
def test_names_in_quotes_may_hold_separators(text: str, separator: str, expected: list[str]) -> None:
    assert names(text, separator) == expected


def test_quotes_remain_where_a_text_is_split_again() -> None:
    terms = split('"a;b"="x,y",z; c=u', ";")
    assert terms == ['"a;b"="x,y",z', "c=u"]
    assert split(terms[0], "=") == ['"a;b"', '"x,y",z']
    assert names('"x,y",z', ",") == ["x,y", "z"]


def test_the_rest_of_a_text_may_be_left_as_it_is() -> None:
    assert split('"a=b" = p = 1,"q=r"', "=", most=2) == ['"a=b"', 'p = 1,"q=r"']
    assert split("a", "=", most=2) == ["a"]


NAMES = st.text('ab ",;|=->', min_size=1, max_size=8)


@example(['a>"b', 'c"'], ",")
@given(st.lists(NAMES, min_size=1, max_size=4), st.sampled_from([",", ";", "|", "=", "->"]))
def test_every_name_that_is_quoted_is_read_back(given_names: list[str], separator: str) -> None:
    assert names(separator.join(quote(name) for name in given_names), separator) == given_names
    assert [unquote(quote(name)) for name in given_names] == given_names
