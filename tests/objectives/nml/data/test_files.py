"""Files of tables as people have them: separators, encodings, marks, and names."""

import codecs
import csv
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from law_ray.errors import InputError
from objectives.nml.data import files
from objectives.nml.data.files import read_file
from objectives.nml.data.tables import read_table

ROWS = [["Größe", "on", "note"], ["10", "yes", "a"], ["2", "no", "b"], ["10", "no", "a"]]


def written(
    path: Path, rows: list[list[str]], separator: str = ",", encoding: str = "utf-8", mark: bytes = b""
) -> Path:
    lines = "\n".join(separator.join(row) for row in rows) + "\n"
    path.write_bytes(mark + lines.encode(encoding))
    return path


def texts(frame: pd.DataFrame) -> list[list[str]]:
    return [list(frame.columns), *frame.astype(str).to_numpy().tolist()]


def refused(culprit: str, path: Path, **options: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=culprit) as caught:
            read_table(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("file", ["a.csv", "a.tsv", "A.CSV"])
def test_the_separator_is_found_whatever_the_file_is_called(tmp_path: Path, separator: str, file: str) -> None:
    assert texts(read_file(written(tmp_path / file, ROWS, separator))) == ROWS


CELLS = st.text(",;|\t ab\"'\n1.é", max_size=6).map(lambda text: f"x{text}")


@settings(max_examples=200)
@given(st.data(), st.sampled_from(",;\t|"), st.integers(2, 5), st.integers(2, 120))
def test_quoted_cells_with_any_separator_in_them_are_read_back(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, separator: str, columns: int, rows: int
) -> None:
    cells = data.draw(st.lists(CELLS, min_size=columns, max_size=3 * columns))
    table = [[f"name {k}" for k in range(columns)]]
    table += [[cells[(i * columns + k) % len(cells)] for k in range(columns)] for i in range(rows)]
    path = tmp_path_factory.mktemp("quoted") / "a.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=separator, quoting=csv.QUOTE_ALL).writerows(table)
    assert texts(read_file(path)) == [[cell.strip() for cell in row] for row in table]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("a;b\n1,5;2\n2,5;1\n", ["a", "b"]),  # decimal commas
        ("when,what\n10:30,a;b;c\n11:30,d\n", ["when", "what"]),  # lists in cells
        ("a,b;c\n1,2;x\n3,4\n", ["a", "b;c"]),
        ('"a;b",c\n1,2\n2,1\n', ["a;b", "c"]),
        ("\n\na\tb\n1\t2\n", ["a", "b"]),
    ],
)
def test_the_separator_divides_all_lines_alike(tmp_path: Path, text: str, columns: list[str]) -> None:
    (tmp_path / "a.csv").write_text(text)
    assert list(read_file(tmp_path / "a.csv").columns) == columns


def test_two_separators_that_divide_all_lines_alike_must_be_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("height, m;weight, kg\n1,6;60,5\n1,8;80,5\n")
    refused("a.csv could be separated by ',' or ';': say by which, with sep$", path)
    frame = read_file(path, ";", decimal=",")
    assert frame.to_dict("list") == {"height, m": [1.6, 1.8], "weight, kg": [60.5, 80.5]}
    assert list(read_file(path, decimal=",").columns) == ["height, m", "weight, kg"]  # a decimal mark separates nothing


def test_decimal_commas_are_named_and_read_where_they_are_given(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", [["x", "y"], *([f"{k},5" if k else "-3", str(k % 2)] for k in range(40))], ";")
    refused("column 'x' holds numbers with decimal commas: give decimal=, for a text file, or convert them", path)
    refused("column 'x' is continuous", path, decimal=",")
    assert read_table(path, bins=4, decimal=",").cardinalities.tolist() == [4, 2]
    refused("decimal=';' is not a decimal mark", path, decimal=";")
    coded = written(tmp_path / "b.csv", [["x", "y"], ["0,1", "a"], ["1,0", "b"]], ";")
    assert read_table(coded, states={"x": ["0,1", "1,0"]}).states[0] == ("0,1", "1,0")


@pytest.mark.parametrize(
    ("cells", "states", "expected"),
    [
        (["1,0", "2,0", "1,0"], "x=1,2", ("1", "2")),
        (["1,5", "2,5", "1,50"], {"x": [1.5, 2.5]}, ("1.5", "2.5")),
        (["1,5", "2,5", "1,5"], {"x": ["1,5", "2,5"]}, ("1,5", "2,5")),
        (["-0,5", "2", "-,5"], "x=-0.5,2", ("-0.5", "2")),
    ],
)
def test_declared_numbers_match_cells_with_decimal_commas(
    tmp_path: Path, cells: list[str], states: Any, expected: tuple[str, ...]
) -> None:
    rows = [["x", "y"], *([cell, str(k % 2)] for k, cell in enumerate(cells))]
    table = read_table(written(tmp_path / "a.csv", rows, ";"), decimal=",", states=states)
    assert table.states[0] == expected
    assert table.codes[:, 0].tolist() == [0, 1, 0]


def test_codes_with_leading_zeros_are_texts_and_other_numbers_are_not(tmp_path: Path) -> None:
    rows = [["code", "year", "ratio", "id"], ["1", "2001", "0.5", "a"], ["01", "2002", "0.25", "b"]]
    path = written(tmp_path / "a.csv", [*rows, ["001", "2001", "0.5", "b"]])
    table = read_table(path, drop="ratio")
    assert dict(zip(table.names, table.states, strict=True))["code"] == ("001", "01", "1")
    assert table.states[1] == ("2001", "2002")
    frame = read_file(path)
    assert [frame[name].dtype.kind for name in ("year", "ratio")] == ["i", "f"]


@pytest.mark.parametrize(
    ("separator", "encoding", "options"),
    [
        (",", "utf-16", {}),
        (",", "utf-16-be", {"encoding": "utf-16-be"}),
        (":", "utf-8", {"sep": ":"}),
        (", ", "utf-8", {}),
        (",\t", "utf-8", {"sep": ","}),
        ("^", "utf-8", {"sep": "^"}),
    ],
)
@pytest.mark.parametrize("chunk", [1, 3, 1 << 22])
def test_leading_zeros_are_seen_in_any_encoding_and_after_any_separator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, separator: str, encoding: str, options: dict, chunk: int
) -> None:
    monkeypatch.setattr(files, "_CHUNK", chunk)
    for first in (["code", "b"], ["b", "code"]):
        cells = [["007", "x"], ["7", "y"], ["-08", "x"], ["9", "z"]]
        rows = [first, *(row if first[0] == "code" else row[::-1] for row in cells)]
        frame = read_file(written(tmp_path / "a.csv", rows, separator, encoding), **options)
        assert frame["code"].tolist() == ["007", "7", "-08", "9"]


@pytest.mark.parametrize(
    ("cells", "declared"),
    [
        (["TRUE", "FALSE", "TRUE"], "FALSE,TRUE"),
        (["true", "false", "true"], "false,true"),
        (["TRUE", "FALSE", "TRUE"], "True,False"),
        (["02", "01", "02"], "01,02,10"),
        (["1.0", "2.0", "1"], "1,2"),
        (["1E1", "10", "2"], "10,2"),
    ],
)
def test_declared_states_match_the_cells_as_they_are_or_what_they_stand_for(
    tmp_path: Path, cells: list[str], declared: str
) -> None:
    path = written(tmp_path / "a.csv", [["x", "y"], *([cell, str(k % 2)] for k, cell in enumerate(cells))])
    table = read_table(path, states=f"x={declared}")
    assert table.states[0] == tuple(declared.split(","))
    other = written(path, [["x", "y"], *([cell, "a"] for cell in cells), ["7", "b"]])
    refused("column 'x' has the value '7' in row 4, outside", other, states=f"x={declared}")


def test_a_row_that_the_sample_cuts_in_two_does_not_matter(tmp_path: Path) -> None:
    rows = [["a", "b"], *([["1", "2"]] * 98), ["1", '"two;\nlines;\n"'], ["2", "3"]]
    frame = read_file(written(tmp_path / "a.csv", rows, ";"))
    assert (list(frame.columns), len(frame)) == (["a", "b"], 100)


@pytest.mark.parametrize(("sep", "separator"), [("tab", "\t"), ("\\t", "\t"), ("\t", "\t"), (" ", " "), ("-", "-")])
def test_a_separator_may_be_given(tmp_path: Path, sep: str, separator: str) -> None:
    path = written(tmp_path / "a.csv", ROWS, separator)
    assert texts(read_file(path, sep)) == ROWS
    assert read_file(written(tmp_path / "b.csv", ROWS), sep).shape == (3, 1)


@pytest.mark.parametrize("sep", ["", "::", '"', "\n"])
def test_what_is_no_separator_is_refused(tmp_path: Path, sep: str) -> None:
    refused("is not a separator: give one character, or tab", written(tmp_path / "a.csv", ROWS), sep=sep)


def test_a_file_that_seems_to_have_one_column_asks_for_the_separator(tmp_path: Path) -> None:
    message = refused("a.csv has 1 column, 'Größe on note': give", written(tmp_path / "a.csv", ROWS, " "))
    assert "sep=" in message


@pytest.mark.parametrize(
    ("encoding", "mark", "given"),
    [
        ("utf-8", b"", None),
        ("utf-8", codecs.BOM_UTF8, None),
        ("utf-8", codecs.BOM_UTF8, "utf-8"),
        ("utf-16-le", codecs.BOM_UTF16_LE, None),
        ("utf-16-be", codecs.BOM_UTF16_BE, None),
        ("latin-1", b"", "latin-1"),
        ("cp1252", b"", "Windows-1252"),
    ],
)
def test_encodings_are_told_by_a_mark_or_given(tmp_path: Path, encoding: str, mark: bytes, given: str | None) -> None:
    path = written(tmp_path / "a.csv", ROWS, ";", encoding, mark)
    assert texts(read_file(path, encoding=given)) == ROWS


@pytest.mark.parametrize("number", [1, 3, 4000])
def test_a_file_that_is_not_utf8_is_refused_with_the_line_and_the_option(tmp_path: Path, number: int) -> None:
    lines = ["a,b", *["1,2", "2,1"] * 3000]
    lines[number - 1] = "é,1"
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="latin-1")
    refused(f"a.csv, line {number}, is not utf-8 text: .* encoding=latin-1 for example", tmp_path / "a.csv")
    assert "é" in str(read_file(tmp_path / "a.csv", encoding="latin-1").to_csv())


def test_an_encoding_that_does_not_exist_or_does_not_fit_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", ROWS)
    refused("encoding='latin-77' is unknown: give one that Python knows", path, encoding="latin-77")
    refused("a.csv, line 1, is not ascii text", path, encoding="ascii")
    refused("a.csv, line 1, is not utf-16 text", path, encoding="utf-16")


def test_options_of_text_files_are_refused_for_others(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": [2, 1]})
    frame.to_parquet(tmp_path / "a.parquet")
    refused("a.parquet is not a text file: leave sep out", tmp_path / "a.parquet", sep=";")
    refused("a.parquet is not a text file: leave encoding out", tmp_path / "a.parquet", encoding="ascii")
    refused("a.parquet is not a text file: leave decimal out", tmp_path / "a.parquet", decimal=",")
    for option in ("sep", "encoding", "decimal"):
        with pytest.raises(InputError, match=f"{option} is for text files: leave it out for a DataFrame"):
            read_table(frame, **{option: ","})


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a,b\n1,x,3\n2,y,4\n3,x,3\n", 2),
        ("a,b\n5,x,3\n2,y,4\n", 2),
        ("\n\na,b\n1,x,\n2,y,\n3,x,\n", 4),
        ("a,b\n1,x\n2,y,4\n", 3),
    ],
)
def test_a_line_of_more_cells_than_the_names_is_refused_with_its_number(tmp_path: Path, text: str, line: int) -> None:
    (tmp_path / "a.csv").write_text(text)
    culprit = rf"a.csv cannot be read \(.*Expected 2 fields in line {line}, saw 3\): give no line more cells"
    refused(culprit, tmp_path / "a.csv")


@pytest.mark.parametrize("separator", [",", ", ", " ,  ", " | ", "\t ", " ; "])
def test_cells_are_read_without_the_blanks_around_them(tmp_path: Path, separator: str) -> None:
    rows = [["a", "b"], ["yes", "no"], ["yes ", "no"], ["no", '"y, es "'], ['" no"', "  no"]]
    table = read_table(written(tmp_path / "a.csv", rows, separator), sep=separator.strip(" ")[0])
    assert (table.names, table.states) == (("a", "b"), (("no", "yes"), ("no", "y, es")))


def test_quotes_may_follow_a_blank_and_a_cell_of_blanks_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('"a", "b"\n"y", "n,o"\n"n", "yes"\n')
    assert texts(read_file(path)) == [["a", "b"], ["y", "n,o"], ["n", "yes"]]
    path.write_text('"a;b"; "c,d"\n"y"; "n,o"\n"n"; "yes"\n')
    assert texts(read_file(path)) == [["a;b", "c,d"], ["y", "n,o"], ["n", "yes"]]
    for cell in ("  ", '" "', '  "" '):
        path.write_text(f"a,b\nx,{cell}\ny,z\n{cell},z\n")
        assert read_file(path).isna().to_numpy().tolist() == [[False, True], [False, False], [True, False]]


def test_a_blank_that_separates_cells_is_not_skipped(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a b c\n1  3\n2 2 4\n")
    assert read_file(tmp_path / "a.csv", sep=" ").isna().to_numpy().tolist() == [[False, True, False], [False] * 3]


def test_names_are_read_without_blanks_around_them_and_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('"net\npay", age ,"x"\n1,2,1\n2,1,2\n')
    assert read_table(tmp_path / "a.csv").names == ("net pay", "age", "x")
    (tmp_path / "b.csv").write_text("a, a\n1,2\n2,1\n")
    refused("column 'a' appears twice in b.csv", tmp_path / "b.csv")
