import datetime
import decimal
import itertools
import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from law_ray.errors import InputError
from objectives.nml.data.tables import Table, read_table
from tests.oracles.graphs import FRAME

FIXED = pd.Series(["x", "y", "x"])


def arrow(values: list, kind: pa.DataType) -> pd.Series:
    return pd.Series(values, dtype=pd.ArrowDtype(kind))


def read(column: Any, **options: Any) -> Table:
    """A table whose first column, "a", is the one under test."""
    column = pd.Series(column)
    return read_table(pd.DataFrame({"a": column, "fixed": np.resize(FIXED, len(column))}), **options)


def refused(column: Any, culprit: str, **options: Any) -> None:
    with pytest.raises(InputError, match=culprit) as caught:
        read(column, **options)
    assert "\n" not in str(caught.value)


STRINGS = [
    *(pd.Series(["no", "yes", "no"], dtype=dtype) for dtype in (object, "str", "string", "string[pyarrow]")),
    arrow(["no", "yes", "no"], pa.string()),
    arrow(["no", "yes", "no"], pa.large_string()),
    pd.Series(["no", "yes", "no"], dtype="category"),
    pd.Series(pd.Categorical(["no", "yes", "no"], ["no", "yes"], ordered=True)),
]
BOOLEANS = [
    *(pd.Series([True, False, True], dtype=dtype) for dtype in (bool, object, "boolean", "category")),
    arrow([True, False, True], pa.bool_()),
]
NUMBERS = [
    *(pd.Series([10, 2, 10], dtype=dtype) for dtype in ("int8", "uint64", "Int64", "UInt8", object, "category")),
    *(pd.Series([10, 2, 10], dtype=dtype) for dtype in ("float32", "float64", "Float64", "Sparse[int64]")),
    pd.Series([10.0, 2, 10], dtype=object),
    pd.Series([10.0, 2, 10], dtype="category"),
    pd.Series([decimal.Decimal("10.0"), decimal.Decimal(2), decimal.Decimal(10)]),
    arrow([10, 2, 10], pa.int32()),
    arrow([10, 2, 10], pa.float64()),
    arrow([decimal.Decimal(10), decimal.Decimal(2), decimal.Decimal(10)], pa.decimal128(6, 2)),
]


@pytest.mark.parametrize(
    ("columns", "states", "codes"),
    [
        (STRINGS, ("no", "yes"), [0, 1, 0]),
        (BOOLEANS, ("False", "True"), [1, 0, 1]),
        (NUMBERS, ("2", "10"), [1, 0, 1]),
    ],
)
def test_the_variable_does_not_depend_on_the_type_of_the_column(columns: list, states: tuple, codes: list) -> None:
    tables = [read(column) for column in columns]
    for table in tables:
        assert table.states[0] == states
        assert table.codes[:, 0].tolist() == codes
    assert len({table.fingerprint for table in tables}) == 1


def test_integers_too_large_for_floats_stay_distinct() -> None:
    assert read([2**53, 2**53 + 1, 2**63 + 1]).states[0] == ("9007199254740992", "9007199254740993", f"{2**63 + 1}")
    refused([2.0**53, 2.0**53 + 2, 1.0], "'a' is continuous")


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([0.5, 1, 2]),
        pd.Series([0.5, 1, 2], dtype="float32"),
        pd.Series([0.5, 1, 2], dtype="Float64"),
        pd.Series([0.5, 1, 2], dtype=object),
        arrow([0.5, 1, 2], pa.float64()),
        pd.Series([decimal.Decimal("0.5"), decimal.Decimal(1), decimal.Decimal(2)]),
        pd.Series([0.0, 1, math.inf]),
    ],
)
def test_continuous_columns_need_bins(column: pd.Series) -> None:
    refused(column, "'a' is continuous: bin it, with bins='a=5'")


def test_a_suggested_option_quotes_names_with_separators() -> None:
    for column in ([0.5, 1, 2], [0.5, None, 2], list(range(300))):
        frame = pd.DataFrame({"a, b": column, "fixed": np.resize(FIXED, len(column))})
        with pytest.raises(InputError, match=r"""bins='"a, b"=5'"""):
            read_table(frame)


def test_states_that_can_be_read_only_once_are_read_once() -> None:
    assert read(["x", "y", "x"], states={"a": iter("yxz")}).states[0] == ("y", "x", "z")


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (["a", 1, 2], "mixed"),
        ([True, 1, 2], "mixed"),
        ([True, "a", "b"], "mixed"),
        ([[1], [2, 3], [1]], "mixed"),
        ([{"b": 1}, {"b": 2}, {}], "mixed"),
        ([b"a", b"b", b"a"], "bytes"),
        ([1j, 2j, 1j], "complex"),
        ([datetime.date(2020, 1, day) for day in (1, 2, 3)], "date"),
        (pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-01"]), "datetime64"),
        (pd.to_timedelta([1, 2, 1]), "timedelta64"),
        (pd.period_range("2020", periods=3), "period"),
        (arrow([[1], [2], [1]], pa.list_(pa.int64())), "unknown-array values .*list"),
        (arrow([b"a", b"b", b"a"], pa.binary()), "bytes"),
    ],
)
@pytest.mark.parametrize("options", [{}, {"bins": 2}, {"states": "a=1,2"}])
def test_other_types_are_refused(column: Any, kind: str, options: dict) -> None:
    refused(column, f"'a' holds {kind}.*: use strings", **options)


@pytest.mark.parametrize(
    "column",
    [
        ["a", None, None],
        [1, None, math.nan],
        [0.5, math.nan, math.nan],
        [True, None, None],
        pd.Series([1, None, None], dtype="Int64"),
        pd.Series([0.5, None, None], dtype="Float64"),
        pd.Series(["x", None, None], dtype="category"),
        pd.Series(["x", None, None], dtype="str"),
        [decimal.Decimal("0.5"), None, None],
        arrow([1, None, None], pa.int64()),
        arrow(pa.array([0.5, math.nan, None]), pa.float64()),
        pd.to_datetime(["2020-01-01", None, None]),
    ],
)
@pytest.mark.parametrize("options", [{}, {"bins": 2}])
def test_missing_values_are_refused_first(column: Any, options: dict) -> None:
    refused(column, r"'a' has 2 missing value\(s\), the first in row 2: leave such rows out", **options)


@pytest.mark.parametrize(
    ("column", "culprit"),
    [
        ([3] * 4, "'a' has one state only: drop it, or declare"),
        (pd.Categorical([1, "1", 1, 1]), "'a' has two states that both read '1'"),
        (range(300), "'a' has 300 states in 300 rows: drop it, group its values, or bin it with bins='a=5'"),
        (np.arange(300.0), "'a' has 300 states in 300 rows"),
        ([f"patient {i}" for i in range(300)], "'a' has 300 states in 300 rows: drop it, or group its values"),
    ],
)
def test_useless_columns_are_refused(column: Any, culprit: str) -> None:
    refused(column, culprit)


def test_many_states_are_accepted_with_twice_as_many_rows_or_up_to_a_hundred() -> None:
    for column in (np.tile(range(300), 2), range(100), pd.Series(range(300), dtype="category")):
        assert read(column).cardinalities[0] == len(set(column))


NUMBER_LISTS = st.lists(st.floats(-1e300, 1e300) | st.integers(-5, 5).map(lambda k: k / 4), min_size=4, max_size=40)


@given(NUMBER_LISTS, st.integers(2, 6))
def test_bins_lie_between_the_quantiles(values: list[float], n_bins: int) -> None:
    """A row's bin is the number of inner quantiles below it, counted among the bins that hold a row."""
    values = [0.25, *values[: len(values)], -0.75]
    edges = np.unique(np.quantile(values, np.linspace(0, 1, n_bins + 1)))
    below = (np.array(values)[:, None] > edges[None, 1:-1]).sum(axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if len(edges) < 3:
            refused(values, "'a' falls into one bin", bins=n_bins)
            return
        table = read(values, bins=n_bins)
    expected = np.unique(below, return_inverse=True)[1]
    assert 2 <= table.cardinalities[0] <= n_bins
    np.testing.assert_array_equal(table.codes[:, 0], expected)


@given(NUMBER_LISTS.filter(lambda values: len(set(values)) == len(values)), st.integers(2, 4))
def test_bins_without_ties_hold_equally_many_rows(values: list[float], n_bins: int) -> None:
    values = [value for value in values if value not in (0.1, 0.7)] + [0.1, 0.7]
    sizes = np.bincount(read(values, bins=n_bins).codes[:, 0])
    assert len(sizes) == n_bins
    assert sizes.max() - sizes.min() <= 2  # an interpolated quantile moves at most a row to either side


@given(st.lists(st.integers(-(10**6), 10**6), min_size=5, max_size=60), st.integers(2, 5))
def test_labels_are_intervals_that_contain_their_rows(thousandths: list[int], n_bins: int) -> None:
    values = [0.0005, *(value / 1000 for value in thousandths)]
    try:
        table = read(values, bins=n_bins)
    except InputError:
        return
    numbers = [[float(edge) for edge in label[1:-1].split(", ")] for label in table.states[0]]
    assert [label[0] for label in table.states[0]] == ["["] + ["("] * (len(numbers) - 1)
    assert all(label[-1] == "]" for label in table.states[0])
    for (low, high), (next_low, next_high) in itertools.pairwise(numbers):
        assert low < high <= next_low < next_high
    for value, code in zip(values, table.codes[:, 0], strict=True):
        slack = 1e-5 * (1 + abs(value))
        assert numbers[code][0] - slack <= value <= numbers[code][1] + slack


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        ([0.1, 0.2, 2.5, 3, 7, 9], ("[0.1, 2.75]", "(2.75, 9]")),
        ([-1.5, -0.0, -0.0, 1.5], ("[-1.5, 0]", "(0, 1.5]")),
        ([1.5, 1 + 2**-52, 1.0, 1 + 2**-51], ("[1, 1.0000000000000004]", "(1.0000000000000004, 1.5]")),
        ([31250.5, 1e6, 2e6, 3e6], ("[31250.5, 1.5e+06]", "(1.5e+06, 3e+06]")),
    ],
)
def test_labels_are_short_and_distinct(values: list[float], labels: tuple) -> None:
    assert read(values, bins=2).states[0] == labels


def test_bins_cover_continuous_columns_or_those_named() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(0, 90, 500), "net pay": rng.normal(size=500), "x=y": rng.random(500)})
    assert read_table(frame, bins=5).cardinalities.tolist() == [frame["age"].nunique(), 5, 5]
    named = {"age": 3, "net pay": 4, "x=y": 2}
    assert read_table(frame, bins=named).cardinalities.tolist() == [3, 4, 2]
    two = frame[["age", "net pay"]]
    expected = read_table(two, bins={"age": 3, "net pay": 4}).fingerprint
    assert read_table(two, bins=" age = 3,net pay=4").fingerprint == expected
    assert read_table(two, bins="5").fingerprint == read_table(two, bins=5).fingerprint
    with pytest.raises(InputError, match="'x=y' is continuous"):
        read_table(frame, bins={"net pay": 4})


def test_options_find_columns_whose_names_are_numbers() -> None:
    table = read_table(pd.DataFrame({0: [0.5, 1, 2], 1: [1, 2, 1]}), bins={0: 2}, states={1: [2, 1]})
    assert (table.names, table.states[1], table.cardinalities[0]) == (("0", "1"), ("2", "1"), 2)


def test_bins_group_row_numbers() -> None:
    table = read(pd.Series(range(300)).astype("Int64"), bins="a=3")
    assert np.bincount(table.codes[:, 0]).tolist() == [100, 100, 100]
    refused(range(300), "300 states", bins=3)


@pytest.mark.parametrize(
    ("column", "bins", "culprit"),
    [
        ([0.5, 1, 2], 1, "bins=1 is not a number of bins: choose a whole number of at least 2"),
        ([0.5, 1, 2], True, "bins=True is not"),
        ([0.5, 1, 2], 2.5, "bins=2.5 is not"),
        ([0.5, 1, 2], "many", "bins='many' is not"),
        ([0.5, 1, 2], "", "bins='' is not"),
        ([0.5, 1, 2], "a=2.5", "bins='2.5' is not"),
        ([0.5, 1, 2], "a=2,", "bins='a=2,' is malformed at '': write it like 'age=5,income=3'"),
        ([0.5, 1, 2], "a=2,a=3", "names the column 'a' twice"),
        ([0.5, 1, 2], "b=2", "bins names the column 'b', which is unknown: choose among a, fixed"),
        ([0.5, 1, 2], {"a": 2, "fixed": 2}, "'fixed' holds string values, which cannot be binned"),
        ([True, False, True], "a=2", "'a' holds boolean values, which cannot be binned"),
        (pd.Categorical([1, 2, 1]), "a=2", "'a' holds categorical values, which cannot be binned"),
        ([0.5, 1, 2], 4, "'a' has 3 rows for 4 bins: choose fewer"),
        ([0.5, 1, -math.inf], 2, "'a' has the value -inf in row 3, too large to bin"),
        ([1.7e308, -1.7e308, 0.5], 2, r"'a' has the value 1.7e\+308 in row 1, too large"),
        ([0.5] * 8 + [1.5, 2.5], 3, "'a' falls into one bin of 3.*: choose more bins"),
        ([0.5] * 8, 3, "'a' falls into one bin"),
    ],
)
def test_bad_bins_are_refused(column: Any, bins: Any, culprit: str) -> None:
    refused(column, culprit, bins=bins)


def test_declared_states_set_the_order_and_count_unobserved(tmp_path: Path) -> None:
    mapping = {"grade": ["a", "b"], "size": [2, 5.0, 10], "on": (True, False)}
    table = read_table(FRAME, states=mapping)
    assert table.states == (("blue", "green", "red"), ("2", "5", "10"), ("True", "False"), ("a", "b"))
    np.testing.assert_array_equal(table.codes, [[2, 2, 0, 1], [0, 0, 1, 0], [2, 0, 0, 1], [1, 2, 0, 1]])
    (tmp_path / "states.json").write_text(json.dumps(mapping))
    for states in (
        " grade=a,b; size = 2 ,5,10;on=True,False",
        tmp_path / "states.json",
        str(tmp_path / "states.json"),
        {"grade": np.array(["a", "b"]), "size": np.array([2, 5, 10], dtype=np.float32), "on": pd.Series([True, False])},
    ):
        assert read_table(FRAME, states=states).fingerprint == table.fingerprint
    assert read_table(FRAME, states={}).fingerprint == read_table(FRAME).fingerprint


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=10), st.permutations(range(-3, 4)))
def test_declared_states_change_the_codes_and_no_value(values: list[int], order: list[int]) -> None:
    for kind in ("int64", "float64", "str", "category", "Int64"):
        column = pd.Series(values).astype(kind)
        table = read(column, states={"a": order, "fixed": ["y", "x"]})
        assert [order[code] for code in table.codes[:, 0]] == values
        assert table.states[0] == tuple(str(value) for value in order)


def test_declared_states_make_doses_and_row_numbers_discrete() -> None:
    assert read([0.5, 2, 1], states="a=0.5,1,2").codes[:, 0].tolist() == [0, 2, 1]
    assert read([0.5, 2, 1], states="a=0.5,1,2", bins=2).cardinalities[0] == 3
    assert read(range(300), states={"a": range(300)}).cardinalities[0] == 300
    assert read(["<5", "x=1", "<5"], states="a=<5,x=1,>=5").states[0] == ("<5", "x=1", ">=5")


@pytest.mark.parametrize(
    "column",
    [
        *(pd.Series([0.1, 0.25, 0.1], dtype=dtype) for dtype in ("float32", "float64", "Float32", "Float64")),
        arrow([0.1, 0.25, 0.1], pa.float32()),
        pd.Series([decimal.Decimal("0.1"), decimal.Decimal("0.25"), decimal.Decimal("0.1")]),
    ],
)
def test_declared_fractions_match_in_any_precision(column: pd.Series) -> None:
    for states in ("a=0.1,0.25,0.5", {"a": [0.1, 0.25, 0.5]}, {"a": np.array([0.1, 0.25, 0.5], dtype=np.float32)}):
        table = read(column, states=states)
        assert table.states[0] == ("0.1", "0.25", "0.5")
        assert table.codes[:, 0].tolist() == [0, 1, 0]


def test_digits_that_only_python_groups_are_no_number() -> None:
    with pytest.raises(InputError, match="has the value '1_0' in row 2, outside its declared states"):
        read(pd.Series(["10", "1_0", "20"]), states="a=10,20")


@pytest.mark.parametrize(
    ("states", "culprit"),
    [
        (
            "colour=red,blue",
            r"'colour' has the value 'green' in row 4, outside its declared states \(red, blue\): decl",
        ),
        ({"size": [1, 2]}, "'size' has the value '10' in row 1, outside"),
        ({"grade": ["b", "c"]}, "'grade' has the value 'a' in row 2, outside"),
        ("on=true,false", "'on' has the value 'True' in row 1"),
        ("hue=red,blue", "states names the column 'hue', which is unknown: choose among colour, size, on, grade"),
        ("colour", "malformed at 'colour': write it like 'smoker=no,yes;grade=a,b,c'"),
        ("on=True,False;", "malformed at ''"),
        ("on=", "malformed at 'on='"),
        ("=a,b", "malformed at '=a,b'"),
        ("", "malformed"),
        ("on=True,False;on=True", "names the column 'on' twice"),
        ("on=True,False,", "gives column 'on' a state without a name"),
        ({"on": "True,False"}, "states of column 'on' are 'True,False': give a list"),
        ({"on": 2}, "states of column 'on' are 2: give a list"),
        ({"on": {"True", "False"}}, "states of column 'on' are {.*: give a list"),
        (["on"], "is not a mapping"),
        ({"on": [True, False, "True"]}, "'on' has two states that both read 'True'"),
        ({"size": ["2", "10", "line\nbreak", "line\nbreak"]}, "'size' has two states"),
        ({"size": ["2", "line\nbreak"]}, "'size' has the value '10' in row 1"),
        ("gone.json", "states='gone.json' cannot be read"),
    ],
)
def test_bad_states_are_refused(states: Any, culprit: str) -> None:
    with pytest.raises(InputError, match=culprit) as caught:
        read_table(FRAME, states=states)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("{on", "cannot be read"),
        ('["on"]', "states.json' is not a mapping"),
        ('{"on": "True"}', "states of column 'on' are 'True'"),
    ],
)
def test_bad_files_of_states_are_refused(tmp_path: Path, text: str, culprit: str) -> None:
    (tmp_path / "states.json").write_text(text)
    with pytest.raises(InputError, match=culprit):
        read_table(FRAME, states=tmp_path / "states.json")


def test_a_column_cannot_be_both_binned_and_declared() -> None:
    refused([0.5, 1, 2], "'a' is named by both bins and states", bins="a=2", states="a=0.5,1,2")


def test_a_wide_table_is_refused_in_a_short_line() -> None:
    frame = pd.DataFrame(np.eye(500, dtype=np.int64), columns=[f"column {i}" for i in range(500)])
    with pytest.raises(InputError, match="names the column 'x'") as caught:
        read_table(frame, bins="x=2")
    assert len(str(caught.value)) < 300
