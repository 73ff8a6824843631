from pathlib import Path

import numpy as np
import pytest
from pgmpy.readwrite import BIFReader

from objectives.nml.data import bif
from objectives.nml.data.tables import Table
from objectives.nml.scores.contingency import family_counts, parents_of
from tests.oracles.graphs import dag_of

DAG = dag_of(4, (0, 2), (1, 2), (2, 3))
PLAIN = Table(
    "t",
    ("rain", "wind", "wet", "slip"),
    (("no", "yes"), ("low", "mid", "high"), ("dry", "wet"), ("no", "yes", "maybe")),
    np.random.default_rng(0).integers(0, [2, 2, 2, 2], size=(17, 4)),  # "high" and "maybe" are never observed
)
AWKWARD = Table(
    "t",
    (
        "a b",
        "a,b",
        "table1",
        "A_B",
    ),  # two that read alike, one that readers take for a number, one that differs by case
    (("", " "), ("x y", "x,y", "x;y"), ("}", "{"), ("<7.5", ">=7.5", 'say "no"')),
    PLAIN.codes,
)


def test_reading_back_gives_the_same_network(tmp_path: Path) -> None:
    bif.write(PLAIN, DAG, tmp_path / "m.bif")
    model = BIFReader(str(tmp_path / "m.bif")).get_model()
    assert model.check_model()
    edges = {(PLAIN.names[a], PLAIN.names[b]) for a, b in np.argwhere(DAG)}
    assert set(model.edges()) == edges
    assert set(model.nodes()) == set(PLAIN.names)
    for child, name in enumerate(PLAIN.names):
        parents = parents_of(DAG, child)
        read = model.get_cpds(name)
        for variable in (child, *parents):
            assert read.state_names[PLAIN.names[variable]] == list(PLAIN.states[variable])
        order = [read.variables.index(PLAIN.names[variable]) for variable in (*parents, child)]
        probabilities = np.transpose(read.values, order).reshape(-1, len(PLAIN.states[child]))
        counts = family_counts(PLAIN.codes, PLAIN.cardinalities, child, parents)
        observed = counts.sum(axis=1) > 0
        expected = counts[observed] / counts[observed].sum(axis=1, keepdims=True)
        np.testing.assert_array_equal(probabilities[observed], expected)
        np.testing.assert_allclose(probabilities[~observed], 1 / len(PLAIN.states[child]))
        assert child != 2 or not observed.all()


def test_names_that_bif_cannot_hold_are_replaced_and_stay_distinct(tmp_path: Path) -> None:
    bif.write(PLAIN, DAG, tmp_path / "plain.bif")
    bif.write(AWKWARD, DAG, tmp_path / "m.bif")
    plain, model = (BIFReader(str(tmp_path / name)).get_model() for name in ("plain.bif", "m.bif"))
    names = ["a_b_2", "a_b_3", "table_1", "A_B"]
    assert set(model.edges()) == {(names[a], names[b]) for a, b in np.argwhere(DAG)}
    assert model.get_cpds("a_b_2").state_names["a_b_2"] == ["_", "__2"]
    assert model.get_cpds("a_b_3").state_names["a_b_3"] == ["x_y", "x_y_2", "x_y_3"]
    assert model.get_cpds("A_B").state_names["A_B"] == ["<7.5", ">=7.5", "say__no_"]
    for before, after in zip(PLAIN.names, names, strict=True):
        np.testing.assert_array_equal(model.get_cpds(after).get_values(), plain.get_cpds(before).get_values())


def test_names_of_columns_keep_letters_digits_and_underscores_alone_and_those_that_need_no_change_stay(
    tmp_path: Path,
) -> None:
    names = ("a b", "a_b", "A_B", "x<=-1.5", "a_b_2", "größe")
    labels = ("-1.5", "_", "<=+2"), ("x y", "x_y"), *((("0", "1"),) * 4)
    table = Table("t", names, labels, np.tile([[0] * 6, [1] * 6], (5, 1)))
    bif.write(table, dag_of(6, (0, 1)), tmp_path / "m.bif")
    model = BIFReader(str(tmp_path / "m.bif")).get_model()
    assert set(model.nodes()) == {"a_b_3", "a_b", "A_B_4", "x___1_5", "a_b_2", "gr__e"}
    assert model.get_cpds("a_b_3").state_names["a_b_3"] == ["-1.5", "_", "<=+2"]
    assert model.get_cpds("a_b").state_names["a_b"] == ["x_y_2", "x_y"]


@pytest.mark.parametrize(
    "name", ["table1", "default.5", "network", "probability", "variable", "type", "property", "1e5"]
)
def test_words_of_the_format_may_be_names(tmp_path: Path, name: str) -> None:
    table = Table("t", (name, "x"), (("probability", "table"), ("1", "2")), PLAIN.codes[:, :2] % 2)
    dag = dag_of(2, (0, 1))
    bif.write(table, dag, tmp_path / "m.bif")
    model = BIFReader(str(tmp_path / "m.bif")).get_model()
    counts = family_counts(table.codes, table.cardinalities, 1, (0,))
    assert len(model.edges()) == 1
    np.testing.assert_array_equal(model.get_cpds("x").get_values(), (counts / counts.sum(axis=1, keepdims=True)).T)


def test_cells_count_every_conditional_probability() -> None:
    assert bif.cells(PLAIN, DAG) == 2 + 3 + 2 * 3 * 2 + 2 * 3
