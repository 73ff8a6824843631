import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from graphs import FRAME

from law_ray.errors import InputError
from objectives.contingency import family_counts
from objectives.networks import NETWORKS, Table, _read_network, read_table, sample_network

SIZES = {"sachs": (11, 17), "child": (20, 25), "insurance": (27, 52), "alarm": (37, 46)}


@pytest.mark.parametrize("name", NETWORKS)
def test_samples_follow_the_network(name: str) -> None:
    """Every conditional frequency with enough rows is within five standard errors of its probability."""
    table = sample_network(name, n_rows=4000, seed=1)
    assert table.true_dag is not None
    assert (len(table.names), int(table.true_dag.sum())) == SIZES[name]
    names, states, dag, conditionals = _read_network(name)
    place = [table.names.index(node) for node in names]
    np.testing.assert_array_equal(table.true_dag[np.ix_(place, place)], dag)
    for node, (parents, probabilities) in enumerate(conditionals):
        assert table.states[place[node]] == states[node]
        counts = family_counts(table.codes, table.cardinalities, place[node], [place[parent] for parent in parents])
        expected = probabilities.reshape(len(states[node]), -1).T
        rows = counts.sum(axis=1, keepdims=True)
        deviation = np.abs(counts / np.maximum(rows, 1) - expected)
        bound = 5 * np.sqrt(expected * (1 - expected) / np.maximum(rows, 1)) + 5 / np.maximum(rows, 1)
        assert (deviation[rows[:, 0] > 0] <= bound[rows[:, 0] > 0]).all()


def test_a_seed_is_a_table_and_the_columns_are_shuffled() -> None:
    first, again, other = (sample_network("sachs", 50, seed) for seed in (3, 3, 4))
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert first.names == again.names != other.names
    assert sorted(first.names) == sorted(other.names)
    assert list(first.names) != _read_network("sachs")[0]


def test_declared_states_stay_when_not_observed() -> None:
    table = sample_network("alarm", n_rows=3, seed=0)
    assert (table.codes.max(axis=0) + 1 < table.cardinalities).any()
    assert table.cardinalities.tolist() == [len(states) for states in table.states]


def test_sampling_leaves_numpys_global_state_alone() -> None:
    np.random.seed(7)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(7)  # noqa: NPY002
    sample_network("sachs", 20, 1)
    assert np.random.random() == expected  # noqa: NPY002


@pytest.mark.parametrize(
    ("arguments", "culprit"),
    [(("asia",), "'asia' is unknown: choose sachs"), (("sachs", 0), "n_rows=0"), (("sachs", 10, -1), "seed=-1")],
)
def test_sampling_refuses_bad_arguments(arguments: tuple, culprit: str) -> None:
    with pytest.raises(InputError, match=culprit):
        sample_network(*arguments)


def test_columns_become_states() -> None:
    table = read_table(FRAME)
    assert table.names == ("colour", "size", "on", "grade")
    assert table.states == (("blue", "green", "red"), ("2", "10"), ("False", "True"), ("b", "c", "a"))
    expected = [[2, 1, 1, 0], [0, 0, 0, 2], [2, 0, 1, 0], [1, 1, 1, 0]]
    np.testing.assert_array_equal(table.codes, expected)
    assert table.codes.dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        table.codes[0, 0] = 0


@pytest.mark.parametrize("kind", ["object", "string", "category"])
def test_strings_of_any_kind_are_states(kind: str) -> None:
    table = read_table(FRAME[["colour"]].astype(kind).assign(size=FRAME["size"].astype("Int64")))
    assert table.states == (("blue", "green", "red"), ("2", "10"))


def test_files_hold_the_table_of_the_frame(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "data.csv", index=False)
    FRAME.to_parquet(tmp_path / "data.parquet")
    from_csv, from_parquet = read_table(tmp_path / "data.csv"), read_table(str(tmp_path / "data.parquet"))
    assert from_parquet.states == read_table(FRAME).states  # with the unobserved category
    np.testing.assert_array_equal(from_parquet.codes, read_table(FRAME).codes)
    assert from_csv.states == (*read_table(FRAME).states[:3], ("a", "b"))
    np.testing.assert_array_equal(from_csv.codes[:, :3], from_parquet.codes[:, :3])
    assert (from_csv.name, from_parquet.name) == ("data.csv", "data.parquet")


def test_na_and_none_in_a_csv_file_are_states(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\nNA,1\nNone,2\nnan,2\n")
    assert read_table(tmp_path / "a.csv").states == (("NA", "None", "nan"), ("1", "2"))


@pytest.mark.parametrize(
    ("frame", "culprit"),
    [
        (FRAME.assign(weight=[0.1, 0.2, 0.3, 0.4]), "'weight' is continuous.*bin it"),
        (FRAME.assign(size=[1, None, 2, 2]), r"'size' has 1 missing value\(s\), the first in row 2"),
        (FRAME.assign(colour=["red", None, None, "blue"]), r"'colour' has 2 missing"),
        (FRAME.assign(size=3), "'size' has one state"),
        (FRAME.assign(size=["a", 1, 2, "b"]), "'size' holds mixed"),
        (FRAME.assign(size=["1", "1", "2", "2"]).astype({"size": object}).replace({"size": {"2": 1}}), "'size' holds"),
        (FRAME.assign(day=pd.to_datetime(["2020-01-01"] * 4)), "'day' holds datetime"),
        (pd.concat([FRAME, FRAME[["on"]]], axis=1), "'on' appears twice"),
        (FRAME.rename(columns={"size": " "}), "no name"),
        (FRAME[["size"]], "1 column"),
        (FRAME.iloc[:0], "no rows"),
        (FRAME.assign(grade=pd.Categorical([1, "1", 1, 1])), "'grade' has two states that both read '1'"),
        (pd.DataFrame({"id": range(300), "x": [0, 1, 2] * 100}), "'id' has 300 states in 300 rows"),
        ([[1, 2]], "type list"),
    ],
)
def test_bad_tables_are_refused_by_column(frame: object, culprit: str) -> None:
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


def test_codes_outside_the_states_are_refused() -> None:
    with pytest.raises(InputError, match="column 1"):
        Table("t", ("a", "b"), (("x", "y"), ("x", "y")), np.array([[0, 2]]))


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


def test_a_pickle_is_small_and_complete() -> None:
    table = sample_network("sachs", 2000, 0)
    data = pickle.dumps(table)
    assert len(data) < 2000 * 11 + 5000
    again = pickle.loads(data)
    assert again.fingerprint == table.fingerprint
    assert again.codes.dtype == np.int64
    assert not again.codes.flags.writeable
    np.testing.assert_array_equal(again.true_dag, table.true_dag)
