import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from law_ray.errors import InputError
from objectives.nml.data.networks import sample_network
from objectives.nml.data.rules import declared_states
from objectives.nml.data.tables import Table, read_table
from objectives.nml.search.pc_stable import skeleton
from tests.oracles.graphs import FRAME

STATES = {"colour": ["red", "green", "blue", "black"], "grade": ["a", "b", "c"]}


def values_of(table: Table) -> list[list[str]]:
    """The state of every row and column, by name."""
    return [[table.states[i][code] for i, code in enumerate(row)] for row in table.codes]


def test_columns_become_states() -> None:
    table = read_table(FRAME)
    assert table.names == ("colour", "size", "on", "grade")
    assert table.states == (("blue", "green", "red"), ("2", "10"), ("False", "True"), ("b", "c", "a"))
    expected = [[2, 1, 1, 0], [0, 0, 0, 2], [2, 0, 1, 0], [1, 1, 1, 0]]
    np.testing.assert_array_equal(table.codes, expected)
    assert table.codes.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        table.codes[0, 0] = 0


CELLS = {
    "words": st.sampled_from(["red", "blue", "NA", "None", "nan", "true story", "a,b", 'quo"te', "日本", "x\ny", "-"]),
    "integers": st.integers(-(10**12), 10**12),
    "flags": st.booleans(),
    "floats": st.floats(-1e9, 1e9, width=32).map(float),
}


@st.composite
def frames(draw: st.DrawFn) -> pd.DataFrame:
    rows = draw(st.integers(3, 12))
    distinct = {"words": 2, "integers": 2, "flags": 2, "floats": 3}
    columns = {}
    for name, cells in CELLS.items():
        values = draw(st.lists(cells, min_size=distinct[name], max_size=distinct[name], unique=True))
        more = draw(st.lists(st.sampled_from(values), min_size=rows - len(values), max_size=rows - len(values)))
        columns[name] = draw(st.permutations(values + more))
    columns["floats"] = [value + 0.5 for value in columns["floats"]]
    return pd.DataFrame(columns)


@pytest.mark.filterwarnings("ignore:.* has states that read like missing values")
@settings(max_examples=60)
@given(frames())
def test_a_file_gives_the_table_of_its_frame(tmp_path_factory: pytest.TempPathFactory, frame: pd.DataFrame) -> None:
    folder = tmp_path_factory.mktemp("files")
    frame.to_csv(folder / "data.csv", index=False)
    frame.to_parquet(folder / "data.parquet")
    refusal = ""
    try:
        table = read_table(frame, bins="floats=3")
    except InputError as error:
        refusal = str(error)
    if refusal:
        assert "'floats' falls into one bin" in refusal
        return
    expected = frame.drop(columns="floats").astype(str).to_numpy().tolist()
    assert [row[:3] for row in values_of(table)] == expected
    for file in ("data.csv", "data.parquet"):
        again = read_table(str(folder / file), bins="floats=3")
        assert (again.name, again.states, again.fingerprint) == (file, table.states, table.fingerprint)


def test_a_parquet_file_keeps_categories_and_a_csv_file_needs_them_declared(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "data.csv", index=False)
    FRAME.to_parquet(tmp_path / "data.parquet")
    expected = read_table(FRAME)
    assert read_table(tmp_path / "data.parquet").fingerprint == expected.fingerprint
    assert read_table(tmp_path / "data.csv").states[3] == ("a", "b")
    assert read_table(tmp_path / "data.csv", states="grade=b,c,a").fingerprint == expected.fingerprint


def test_na_and_none_in_a_csv_file_are_states(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\nNA,1\nNone,2\nnan,2\n")
    with pytest.warns(UserWarning, match="'NA' in 'x'"):
        table = read_table(tmp_path / "a.csv")
    assert table.states == (("NA", "None", "nan"), ("1", "2"))


def test_integers_survive_dropped_rows_with_missing_values(tmp_path: Path) -> None:
    (tmp_path / "gap.csv").write_text("x,y\n1,2\n,2\n2,1\n")
    frame = pd.read_csv(tmp_path / "gap.csv").dropna()
    (tmp_path / "full.csv").write_text("x,y\n1,2\n2,1\n")
    assert frame["x"].dtype == np.float64
    assert read_table(frame).fingerprint == read_table(tmp_path / "full.csv").fingerprint


@pytest.mark.parametrize(
    ("frame", "culprit"),
    [
        (pd.concat([FRAME, FRAME[["on"]]], axis=1), "'on' appears twice"),
        (FRAME.rename(columns={"size": " "}), "no name"),
        (FRAME[["size"]], "1 column"),
        (FRAME.iloc[:0], "no rows"),
        (FRAME[[]], "0 column"),
        ([[1, 2]], "type list"),
    ],
)
def test_bad_frames_are_refused(frame: object, culprit: str) -> None:
    with pytest.raises(InputError, match=culprit) as caught:
        read_table(frame)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "culprit"),
    [
        ("gone.csv", None, "gone.csv does not exist"),
        ("data.txt", "a,b\n1,2\n", "'.txt'"),
        ("empty.csv", "", "empty.csv cannot be read"),
        ("ragged.csv", "a,b\n1,2\n1,2,3,4\n", "ragged.csv cannot be read"),
        ("wide.csv", "a,b\n1,2,3\n1,2,3\n", "wide.csv cannot be read"),
        ("bytes.csv", "\x00\x00PAR1\x00", "bytes.csv"),
        ("text.parquet", "a,b\n1,2\n", "text.parquet cannot be read"),
        ("short.csv", "a,b\n1,2\n1\n2,2\n", r"'b' has 1 missing value\(s\), the first in row 2"),
        ("twice.csv", "a,a\n1,2\n2,1\n", "'a' appears twice"),
        ("index.csv", ",a,b\n0,1,2\n1,2,1\n", "no name"),
        ("header.csv", "a,b\n", "no rows"),
        ("decimals.csv", "a,b\n1.5,2\n2.5,1\n", "'a' is continuous"),
    ],
)
def test_bad_files_are_refused_by_name(tmp_path: Path, name: str, text: str | None, culprit: str) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=culprit) as caught:
            read_table(tmp_path / name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("codes", "states", "culprit"),
    [
        ([[0.5, 1.0]], [("a", "b")] * 2, "codes are float64: pass integers"),
        ([[0, 1]], [("a", "b")], "two has 2 names and the states of 1 columns"),
        ([[0, 1, 0]], [("a", "b")] * 2, r"codes of shape \(1, 3\)"),
    ],
)
def test_a_table_that_does_not_fit_its_names_is_refused(codes: list, states: list, culprit: str) -> None:
    with pytest.raises(InputError, match=culprit):
        Table("two", ("x", "y"), tuple(states), np.array(codes))


def test_codes_outside_the_states_are_refused() -> None:
    with pytest.raises(InputError, match="column 1"):
        Table("t", ("a", "b"), (("x", "y"), ("x", "y")), np.array([[0, 2]]))


def test_equal_columns_functions_and_many_states_give_a_table_with_a_skeleton() -> None:
    codes = np.random.default_rng(0).integers(0, 40, 400)
    frame = pd.DataFrame({"a": codes, "same": codes, "parity": codes % 2, "b": codes[::-1] // 10})
    table = read_table(frame)
    assert table.cardinalities.tolist() == [40, 40, 2, 4]
    assert skeleton(table.codes, table.cardinalities).shape == (4, 4)


def test_three_rows_are_enough_with_two_states_or_declared_ones() -> None:
    frame = pd.DataFrame({"a": [1, 1, 1], "b": ["x", "y", "x"]})
    with pytest.raises(InputError, match="'a' has one state"):
        read_table(frame)
    table = read_table(frame, states={"a": [0, 1]})
    np.testing.assert_array_equal(table.codes, [[1, 0], [1, 1], [1, 0]])


def test_the_fingerprint_covers_codes_names_and_states() -> None:
    def fingerprint(names: tuple, states: tuple, codes: list) -> str:
        return Table("t", names, states, np.array(codes)).fingerprint

    states = (("x", "y"), ("x", "y"))
    tables = [
        fingerprint(("a", "b"), states, [[0, 1]]),
        fingerprint(("a", "c"), states, [[0, 1]]),
        fingerprint(("a", "b"), (("x", "y"), ("x", "z")), [[0, 1]]),
        fingerprint(("a", "b"), states, [[1, 1]]),
        fingerprint(("a", "b"), states, [[0, 1], [0, 1]]),
    ]
    assert len(set(tables)) == len(tables)
    assert fingerprint(("a", "b"), states, [[0, 1]]) == tables[0]


def test_the_fingerprint_of_data_covers_declared_states_and_bins() -> None:
    frame = FRAME.assign(weight=[0.1, 0.2, 0.3, 0.4])
    options = [{"bins": 2}, {"bins": 3}, {"bins": 2, "states": STATES}, {"bins": 2, "states": {"size": [10, 2]}}]
    prints = [read_table(frame, **each).fingerprint for each in options]
    assert len(set(prints)) == len(prints)
    assert read_table(frame.copy(), bins={"weight": 2}).fingerprint == prints[0]


def test_a_pickle_is_small_and_complete() -> None:
    table = sample_network("sachs", 2000, 0)
    data = pickle.dumps(table)
    assert len(data) < 2000 * 11 + 5000
    again = pickle.loads(data)
    assert again.fingerprint == table.fingerprint
    assert again.codes.dtype == np.int64
    assert not again.codes.flags.writeable
    np.testing.assert_array_equal(again.true_dag, table.true_dag)


MIXED = pd.DataFrame(
    {
        "plain": np.arange(300) % 3,
        "age": np.linspace(0, 1, 300),
        "id": range(300),
        "same": 1,
        "gap": [None, *["x", "y", "z"] * 99, "x", None],
        "pay": np.linspace(1, 2, 300),
        "when": pd.Timestamp("2020-01-01"),
        "other": np.arange(300) % 2,
    }
)


def test_all_columns_that_cannot_be_used_are_named_at_once_with_the_options_that_mend_them() -> None:
    with pytest.raises(InputError) as caught:
        read_table(MIXED)
    message = str(caught.value)
    assert "\n" not in message
    assert message.startswith("6 columns of table cannot be used: 'age', 'pay' are continuous; 'id' has 300 states in")
    for part in (
        "'same' has one state only",
        "'gap' has 2 missing value(s), the first in row 1",
        "'when' holds datetime64 values",
    ):
        assert part in message
    assert "'plain'" not in message
    assert message.endswith("set missing='drop' and bins='age=5,pay=5' and drop='id,same,when', for example")
    table = read_table(MIXED, missing="drop", bins="age=5,pay=5", drop="id,same,when")  # as it says
    assert table.names == ("plain", "age", "gap", "pay", "other")
    assert len(table.codes) == 298


def test_one_column_that_cannot_be_used_keeps_its_own_message_and_others_their_own_remedy() -> None:
    with pytest.raises(InputError, match=r"^column 'age' is continuous: bin it, with bins='age=5' for example$"):
        read_table(MIXED[["plain", "age", "other"]])
    with pytest.raises(
        InputError, match=r"^2 columns .* 'plain' has the value '2' in row 3, .* \(declare it too, .*\)"
    ):
        read_table(MIXED[["plain", "age", "other"]], states="plain=0,1")
    named = MIXED[["plain", "age", "pay"]].rename(columns={"age": "age, years"})
    with pytest.raises(InputError, match=r"""set bins='"age, years"=5,pay=5', for example$"""):
        read_table(named)
    assert read_table(named, bins='"age, years"=5,pay=5').cardinalities[1:].tolist() == [5, 5]  # as it says


def thin(**options: object) -> list[str]:
    """The warnings about a table of 250 rows with 25 and 26 states in two columns of numbers and one of text."""
    rows = np.arange(250)
    columns = {"25": rows % 25, "age": rows % 26 - 13, "of text": [f"{k % 26}" for k in rows], "other": rows % 2}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_table(pd.DataFrame(columns), **options)
    return [str(each.message) for each in caught]


def test_columns_of_few_rows_a_state_bring_a_warning_unless_their_states_were_chosen() -> None:
    (message,) = thin()
    assert message.startswith(
        "columns of table have fewer than 10 rows for each state: 'age' with 26 states, 'of text' with 26 states; "
    )
    assert message.endswith(": use bins='age=5' and group their values")
    (message,) = thin(bins="age=26")
    assert "'age'" not in message
    assert message.endswith("few edges: group their values")
    assert thin(bins="age=5", drop=["of text"]) == []


def test_numbers_of_few_rows_a_state_can_be_binned_though_some_are_missing() -> None:
    numbers = np.where(np.arange(250) < 2, np.nan, np.arange(250) % 26)
    frame = pd.DataFrame({"age": numbers, "other": np.arange(250) % 2})
    with pytest.warns(UserWarning, match="each state: 'age' with 27 states; .*: use bins='age=5'$"):
        read_table(frame, missing="state")
    assert read_table(frame, missing="state", bins="age=5").cardinalities[0] == 6  # as it says


def test_a_first_line_that_looks_like_a_row_brings_a_warning(tmp_path: Path) -> None:
    rows = "yes,2\nno,1\nno,2\nyes,1\n"
    file = tmp_path / "data.csv"
    file.write_text(rows)
    with pytest.warns(UserWarning, match=r"the first line of data[.]csv looks like a row, .*: yes, 2; if it is"):
        read_table(file)
    for names in ("smoker,2\n", "yes,age\n"):
        file.write_text(names + rows)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert len(read_table(file).codes) == 4
    file.write_text("x,y\n1.5,0.1\n2.5,1.1\n3.5,2.1\n0.5,1.1\n")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(file, bins="x=2,y=2")  # the user knows the names


def test_columns_are_chosen_or_dropped_by_name_and_keep_their_order() -> None:
    expected = read_table(FRAME[["colour", "on"]])
    options = [
        {"columns": ["on", "colour"]},
        {"columns": " on,colour"},
        {"drop": ["grade", "size"]},
        {"drop": "size,grade"},
    ]
    for each in options:
        table = read_table(FRAME, **each)
        assert (table.names, table.fingerprint) == (("colour", "on"), expected.fingerprint)
    assert read_table(FRAME.set_axis([0, 1, 2, 3], axis=1), columns=[0, 2]).names == ("0", "2")


def test_names_and_states_with_separators_stand_in_quotes() -> None:
    frame = pd.DataFrame({"pay, net": ["a;b", "c", "c"], "x=1": ["no", "yes", "no"], 'the "rest"': ["u", "v", "w"]})
    assert read_table(frame, columns='"pay, net", the "rest"').names == ("pay, net", 'the "rest"')
    assert read_table(frame, drop='"x=1"').names == ("pay, net", 'the "rest"')
    assert declared_states("a=p = 1,p = 2") == {"a": ("p = 1", "p = 2")}
    table = read_table(frame, states='"pay, net"="a;b",c,"d,e";"x=1"=yes,no')
    assert table.states[:2] == (("a;b", "c", "d,e"), ("yes", "no"))


def test_a_column_that_is_left_out_is_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(",a,a,b,c\n0,1.5,,2,x\n1,2.5,,1,y\n")
    assert read_table(tmp_path / "a.csv", columns="b,c").names == ("b", "c")
    with pytest.raises(InputError, match=r"column 1 of a\.csv has no name: name it, or leave it out by naming the oth"):
        read_table(tmp_path / "a.csv", drop="a")


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        ({"columns": "on", "drop": "size"}, "columns and drop are both given: keep one"),
        ({"columns": "on,hue"}, "columns names the column 'hue', which is unknown: choose among colour, size, on, gr"),
        ({"drop": ["hue"]}, "drop names the column 'hue', which is unknown"),
        ({"drop": 3}, "drop=3 is not a list of columns"),
        ({"columns": ["on"]}, "1 column"),
        ({"drop": "on", "bins": "on=3"}, "bins names the column 'on', which is unknown: choose among colour, size, gr"),
    ],
)
def test_bad_choices_of_columns_are_refused(options: dict, culprit: str) -> None:
    with pytest.raises(InputError, match=culprit):
        read_table(FRAME, **options)


def test_names_in_several_lines_are_refused() -> None:
    with pytest.raises(InputError, match=r"the name of column 2 of table, 'si\\nze', has a line break: rename it"):
        read_table(FRAME.rename(columns={"size": "si\nze"}))
