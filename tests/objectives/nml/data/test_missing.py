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


def test_a_frame_is_read_like_its_file(path: Path) -> None:
    frame = pd.read_csv(path)
    for missing in ("drop", "state"):
        of_frame, of_file = (read_table(source, missing=missing, bins={"pressure": 2}) for source in (frame, path))
        assert (of_frame.states, of_frame.codes.tolist()) == (of_file.states, of_file.codes.tolist())
    texts = pd.DataFrame({"a": ["x", "?", "y"], "b": ["u", "v", "u"]})
    assert read_table(texts, missing="state").states[0] == ("x", "y", "missing")
    assert texts.a[1] == "?"  # the frame is as it was


def test_by_default_missing_values_are_refused_with_the_options_that_mend_them(path: Path) -> None:
    with pytest.raises(InputError, match=r"'pressure' has 1 missing value.*missing=drop.*bins='pressure=5' too"):
        read_table(path, columns="sex,pressure")
    with pytest.raises(
        InputError, match=r"2 columns .* 'age' has 1 cell.s. like 'NA' in row 2 among its numbers; 'pre"
    ):
        read_table(path, columns="sex,age,pressure")
    with pytest.raises(InputError, match=r"mend them with missing='drop' and bins='pressure=5', for example$"):
        read_table(path, columns="sex,age,pressure")
    with pytest.raises(InputError, match="like 'NA' in row 2 among its numbers: if they are missing values, leave"):
        read_table(path, columns="sex,age", bins={"age": 2})


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
    with pytest.raises(InputError, match="every row has a missing value, so missing=drop leaves none"):
        read_table(frame, missing="drop")
    with pytest.raises(InputError, match="column 'a' has no value: drop it"):
        read_table(pd.DataFrame({"a": [None, None], "b": ["x", "y"]}), missing="state")
