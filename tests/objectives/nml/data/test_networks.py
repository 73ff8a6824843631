import numpy as np
import pytest

from law_ray.errors import InputError
from objectives import families
from objectives.nml.data.networks import LARGER, NETWORKS, _read_network, sample_network
from objectives.nml.scores.contingency import family_counts

SIZES = {
    "sachs": (11, 17),
    "child": (20, 25),
    "insurance": (27, 52),
    "alarm": (37, 46),
    "hailfinder": (56, 66),
    "hepar2": (70, 123),
    "win95pts": (76, 112),
    "andes": (223, 338),
}


def test_every_network_is_listed_and_named_with_its_size() -> None:
    assert SIZES.keys() == {*NETWORKS, *LARGER}
    for name, (variables, edges) in SIZES.items():
        assert f"{variables} variables, {edges} edges" in families()[f"nml:{name}"]


@pytest.mark.parametrize("name", [*NETWORKS, "hepar2", "andes"])
@pytest.mark.slow
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


@pytest.mark.slow
def test_a_seed_determines_the_table_and_shuffles_the_columns() -> None:
    first, again, other = (sample_network("sachs", 50, seed) for seed in (3, 3, 4))
    assert first.fingerprint == again.fingerprint != other.fingerprint
    assert first.names == again.names != other.names
    assert sorted(first.names) == sorted(other.names)
    assert list(first.names) != _read_network("sachs")[0]


def test_states_that_are_not_observed_are_still_declared() -> None:
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
