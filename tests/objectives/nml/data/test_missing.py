import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from law_ray.errors import InputError
from objectives.nml.data.tables import read_table

TEXT = """sex,age,pressure,smoker
m,30,1.5,no
f,NA,2.5,yes
m,40,,no
f,50,3.25,NA
m,60,4.5,yes
f,70,5.5,no
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "patients.csv"
    path.write_text(TEXT)
    return path


def test_rows_with_a_missing_value_in_a_column_that_is_used_are_left_out(path: Path) -> None:
    table = read_table(path, missing="drop", bins={"pressure": 2})
    assert table.codes.shape == (3, 4)
    assert table.states[1] == ("30", "60", "70")
    assert table.states[3] == ("no", "yes")
    assert read_table(path, missing="drop", columns="sex,smoker").codes.shape == (5, 2)


def test_missing_is_a_state_after_the_others(path: Path) -> None:
    table = read_table(path, missing="state", bins={"pressure": 2, "age": 2})
    assert len(table.codes) == 6
    assert [states[-1] for states in table.states] == ["m", "missing", "missing", "missing"]
    assert table.states[2] == ("[1.5, 3.25]", "(3.25, 5.5]", "missing")  # the bins are those of the values
    for column, row in ((1, 1), (2, 2), (3, 3)):
        assert np.flatnonzero(table.codes[:, column] == len(table.states[column]) - 1).tolist() == [row]
    declared = read_table(path, missing="state", columns="sex,smoker", states={"smoker": ["missing", "no", "yes"]})
    assert declared.states[1] == ("missing", "no", "yes")
    assert declared.codes[:, 1].tolist() == [1, 2, 1, 0, 2, 1]


def test_a_frame_and_a_parquet_file_are_read_like_a_text_file(path: Path) -> None:
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    frame["pressure"] = pd.to_numeric(frame["pressure"])
    frame.to_parquet(path.with_suffix(".parquet"))
    for missing in ("drop", "state"):
        sources = (path, path.with_suffix(".parquet"), frame, pd.read_csv(path))
        tables = [read_table(source, missing=missing, bins={"pressure": 2}) for source in sources]
        for table in tables:
            assert (table.states, table.codes.tolist()) == (tables[0].states, tables[0].codes.tolist())
    assert frame.loc[1, "age"] == "NA"  # the frame is as it was


def test_blanks_decimal_commas_and_leading_zeros_are_read_as_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a;b;c\n1 ; 1,5;007\n NA;2,5;008\n2;NA ;NA\n1;3,5;007\n")
    table = read_table(path, missing="state", decimal=",", bins={"b": 2})
    assert table.states == (
        ("1", "2", "missing"),
        ("[1.5, 2.5]", "(2.5, 3.5]", "missing"),
        ("007", "008", "missing"),
    )


def test_categories_that_read_like_missing_values_are_no_states() -> None:
    frame = pd.DataFrame({"a": pd.Categorical(["NA", "no", "yes", "no"]), "b": [0, 1, 0, 1]})
    assert read_table(frame, missing="drop").states[0] == ("no", "yes")
    assert read_table(frame, missing="state").states[0] == ("no", "yes", "missing")


def test_declared_states_are_never_missing() -> None:
    frame = pd.DataFrame({"a": ["NA", "no", "yes", None], "b": [0, 1, 0, 1]})
    for missing, n_rows in (("drop", 3), ("state", 4)):
        table = read_table(frame, missing=missing, states={"a": ["NA", "no", "yes"]})
        assert len(table.codes) == n_rows
        assert table.states[0][:3] == ("NA", "no", "yes")


def test_rows_are_named_as_they_are_in_the_table(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [None, "yes", "no", "maybe"], "b": [0, 1, 0, 1]}, index=[7, 7, 8, 9])
    for missing in ("drop", "state"):
        with pytest.raises(InputError, match="'a' has the value 'maybe' in row 4, outside its declared"):
            read_table(frame, missing=missing, states="a=no,yes")
    numbers = pd.DataFrame({"a": [np.nan, 1.5, 1e308, 2.5], "b": [0, 1, 0, 1]})
    with pytest.raises(InputError, match="in row 3, too large to bin"):
        read_table(numbers, missing="drop", bins=2)


def test_a_table_sorted_by_a_column_with_gaps_passes_the_check_of_its_rows() -> None:
    rng = np.random.default_rng(0)
    z = np.append(np.sort(rng.normal(size=900)), np.full(100, np.nan))
    frame = pd.DataFrame({"z": z, "a": (np.nan_to_num(z, nan=3.0) + rng.normal(size=1000) > 0).astype(int)})
    for missing in ("drop", "state"):
        read_table(frame, missing=missing, bins=4, rows="check")


def test_by_default_missing_values_are_refused_with_the_options_that_mend_them(path: Path) -> None:
    with pytest.raises(InputError, match=r"'pressure' has 1 missing value.*missing=drop.*bin it too.*pressure=5'"):
        read_table(path, columns="sex,pressure")
    with pytest.raises(InputError, match=r"2 columns .* 'age' has 1 cell.s. like 'NA' in row 2 among its numbers"):
        read_table(path, columns="sex,age,pressure")
    with pytest.raises(InputError, match=r"set missing='drop' and bins='pressure=5', for example$"):
        read_table(path, columns="sex,age,pressure")
    with pytest.raises(InputError, match="like 'NA' in row 2 among its numbers: leave such rows out"):
        read_table(path, columns="sex,age", bins={"age": 2})
    whole = pd.DataFrame({"a": [0, 1, None, 1, 0], "b": [None, 2.0, 3.0, 2.0, 3.0]})
    with pytest.raises(InputError, match=r"set missing='drop', for example$"):
        read_table(whole)
    assert read_table(whole, missing="drop").codes.shape == (3, 2)


def test_states_that_read_like_missing_values_bring_a_warning(path: Path) -> None:
    with pytest.warns(UserWarning, match="patients.csv has states that read like missing values, 'NA' in 'smoker'"):
        assert read_table(path, columns="sex,smoker").states[1] == ("NA", "no", "yes")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_table(path, columns="sex,smoker", missing="drop")
        read_table(path, columns="sex,smoker", states={"smoker": ["NA", "no", "yes"]})  # the user says so


def test_what_cannot_be_done_is_refused(path: Path) -> None:
    with pytest.raises(InputError, match="missing='leave' is unknown: choose refuse, drop, state"):
        read_table(path, missing="leave")  # type: ignore[arg-type]
    frame = pd.DataFrame({"a": ["x", None], "b": [None, "y"]})
    with pytest.raises(InputError, match=r"^every row has a missing value: drop columns, or use missing=state"):
        read_table(frame, missing="drop")
    empty = pd.DataFrame({"a": [None, None], "b": ["x", "y"]})
    with pytest.raises(InputError, match=r"^column 'a, b' has no value, .*: use drop='\"a, b\",d'$"):
        read_table(empty.assign(d=None).rename(columns={"a": "a, b"}), missing="drop")
    for missing in ("refuse", "state"):
        with pytest.raises(InputError, match=r"^column 'a' has no value: drop it$"):
            read_table(empty, missing=missing)


@pytest.mark.filterwarnings("ignore:.* has states that read like missing values")
def test_a_column_of_such_texts_alone_is_one_of_states() -> None:
    assert read_table(pd.DataFrame({"a": ["NA", "None", "NA"], "b": [0, 1, 1]})).states[0] == ("NA", "None")
