import csv
import json
import math
import subprocess
import sys
from pathlib import Path

import cloudpickle
import numpy as np
import pytest
from graphs import FRAME
from hypothesis import given, settings
from hypothesis import strategies as st

from law_ray.errors import InputError
from objectives import Objective, bif, load
from objectives.contingency import max_log_likelihood
from objectives.networks import sample_network
from objectives.nml import NML, nml_regret
from objectives.structure import cpdag, dag_from_order, skeleton
from objectives.tables import Table, read_table

SACHS = NML(sample_network("sachs", 1000, 0), n_samples=50)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def permutations(objective: NML, size: int, seed: int) -> np.ndarray:
    return rng(seed).permuted(np.tile(np.arange(objective.n_items), (size, 1)), axis=1)


def test_the_value_is_likelihood_plus_regret() -> None:
    for permutation in permutations(SACHS, 5, 1):
        dag = dag_from_order(SACHS.skeleton, permutation)
        table = SACHS.table
        regret = nml_regret(dag, table.cardinalities, 1000, "uniform", 50, rng(3)).value
        expected = regret - max_log_likelihood(table.codes, table.cardinalities, dag)
        assert SACHS(permutation, rng(3)) == pytest.approx(expected, abs=1e-9)


def test_the_skeleton_and_the_attributes_are_those_of_the_data() -> None:
    assert isinstance(SACHS, Objective)
    assert (SACHS.name, SACHS.n_items, SACHS.item_names) == ("nml:sachs", 11, SACHS.table.names)
    full = NML(SACHS.table, alpha=0.2, dof="full")
    expected = skeleton(SACHS.table.codes, SACHS.table.cardinalities, 0.2, "full")
    np.testing.assert_array_equal(full.skeleton, expected)


@settings(deadline=None)
@given(st.permutations(range(11)), st.permutations(range(11)))
def test_keys_are_equal_when_and_only_when_the_dags_are(first: list[int], second: list[int]) -> None:
    keys = [SACHS.key(np.array(permutation)) for permutation in (first, second)]
    dags = [dag_from_order(SACHS.skeleton, np.array(permutation)) for permutation in (first, second)]
    assert (keys[0] == keys[1]) == np.array_equal(*dags)
    assert SACHS.keys(np.array([first, second])) == keys


def test_orders_of_one_dag_share_their_key() -> None:
    """Exchanging two neighbours in the order that no edge joins leaves the DAG, and the value, as they are."""
    permutation = rng(5).permutation(11)
    apart = [k for k in range(10) if not SACHS.skeleton[permutation[k], permutation[k + 1]]]
    other = permutation.copy()
    other[[apart[0], apart[0] + 1]] = permutation[[apart[0] + 1, apart[0]]]
    assert SACHS.key(other) == SACHS.key(permutation)
    assert SACHS(other, rng(1)) == SACHS(permutation, rng(1))


def test_explain_is_json_and_its_total_is_the_value() -> None:
    permutation = rng(2).permutation(11)
    parts = json.loads(json.dumps(SACHS.explain(permutation, rng(4))))
    assert parts["total"] == SACHS(permutation, rng(4)) == parts["neg_log_likelihood"] + parts["regret"]
    assert parts["ordering"] == [SACHS.item_names[item] for item in permutation]
    place = {name: k for k, name in enumerate(parts["ordering"])}
    assert all(place[parent] < place[child] for parent, child in parts["edges"])
    assert len(parts["edges"]) == parts["n_edges"] == SACHS.skeleton.sum() // 2
    distance = parts["structural_hamming_distance"]
    ours, truth = cpdag(dag_from_order(SACHS.skeleton, permutation)), cpdag(SACHS.table.true_dag)
    pairs = np.triu(np.ones((11, 11), dtype=bool), 1)
    assert distance["total"] == ((ours != truth) | (ours != truth).T)[pairs].sum()
    assert distance["skeleton"] == ((ours | ours.T) != (truth | truth.T))[pairs].sum()
    assert distance["total"] == distance["skeleton"] + distance["orientation"]


def test_explain_of_ones_own_data_knows_no_true_network() -> None:
    assert "structural_hamming_distance" not in NML(FRAME, n_samples=5).explain(np.arange(4), rng())


def test_write_leaves_the_edges_and_the_model(tmp_path: Path) -> None:
    permutation = rng(2).permutation(11)
    paths = SACHS.write(permutation, tmp_path)
    assert [path.name for path in paths] == ["best_dag.csv", "best_model.bif"]
    with paths[0].open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows == [["parent", "child"], *SACHS.explain(permutation, rng())["edges"]]
    from pgmpy.readwrite import BIFReader

    assert {tuple(edge) for edge in rows[1:]} == set(BIFReader(str(paths[1])).get_model().edges())


def test_write_leaves_a_model_that_is_too_large_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bif, "MAX_CELLS", 10)
    assert SACHS.write(np.arange(11), tmp_path) == [tmp_path / "best_dag.csv"]


def test_the_fingerprint_covers_the_data_and_the_options() -> None:
    table = SACHS.table
    other = Table("sachs", table.names, table.states, table.codes[::-1], table.true_dag)
    options: list[dict] = [{}, {"alpha": 0.1}, {"dof": "full"}, {"n_samples": 7}]
    prints = [NML(table, **each).fingerprint for each in options] + [NML(other).fingerprint]
    assert len(set(prints)) == len(prints)
    assert NML(table).fingerprint == prints[0]


@pytest.mark.parametrize(
    ("options", "culprit"),
    [
        ({"score": "bic"}, "score='bic' is unknown: choose nml-uniform"),
        ({"n_samples": 0}, "n_samples=0"),
        ({"n_samples": 2.5}, "n_samples=2.5"),
        ({"alpha": 2.0}, "alpha=2.0"),
        ({"dof": "none"}, "dof='none'"),
    ],
)
def test_unknown_options_are_named(options: dict, culprit: str) -> None:
    with pytest.raises(InputError, match=culprit):
        NML(SACHS.table, **options)


@pytest.mark.parametrize("bad", [[0, 1, 2], [0] * 11, list(range(1, 12)), [0.0] * 11])
def test_no_permutation_is_refused(bad: list) -> None:
    with pytest.raises(InputError, match="not a permutation"):
        SACHS(np.array(bad), rng())


def test_a_table_without_any_edge_still_has_a_score() -> None:
    codes = rng(0).integers(0, 2, size=(100, 3))
    table = Table("t", ("a", "b", "c"), (("0", "1"),) * 3, codes)
    objective = NML(table, alpha=1e-9, n_samples=10)
    assert objective.key(np.array([2, 0, 1])) == objective.key(np.arange(3))
    assert math.isfinite(objective(np.arange(3), rng()))


def test_load_reads_networks_and_files_with_options_as_text(tmp_path: Path) -> None:
    sampled = load("nml:sachs", n_rows="200", seed="3", n_samples="40", alpha="0.1", dof="full")
    expected = NML(sample_network("sachs", 200, 3), n_samples=40, alpha=0.1, dof="full")
    assert sampled.fingerprint == expected.fingerprint
    FRAME.to_csv(tmp_path / "data.csv", index=False)
    read = load(f"nml:{tmp_path / 'data.csv'}", n_samples="30")
    assert read.fingerprint == NML(read_table(tmp_path / "data.csv"), n_samples=30).fingerprint
    assert read.name == "nml:data.csv"


def test_a_worker_gets_the_same_value_and_imports_nothing_heavy(tmp_path: Path) -> None:
    permutation = rng(2).permutation(11)
    (tmp_path / "objective.pkl").write_bytes(cloudpickle.dumps(SACHS))
    script = f"""
import pickle, sys
import numpy as np
objective = pickle.load(open({str(tmp_path / "objective.pkl")!r}, "rb"))
print(objective(np.array({permutation.tolist()}), np.random.default_rng(6)).hex())
print([name for name in ("pandas", "pgmpy", "torch", "scipy.stats", "ray", "networkx") if name in sys.modules])
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    value, heavy = done.stdout.splitlines()
    assert float.fromhex(value) == SACHS(permutation, rng(6))
    assert heavy == "[]"
    assert len(cloudpickle.dumps(SACHS)) < 1000 * 11 + 5000
